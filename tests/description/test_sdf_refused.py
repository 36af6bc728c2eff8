"""Faulty SDF: each is refused in one sentence that names file, line and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from symgen.description.loading import load
from symgen.description.readers._sdf import frames
from symgen.support.errors import SymgenError
from tests.shared.sdf_texts import (
    CROSS,
    DRIVEN,
    GEAR,
    IN_MODEL,
    INERTIAL,
    OLD,
    POSED,
    THREE,
    A,
    B,
    J,
    joint,
    link,
    model,
    model_text,
    world,
)

WEIGHTLESS = "<gravity>false</gravity>"
THIRD = link("c", "<pose>0.5 0 0 0 0 0</pose>")
SCREW = "<axis><xyz>0 0 1</xyz></axis>"

# name -> (SDF, part of the expected message)
REFUSED: dict[str, tuple[str, str]] = {
    "no version": (
        model(A, B, J).replace(' version="1.7"', ""),
        "r.sdf:1: sdf: the attribute 'version' is missing, and the meaning of an axis",
    ),
    "an old version": (
        model(A, B, J, version="1.3"),
        "r.sdf:1: sdf: SDF 1.3 is older than 1.4, the oldest that symgen reads; convert",
    ),
    "no version number": (
        model(A, B, J, version="new"),
        "'new' is not a version; write one such as 1.7",
    ),
    "no model": ('<sdf version="1.7"/>', "r.sdf: the file has no model; give a file with a model"),
    "a model alone": (
        model_text(model(A, B, J)),
        "r.sdf:1: the root element is 'model', not 'sdf'; write <sdf version=\"1.7\"> around it",
    ),
    "a URDF": ("<robots/>", "the root element is 'robots', not 'sdf'; give an SDF file"),
    "no end": (model(A, B, J)[:-20], "not well-formed XML: "),
    "two models": (
        world(model_text(model(A, B, J)), model_text(model(A, B, J, name="s"))),
        "it has 2 models with joints: 'r', 's'; choose one, such as --model r",
    ),
    "a model that stands": (
        model("<static>true</static>", A, B, J),
        "r.sdf:1: model 'r': it is static, so that nothing in it moves; remove",
    ),
    "an unknown type": (
        model(A, B, joint("j", "a", "b", kind="piston")),
        "r.sdf:4: joint 'j': its type 'piston' is not supported (supported: revolute,"
        " continuous, prismatic, screw, ball, universal, revolute2, fixed, gearbox); declare",
    ),
    "no parent": (
        model(A, B, J.replace("<parent>a</parent>", "")),
        "r.sdf:4: joint 'j': <parent> is missing; add <parent>…</parent>",
    ),
    "an unknown child": (
        model(A, B, joint("j", "a", "bb")),
        "joint 'j': child: 'bb' is not a link, joint, frame or model here; ",
    ),
    "the world as a child": (
        model(A, B, joint("j", "a", "f"), '<frame name="f" attached_to="world"/>'),
        "'world' is not a link, joint, frame",
    ),
    "a loop of a screw": (
        model(A, B, THIRD, J, joint("k", "a", "c"), joint("l", "b", "c", kind="screw")),
        "r.sdf:7: joint 'l': it closes a loop, since link 'c' already has a parent through"
        " joint 'k', but a helical joint cannot close a loop; declare it before that joint,"
        " which then closes the loop",
    ),
    "a loop without a root": (
        model(A, B, J, joint("l", "b", "a")),
        "joint 'j': no root link reaches it, because of a cycle of joints; remove one of",
    ),
    "a loop of skew axes": (
        model(
            A,
            B,
            THIRD,
            J,
            joint("k", "a", "c"),
            joint(
                "l",
                "b",
                "c",
                "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 1 1</xyz></axis2>",
                "universal",
            ),
        ),
        "joint 'l': it closes a loop, but its two axes are not perpendicular;"
        " declare it before joint 'k', which then closes",
    ),
    "links of one name": (model(A, B, B, J), "this name is already a link at line 3; give each"),
    "a pose in a circle": (
        model(A, link("b", '<pose relative_to="j"/>'), J),
        "its pose depends on itself through other frames; make it",
    ),
    "frames in a circle": (
        model(A, B, J, '<frame name="f" attached_to="g"/>', '<frame name="g" attached_to="f"/>'),
        "it is attached to itself through other frames; attach it to a link",
    ),
    "a short pose": (
        model(A, link("b", "<pose>1 2 3</pose>"), J),
        "r.sdf:3: link 'b': pose: it has 3 numbers ('1 2 3'); write 6 numbers",
    ),
    "commas": (
        model(A, link("b", "<pose>1, 2, 3, 0, 0, 0</pose>"), J),
        "'1, 2, 3, 0, 0, 0' has commas; write 6 numbers",
    ),
    "an expression": (
        model(A, link("b", "<pose>1 2 3 pi/2 0 0</pose>"), J),
        "link 'b': pose: 'pi/2' is not a number; write a plain",
    ),
    "a zero quaternion": (
        model(A, link("b", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>'), J),
        "the quaternion is zero",
    ),
    "an unknown rotation": (
        model(A, link("b", '<pose rotation_format="axis">0 0 0 0 0 0</pose>'), J),
        "'axis' is not known; write euler",
    ),
    "degrees of a quaternion": (
        model(
            A, link("b", '<pose rotation_format="quat_xyzw" degrees="1">0 0 0 0 0 0 1</pose>'), J
        ),
        "degrees conflicts with a quaternion; remove degrees",
    ),
    "two poses": (
        model(A, link("b", "<pose>1 0 0 0 0 0</pose><pose>2 0 0 0 0 0</pose>"), J),
        "<pose> appears twice; keep one of the two",
    ),
    "neither true nor false": (
        model("<static>maybe</static>", A, B, J),
        "'maybe' is neither true nor false; write true or false",
    ),
    "a zero axis": (
        model(A, B, joint("j", "a", "b", "<axis><xyz>0 0 0</xyz></axis>")),
        "r.sdf:4: joint 'j': axis: xyz: the axis is zero; give a nonzero axis, such as 0 0 1",
    ),
    "an axis in an unknown frame": (
        model(A, B, joint("j", "a", "b", IN_MODEL.replace("__model__", "b1"))),
        "'b1' is not a link, joint, frame",
    ),
    "an axis of another version": (
        model(A, B, joint("j", "a", "b", OLD)),
        "use_parent_model_frame exists only up to SDF 1.6; write <xyz expr",
    ),
    "a screw without pitch": (
        model(A, B, joint("j", "a", "b", SCREW, "screw")),
        "a screw needs screw_thread_pitch or thread_p",
    ),
    "a screw of pitch zero": (
        model(A, B, joint("j", "a", "b", "<thread_pitch>0</thread_pitch>" + SCREW, "screw")),
        "its pitch is zero; ",
    ),
    "parallel axes": (
        model(A, B, joint("j", "a", "b", CROSS.replace("0 1 0", "2 0 0"), "universal")),
        "its two axes are parallel",
    ),
    "no reference body": (
        model(*THREE, GEAR.replace("body>a<", "body>q<")),
        "joint 'g': 'q' is not a link, joint, frame or model here",
    ),
    "a gearbox on nothing": (
        model(*THREE, GEAR.replace("body>a<", "body>b<")),
        "no revolute joint leads from its reference body 'b' to 'b'",
    ),
    "a gearbox across": (
        model(*THREE, GEAR),
        "joint 'g': its axis differs from that of joint 'j'; give both the same direction",
    ),
    "a leader that is none": (
        model(*THREE[:-1], joint("k", "a", "c", '<axis><xyz>0 0 1</xyz><mimic joint="a"/></axis>')),
        "'a' is not a joint with the element <axis>; name a declared joint",
    ),
    "an unknown axis": (
        model(
            *THREE[:-1],
            joint("k", "a", "c", '<axis><xyz>0 0 1</xyz><mimic joint="j" axis="z"/></axis>'),
        ),
        "'z' is not an axis; write axis or axis2",
    ),
    "an inertia to compute": (
        model(A, link("b", POSED, '<inertial auto="true"/>'), J),
        "is computed from its collisions (auto), wh",
    ),
    "an inertia elsewhere": (
        model(A, link("b", POSED, INERTIAL.replace("<pose>", '<pose relative_to="a">')), J),
        "remove relative_to",
    ),
    "a mass in words": (
        model(A, link("b", POSED, "<inertial><mass>heavy</mass></inertial>"), J),
        "r.sdf:3: link 'b': inertial: mass: 'heavy' is not a number; write a plain decimal",
    ),
    "a negative mass": (
        model(A, link("b", POSED, "<inertial><mass>-1</mass></inertial>"), J),
        "has the negative mass -1 kg",
    ),
    "damping in words": (
        model(A, B, joint("j", "a", "b", DRIVEN.replace(">3<", ">x<"))),
        "axis: dynamics: damping: 'x' is not a number",
    ),
    "negative damping": (
        model(A, B, joint("j", "a", "b", DRIVEN.replace(">3<", ">-3<"))),
        "its damping is negative; give zero or more",
    ),
    "some without gravity": (
        model(A, link("b", POSED + WEIGHTLESS), THIRD, J, joint("k", "b", "c")),
        "r.sdf:3: link 'b': gravity is off for this link but on for 'c';"
        " symgen has one gravity for all links; remove",
    ),
    "two roots": (
        model(A, B, THIRD, J),
        "r.sdf:4: link 'c': the links 'a', 'c' have no joint to a parent;"
        " in Gazebo each moves freely; use --base free, or connect all but one to a parent",
    ),
    "a root beside the world": (
        model(A, B, THIRD, J, joint("w", "world", "a", "", "fixed")),
        "r.sdf:4: link 'c': the link 'c' has no joint to a parent, while others are connected"
        " to the world; in Gazebo each moves freely; use --base free, or connect each to",
    ),
    "an element in another letter case": (
        model(A, B, J.replace("axis>", "Axis>")),
        "<Axis> is not known here; did you mean",
    ),
    "a misspelt inertial": (
        model(A, B.replace("inertial>", "inertail>"), J),
        "did you mean 'inertial'?",
    ),
    "a misspelt moment": (
        model(A, B.replace("ixx>", "lxx>"), J),
        "inertia: lxx: <lxx> is not known here; there are: ixx, ixy",
    ),
    "a misspelt pose": (
        model(A, link("b", "<pos>1 0 0 0 0 0</pos>"), J),
        "<pos> is not known here; did you mean 'pose'?",
    ),
    "a misspelt attribute": (
        model(A, link("b", '<pose relativ_to="a"/>'), J),
        "did you mean 'relative_to'?",
    ),
    "an attribute of a mass": (
        model(A, B.replace("<mass>", '<mass value="3">'), J),
        "the attribute 'value' is not known here",
    ),
    "a word of URDF": (
        model(A, link("b", '<origin xyz="1 0 0"/>'), J),
        "it is an element of URDF and of SDF before 1.4; write",
    ),
    "a drive outside an axis": (
        model(A, B, J.replace("<axis>", "<dynamics/><axis>")),
        "move it into the joint's <axis>",
    ),
    "a mass outside an inertial": (
        model(A, link("b", "<mass>1</mass>"), J),
        "move it into the link's <inertial>",
    ),
    "text in an axis": (
        model(A, B, J.replace("<axis>", "<axis>0 0 1")),
        "<axis> contains the text '0 0 1', but it takes only attributes",
    ),
    "a misspelt gravity": (
        world(model_text(model(A, B, J)), gravity="<gravty>0 0 0</gravty>"),
        "did you mean 'gravity'?",
    ),
    "a joint to another model": (
        world(
            model_text(model(A, B, J)), model_text(model(A, name="s")), joint("w", "s::a", "r::a")
        ),
        "r.sdf:10: joint 'w': it connects the model to another model, 's'; put both into one model",
    ),
    "xacro": (
        model(A, B, "<xacro:arm/>", J),
        "it contains xacro macros, which must be expanded first; run: xacro ",
    ),
    "macros in a number": (
        model(A, link("b", "<pose>${x} 0 0 0 0 0</pose>"), J),
        "'${x}' is not a number",
    ),
    "a file on the network": (
        model(A, B, J, "<include><uri>https://x.example/y</uri></include>"),
        "is a web address, and symgen downloads not",
    ),
    "a file that is not there": (
        model(A, B, J, "<include><uri>model://hand</uri></include>"),
        "r.sdf:5: include 'model://hand': the included file does not exist;"
        " put its folder beside this file, or give --package hand=FOLDER",
    ),
    "a changed include": (
        model(A, B, J, "<include><uri>x</uri><experimental:params/></include>"),
        "modifies the included model",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_faulty_sdf_is_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    text, message = REFUSED[case]
    path = tmp_path / "r.sdf"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SymgenError) as caught:
        load(path)
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_the_number_of_steps_between_frames_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains of relative frames would need more steps than allowed; the count stops early."""
    monkeypatch.setattr(frames, "MOST_STEPS", 2000)
    row = [
        f'<frame name="f{i}"><pose relative_to="f{i - 1}">0 0 0.1 0 0 0</pose></frame>'
        for i in range(1, 30)
    ]
    joints = [
        joint(f"j{i}", "a", f"b{i}", '<pose relative_to="f29"/><axis><xyz>0 0 1</xyz></axis>')
        for i in range(20)
    ]
    text = model(A, '<frame name="f0"/>', *row, *(link(f"b{i}") for i in range(20)), *joints)
    with pytest.raises(
        SymgenError,
        match=(
            "the poses between frames have more than 2000 steps up to here; make each frame"
            " relative to a"
        ),
    ):
        load(text)


def test_nesting_and_number_of_models_are_limited(tmp_path: Path) -> None:
    deep = "".join(f'<model name="m{i}">' for i in range(60)) + "</model>" * 60
    with pytest.raises(
        SymgenError, match="models are nested more than 50 deep; reduce the nesting"
    ):
        load(model(A, B, J, deep))
    many = world(*["<include><uri>hand.sdf</uri></include>"] * 210)
    (tmp_path / "hand.sdf").write_text(model(A, B, J), encoding="utf-8")
    (tmp_path / "r.sdf").write_text(many, encoding="utf-8")
    with pytest.raises(SymgenError, match="it has 200 models with joints"):
        load(tmp_path / "r.sdf")
