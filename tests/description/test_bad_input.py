"""Malformed descriptions: each is refused in one sentence with file, line and remedy."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.description.loading import LARGEST_FILE, load
from symgen.description.parsing import macros
from symgen.support.errors import SymgenError
from tests.shared.descriptions import INERTIAL, joint, link, robot

A, B, C, J = link("a"), link("b"), link("c"), joint("j", "a", "b")


def mass(value: str) -> str:
    return link("b", INERTIAL.replace('value="1"', f'value="{value}"'))


def joint_turned_by(rpy: str) -> str:
    return joint("j", "a", "b", inside=f'<origin rpy="{rpy}"/>')


BOMB = (
    '<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {name} "{8 * f"&{before};"}">'
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + ']>\n<robot name="&i;"><link name="&i;"/></robot>'
)
OUTSIDE = (
    '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    '<robot name="r"><link name="&x;"/></robot>'
)

# name of the case -> (text of the URDF, part of the expected message)
URDF: dict[str, tuple[str, str]] = {
    "truncated": (robot(A, B, J)[:-30], "r.urdf:4: not well-formed XML"),
    "only a header": ('<?xml version="1.0"?>', "not well-formed XML"),
    "no XML": ("a robot, please", "not well-formed XML"),
    "entity bomb": (
        BOMB,
        "r.urdf:2: a DOCTYPE or entity declaration is not accepted in a description; remove it",
    ),
    "outside entity": (OUTSIDE, "r.urdf:1: a DOCTYPE"),
    "hidden bomb": (
        '<?xml version="1.0" encoding="utf-7"?>+ADwAIQ-DOCTYPE r><robot name="r"/>',
        "not well-formed XML",
    ),
    "a bomb behind an instruction": (
        f"<?x <!-- ?>{BOMB[22:]}<!-- -->",
        "a DOCTYPE or entity declaration is not accepted",
    ),
    "undefined entity": (
        robot(A, B, J).replace('name="b"', 'name="&b;"', 1),
        "not well-formed XML",
    ),
    "deep": (
        "<robot>" + "<a>" * 5000 + "</a>" * 5000 + "</robot>",
        "its elements are nested more than 256 deep; write",
    ),
    "MJCF without a joint": (
        "<mujoco><worldbody/></mujoco>",
        "r.urdf: no joint moves, so there are no dynamics",
    ),
    "a web page": (
        "<html><body>404</body></html>",
        "this is a web page, not the file itself; download the raw file",
    ),
    "Git LFS": (
        "version https://git-lfs.github.com/spec/v1\noid sha256:12",
        "this is a pointer of Git LFS, not the file itself; fetch",
    ),
    "another root": (
        "<robots/>",
        "r.urdf:1: the root element is 'robots', not 'robot'; give a URDF file",
    ),
    "two files in one": (
        robot(A, B, J) * 2,
        "r.urdf:6: not well-formed XML: there is content after the end of the root element;"
        " keep only one",
    ),
    "a foreign prefix and a lost end": (
        robot("<sensor:ray x='1'/>" * 200, A, "<c>"),
        "not well-formed XML",
    ),
    "no link": ("<robot name='r'/>", "no link is declared"),
    "no joint": (robot(A), "no joint moves, so there are no dynamics"),
    "only fixed joints": (
        robot(A, B, joint("j", "a", "b", "fixed", "")),
        "no joint moves, so there are no dynamics",
    ),
    "NaN mass": (
        robot(A, mass("nan"), J),
        "r.urdf:3: link 'b': inertial: mass value: 'nan' is not a number; write a plain decimal",
    ),
    "infinite mass": (robot(A, mass("inf"), J), "'inf' is not a number"),
    "negative mass": (
        robot(A, mass("-1.5"), J),
        "r.urdf:3: link 'b': inertial: mass: link 'b' has the negative mass -1.5 kg; masses must",
    ),
    "mass in words": (robot(A, mass("heavy"), J), "'heavy' is not a number"),
    "no mass": (
        robot(A, link("b", "<inertial><origin/></inertial>"), J),
        "r.urdf:3: link 'b': inertial: <mass> is missing; add",
    ),
    "no moments": (
        robot(A, link("b", '<inertial><mass value="1"/></inertial>'), J),
        "<inertia> is missing; add",
    ),
    "one moment missing": (
        robot(A, link("b", INERTIAL.replace('iyz="0"', "")), J),
        "the attribute 'iyz' is missing; write iyz=",
    ),
    "two inertials": (robot(A, link("b", INERTIAL * 2), J), "<inertial> appears twice; keep one"),
    "huge exponent": (robot(A, mass("1e999999999"), J), "is not a number"),
    "large exponent": (
        robot(A, mass("1e9999"), J),
        "the exponent of '1e9999' is beyond ±330; write",
    ),
    "a megabyte of digits": (robot(A, mass("9" * 10**6), J), "is not a number"),
    "many digits": (robot(A, mass("9" * 100), J), "has more than 60 digits; write fewer digits"),
    "code": (robot(A, mass("__import__('os').system('touch was-here')"), J), "is not a number"),
    "code in an angle": (
        robot(A, B, joint_turned_by("exec(1) 0 0")),
        "r.urdf:4: joint 'j': origin rpy: 'exec(1)' is not a number",
    ),
    "an expression": (robot(A, B, joint_turned_by("pi/2 0 0")), "'pi/2' is not a number"),
    "two numbers": (robot(A, B, joint_turned_by("0 0")), "rpy has 2 numbers ('0 0'); write three"),
    "commas": (
        robot(A, B, joint_turned_by("0,0,0")),
        "rpy '0,0,0' has commas; write three numbers separated by spaces",
    ),
    "zero axis": (
        robot(A, B, joint("j", "a", "b", inside='<axis xyz="0 0.0 -0"/>')),
        "r.urdf:4: joint 'j': axis: the axis is zero; give",
    ),
    "empty axis": (
        robot(A, B, joint("j", "a", "b", inside="<axis/>")),
        "the attribute 'xyz' is missing",
    ),
    "unknown type": (
        robot(A, B, joint("j", "a", "b", "rotary")),
        "r.urdf:4: joint 'j': its type 'rotary' is not supported (supported: ",
    ),
    "planar": (
        robot(A, B, joint("j", "a", "b", "planar")),
        '; rotate its origin and write <axis xyz="0 0 1"/>',
    ),
    "a large letter": (
        robot(A, B, joint("j", "a", "b", "Revolute")),
        "fixed); write 'revolute', or lock the joint",
    ),
    "universal": (
        robot(A, B, joint("j", "a", "b", "universal")),
        "; write it as joints of one coordinate with massless links",
    ),
    "ball": (robot(A, B, joint("j", "a", "b", "ball")), "; write 'spherical'"),
    "no type": (
        robot(A, B, J.replace('type="revolute"', "")),
        "r.urdf:4: joint 'j': the attribute 'type' is missing; write type=",
    ),
    "no name": (
        robot(A, B, J.replace('name="j"', "")),
        "r.urdf:4: joint: the attribute 'name' is missing",
    ),
    "empty name": (
        robot(A, B, J.replace('name="j"', 'name=" "')),
        "r.urdf:4: joint ' ': ' ' is not a valid name",
    ),
    "name with a line break": (
        robot(A, B, J.replace('name="j"', 'name="j&#10;k"')),
        "is not a valid name",
    ),
    "no parent": (
        robot(A, B, J.replace('<parent link="a"/>', "")),
        "r.urdf:4: joint 'j': <parent> is missing; add",
    ),
    "two parents": (
        robot(A, B, J.replace('<parent link="a"/>', '<parent link="a"/><parent link="b"/>')),
        "<parent> appears twice",
    ),
    "two axes": (
        robot(A, B, joint("j", "a", "b", inside='<axis xyz="1 0 0"/><axis xyz="0 1 0"/>')),
        "<axis> appears twice; keep one",
    ),
    "unknown child": (
        robot(A, B, joint("j", "a", "bb")),
        "r.urdf:4: joint 'j': its child link 'bb' is not declared; ",
    ),
    "self loop": (
        robot(A, B, joint("j", "b", "b")),
        "r.urdf:4: joint 'j': it joins link 'b' to itself; name another",
    ),
    "cycle": (
        robot(A, B, C, joint("j", "a", "b"), joint("k", "c", "a"), joint("l", "b", "c")),
        "r.urdf:5: joint 'j': no root link reaches it, because of a cycle of joints; remove one",
    ),
    "cycle beside a root": (
        robot(link("w"), A, B, joint("j", "a", "b"), joint("k", "b", "a")),
        "because of a cycle of joints",
    ),
    "closed loop": (
        robot(A, B, C, joint("j", "a", "b"), joint("k", "a", "c"), joint("l", "b", "c")),
        "r.urdf:7: joint 'l': link 'c' already has a parent through joint 'k';"
        " remove one of the two joints, or",
    ),
    "two roots": (
        robot(A, B, C, J),
        "r.urdf:4: link 'c': there are 2 root links ('a' and 'c'); join all but one",
    ),
    "two links of one name": (
        robot(A, B, A, J),
        "r.urdf:4: link 'a': this name is already a link at line 2; give each link",
    ),
    "two joints of one name": (
        robot(A, B, C, J, joint("j", "b", "c")),
        "r.urdf:6: joint 'j': this name is already a joint at line 5; give",
    ),
    "xacro": (
        robot(A, B, mass("${m}"), J),
        "it contains xacro macros, which must be expanded first; run: xacro ",
    ),
    "xacro element": (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="x"/></robot>',
        "run: xacro ",
    ),
    "xacro in a link": (
        robot(A, link("b", '<xacro:if xmlns:xacro="http://ros.org/wiki/xacro"/>'), J),
        "r.urdf:3: link 'b': xacro:if: it contains xacro macros",
    ),
    "xacro without its prefix": (
        robot(A, link("b", INERTIAL + "<xacro:insert_block name='m'/>"), J),
        "r.urdf:3: link 'b': xacro:insert_block 'm': it contains xacro macros",
    ),
}

STRICT: dict[str, tuple[str, str]] = {
    "degrees for radians": (robot(A, B, joint_turned_by("90 0 180")), "radians, not degrees"),
    "impossible inertia": (
        robot(A, link("b", INERTIAL.replace('izz="1"', 'izz="3"')), J),
        "break the triangle inequality",
    ),
    "a limit in words": (
        robot(A, B, joint("j", "a", "b", inside='<limit lower="none"/>')),
        "limit lower: 'none' is not a number",
    ),
    "mimic of nobody": (
        robot(A, B, joint("j", "a", "b", inside="<mimic/>")),
        "the attribute 'joint' is missing; the coupling is",
    ),
    "a body that moves": (
        robot(A, B, C, J, joint("k", "a", "c")),
        "a (1 kg) is fixed, since no joint moves it; use --base free",
    ),
    "moments without mass": (robot(A, mass("0"), J), "has moments of inertia but no mass"),
    "massless leaf": (
        robot(A, B, link("c", ""), J, joint("k", "a", "c")),
        "joint k moves no mass",
    ),
}

BODY = (
    'name = "r"\n[[body]]\nname = "b"\nparent = "base"\nmass = 1\n'
    'joint = { type = "revolute", axis = [0, 0, 1] }\n'
)
ROW = 'convention = "dh"\n[[row]]\na = 1\nmass = 1\n'

TOML: dict[str, tuple[str, str]] = {
    "syntax": ("name = \n", "r.toml:1: not valid TOML: Invalid value; correct this line"),
    "truncated": (BODY[:-3], "not valid TOML"),
    "key twice": (BODY + "mass = 2\n", "r.toml:7: not valid TOML"),
    "a key of many parts": (
        "# a\na" + ".a" * 20_000 + " = 1",
        "r.toml:2: a key has more than 16 parts with a '.' between them; write tables in brackets",
    ),
    "nested without end": (
        "a = " + "[" * 100_000,
        "r.toml:1: its arrays or tables are nested more than 64 deep",
    ),
    "a huge integer": (BODY.replace("mass = 1", "mass = " + "9" * 5000), "not valid TOML"),
    "a large integer": (
        BODY.replace("mass = 1", "mass = " + "9" * 4000),
        "has more than 1500 digits",
    ),
    "misspelt key": (
        BODY.replace("mass", "masse"),
        "r.toml:2: body 'b': the key 'masse' is not known here; did you mean 'mass'?",
    ),
    "unknown key": (BODY + "colour = 'red'\n", "the key 'colour' is not known here; there are: "),
    "misspelt inside": (
        BODY.replace("axis", "axes"),
        "r.toml:2: body 'b': joint: the key 'axes' is not known here; did you mean 'axis'?",
    ),
    "no parent": (
        BODY.replace('parent = "base"\n', ""),
        "body 'b': the key 'parent' is missing; add parent",
    ),
    "unknown parent": (
        BODY.replace('"base"', '"bass"'),
        "its parent link 'bass' is not declared; did you mean 'base'?",
    ),
    "no joint": (BODY.partition("joint")[0], "body 'b': the key 'joint' is missing; add joint"),
    "no axis": (
        BODY.replace(", axis = [0, 0, 1]", ""),
        "body 'b': joint: the key 'axis' is missing",
    ),
    "zero axis": (
        BODY.replace("0, 0, 1", "0, 0.0, 0"),
        "body 'b': joint.axis: the axis is zero; give a nonzero axis",
    ),
    "short axis": (BODY.replace("0, 0, 1", "0, 1"), "is not an array of 3 numbers"),
    "nan": (BODY.replace("mass = 1", "mass = nan"), "body 'b': mass: 'nan' is not a number"),
    "true": (BODY.replace("mass = 1", "mass = true"), "body 'b': mass: 'True' is not a number"),
    "infinity": (BODY.replace("mass = 1", "mass = -inf"), "body 'b': mass: '-inf' is not a number"),
    "a date": (
        BODY.replace("mass = 1", "mass = 1979-05-27"),
        "body 'b': mass: '1979-05-27' is not a number",
    ),
    "hexadecimal": (
        BODY.replace("mass = 1", "mass = 0x2"),
        "r.toml:5: '0x2' is not a plain decimal; write '2'",
    ),
    "octal": (
        BODY.replace("[0, 0, 1]", "[0, 0o7, 1]"),
        "r.toml:6: '0o7' is not a plain decimal; write '7'",
    ),
    "binary": (BODY.replace("mass = 1", "mass = 0b1"), "'0b1' is not a plain decimal"),
    "figures apart": (
        BODY.replace("[0, 0, 1]", "[0,\n-1_0]"),
        "r.toml:7: '-1_0' is not a plain decimal; write '-10'",
    ),
    "figures apart in a count": (ROW + "repeat = 1_0\n", "r.toml:5: '1_0' is not a plain decimal"),
    "figures apart in a fraction": (
        BODY.replace("mass = 1", "mass = 1_0.5"),
        "'1_0.5' is not a number",
    ),
    "division by zero": (BODY.replace("mass = 1", 'mass = "1/0"'), "divides by zero"),
    "negative mass": (BODY.replace("mass = 1", "mass = -1"), "has the negative mass -1 kg"),
    "inertia without mass": (
        BODY.replace("mass = 1", "inertia = [1, 0, 0, 1, 0, 1]"),
        "the key 'mass' is missing",
    ),
    "five moments": (BODY + "inertia = [1, 1, 1, 0, 0]\n", "is not an array of 6 numbers"),
    "two ways": (
        BODY + "[[body.part]]\nmass = 1\n",
        "the key 'mass' conflicts with the list of parts",
    ),
    "code": (
        BODY.replace("axis =", "rpy = [\"__import__('os')\", 0, 0], axis ="),
        "is not an angle; write a decimal in rad",
    ),
    "no step": (
        BODY.replace("axis =", "steps = [{ move = 1 }], axis ="),
        "is not a step; write {shift",
    ),
    "steps and rpy": (
        BODY.replace("axis =", "steps = [], rpy = [0, 0, 0], axis ="),
        "it conflicts with steps",
    ),
    "rows and bodies": (
        ROW + BODY.replace('name = "r"\n', ""),
        "either [[body]] or [[row]], not both",
    ),
    "no convention": (
        ROW.partition("\n")[2],
        'the key \'convention\' is missing; add convention = "dh" or convention = "mdh"',
    ),
    "odd convention": (
        ROW.replace("dh", "khalil"),
        "convention: 'khalil' is not known; write one of: dh, mdh",
    ),
    "odd repeat": (ROW + "repeat = 1e6\n", "is not a count; write a whole number"),
    "row above": (ROW + 'parent = "link2"\n', "'link2' is not an earlier row"),
    "frame on nothing": (
        BODY + '[[frame]]\nname = "f"\nbody = "c"\n',
        "r.toml:7: frame 'f': its body 'c' is not declared",
    ),
    "frame of a taken name": (
        BODY + '[[frame]]\nname = "b"\nbody = "b"\n',
        "the name 'b' is already a link or frame",
    ),
    "body is no table": ("body = 3\n", "body: '3' is not a list of tables"),
    "snap": ('snap = "wild"\n' + BODY, "snap is 'wild'; give 'off'"),
    "unknown joint type": (BODY.replace("revolute", "hinge"), "its type 'hinge' is not supported"),
    "nothing": ("# nothing\n", "no joint moves"),
}


def refused(path: Path, message: str, **options: Any) -> str:
    with pytest.raises(SymgenError) as caught:
        load(path, **options)
    sentence = str(caught.value)
    assert message in sentence, sentence
    assert "\n" not in sentence
    assert len(sentence) < 500 + len(str(path))
    return sentence


@pytest.mark.parametrize("case", URDF)
def test_malformed_urdf_is_refused_in_one_sentence(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        macros, "available", lambda: False
    )  # test_xacro.py tests the expansion of macros, which needs the extra symgen[xacro]
    path = tmp_path / "r.urdf"
    path.write_text(URDF[case][0], encoding="utf-8")
    assert str(path) in refused(path, URDF[case][1])
    assert not Path("was-here").exists()


@pytest.mark.parametrize("case", STRICT)
def test_doubtful_urdf_is_a_warning_and_refused_under_strict(case: str, tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(STRICT[case][0], encoding="utf-8")
    assert any(STRICT[case][1] in note.text for note in load(path).notes if note.kind == "warning")
    assert str(path) in refused(path, STRICT[case][1], strict=True)


@pytest.mark.parametrize("case", TOML)
def test_malformed_toml_is_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(TOML[case][0], encoding="utf-8")
    sentence = refused(path, TOML[case][1])
    assert case == "snap" or str(path) in sentence


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".urdf", ".toml"])
@pytest.mark.parametrize("kind", ["letters", "bytes", "zeros", "brackets"])
def test_ten_megabytes_of_junk_are_refused_within_ten_seconds(
    suffix: str, kind: str, tmp_path: Path
) -> None:
    dice = random.Random(1)
    junk = {
        "letters": b"lorem ipsum <dolor> = " * 500_000,
        "bytes": dice.randbytes(10**7),
        "zeros": bytes(10**7),
        "brackets": b"[" * 10**7,
    }[kind]
    path = tmp_path / f"junk{suffix}"
    path.write_bytes(junk)
    start = time.monotonic()
    refused(path, str(path))
    assert time.monotonic() - start < 10


def test_a_file_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.urdf"
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE + 1)  # a sparse file, which needs no disk space
    refused(path, "the file is larger than 50 MB")


def test_paths_without_a_readable_description_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(
        tmp_path,
        "this is a directory without a manifest.json; give a description file, or a folder that",
    )
    (tmp_path / "folder.urdf").mkdir()
    refused(tmp_path / "folder.urdf", "this is a directory")
    refused(
        tmp_path / "absent.urdf", f"there is no file 'absent.urdf' in '{tmp_path}'; check the path"
    )
    for suffix in ("sdf", "xacro", "toml", "xyz"):
        refused(tmp_path / f"absent.{suffix}", f"there is no file 'absent.{suffix}' in ")
    refused(
        tmp_path / "no" / "r.urdf", f"the folder '{tmp_path / 'no'}' does not exist; check the path"
    )
    (tmp_path / "lost.urdf").symlink_to(tmp_path / "nowhere")
    refused(tmp_path / "lost.urdf", "this is a broken link; repair it")
    (tmp_path / "empty.urdf").write_text(" \n")
    refused(tmp_path / "empty.urdf", "the file is empty; give a robot description")
    (tmp_path / "r.xyz").write_text("x")
    refused(
        tmp_path / "r.xyz",
        "the file type '.xyz' is not supported; give a file that ends in .csv, .mjcf, .sdf, ",
    )
    (tmp_path / "r").write_text("x")
    refused(
        tmp_path / "r",
        "its name has no suffix that shows the format; give it a name that ends in .csv, .mjcf,"
        " .sdf, ",
    )
    for suffix, file_kind in (("srdf", "SRDF"), ("STEP", "geometry")):
        (tmp_path / f"r.{suffix}").write_text("x")
        refused(tmp_path / f"r.{suffix}", f"this is {file_kind}")
    monkeypatch.setattr(macros, "available", lambda: False)
    (tmp_path / "r.urdf.xacro").write_text("x")
    refused(tmp_path / "r.urdf.xacro", "run: xacro ")
    refused(tmp_path / "empty.urdf2", "did you mean ")
    os.mkfifo(tmp_path / "pipe.urdf")
    refused(tmp_path / "pipe.urdf", "this is not a regular file")

    def forbidden(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "mine.urdf").write_text(robot(A, B, J))
    monkeypatch.setattr(Path, "read_bytes", forbidden)
    refused(
        tmp_path / "mine.urdf", "permission to read it is denied; change its permissions or copy it"
    )


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("{", "not one that symgen wrote"),
        ("[]", "not one that symgen wrote"),
        ("{}", "not one that symgen wrote"),
        ('{"robot": "gone"}', "names 'gone.toml', which does not exist"),
        ('{"robot": "../r"}', "which does not exist"),
        ("[" * 10**5, "not one that symgen wrote"),
    ],
)
def test_a_manifest_that_symgen_did_not_write_is_refused(
    manifest: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    refused(tmp_path, message)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pandas", "did you mean 'panda'?"),
        ("nothing-like-it", "there are: bennett, four_bar, "),
        ("", "is not a robot"),
        ("a\0b", "is not a robot"),
        ("x" * 5000, ""),
        (
            "panda.urdf",
            "there is no file 'panda.urdf' in this folder;"
            " did you mean the built-in robot 'panda'?",
        ),
        ("PANDA", "there is no file or built-in robot 'PANDA'; did you mean 'panda'?"),
        ("panda:x:3", "number of links; leave out"),
        ("https://a.b/arm.urdf", "is a web address, but symgen reads files; save it"),
        ("~/r.urdf", "the folder '~' does not exist; write out the path of the home"),
        (
            "./none.urdf",
            "there is no file 'none.urdf' in this folder;"
            " check the path, or use a robot that 'symgen robots' lists",
        ),
    ],
)
def test_an_unknown_robot_name_is_refused_with_known_names(name: str, message: str) -> None:
    with pytest.raises(SymgenError) as caught:
        load(name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_description_nearby_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arms").mkdir()
    for name in ("lifter.urdf", "lifter.txt", "a.toml"):
        (tmp_path / "arms" / name).write_text(robot(A, B, J))
    refused(
        Path("arms/liftre.urdf"),
        "there is no file 'arms/liftre.urdf'; did you mean 'arms/lifter.urdf'?",
    )
    refused(
        Path("arms"),
        "give a description file, such as arms/a.toml, arms/lifter.urdf, or a folder that symgen"
        " generated",
    )
    (tmp_path / "crane.urdf").write_text(robot(A, B, J))
    with pytest.raises(
        SymgenError,
        match=r"there is no file or built-in robot 'crane'; did you mean 'crane\.urdf'\?",
    ):
        load("crane")


# -- the text of a description ---------------------------------------------------------------------


@pytest.mark.parametrize("before", ["", "\n  ", "\ufeff", "\ufeff\n"], ids=repr)
def test_a_description_may_be_given_as_its_text(before: str, tmp_path: Path) -> None:
    """Compare with a file of the same text, for several prefixes; TOML text is read as well."""
    text = '<?xml version="1.0" encoding="utf-8"?>\n' + robot(A, B, J)
    (tmp_path / "arm.urdf").write_text(text, encoding="utf-8")
    from_file, from_text = load(tmp_path / "arm.urdf"), load(before + text)
    assert (from_text.name, from_text.joints, from_text.bodies, from_text.frames) == (
        from_file.name,
        from_file.joints,
        from_file.bodies,
        from_file.frames,
    )
    assert from_text.source == ""
    builtin = (
        Path(symgen.__file__).parent / "description" / "robots" / "planar_arm.toml"
    ).read_text(encoding="utf-8")
    assert load(before + builtin).joints == load("planar_arm").joints
    assert symgen.verify(before + text, ["gravity_force"], compiled=False, states=1).passed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot", "<text>:1: not well-formed XML"),
        ("\n<robot name='x'>\n<link/></robot>", "<text>:3: link: the attribute 'name'"),
        ("<sdf/>", "<text>:1: sdf: the attribute 'version' is missing"),
        ("name = 'x'\nbody y = 1", "<text>:2: not valid TOML"),
        ("<robot name='\ud800'/>", "<text>: character 13"),
        ("planar_arm\n", "did you mean 'planar_arm'"),
        (
            "none/robot.urdf",
            "there is no file 'none/robot.urdf': the folder 'none' does not exist; check the path",
        ),
    ],
)
def test_a_faulty_text_is_refused_with_its_line_and_a_lost_path_with_its_name(
    text: str, message: str
) -> None:
    with pytest.raises(SymgenError) as caught:
        load(text)
    assert isinstance(caught.value, ValueError)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "option", ["form", "trig", "real", "frame", "payload", "wrench", "jacobian_order"]
)
@pytest.mark.parametrize("value", [3, [3]])
def test_an_option_that_is_not_a_string_is_refused(option: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(SymgenError, match=r"not a string|a string, not"):
        symgen.generate("scara", tmp_path / "out", ["gravity_force"], **{option: value})
    assert not (tmp_path / "out").exists()
