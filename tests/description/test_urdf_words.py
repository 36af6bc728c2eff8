"""URDF: what is not read is refused where it would change the robot, and told elsewhere; quaternions of version 1.1."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symgen.description.loading import builtin_robots, load
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import Rotate
from tests.shared.descriptions import INERTIAL, joint, link, pose_matrix, robot

AXIS = '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
ORIGIN = '<origin xyz="0.3 0.1 0"/>'
WEIGHED = (
    '<inertial><origin xyz="0.3 0 0" {}/><mass value="2"/>'
    '<inertia ixx="0.01" ixy="0.001" ixz="0.002" iyy="0.05" iyz="0.003" izz="0.055"/></inertial>'
)

STATE = [np.array([entry]) for entry in (0.3, 0.7, -0.4)]


def described(
    in_link: str = INERTIAL,
    in_joint: str = ORIGIN + AXIS,
    beside: str = "",
    root: str = "<robot name='r'>",
) -> str:
    return (
        root
        + robot(
            link("a"), link("b", in_link), joint("j", "a", "b", inside=in_joint), beside
        ).partition(">")[2]
    )


def refusal(text: str, **options: Any) -> str:
    with pytest.raises(DescriptionError) as caught:
        load(text, **options)
    return str(caught.value)


def warnings(mechanism: Mechanism) -> list[str]:
    return [note.text for note in mechanism.notes if note.kind == "warning"]


CHANGES_THE_ROBOT = {
    "an element's letter case": (
        described(in_joint='<Axis xyz="0 0 1"/>'),
        "<Axis> is not known here; did you mean 'axis'?",
    ),
    "a misspelt element": (
        described(in_joint='<orgin xyz="0 0 1"/>' + AXIS),
        "<orgin> is not known here; did you mean 'origin'",
    ),
    "a misspelt inertial": (
        described(INERTIAL.replace("inertial", "intertial")),
        "did you mean 'inertial'?",
    ),
    "an attribute of another format": (
        described(in_joint='<origin pos="0 0 1"/>' + AXIS),
        "there are: xyz, rpy, quat_xyzw",
    ),
    "a misspelt attribute": (
        described(INERTIAL.replace("value", "val")),
        "'val' is not known here; did you mean 'value'?",
    ),
    "an attribute's letter case": (
        described(in_joint='<origin XYZ="0 0 1"/>' + AXIS),
        "did you mean 'xyz'?",
    ),
    "a misspelt moment": (
        described(INERTIAL.replace('ixz="0"', 'ixz="0" iyx="1"')),
        "'iyx' is not known here",
    ),
    "a misspelt limit": (
        described(in_joint='<limit lowr="-1" upper="1"/>'),
        "did you mean 'lower'?",
    ),
    "a misspelt drive": (described(in_joint='<dynamics dampng="1"/>'), "did you mean 'damping'?"),
    "a misspelt coupling": (
        described(in_joint='<mimic joint="j" multipler="2"/>'),
        "did you mean 'multiplier'?",
    ),
    "an unknown coupling": (
        described(in_joint='<mimic joint="j" ratio="2"/>'),
        "there are: joint, multiplier, offset",
    ),
    "a misspelt end": (described().replace("<child link", "<child Link"), "did you mean 'link'?"),
    "a misspelt type": (described().replace(" type=", " typ="), "did you mean 'type'?"),
    "a misspelt link": (
        described(beside="<Link name='c'/>"),
        "<Link> is not known here; did you mean 'link'?",
    ),
    "mass outside inertial": (described("<mass value='1'/>"), "move it into the link's <inertial>"),
    "more in an inertial": (
        described(INERTIAL.replace("<mass", "<rho/><mass")),
        "there are: origin, mass, inertia",
    ),
    "an axis as an attribute": (
        described().replace(" type=", ' axis="0 0 1" type='),
        "write it as an element: <axis …/>",
    ),
    "a limit as an element": (
        described(in_joint="<limit><lower>1</lower></limit>"),
        "write it as an attribute: lower=",
    ),
    "a pose of SDF": (described(in_joint="<pose>0 0 1 0 0 0</pose>"), "write <origin xyz="),
    "a place at a joint": (
        described().replace(" type=", ' xyz="0 0 1" type='),
        "write <origin xyz=",
    ),
    "a mass at a link": (
        described().replace('<link name="b"', '<link name="b" mass="1"'),
        "move it into the link's <inertial>",
    ),
    "damping at a joint": (
        described().replace(" type=", ' damping="1" type='),
        "write <dynamics damping=",
    ),
    "text where attributes stand": (
        described(in_joint="<origin>0 0 1</origin>"),
        'write <origin xyz="…" rpy="…"',
    ),
    "a second inertial": (described(INERTIAL * 2), "<inertial> appears twice"),
    "a second origin": (described(in_joint=ORIGIN + "<origin/>" + AXIS), "<origin> appears twice"),
    "an unknown version": (
        described(root="<robot name='r' version='2.0'>"),
        "'2.0' is not a version of URDF (versions: 1.0, 1.1",
    ),
    "a version that is none": (
        described(root="<robot name='r' version='1.1.0'>"),
        "'1.1.0' is not a version of URDF",
    ),
    "a loop of URDF+": (
        described(beside="<loop name='l' type='revolute'/>"),
        "write the robot in TOML, where a [[loop]] closes",
    ),
    "a coupling of URDF+": (
        described(beside="<coupling name='k'/>"),
        "a <coupling> of URDF+ ties joints together",
    ),
    "a constraint of URDF+": (
        described(beside="<constraint name='k'/>"),
        "a <constraint> of URDF+ closes a kinematic loop",
    ),
    "a joint type of Drake": (
        described(beside="<drake:joint name='k' xmlns:drake='http://drake.mit.edu'/>"),
        "a joint type of Drake",
    ),
}


@pytest.mark.parametrize("case", CHANGES_THE_ROBOT)
def test_an_unknown_name_that_would_change_the_robot_is_refused(case: str) -> None:
    text, says = CHANGES_THE_ROBOT[case]
    assert says in refusal(text)


LEFT_OUT = {
    "an element of a plugin": (
        described(beside="<plugin file='x'/>"),
        "<plugin> in <robot> is not known in a URDF",
    ),
    "an element of a link": (
        described(INERTIAL + "<gravity>0</gravity>" * 2),
        "<gravity> in <link> is not known in a URDF",
    ),
    "an attribute of a joint": (
        described().replace(" type=", ' colour="red" type='),
        "the attribute 'colour' of <joint>",
    ),
    "another namespace": (
        described(beside="<q:thing xmlns:q='http://q'/>"),
        "<q:thing> in <robot> is not known",
    ),
    "text between elements": (described(INERTIAL + "/>"), "the text '/>' in <link> is not read"),
    "a call of an unknown macro": (
        described(beside="<xacro:imu topic='/imu'/>"),
        "<xacro:imu> calls a macro that the file does",
    ),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_what_else_is_not_read_is_told_once(case: str) -> None:
    text, says = LEFT_OUT[case]
    told = [one for one in warnings(load(text)) if "is not" in one or "does not" in one]
    assert len(told) == 1
    assert says in told[0]
    assert says in refusal(text, strict=True)


def test_what_is_passed_over_is_silent() -> None:
    text = described(
        INERTIAL + "<visual/><collision/><contact><x/></contact>",
        ORIGIN
        + AXIS.replace("effort", "jerk='1' effort")
        + "<calibration/><safety_controller k_velocity='1'/><dynamics K='1' D='2'/>",
        "<gazebo><x/></gazebo><material name='m'/><transmission/><ros2_control/>",
    )
    assert not warnings(load(text, base="free"))


def test_the_built_in_robots_are_read_as_before() -> None:
    for name in builtin_robots():
        assert not [one for one in warnings(load(name)) if "not known" in one]


@pytest.mark.parametrize(
    "turn",
    [
        "1 0 0 1",
        "2 0 0 2",
        "0.1 0.2 0.3 0.9",
        "1e-9 0 0 -3e-9",
        "0 0 0 0",
        "0 0 0 -2",
        "0.7071067811865476 0 0 0.7071067811865476",
    ],
)
@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_quaternions_are_read_as_pinocchio_reads_them(turn: str, version: str) -> None:
    pinocchio = pytest.importorskip("pinocchio")
    quat = f'quat_xyzw="{turn}"'
    text = described(
        WEIGHED.format(quat),
        f'<origin xyz="0 0.2 1" {quat}/>' + AXIS,
        root=f"<robot name='r' version='{version}'>",
    )
    read, model = load(text), pinocchio.buildModelFromXML(text)
    frame = pose_matrix(read.joints[0].pose)
    assert np.allclose(frame[:3, :3], model.jointPlacements[1].rotation, atol=1e-15)
    assert np.allclose(frame[:3, 3], model.jointPlacements[1].translation, atol=1e-15)
    force = pinocchio.rnea(model, model.createData(), *STATE)
    assert np.allclose(
        np.array(Reference(read).inverse_dynamics(*STATE), dtype=float), force, rtol=1e-14
    )
    assert any("quat_xyzw needs URDF version 1.1" in one for one in warnings(read)) == (
        version == "1.0"
    )
    assert any("quat_xyzw is zero" in one for one in warnings(read)) == (
        turn == "0 0 0 0" and version != "1.0"
    )


def test_a_quarter_turn_in_sixteen_digits_is_exact() -> None:
    quat = '<origin quat_xyzw="0.7071067811865476 0 0 0.7071067811865475"/>'
    read = load(described(in_joint=quat + AXIS, root="<robot name='r' version='1.1'>"))
    assert read.joints[0].pose == (Rotate((Fraction(1), Fraction(1), Fraction(0), Fraction(0))),)
    assert "snap" in {note.kind for note in read.notes}


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        (
            'rpy="0 0 0" quat_xyzw="0 0 0 1"',
            "it has both rpy and quat_xyzw; keep one of the two",
        ),
        ('quat_xyzw="0 0 1"', "quat_xyzw has 3 numbers"),
        ('quat_xyzw="0,0,0,1"', "has commas; write four numbers"),
        ('quat_xyzw="0 0 0 nan"', "'nan' is not a number"),
    ],
)
def test_a_malformed_quaternion_is_refused(attributes: str, says: str) -> None:
    assert says in refusal(
        described(in_joint=f"<origin {attributes}/>" + AXIS, root="<robot name='r' version='1.1'>")
    )


@pytest.mark.parametrize("suffix", [".urdf", ".xacro"])
def test_calls_of_macros_that_a_finished_file_does_not_define_are_left_out(
    suffix: str, tmp_path: Path
) -> None:
    """The macros that it defines are expanded. A file of macros must define all that it calls."""
    pytest.importorskip("xacro")
    path = tmp_path / f"r{suffix}"
    head = "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>"
    macro = "<xacro:macro name='seat' params='z'><link name='c'/><joint name='k' type='fixed'><parent link='b'/><child link='c'/>"
    path.write_text(
        described(
            beside=f"{macro}<origin xyz='0 0 ${{z/2}}'/></joint></xacro:macro><xacro:seat z='1'/><xacro:imu/>",
            root=head,
        ),
        encoding="utf-8",
    )
    if suffix == ".xacro":
        assert "unknown macro name: xacro:imu" in refusal(str(path))
        return
    read = load(path)
    assert pose_matrix(next(frame.pose for frame in read.frames if frame.name == "c"))[2, 3] == 0.5
    assert [
        one
        for one in warnings(read)
        if "<xacro:imu> calls a macro that the file does not define" in one
    ]
