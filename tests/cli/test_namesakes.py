"""A folder in the working directory that has a built-in robot's name: which of the two a command takes, and that it says so."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import symgen
from symgen import cli
from symgen.support.errors import ArgumentError

Run = Callable[..., tuple[int, str, str]]
FUNCTION = ("-f", "mass_matrix")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def inside(*words: str) -> tuple[int, str, str]:
        code = cli.main(words)
        seen = capsys.readouterr()
        return code, seen.out, seen.err

    return inside


@pytest.fixture
def spoilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a generated folder ./planar_arm whose mass matrix is wrong."""
    monkeypatch.chdir(tmp_path)
    symgen.generate("planar_arm", "planar_arm", ["mass_matrix"])
    source = tmp_path / "planar_arm" / "planar_arm_mass_matrix.c"
    source.write_text(source.read_text().replace(" + ", " - ", 1))
    return tmp_path / "planar_arm"


def test_verify_judges_the_folder_and_not_the_built_in_robot(run: Run, spoilt: Path) -> None:
    code, out, err = run("verify", "planar_arm", "--states", "1")
    assert code == 1
    assert out.startswith("planar_arm, the folder planar_arm: ")
    assert "'planar_arm' means the folder ./planar_arm here, not the built-in robot" in err
    code, out, _ = run("verify", "planar_arm", "--states", "1", "--json", "-q")
    assert (code, json.loads(out)["folder"]) == (1, "planar_arm")
    assert run("verify", "./planar_arm", "--states", "1")[::2] == (1, ""), "a path is no ambiguity"
    code, _, err = run("verify", "planar_arm", "--states", "1", "--real", "float")
    assert code == 2
    assert "the folder planar_arm is verified as it was generated, so --real does not apply" in err


def test_prove_judges_the_folder(run: Run, spoilt: Path) -> None:
    code, out, err = run("prove", "planar_arm", "--states", "16", "--json")
    assert (code, json.loads(out)["folder"]) == (1, "planar_arm")
    assert "means the folder ./planar_arm here" in err


@pytest.mark.parametrize(
    "words",
    [
        ("show", "planar_arm"),
        ("inspect", "planar_arm", "M[0,0]"),
        ("convert", "planar_arm", "-o", "arm.urdf"),
        ("generate", "planar_arm", *FUNCTION),
    ],
)
def test_commands_that_judge_no_folder_name_the_ambiguity(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    symgen.generate("planar_arm", "planar_arm", ["mass_matrix"])
    code, _, err = run(*words)
    assert code == 0
    assert "'planar_arm' is the built-in robot; ./planar_arm names the folder" in err


@pytest.mark.parametrize("manifest", [None, '{"name": "a web page", "icons": []}', "[]"])
def test_a_folder_without_a_manifest_is_no_robot(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "planar_arm"
    folder.mkdir()
    if manifest is not None:
        (folder / "manifest.json").write_text(manifest)
    code, out, err = run("verify", "planar_arm", *FUNCTION, "--states", "1", "--json")
    assert (code, json.loads(out)["folder"]) == (0, None)
    assert "'planar_arm' is the built-in robot; the folder ./planar_arm is not used" in err
    report = symgen.verify("planar_arm", ["mass_matrix"], states=1)
    assert report.notes == ("the built-in robot was judged; the folder ./planar_arm was not",)


def test_a_damaged_manifest_is_refused_and_nothing_is_called_verified(
    run: Run, spoilt: Path
) -> None:
    (spoilt / "manifest.json").write_text("{")
    code, out, err = run("verify", "planar_arm")
    assert (code, out) == (2, "")
    assert "its manifest.json is not one that symgen wrote" in err


def test_a_chain_names_the_folder_of_its_robot(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    symgen.generate("planar_point_mass:2", "planar_point_mass", ["mass_matrix"])
    _, _, err = run("verify", "planar_point_mass:2", *FUNCTION, "--states", "1")
    assert (
        "'planar_point_mass:2' is the built-in robot; ./planar_point_mass names the folder" in err
    )


def test_in_python_load_says_that_a_generated_folder_has_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(robot: str | Path) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", symgen.SymgenWarning)
            read = symgen.load(robot)
        texts = [str(one.message) for one in caught]
        assert not set(texts) - {note.text for note in read.notes}
        return texts

    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "planar_arm"
    folder.mkdir()
    assert said("planar_arm") == [], "a folder that symgen did not generate is no robot"
    symgen.generate("planar_arm", folder, ["mass_matrix"])
    first = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    named = "'planar_arm' is the built-in robot; ./planar_arm names the folder"
    assert said("planar_arm") == [named]
    assert said("./planar_arm") == said(Path("planar_arm")) == said("scara") == []
    symgen.generate("planar_arm", folder, ["mass_matrix"])
    assert first == {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_in_python_verify_takes_the_folder_and_load_the_built_in_robot(spoilt: Path) -> None:
    report = symgen.verify("planar_arm", states=1)
    assert (report.folder, report.passed) == ("planar_arm", False)
    assert str(report).startswith("planar_arm, the folder planar_arm: ")
    toml = spoilt / "planar_arm.toml"
    toml.write_text(toml.read_text().replace("-9.81", "-1.62"))
    assert [float(g) for g in symgen.load("planar_arm").gravity] == [0, -9.81, 0]
    assert [float(g) for g in symgen.load(Path("planar_arm")).gravity] == [0, -1.62, 0], (
        "a Path is a path"
    )


def test_in_python_options_that_a_folder_has_decided_are_refused(spoilt: Path) -> None:
    with pytest.raises(
        ArgumentError,
        match=r"the folder planar_arm is verified as it was generated, so real='float' does not",
    ):
        symgen.verify("planar_arm", real="float")
    with pytest.raises(ArgumentError, match=r"so parameters=\('gravity',\) does not apply"):
        symgen.verify(spoilt, parameters="gravity")
