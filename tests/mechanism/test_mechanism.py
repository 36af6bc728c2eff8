"""The declared robot: validation, slices, names, ranges, look-up, hash and table."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from symgen.mechanism.closed_loops import End, Loop
from symgen.mechanism.drives import EVERY, NO_DRIVE, NONE, Drive, selected_kinds, speed_fault
from symgen.mechanism.mechanism import (
    BASE,
    Body,
    Frame,
    Joint,
    Limits,
    Mechanism,
    Mimic,
    Note,
    Part,
    first_and_count,
)
from symgen.support.errors import ArgumentError, MechanismError, UnknownName
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, Shift

F = Fraction
HINGE = Joint("hinge", "revolute", BASE)
BALL = Joint("ball", "spherical", 0)
SLIDE = Joint("slide", "prismatic", 1, axis=X_AXIS)
FOLLOWER = Joint("follower", "prismatic", 1, mimic=Mimic("slide", F(-2), F(1)))
FREE = Joint("free", "free", BASE)
JOINTS = (HINGE, BALL, SLIDE, FOLLOWER, FREE)


def robot(*joints: Joint, **changes: Any) -> Mechanism:
    joints = joints or JOINTS
    bodies = tuple(
        Body(f"{joint.name}_link", (Part(f"{joint.name}_link", (), F(k + 1)),))
        for k, joint in enumerate(joints)
    )
    frames = tuple(Frame(body.name, k) for k, body in enumerate(bodies))
    return replace(Mechanism("robot", joints, bodies, (Frame("base", BASE), *frames)), **changes)


COUPLED = robot(coupled=True)


# -- entries of q and v ----------------------------------------------------------------------------


def test_joints_have_consecutive_entries_of_q_and_v() -> None:
    tree = robot()
    sizes = {"hinge": (1, 1), "ball": (4, 3), "slide": (1, 1), "follower": (1, 1), "free": (7, 6)}
    assert (tree.nq, tree.nv) == (14, 12)
    q = v = 0
    for name, (nq, nv) in sizes.items():
        assert tree.slices(name) == (slice(q, q + nq), slice(v, v + nv))
        q, v = q + nq, v + nv
    assert [first_and_count(entries) for entries in tree.slices("ball")] == [[1, 4], [1, 3]]
    assert tree.quaternions == (1, 10)
    assert tree.dofs[:6] == ((0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (3, 0))
    assert len(tree.dofs) == tree.nv
    assert tree.sizes[:3] == (14, 12, 5)
    assert tree.sizes.NP == 50  # ten inertial parameters of each body


def test_a_follower_has_no_entries_of_its_own() -> None:
    assert (COUPLED.nq, COUPLED.nv) == (13, 11)
    assert COUPLED.q_slices[3] == slice(6, 6)
    assert COUPLED.slices("free") == (slice(6, 13), slice(5, 11))
    assert COUPLED.leading == (HINGE, BALL, SLIDE, FREE)
    assert [coupling is not None for coupling in COUPLED.joint_couplings] == [
        joint is FOLLOWER for joint in JOINTS
    ]
    assert COUPLED.velocities_of["follower"] == ()
    assert COUPLED.uncoupled.nq == 14
    assert robot().uncoupled.nq == 14
    with pytest.raises(ArgumentError, match=r"use those of its leader 'slide'$"):
        COUPLED.slices("follower")


def test_entries_of_joints_with_several_have_the_names_of_their_coordinates() -> None:
    tree = robot()
    assert tree.coordinate_names[:6] == ("hinge", "ball.x", "ball.y", "ball.z", "ball.w", "slide")
    assert tree.velocity_names[:5] == ("hinge", "ball.wx", "ball.wy", "ball.wz", "slide")
    assert tree.velocities_of["ball"] == (1, 2, 3)
    assert tree.velocities_of["ball.wy"] == (2,)
    assert tree.velocities_of["slide"] == (4,)
    assert len(tree.coordinate_names) == tree.nq
    two = robot(Joint("tube", "cylindrical", BASE))
    assert two.coordinate_names == two.velocity_names == ("tube.angle", "tube.distance")


def test_the_start_has_declared_and_neutral_coordinates() -> None:
    loop = Loop("loop", "point", End(2), End(4))
    tree = robot(loops=(loop,), start=(("slide", (F(3),)), ("hinge", (F(2),))))
    neutral_of_free = (0, 0, 0, 0, 0, 0, 1)
    assert tree.start_position == (2, 0, 0, 0, 1, 3, 0, *neutral_of_free)


# -- the tree --------------------------------------------------------------------------------------


def test_children_paths_and_names_follow_the_tree() -> None:
    tree = robot()
    assert tree.parents == (BASE, 0, 1, 1, BASE)
    assert tree.children(BASE) == (0, 4)
    assert tree.children(1) == (2, 3)
    assert tree.children(4) == ()
    assert tree.longest == 3
    assert tree.body_names[BASE] == "base"
    assert tree.body_names[1] == "ball_link"
    assert tree.mass == 1 + 2 + 3 + 4 + 5


def test_joints_frames_and_contacts_are_looked_up_by_name() -> None:
    tree = robot()
    assert tree.joint_index("slide") == 2
    assert tree.frame("ball_link").body == 1
    with pytest.raises(UnknownName, match="no joint is named 'slid'; did you mean 'slide'"):
        tree.joint_index("slid")
    with pytest.raises(UnknownName, match="no link is named 'bal_link'; did you mean 'ball_link'"):
        tree.frame("bal_link")
    assert tree.contact("ball_link").pose == ()
    shift = Shift((F(1), F(2), F(1, 2)))
    assert tree.contact("ball_link:1,2,0.5") == Frame("ball_link:1,2,0.5", 1, (shift,))


# -- faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("joints", "fault"),
    [
        (
            (replace(HINGE, parent=-2),),
            "joint 'hinge' has parent -2; parents must precede children",
        ),
        ((replace(HINGE, parent=0),), "joint 'hinge' has parent 0"),
        ((HINGE, replace(BALL, parent=1)), "joint 'ball' has parent 1"),
        ((replace(HINGE, axis=(F(0),) * 3),), "joint 'hinge' has a zero axis"),
        ((replace(FREE, axis=X_AXIS),), "joint 'free' is free, which has no axis"),
        ((HINGE, replace(BALL, name="hinge")), "joint name 'hinge' is used twice"),
        ((replace(HINGE, kind="helical"),), "declares no parameters; its type takes pitch"),
        ((replace(HINGE, parameters=(("pitch", F(1)),)),), "declares pitch; its type takes none"),
        (
            (replace(HINGE, kind="helical", parameters=(("pitch", F(0)),)),),
            "has a parameter of zero",
        ),
        ((replace(HINGE, drive=Drive(damping=F(-1))),), "joint 'hinge': its damping is negative"),
    ],
)
def test_a_faulty_joint_is_refused_by_name(joints: tuple[Joint, ...], fault: str) -> None:
    with pytest.raises(MechanismError, match=re.escape(fault)):
        robot(*joints)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"joints": JOINTS[:4]}, "4 joints but 5 bodies; declare one body per joint"),
        ({"joints": (), "bodies": ()}, "no joint moves"),
        ({"frames": (Frame("f", 5),)}, "frame 'f' is fixed to body 5, which does not exist"),
        ({"frames": (Frame("f", -2),)}, "frame 'f' is fixed to body -2"),
        ({"frames": (Frame("f", 4), Frame("f", 0))}, "frame name 'f' is used twice"),
        ({"joints": (*JOINTS[:3], SLIDE, FREE), "coupled": True}, "joint name 'slide'"),
        (
            {"joints": (*JOINTS[:3], replace(SLIDE, name="s"), FREE), "coupled": True},
            "no joint mimics another",
        ),
        (
            {
                "joints": (replace(HINGE, drive=Drive(friction=F(1))), *JOINTS[1:]),
                "friction_speed": F(0),
            },
            "the friction speed is 0; give 1e-09 to 1e+09",
        ),
        ({"loops": (Loop("l", "point", End(0), End(5)),)}, "a body that does not exist"),
        ({"start": (("hinge", (F(0),)),)}, "no closed loop"),
        ({"independent": ("hinge",)}, "independent joints are declared"),
        ({"actuated": ("hinge",)}, "actuated joints are declared"),
    ],
)
def test_a_faulty_mechanism_is_refused_with_the_reason(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(MechanismError, match=f"^robot: .*{re.escape(fault)}"):
        robot(**changes)


def test_masses_are_zero_or_more() -> None:
    massless = robot(HINGE, bodies=(Body("b", (Part("p", (), F(0)),)),))
    assert massless.mass == 0
    with pytest.raises(MechanismError, match="link 'p' has a negative mass"):
        replace(massless, bodies=(Body("b", (Part("p", (), F(-1, 10**9)),)),))
    assert robot(friction_speed=F(0)).nq == 14  # without friction its speed has no effect


# -- ranges ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lower", "upper", "text"),
    [
        (None, None, ""),
        (F(-1, 2), None, "-0.5 … ∞"),
        (None, F(2), "−∞ … 2"),
        (F(0), F(1), "0 … 1"),
    ],
)
def test_a_range_is_printed_with_infinity_at_a_missing_end(
    lower: Fraction | None, upper: Fraction | None, text: str
) -> None:
    assert Limits(lower, upper).text == text


def test_the_range_of_a_leader_is_what_its_followers_leave() -> None:
    """The follower moves by 1 - 2 q: from -3 to 5 for q from -2 to 2, at twice the speed."""
    slide = replace(SLIDE, limits=Limits(F(-5), F(1), velocity=F(3)))
    follower = replace(FOLLOWER, limits=Limits(F(-3), F(5), velocity=F(4)))
    tree = robot(HINGE, BALL, slide, follower, FREE, coupled=True)
    assert tree.ranges[2] == Limits(F(-2), F(1), velocity=F(2))
    assert tree.ranges[3] == follower.limits
    assert tree.ranges[0] == Limits()
    without = robot(HINGE, BALL, replace(slide, limits=Limits()), FOLLOWER, FREE, coupled=True)
    assert without.ranges[2] == Limits()
    assert robot(HINGE, BALL, slide, follower, FREE).ranges[2] == slide.limits


# -- drives ----------------------------------------------------------------------------------------


def test_drives_and_gravity_compensation_are_removed() -> None:
    drive = Drive(F(1), F(2), F(3), F(4), F(5))
    driven = robot(replace(HINGE, drive=drive), friction_speed=F(1, 5))
    assert driven.without_drives.joints[0].drive == NO_DRIVE
    assert driven.without_drives == robot(HINGE)
    part = Part("p", (), F(1), gravcomp=F(1, 2))
    compensated = replace(driven, bodies=(Body("b", (part, replace(part, gravcomp=F(0)))),))
    assert compensated.compensated_parts == (part,)
    assert compensated.without_gravity_compensation.compensated_parts == ()
    assert compensated.without_gravity_compensation.joints[0].drive == drive
    assert compensated.without_drives.compensated_parts == ()
    plain = robot(HINGE)
    assert plain.without_drives is plain
    assert plain.without_gravity_compensation is plain
    only_compensated = replace(compensated, joints=(HINGE,))
    assert only_compensated.without_drives.compensated_parts == ()


def test_a_drive_of_several_velocities_has_their_largest_values() -> None:
    drive = Drive.of_velocities({"damping": (F(1), F(3), F(2)), "friction": (F(0), F(0), F(0))})
    assert (drive.damping, drive.friction, drive.armature) == (3, 0, 0)
    assert [drive.at(k).damping for k in range(3)] == [1, 3, 2]
    assert drive.numbers("damping") == (1, 3, 2)
    assert drive.numbers("friction") == (0,)
    uniform = Drive.of_velocities({"damping": (F(2), F(2))})
    assert uniform == Drive(damping=F(2))
    assert uniform.at(1) == uniform
    assert uniform.numbers("damping") == (2,)


def test_a_drive_is_restricted_to_kinds() -> None:
    drive = Drive(F(1), F(2), F(3), F(4), F(5))
    assert drive.only(("damping",)) == Drive(damping=F(2))
    assert drive.only(("stiffness", "friction")) == Drive(friction=F(3), stiffness=F(4), rest=F(5))
    assert drive.only(()) == NO_DRIVE
    assert drive.declared == (
        ("armature", 1),
        ("damping", 2),
        ("friction", 3),
        ("stiffness", 4),
        ("rest", 5),
    )
    assert Drive(rest=F(1)).declared == (("rest", 1),)
    several = Drive.of_velocities({"damping": (F(1), F(3)), "friction": (F(2), F(2))})
    assert several.only(("damping",)).each == (Drive(damping=F(1)), Drive(damping=F(3)))
    assert several.only(("friction",)) == Drive(friction=F(2))
    assert bool(drive)
    assert not NO_DRIVE


@pytest.mark.parametrize(
    ("drive", "sizes", "fault"),
    [
        (NO_DRIVE, (4, 3), None),
        (Drive(stiffness=F(1)), (1, 1), None),
        (Drive(stiffness=F(1)), (2, 2), "it has a spring and 2 coordinates"),
        (Drive(rest=F(-1)), (1, 1), None),
        (Drive(armature=F(-1)), (1, 1), "its armature is negative"),
        (Drive(each=(Drive(damping=F(1)), NO_DRIVE)), (3, 3), "its drive has 2 values for 3"),
        (Drive(each=(Drive(damping=F(1)), NO_DRIVE)), (2, 2), None),
        (Drive(each=(Drive(damping=F(-1)), NO_DRIVE)), (2, 2), "its damping is negative"),
    ],
)
def test_a_fault_of_a_drive_is_stated(
    drive: Drive, sizes: tuple[int, int], fault: str | None
) -> None:
    declared_fault = drive.fault(*sizes)
    assert (declared_fault is None) == (fault is None)
    if declared_fault is not None and fault is not None:
        assert declared_fault[0].startswith(fault)


def test_friction_speeds_are_representable_and_a_thousandth_by_default() -> None:
    billion = F(10**9)
    assert [speed_fault(x) is None for x in (1 / billion, billion, F(1))] == [True] * 3
    for speed in (1 / billion / 2, billion * 2, F(0)):
        assert speed_fault(speed) is not None
    assert robot().friction_speed == F(1, 1000)


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (None, None),
        ("on", EVERY),
        ("off", NONE),
        ("damping, rest of", "refused"),
        ("damping , armature", {"damping", "armature"}),
        (["gravcomp"], {"gravcomp"}),
        (["on"], "refused"),
    ],
)
def test_drives_are_selected_by_words(words: Any, kinds: Any) -> None:
    if kinds == "refused":
        with pytest.raises(ArgumentError, match="give 'on', 'off' or a list of armature, damping"):
            selected_kinds(words)
    else:
        assert selected_kinds(words) == kinds


# -- hash and text ---------------------------------------------------------------------------------


def test_the_hash_depends_on_the_declaration_and_not_on_its_source() -> None:
    tree = robot()
    noted = replace(tree, notes=(Note("info", "x"),), source="a.urdf", source_sha256="ab")
    assert noted.content == tree.content
    assert hash(noted) == hash(tree)
    assert copy.copy(noted).content == tree.content
    withheld = replace(tree, joints=(replace(HINGE, withheld=Drive(F(1))), *JOINTS[1:]))
    assert withheld.content == tree.content
    loops = (Loop("loop", "point", End(2), End(4)),)
    changed = [
        tree,
        replace(tree, gravity=Z_AXIS),
        COUPLED,
        replace(tree, joints=(replace(HINGE, drive=Drive(F(1))), *JOINTS[1:])),
        replace(tree, loops=loops),
        replace(tree, loops=loops, independent=("hinge",)),
        replace(tree, loops=loops, actuated=("hinge",)),
        replace(tree, loops=loops, start=(("hinge", (F(1),)),)),
    ]
    assert len({mechanism.content for mechanism in changed}) == len(changed)


def test_values_computed_before_are_not_pickled() -> None:
    tree = robot()
    assert tree.content
    assert "content" in vars(tree)
    assert "content" not in tree.__getstate__()
    assert tree.__getstate__()["joints"] == JOINTS


def test_a_joint_is_described_with_its_parameters() -> None:
    screw = Joint("s", "helical", BASE, parameters=(("pitch", F(1, 4)),))
    assert screw.described == "helical, pitch 0.25"
    assert HINGE.described == "revolute"
    assert len(screw.about_axis) == 2
    assert FREE.about_axis == ()
    assert repr(HINGE).endswith("on the base>")
    assert repr(BALL).endswith("on body 0>")


def test_a_table_indents_the_joints_of_branches() -> None:
    chain = robot(HINGE, BALL)
    assert "\u2003" not in chain._repr_html_()
    rows = re.findall(r"<tr>.*?</tr>", COUPLED._repr_html_())
    names = [re.findall(r"<td[^>]*>(.*?)</td>", row)[1] for row in rows if "<td" in row]
    # two joints on the base, and two on the second body, are branches
    assert [name.count("\u2003") for name in names] == [1, 1, 2, 2, 1]
    styles = re.findall(r"text-align:(\w+)\"[^>]*>", rows[0])
    # the number of the joint and its mass are numbers
    assert styles == ["right", "left", "left", "left", "left", "right", "left"]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows if "<td" in row]
    assert cells[3][0] == "3"
    assert cells[3][3:] == ["ball_link", "follower_link", "4", "= -2*slide + 1"]
    assert cells[0][3:] == ["base", "hinge_link", "1", ""]
    assert "robot: 5 joints, 15 kg moving, gravity (0, 0, -9.81) m/s²" in COUPLED._repr_html_()
    assert "1 joint, 1 kg moving" in robot(HINGE)._repr_html_()


def test_a_table_lists_warnings_below() -> None:
    notes = (Note("warning", "take care"), Note("info", "a remark"))
    html = robot(HINGE, notes=notes)._repr_html_()
    assert "<p>warning: take care</p>" in html
    assert "a remark" not in html
