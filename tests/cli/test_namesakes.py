"""Folders with the name of a built-in robot: each command states which of the two it takes."""

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
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return inside


@pytest.fixture
def wrong_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a working directory with a folder ./planar_arm whose mass matrix is wrong."""
    monkeypatch.chdir(tmp_path)
    symgen.generate("planar_arm", "planar_arm", ["mass_matrix"])
    source = tmp_path / "planar_arm" / "planar_arm_mass_matrix.c"
    source.write_text(source.read_text().replace(" + ", " - ", 1))
    return tmp_path / "planar_arm"


def test_verify_judges_the_folder_and_not_the_built_in_robot(run: Run, wrong_folder: Path) -> None:
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


def test_prove_judges_the_folder(run: Run, wrong_folder: Path) -> None:
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
def test_commands_that_take_the_built_in_robot_mention_the_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    symgen.generate("planar_arm", "planar_arm", ["mass_matrix"])
    code, _, err = run(*words)
    assert code == 0
    assert "'planar_arm' is the built-in robot; ./planar_arm names the folder" in err


@pytest.mark.parametrize("manifest", [None, '{"name": "a web page", "icons": []}', "[]"])
def test_a_folder_without_a_manifest_of_symgen_is_not_taken(
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


def test_a_damaged_manifest_is_refused(run: Run, wrong_folder: Path) -> None:
    (wrong_folder / "manifest.json").write_text("{")
    code, out, err = run("verify", "planar_arm")
    assert (code, out) == (2, "")
    assert "its manifest.json is not one that symgen wrote" in err


@pytest.mark.slow
def test_a_robot_name_with_a_size_mentions_the_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    symgen.generate("planar_point_mass:2", "planar_point_mass", ["mass_matrix"])
    _, _, err = run("verify", "planar_point_mass:2", *FUNCTION, "--states", "1")
    assert (
        "'planar_point_mass:2' is the built-in robot; ./planar_point_mass names the folder" in err
    )


def test_load_in_python_warns_of_a_generated_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warnings_of_load(robot: str | Path) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", symgen.SymgenWarning)
            mechanism = symgen.load(robot)
        texts = [str(warning.message) for warning in caught]
        assert not set(texts) - {note.text for note in mechanism.notes}
        return texts

    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "planar_arm"
    folder.mkdir()
    assert warnings_of_load("planar_arm") == [], "a folder that symgen did not generate is no robot"
    symgen.generate("planar_arm", folder, ["mass_matrix"])
    first = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    named = "'planar_arm' is the built-in robot; ./planar_arm names the folder"
    assert warnings_of_load("planar_arm") == [named]
    assert (
        warnings_of_load("./planar_arm")
        == warnings_of_load(Path("planar_arm"))
        == warnings_of_load("scara")
        == []
    )
    symgen.generate("planar_arm", folder, ["mass_matrix"])
    assert first == {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_verify_in_python_takes_the_folder_and_load_the_robot(wrong_folder: Path) -> None:
    report = symgen.verify("planar_arm", states=1)
    assert (report.folder, report.passed) == ("planar_arm", False)
    assert str(report).startswith("planar_arm, the folder planar_arm: ")
    toml = wrong_folder / "planar_arm.toml"
    toml.write_text(toml.read_text().replace("-9.81", "-1.62"))
    assert [float(g) for g in symgen.load("planar_arm").gravity] == [0, -9.81, 0]
    assert [float(g) for g in symgen.load(Path("planar_arm")).gravity] == [0, -1.62, 0], (
        "a Path is a path"
    )


def test_verify_in_python_refuses_options_fixed_by_the_folder(wrong_folder: Path) -> None:
    with pytest.raises(
        ArgumentError,
        match=r"the folder planar_arm is verified as it was generated, so real='float' does not",
    ):
        symgen.verify("planar_arm", real="float")
    with pytest.raises(ArgumentError, match=r"so parameters=\('gravity',\) does not apply"):
        symgen.verify(wrong_folder, parameters="gravity")
