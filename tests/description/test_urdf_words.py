"""URDF: unknown names that change the robot are refused, others warned of; quaternions of 1.1."""

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


def urdf_text(
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
        urdf_text(in_joint='<Axis xyz="0 0 1"/>'),
        "<Axis> is not known here; did you mean 'axis'?",
    ),
    "a misspelt element": (
        urdf_text(in_joint='<orgin xyz="0 0 1"/>' + AXIS),
        "<orgin> is not known here; did you mean 'origin'",
    ),
    "a misspelt inertial": (
        urdf_text(INERTIAL.replace("inertial", "intertial")),
        "did you mean 'inertial'?",
    ),
    "an attribute of another format": (
        urdf_text(in_joint='<origin pos="0 0 1"/>' + AXIS),
        "there are: xyz, rpy, quat_xyzw",
    ),
    "a misspelt attribute": (
        urdf_text(INERTIAL.replace("value", "val")),
        "'val' is not known here; did you mean 'value'?",
    ),
    "an attribute's letter case": (
        urdf_text(in_joint='<origin XYZ="0 0 1"/>' + AXIS),
        "did you mean 'xyz'?",
    ),
    "a misspelt moment": (
        urdf_text(INERTIAL.replace('ixz="0"', 'ixz="0" iyx="1"')),
        "'iyx' is not known here",
    ),
    "a misspelt limit": (
        urdf_text(in_joint='<limit lowr="-1" upper="1"/>'),
        "did you mean 'lower'?",
    ),
    "a misspelt drive": (urdf_text(in_joint='<dynamics dampng="1"/>'), "did you mean 'damping'?"),
    "a misspelt coupling": (
        urdf_text(in_joint='<mimic joint="j" multipler="2"/>'),
        "did you mean 'multiplier'?",
    ),
    "an unknown coupling": (
        urdf_text(in_joint='<mimic joint="j" ratio="2"/>'),
        "there are: joint, multiplier, offset",
    ),
    "a misspelt end": (urdf_text().replace("<child link", "<child Link"), "did you mean 'link'?"),
    "a misspelt type": (urdf_text().replace(" type=", " typ="), "did you mean 'type'?"),
    "a misspelt link": (
        urdf_text(beside="<Link name='c'/>"),
        "<Link> is not known here; did you mean 'link'?",
    ),
    "mass outside inertial": (urdf_text("<mass value='1'/>"), "move it into the link's <inertial>"),
    "more in an inertial": (
        urdf_text(INERTIAL.replace("<mass", "<rho/><mass")),
        "there are: origin, mass, inertia",
    ),
    "an axis as an attribute": (
        urdf_text().replace(" type=", ' axis="0 0 1" type='),
        "write it as an element: <axis …/>",
    ),
    "a limit as an element": (
        urdf_text(in_joint="<limit><lower>1</lower></limit>"),
        "write it as an attribute: lower=",
    ),
    "a pose of SDF": (urdf_text(in_joint="<pose>0 0 1 0 0 0</pose>"), "write <origin xyz="),
    "a place at a joint": (
        urdf_text().replace(" type=", ' xyz="0 0 1" type='),
        "write <origin xyz=",
    ),
    "a mass at a link": (
        urdf_text().replace('<link name="b"', '<link name="b" mass="1"'),
        "move it into the link's <inertial>",
    ),
    "damping at a joint": (
        urdf_text().replace(" type=", ' damping="1" type='),
        "write <dynamics damping=",
    ),
    "text where attributes stand": (
        urdf_text(in_joint="<origin>0 0 1</origin>"),
        'write <origin xyz="…" rpy="…"',
    ),
    "a second inertial": (urdf_text(INERTIAL * 2), "<inertial> appears twice"),
    "a second origin": (urdf_text(in_joint=ORIGIN + "<origin/>" + AXIS), "<origin> appears twice"),
    "an unknown version": (
        urdf_text(root="<robot name='r' version='2.0'>"),
        "'2.0' is not a version of URDF (versions: 1.0, 1.1",
    ),
    "a version that is none": (
        urdf_text(root="<robot name='r' version='1.1.0'>"),
        "'1.1.0' is not a version of URDF",
    ),
    "a loop of URDF+": (
        urdf_text(beside="<loop name='l' type='revolute'/>"),
        "write the robot in TOML, where a [[loop]] closes",
    ),
    "a coupling of URDF+": (
        urdf_text(beside="<coupling name='k'/>"),
        "a <coupling> of URDF+ ties joints together",
    ),
    "a constraint of URDF+": (
        urdf_text(beside="<constraint name='k'/>"),
        "a <constraint> of URDF+ closes a kinematic loop",
    ),
    "a joint type of Drake": (
        urdf_text(beside="<drake:joint name='k' xmlns:drake='http://drake.mit.edu'/>"),
        "a joint type of Drake",
    ),
}


@pytest.mark.parametrize("case", CHANGES_THE_ROBOT)
def test_an_unknown_name_that_would_change_the_robot_is_refused(case: str) -> None:
    text, message = CHANGES_THE_ROBOT[case]
    assert message in refusal(text)


LEFT_OUT = {
    "an element of a plugin": (
        urdf_text(beside="<plugin file='x'/>"),
        "<plugin> in <robot> is not known in a URDF",
    ),
    "an element of a link": (
        urdf_text(INERTIAL + "<gravity>0</gravity>" * 2),
        "<gravity> in <link> is not known in a URDF",
    ),
    "an attribute of a joint": (
        urdf_text().replace(" type=", ' colour="red" type='),
        "the attribute 'colour' of <joint>",
    ),
    "another namespace": (
        urdf_text(beside="<q:thing xmlns:q='http://q'/>"),
        "<q:thing> in <robot> is not known",
    ),
    "text between elements": (urdf_text(INERTIAL + "/>"), "the text '/>' in <link> is not read"),
    "a call of an unknown macro": (
        urdf_text(beside="<xacro:imu topic='/imu'/>"),
        "<xacro:imu> calls a macro that the file does",
    ),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_one_warning_names_each_other_unknown_element(case: str) -> None:
    text, message = LEFT_OUT[case]
    messages = [
        warning for warning in warnings(load(text)) if "is not" in warning or "does not" in warning
    ]
    assert len(messages) == 1
    assert message in messages[0]
    assert message in refusal(text, strict=True)


def test_elements_that_symgen_ignores_give_no_warning() -> None:
    text = urdf_text(
        INERTIAL + "<visual/><collision/><contact><x/></contact>",
        ORIGIN
        + AXIS.replace("effort", "jerk='1' effort")
        + "<calibration/><safety_controller k_velocity='1'/><dynamics K='1' D='2'/>",
        "<gazebo><x/></gazebo><material name='m'/><transmission/><ros2_control/>",
    )
    assert not warnings(load(text, base="free"))


def test_the_built_in_robots_have_no_unknown_elements() -> None:
    for name in builtin_robots():
        assert not [warning for warning in warnings(load(name)) if "not known" in warning]


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
    text = urdf_text(
        WEIGHED.format(quat),
        f'<origin xyz="0 0.2 1" {quat}/>' + AXIS,
        root=f"<robot name='r' version='{version}'>",
    )
    mechanism, model = load(text), pinocchio.buildModelFromXML(text)
    frame = pose_matrix(mechanism.joints[0].pose)
    assert np.allclose(frame[:3, :3], model.jointPlacements[1].rotation, atol=1e-15)
    assert np.allclose(frame[:3, 3], model.jointPlacements[1].translation, atol=1e-15)
    force = pinocchio.rnea(model, model.createData(), *STATE)
    assert np.allclose(
        np.array(Reference(mechanism).inverse_dynamics(*STATE), dtype=float), force, rtol=1e-14
    )
    assert any(
        "quat_xyzw needs URDF version 1.1" in warning for warning in warnings(mechanism)
    ) == (version == "1.0")
    assert any("quat_xyzw is zero" in warning for warning in warnings(mechanism)) == (
        turn == "0 0 0 0" and version != "1.0"
    )


def test_a_quaternion_of_a_quarter_turn_in_sixteen_digits_is_exact() -> None:
    quat = '<origin quat_xyzw="0.7071067811865476 0 0 0.7071067811865475"/>'
    mechanism = load(urdf_text(in_joint=quat + AXIS, root="<robot name='r' version='1.1'>"))
    assert mechanism.joints[0].pose == (
        Rotate((Fraction(1), Fraction(1), Fraction(0), Fraction(0))),
    )
    assert "snap" in {note.kind for note in mechanism.notes}


@pytest.mark.parametrize(
    ("attributes", "message"),
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
def test_a_malformed_quaternion_is_refused(attributes: str, message: str) -> None:
    assert message in refusal(
        urdf_text(in_joint=f"<origin {attributes}/>" + AXIS, root="<robot name='r' version='1.1'>")
    )


@pytest.mark.parametrize("suffix", [".urdf", ".xacro"])
def test_undefined_macros_are_left_out_of_a_urdf_and_refused_in_xacro(
    suffix: str, tmp_path: Path
) -> None:
    """A .urdf may call unknown macros; a .xacro must define every macro that it calls."""
    pytest.importorskip("xacro")
    path = tmp_path / f"r{suffix}"
    head = "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>"
    macro = (
        "<xacro:macro name='seat' params='z'><link name='c'/>"
        "<joint name='k' type='fixed'><parent link='b'/><child link='c'/>"
    )
    path.write_text(
        urdf_text(
            beside=(
                f"{macro}<origin xyz='0 0 ${{z/2}}'/></joint></xacro:macro>"
                "<xacro:seat z='1'/><xacro:imu/>"
            ),
            root=head,
        ),
        encoding="utf-8",
    )
    if suffix == ".xacro":
        assert "unknown macro name: xacro:imu" in refusal(str(path))
        return
    mechanism = load(path)
    assert (
        pose_matrix(next(frame.pose for frame in mechanism.frames if frame.name == "c"))[2, 3]
        == 0.5
    )
    assert [
        warning
        for warning in warnings(mechanism)
        if "<xacro:imu> calls a macro that the file does not define" in warning
    ]
