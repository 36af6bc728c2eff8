"""`symgen convert` writes a complete file, or writes none and gives the reason in one sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import symgen
from symgen import cli
from symgen.description.writers import writers
from symgen.support.errors import RequestError
from tests.shared.robots_to_convert import RANDOM


def test_the_command_and_the_function_write_the_same_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / name for name in ("a.urdf", "b.urdf")]
    assert cli.main(["convert", "scara", "-o", str(paths[0])]) == 0
    sentences = symgen.convert("scara", paths[1])
    out, err = capsys.readouterr()
    assert out == f"wrote scara as urdf to {paths[0]}\n"
    assert all(f"symgen: note: {sentence}\n" in err for sentence in sentences)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert cli.main(["convert", "scara", "-o", "-", "--to", "urdf"]) == 0
    assert capsys.readouterr().out == paths[0].read_text()
    assert (
        cli.main(
            ["convert", str(paths[0]), "-o", str(tmp_path / "c.toml"), "--lock", "joint3", "-q"]
        )
        == 0
    )
    assert (symgen.load(tmp_path / "c.toml").nv, capsys.readouterr().out) == (3, "")


def test_only_an_earlier_conversion_is_replaced(tmp_path: Path) -> None:
    for suffix in (".toml", ".urdf", ".xml", ".mjcf"):
        out = tmp_path / f"out{suffix}"
        symgen.convert("scara", out)
        symgen.convert("planar_arm", out)
        assert b"scara" not in out.read_bytes()
        out.write_text("mine")
        with pytest.raises(RequestError, match="symgen did not convert it"):
            symgen.convert("scara", out)
        assert out.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["o.sdf"], "o.sdf: no format goes with a file of suffix '.sdf'; give a name that ends in"),
        (["o"], "without suffix; give"),
        (["-"], "'-o -' does not state the format; add --to toml"),
        (["no/o.toml"], "the folder no does not exist; make it first"),
        (["here.urdf"], "here.urdf is what is to be converted; name another file"),
        (["o.urdf", "--to", "mjfc"], "did you mean 'mjcf'"),
        (["folder.xml"], "folder.xml is a folder; name a file in it"),
        (["mine.toml"], "mine.toml exists, and symgen did not convert it"),
        (["o" * 300 + ".toml"], "cannot be written: File name too long; nothing was changed"),
        (["o.xml", "--to", "urdf", "--lock", "nothing"], "no joint is named 'nothing'"),
    ],
)
def test_a_refusal_is_one_sentence_and_changes_no_file(
    words: list[str],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    symgen.convert("scara", "here.urdf")
    Path("folder.xml").mkdir()
    Path("mine.toml").write_text("")
    before = {path.name: path.is_dir() or path.read_bytes() for path in tmp_path.iterdir()}
    assert cli.main(["convert", "here.urdf", "-o", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert why in err
    assert {path.name: path.is_dir() or path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_name_that_xml_cannot_represent_is_refused() -> None:
    robot = RANDOM["chain0"]
    for name, why in (
        ("a\x01", "characters that XML cannot represent"),
        ("${a}", "would be a macro of xacro"),
    ):
        with pytest.raises(RequestError, match=why):
            writers()["urdf"].write(
                replace(robot, joints=(replace(robot.joints[0], name=name), *robot.joints[1:]))
            )


def test_a_source_name_with_hyphens_stays_inside_its_comment() -> None:
    for source in ("a--b", "--", "-->", "x-", "a --gravity"):
        text = writers()["urdf"].write(replace(RANDOM["chain0"], source=source)).text
        assert symgen.load(text).name == "random_chain_4"


@pytest.mark.slow
def test_a_chain_too_deep_for_xml_readers_is_refused_in_mjcf_only() -> None:
    with pytest.raises(RequestError, match="bodies would be nested more than 240 deep"):
        writers()["mjcf"].write(symgen.load("planar_point_mass:240"))
    assert symgen.load(writers()["urdf"].write(symgen.load("planar_point_mass:300")).text).nv == 300
