"""Elements and remarks of written MJCF and URDF, for robots of a few joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any
from xml.etree import ElementTree

import pytest

from symgen.description.writers import Written, mjcf, toml, urdf
from symgen.mechanism.closed_loops import End, Loop
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import (
    BASE,
    Body,
    Frame,
    Joint,
    Limits,
    Mechanism,
    Mimic,
    Part,
)
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Angle, Shift, Turn

F = Fraction
SOLID = (F(2), F(0), F(0), F(3), F(0), F(4))
HALF = (Shift((F(0), F(0), F(1, 2))),)
TURNED = (Turn(X_AXIS, Angle(pi=F(1, 2))),)


def hinge(name: str, parent: int = BASE, **changes: Any) -> Joint:
    return Joint(name, **{"kind": "revolute", "parent": parent, **changes})


def robot(joints: Sequence[Joint], **changes: Any) -> Mechanism:
    """Return a robot whose links have mass, with the frames of the bodies."""
    names = [f"{joint.name}_link" for joint in joints]
    bodies = tuple(Body(name, (Part(name, HALF, F(1), SOLID),)) for name in names)
    frames = (Frame("base", BASE), *(Frame(name, k) for k, name in enumerate(names)))
    return replace(Mechanism("robot", tuple(joints), bodies, frames), **changes)


def parsed(written: Written) -> ElementTree.Element:
    return ElementTree.fromstring(written.text.partition("?>")[2])


def elements(written: Written, tag: str) -> list[dict[str, str]]:
    return [element.attrib for element in parsed(written).iter(tag)]


def in_mjcf(joint: Joint) -> dict[str, str]:
    (attributes,) = elements(mjcf.write(robot([joint])), "joint")
    return attributes


def in_urdf(joint: Joint, tag: str) -> list[dict[str, str]]:
    return elements(urdf.write(robot([joint])), tag)


# -- limits ----------------------------------------------------------------------------------------

REMARK_ON_RANGES = "the range of j is left out, since MuJoCo has no such range"


@pytest.mark.parametrize(
    ("kind", "lower", "upper", "range_"),
    [
        ("revolute", -1, 2, "-1 2"),
        ("prismatic", 0, 1, "0 1"),
        ("revolute", None, 2, None),
        ("revolute", -1, None, None),
        ("revolute", 2, -1, None),
        ("revolute", 1, 1, None),
        ("continuous", -1, 2, None),
    ],
)
def test_mjcf_has_a_range_if_both_ends_are_in_order(
    kind: str, lower: int | None, upper: int | None, range_: str | None
) -> None:
    ends = (None if end is None else F(end) for end in (lower, upper))
    joint = hinge("j", kind=kind, limits=Limits(*ends))
    assert in_mjcf(joint).get("range") == range_
    remarks = mjcf.write(robot([joint])).left_out
    assert any(remark.startswith(REMARK_ON_RANGES) for remark in remarks) == (range_ is None)
    assert not any(
        remark.startswith(REMARK_ON_RANGES) for remark in mjcf.write(robot([hinge("j")])).left_out
    )


def test_mjcf_has_a_positive_effort_as_a_range_of_forces_and_no_velocity_limit() -> None:
    joint = hinge("j", limits=Limits(effort=F(1, 2)))
    assert in_mjcf(joint)["actuatorfrcrange"] == "-0.5 0.5"
    assert mjcf.write(robot([joint])).left_out == ()
    for effort in (F(0), F(-1)):
        joint = hinge("j", limits=Limits(effort=effort, velocity=F(1)))
        assert "actuatorfrcrange" not in in_mjcf(joint)
        assert mjcf.write(robot([joint])).left_out == (
            "the velocity limit of j is left out",
            "the effort limit of j is left out, since MuJoCo requires a positive one",
        )


def test_urdf_has_the_limits_that_its_joint_types_require() -> None:
    (limit,) = in_urdf(hinge("j", limits=Limits(F(-1), F(2), F(3), F(4))), "limit")
    assert limit == {"lower": "-1", "upper": "2", "effort": "4", "velocity": "3"}
    (limit,) = in_urdf(hinge("j", limits=Limits(lower=F(-1))), "limit")
    assert limit == {"lower": "-1", "upper": "1e308", "effort": "1e308", "velocity": "1e308"}
    (limit,) = in_urdf(hinge("j", kind="prismatic"), "limit")
    assert limit["lower"] == "-1e308"
    (limit,) = in_urdf(hinge("j", kind="continuous", limits=Limits(effort=F(4))), "limit")
    assert limit == {"effort": "4", "velocity": "1e308"}
    assert in_urdf(hinge("j", kind="continuous"), "limit") == []
    assert in_urdf(hinge("j", kind="free", limits=Limits(effort=F(4))), "limit") == []


def test_urdf_says_which_limits_and_types_it_changes() -> None:
    boundless = urdf.write(robot([hinge("j"), hinge("k", 0, limits=Limits(upper=F(1)))]))
    assert boundless.left_out == ("the type of j becomes continuous, since there is no range",)
    kinds = [joint["type"] for joint in elements(boundless, "joint") if "type" in joint]
    assert kinds == ["continuous", "revolute"]
    free = robot([hinge("j", kind="free", limits=Limits(effort=F(4))), hinge("k", kind="planar")])
    assert urdf.write(free).left_out == (
        "the limits of j are left out, since these joints have several coordinates",
    )
    assert [joint["type"] for joint in elements(urdf.write(free), "joint")] == [
        "floating",
        "planar",
    ]
    assert [axis["xyz"] for axis in elements(urdf.write(free), "axis")] == ["0 0 1"]


# -- joints of several coordinates -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "parent", "names", "types", "axes"),
    [
        ("revolute", BASE, ["j"], ["hinge"], ["0 1 0"]),
        ("prismatic", BASE, ["j"], ["slide"], ["0 1 0"]),
        ("cylindrical", BASE, ["j_angle", "j_distance"], ["hinge", "slide"], ["0 1 0"] * 2),
        (
            "planar",
            BASE,
            ["j_x", "j_y", "j_angle"],
            ["slide", "slide", "hinge"],
            ["1 0 0", "0 1 0", "0 0 1"],
        ),
        ("spherical", BASE, ["j"], ["ball"], [None]),
        ("free", BASE, ["j"], ["free"], [None]),
        (
            "free",
            0,
            ["j_px", "j_py", "j_pz", "j_turn"],
            ["slide"] * 3 + ["ball"],
            ["1 0 0", "0 1 0", "0 0 1", None],
        ),
    ],
)
def test_mjcf_has_a_joint_for_each_elementary_motion(
    kind: str, parent: int, names: list[str], types: list[str], axes: list[str | None]
) -> None:
    joint = hinge("j", parent, kind=kind)
    if joint.type.directed:
        joint = replace(joint, axis=Y_AXIS)
    joints = [joint] if parent == BASE else [hinge("first"), joint]
    written = mjcf.write(robot(joints))
    attributes = elements(written, "joint")[parent - BASE :]
    assert [joint["name"] for joint in attributes] == names
    assert [joint["type"] for joint in attributes] == types
    assert [joint.get("axis") for joint in attributes] == axes
    remarks = []
    if len(names) > 1:
        remarks.append(
            "several joints of one body, each with the name of its coordinate, replace j"
        )
    if kind in ("planar", "free") and len(names) > 1:
        remarks.append(
            "the velocities of j are along the axes of its frame, not along those of the body"
        )
    assert written.left_out == tuple(remarks)


def test_a_free_joint_that_is_displaced_has_coordinates_of_the_world() -> None:
    remark = (
        "the position and the quaternion of j are relative to the world, not to the frame of the"
        " joint"
    )
    for pose, remarks in (((), ()), (HALF, (remark,))):
        assert mjcf.write(robot([hinge("j", kind="free", pose=pose)])).left_out == remarks


def test_screws_are_refused_in_both_formats() -> None:
    for format_, pitch in product((mjcf, urdf), (F(1, 9), F(1))):
        screw = hinge("j", kind="helical", parameters=(("pitch", pitch),))
        with pytest.raises(RequestError, match=r"joint 'j' is helical, which .* cannot represent"):
            format_.write(robot([screw]))


def test_urdf_splits_a_cylindrical_joint_into_two() -> None:
    joint = hinge("j", kind="cylindrical", axis=Y_AXIS, pose=HALF)
    written = urdf.write(robot([joint]))
    names = [(joint["name"], joint["type"]) for joint in elements(written, "joint")]
    assert names == [("j_angle", "continuous"), ("j_distance", "prismatic")]
    links = [link.get("name") for link in parsed(written).findall("link")]
    assert links == ["base", "j_angle", "j_link"]
    assert [origin["xyz"] for origin in elements(written, "origin")] == ["0 0 0.5", "0 0 0.5"]
    assert len(elements(written, "inertial")) == 1
    assert written.left_out == (
        "two joints, NAME_angle and NAME_distance, with a massless link between them replace j",
    )


def test_limits_of_a_joint_that_urdf_splits_are_left_out() -> None:
    """They do not say to which coordinate they belong."""
    joint = hinge("j", kind="cylindrical", limits=Limits(F(-1), F(2), F(3), F(4)))
    (limit,) = in_urdf(joint, "limit")
    assert set(limit.values()) == {"-1e308", "1e308"}
    assert urdf.write(robot([joint])).left_out[1:] == (
        "the limits of j are left out, since these joints have several coordinates",
    )


def test_bodies_are_nested_up_to_the_depth_that_readers_accept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert mjcf.DEEPEST == 240
    monkeypatch.setattr(mjcf, "DEEPEST", 3)
    chain = [hinge("a"), hinge("b", 0), hinge("c", 1)]
    branches = [*chain[:2], hinge("c", 0)]
    assert len(elements(mjcf.write(robot(branches)), "body")) == 4  # with the base
    with pytest.raises(RequestError, match="nested more than 3 deep"):
        mjcf.write(robot(chain))


def test_joints_that_mimic_others_are_equalities_or_attributes() -> None:
    mimic = Mimic("a", F(-2), F(1, 4))
    joints = [
        hinge("a"),
        hinge("b", 0, mimic=mimic),
        hinge("c", 0, mimic=replace(mimic, joint="x")),
    ]
    written = mjcf.write(robot(joints))
    equalities = [element.attrib for element in parsed(written).findall("equality/joint")]
    assert equalities == [{"joint1": "b", "joint2": "a", "polycoef": "0.25 -2 0 0 0"}]
    assert written.left_out == (
        "the coupling of c to a missing joint is left out",
        "the coupling of b becomes an equality, which MuJoCo's solver enforces softly",
    )
    mimics = elements(urdf.write(robot(joints)), "mimic")
    assert mimics[0] == {"joint": "a", "multiplier": "-2", "offset": "0.25"}
    assert len(mimics) == 2


# -- order and loops -------------------------------------------------------------------------------


def test_the_order_of_mujoco_is_branch_by_branch() -> None:
    joints = [hinge("a"), hinge("b"), hinge("c", 0), hinge("d", 2), hinge("e", 0)]
    written = mjcf.write(robot(joints))
    assert [joint["name"] for joint in elements(written, "joint")] == ["a", "c", "d", "e", "b"]
    assert written.left_out == ("the order of joints is a, c, d, e, b in MuJoCo, branch by branch",)
    assert mjcf.write(robot([hinge("a"), hinge("b", 0), hinge("c")])).left_out == ()


def test_free_joints_come_after_a_base_that_is_a_body() -> None:
    joints = [hinge("f", kind="free"), hinge("a")]
    written = mjcf.write(robot(joints))
    assert [joint["name"] for joint in elements(written, "joint")] == ["a", "f"]
    bodies = [body.get("name") for body in parsed(written).findall("worldbody/body")]
    assert bodies == ["base", "f_link"]
    assert written.left_out == ("the order of joints is a, f in MuJoCo, branch by branch",)
    in_world = robot(joints, base="world")
    in_world = replace(in_world, frames=(Frame("world", BASE), *in_world.frames[1:]))
    written = mjcf.write(in_world)
    bodies = [body.get("name") for body in parsed(written).findall("worldbody/body")]
    assert bodies == ["f_link", "a_link"]
    assert written.left_out == ()


LOOPED = robot(
    [hinge("a"), hinge("b", kind="spherical"), hinge("c", 0, kind="prismatic")],
    loops=(
        Loop("p", "point", End(1, HALF), End(2)),
        Loop("w", "weld", End(BASE), End(2, HALF)),
        Loop("h", "revolute", End(0), End(1)),
    ),
    start=(("b", (F(1), F(2), F(3), F(4))), ("c", (F(5),))),
    actuated=("c", "a"),
)


def test_loops_become_equalities_between_sites_and_a_keyframe() -> None:
    root, written = parsed(mjcf.write(LOOPED)), mjcf.write(LOOPED)
    assert [(e.tag, e.attrib) for e in root.findall("equality/*")] == [
        ("connect", {"name": "p", "site1": "p_first", "site2": "p_second"}),
        ("weld", {"name": "w", "site1": "w_first", "site2": "w_second"}),
    ]
    sites = {
        site.get("name"): (body.get("name"), site.get("pos"))
        for body in root.iter("body")
        for site in body.findall("site")
    }
    assert sites == {
        "p_first": ("b_link", "0 0 0.5"),
        "p_second": ("c_link", None),
        "w_first": ("base", None),
        "w_second": ("c_link", "0 0 0.5"),
    }
    # in the order a, c, b of the branches; MuJoCo's quaternions are w x y z
    assert [key.attrib for key in root.findall("keyframe/key")] == [
        {"name": "home", "qpos": "0 5 4 1 2 3"}
    ]
    assert [motor.get("joint") for motor in root.findall("actuator/motor")] == ["c", "a"]
    assert written.left_out == (
        "the order of joints is a, c, b in MuJoCo, branch by branch",
        "loops are left out, since MuJoCo can only connect points and weld bodies: h",
        "loops that MuJoCo's solver enforces softly: p, w",
    )


def test_what_mjcf_cannot_say_about_loops_is_listed() -> None:
    split = replace(LOOPED.joints[2], kind="cylindrical")
    changed = replace(
        LOOPED,
        joints=(*LOOPED.joints[:2], split),
        start=LOOPED.start[:1],
        actuated=("b", "a"),
        independent=("a",),
    )
    written = mjcf.write(changed)
    assert parsed(written).findall("keyframe/key") == []
    assert [motor["joint"] for motor in elements(written, "motor")] == ["a"]
    assert written.left_out[-3:] == (
        "the coordinates from which loops are closed are left out",
        "the actuation of b is left out",
        "the choice of independent joints is left out: a",
    )
    only_hinge = replace(LOOPED, loops=LOOPED.loops[2:])
    written = mjcf.write(only_hinge)
    assert not list(parsed(written).iter("site"))
    assert [section.tag for section in parsed(written)] == ["compiler", "option", "worldbody"]
    assert written.left_out[-2:] == (
        "the coordinates from which loops are closed are left out",
        "the actuation of c, a is left out",
    )
    no_start = mjcf.write(replace(LOOPED, start=(), actuated=()))
    assert not any("coordinates" in remark for remark in no_start.left_out)
    hinges = [hinge("a"), hinge("b"), replace(LOOPED.joints[2], kind="revolute")]
    in_urdf = urdf.write(replace(LOOPED, joints=tuple(hinges), start=()))
    assert in_urdf.left_out[:2] == (
        "loops are left out, which URDF cannot represent: p, w, h",
        "the choice of independent and actuated joints is left out, like the loops",
    )


def test_names_of_sites_are_unused() -> None:
    frames = (*LOOPED.frames, Frame("p_first", 0))
    sites = [site["name"] for site in elements(mjcf.write(replace(LOOPED, frames=frames)), "site")]
    assert "p_first_2" in sites
    assert "p_first" not in sites


# -- inertias --------------------------------------------------------------------------------------


def with_part(part: Part, *, fixed: bool = False) -> Mechanism:
    """Return a hinge with a body of this inertia, or with a solid body and a fixed link of it."""
    tree = robot([hinge("j")])
    if not fixed:
        return replace(tree, bodies=(Body("j_link", (replace(part, link="j_link"),)),))
    return replace(tree, base_parts=(replace(part, link="base"),))


@pytest.mark.parametrize("entry", [None, 1, 2, 4])
def test_mjcf_has_three_moments_with_an_orientation_or_six_without(entry: int | None) -> None:
    moments = list(SOLID)
    if entry is not None:
        moments[entry] = F(1, 4)
    part = Part("", (*HALF, *TURNED), F(3), tuple(moments))  # type: ignore[arg-type]
    (inertial,) = elements(mjcf.write(with_part(part)), "inertial")
    assert (inertial["pos"], inertial["mass"]) == ("0 0 0.5", "3")
    if entry is None:
        assert inertial["diaginertia"] == "2 3 4"
        assert inertial["quat"] == "1 1 0 0"
    else:
        # a quarter turn about x takes y to z and z to -y: I'yy = Izz, I'yz = -Iyz, I'xz = Ixy, I'xy
        # = -Ixz
        xx, xy, xz, yy, yz, zz = moments
        turned = (xx, zz, yy, -xz, xy, -yz)
        assert inertial["fullinertia"].split() == [f"{float(x):g}" for x in turned]
        assert "quat" not in inertial


@pytest.mark.parametrize(
    ("mass", "moments", "solid"),
    [
        ("1", ("1", "1", "1"), True),
        ("1e-15", ("1e-15", "1e-15", "1e-15"), True),
        ("9e-16", ("1", "1", "1"), False),
        ("1", ("1", "1", "9e-16"), False),
        ("1", ("0", "0", "0"), False),
        ("0", ("1", "1", "1"), False),
    ],
)
def test_mjcf_says_which_moving_links_mujoco_does_not_compile(
    mass: str, moments: tuple[str, ...], solid: bool
) -> None:
    xx, yy, zz = map(F, moments)
    part = Part("", (), F(mass), (xx, F(0), F(0), yy, F(0), zz))
    remark = "MuJoCo does not compile this: no mass with three moments of inertia moves with j_link"
    assert (remark in mjcf.write(with_part(part)).left_out) == (not solid)


@pytest.mark.parametrize(
    ("moments", "refused"),
    [
        (("1", "0", "0", "1", "0", "2"), False),
        (("1", "0", "0", "1", "0", "2.000000000000001"), False),  # within 1e-15
        (("1", "0", "0", "1", "0", "2.00000000000001"), True),
        (("1", "0.6", "0", "1", "0", "1"), True),
        (("1", "0", "0", "1", "0.1", "1"), False),
        (("1e-14", "0", "0", "1", "1e-20", "1"), False),
        (("9e-15", "0", "0", "1", "1e-20", "1"), True),
        (("9e-15", "1e-20", "0", "1", "0", "1"), True),
        (("9e-15", "0", "1e-20", "1", "0", "1"), True),
        (("9e-15", "0", "0", "1", "0", "1"), False),
    ],
)
def test_mjcf_leaves_out_the_inertia_of_a_fixed_link_that_mujoco_refuses(
    moments: tuple[str, ...], refused: bool
) -> None:
    """MuJoCo needs A + B ≥ C to 1e-15, and principal moments of 1e-14 to compute their axes."""
    part = Part("", (), F(1), tuple(map(F, moments)))  # type: ignore[arg-type]
    fixed = mjcf.write(with_part(part, fixed=True))
    remark = (
        "the inertia of base is left out: the link is fixed, and MuJoCo would refuse the inertia"
    )
    assert fixed.left_out == ((remark,) if refused else ())
    assert len(elements(fixed, "inertial")) == (1 if refused else 2)
    moving = mjcf.write(with_part(part))
    text = "MuJoCo does not compile this: no body can have the moments of inertia of j_link"
    assert (text in moving.left_out) == refused


def test_a_body_without_inertia_has_no_element_of_it() -> None:
    for mass, moments, count in ((0, (F(0),) * 6, 0), (0, SOLID, 1), (1, (F(0),) * 6, 1)):
        written = mjcf.write(with_part(Part("", (), F(mass), moments)))  # type: ignore[arg-type]
        assert len(elements(written, "inertial")) == count
    compensated = mjcf.write(with_part(Part("", (), F(1), SOLID, gravcomp=F(1, 2))))
    assert [body.get("gravcomp") for body in parsed(compensated).iter("body")] == [None, "0.5"]


def test_joints_of_massless_links_belong_to_the_next_body() -> None:
    joints = [hinge("a", pose=HALF), hinge("b", 0, axis=Y_AXIS, pose=HALF)]
    tree = robot(joints)
    massless = replace(tree, bodies=(Body("a_link"), tree.bodies[1]))
    written = mjcf.write(massless)
    assert [body.get("name") for body in parsed(written).iter("body")] == ["base", "b_link"]
    assert [(joint["name"], joint.get("pos")) for joint in elements(written, "joint")] == [
        ("a", "0 0 -0.5"),
        ("b", None),
    ]
    assert written.left_out == (
        "without a mass, a_link is not a body, and its joint belongs to the next body",
    )
    nothing = Part("a_link", (), F(0))
    again = mjcf.write(replace(tree, bodies=(Body("a_link", (nothing,)), tree.bodies[1])))
    assert again.text == written.text
    # a link with a mass or a moment is a body, though MuJoCo does not compile it
    for part in (Part("a_link", (), F(1)), Part("a_link", (), F(0), SOLID)):
        kept = mjcf.write(replace(tree, bodies=(Body("a_link", (part,)), tree.bodies[1])))
        assert [body["name"] for body in elements(kept, "body")] == ["base", "a_link", "b_link"]
    # a joint is only moved to a body with mass
    nowhere = mjcf.write(replace(tree, bodies=(Body("a_link"), Body("b_link"))))
    assert [body["name"] for body in elements(nowhere, "body")] == ["base", "a_link", "b_link"]
    assert nowhere.left_out == (
        (
            "MuJoCo does not compile this: no mass with three moments of inertia moves with a_link,"
            " b_link"
        ),
    )
    # a ball joint or a branch is not moved to another body
    ball = replace(massless, joints=(hinge("a", kind="spherical"), joints[1]))
    branch = robot([*joints, hinge("c", 0)])
    branch = replace(branch, bodies=(Body("a_link"), *branch.bodies[1:]))
    for kept in (ball, branch):
        names = [body.get("name") for body in parsed(mjcf.write(kept)).iter("body")]
        assert "a_link" in names
        assert mjcf.write(kept).left_out == (
            "MuJoCo does not compile this: no mass with three moments of inertia moves with a_link",
        )


# -- drives ----------------------------------------------------------------------------------------


def test_drives_are_attributes_of_a_joint_in_mjcf() -> None:
    drive = Drive(F(1), F(2), F(3), F(4), F(5))
    joint = in_mjcf(hinge("j", drive=drive))
    names = ("armature", "damping", "frictionloss", "stiffness", "springref")
    assert [joint[name] for name in names] == ["1", "2", "3", "4", "5"]
    several = Drive.of_velocities({"damping": (F(1), F(2)), "armature": (F(3), F(3))})
    written = mjcf.write(robot([hinge("j", kind="cylindrical", drive=several)]))
    assert [joint.get("damping") for joint in elements(written, "joint")] == [None, None]
    assert [joint.get("armature") for joint in elements(written, "joint")] == ["3", "3"]
    assert "the damping that differs among the velocities of j is left out" in written.left_out


def test_mjcf_says_where_drives_act_in_another_way() -> None:
    armature = "acts along fixed axes in MuJoCo, and along the body's axes in symgen"
    friction = "the friction of j sticks in MuJoCo, and is smooth in symgen"
    for kind, expected in (
        ("free", True),
        ("planar", True),
        ("spherical", False),
        ("revolute", False),
    ):
        remarks = mjcf.write(robot([hinge("j", kind=kind, drive=Drive(F(1)))])).left_out
        assert any(remark.endswith(armature) for remark in remarks) == expected
        assert friction not in remarks
    driven = robot([hinge("j", drive=Drive(friction=F(1)))], friction_speed=F(1, 50))
    assert mjcf.write(driven).left_out == (
        friction,
        "the friction speed is left out; read the file with --friction-speed 0.02",
    )
    assert mjcf.write(replace(driven, friction_speed=F(1, 1000))).left_out == (friction,)
    smooth = robot([hinge("j", drive=Drive(damping=F(1)))], friction_speed=F(1, 50))
    assert mjcf.write(smooth).left_out == ()  # the speed has no effect without friction


def test_dynamics_in_urdf_have_damping_and_friction_if_there_is_any_drive() -> None:
    assert in_urdf(hinge("j"), "dynamics") == []
    assert in_urdf(hinge("j", drive=Drive(friction=F(2))), "dynamics") == [
        {"damping": "0", "friction": "2"}
    ]
    unapplied = (("armature", F(3)), ("rotor_inertia", F(4)), ("gear ratio", F(5)))
    (dynamics,) = in_urdf(hinge("j", unapplied=unapplied), "dynamics")
    assert dynamics == {"damping": "0", "friction": "0", "armature": "3", "rotor_inertia": "4"}
    applied = hinge("j", drive=Drive(armature=F(1)), unapplied=unapplied)
    (dynamics,) = in_urdf(applied, "dynamics")
    assert dynamics == {"damping": "0", "friction": "0", "armature": "1"}
    assert urdf.write(robot([applied])).left_out[:4] == (
        "the choice of applied drives is left out; read the file with --drives armature",
        "the armature of j, which is not applied, is left out",
        "the rotor_inertia of j, which is not applied, is left out",
        "the gear ratio of j, which is not applied, is left out",
    )


def test_urdf_says_what_it_leaves_out() -> None:
    drive = Drive(damping=F(1), stiffness=F(2), rest=F(3))
    tree = robot(
        [hinge("j", drive=drive, limits=Limits(upper=F(1)))], gravity=(F(0), F(1, 2), F(-9))
    )
    part = replace(tree.bodies[0].parts[0], gravcomp=F(1))
    tree = replace(tree, bodies=(Body("j_link", (part,)),))
    assert urdf.write(tree).left_out == (
        "gravity is left out; read the file with --gravity 0,0.5,-9",
        "the choice of applied drives is left out; read the file with --drives on",
        "the stiffness of j is left out",
        "the rest of j is left out",
        "the gravcomp of j_link is left out",
    )
    spring = robot([hinge("j", drive=Drive(stiffness=F(2)), limits=Limits(upper=F(1)))])
    assert urdf.write(spring).left_out == ("the stiffness of j is left out",)


# -- names and texts -------------------------------------------------------------------------------


def test_special_characters_are_escaped() -> None:
    name = 'a & <b> "c"'
    tree = robot([hinge(name, limits=Limits(upper=F(1)))])
    for format_ in (mjcf, urdf):
        written = format_.write(tree)
        assert name in [joint["name"] for joint in elements(written, "joint")]


@pytest.mark.parametrize("name", ["${a}", "$(a)"])
def test_urdf_refuses_names_that_are_macros(name: str) -> None:
    for tree in (robot([hinge(name)]), replace(robot([hinge("j")]), base=name)):
        with pytest.raises(RequestError, match="would be a macro of xacro"):
            urdf.write(tree)


def test_toml_has_no_hash_and_a_title() -> None:
    written = toml.write(replace(robot([hinge("j")]), source="a.urdf", source_sha256="ab"))
    assert "sha256" not in written.text.partition("[base]")[0]
    assert written.text.startswith("# Converted by symgen from a.urdf. Lengths in m")
    assert written.left_out == ()


def test_a_link_whose_frame_is_not_that_of_its_joint_has_a_massless_link_before_it() -> None:
    tree = robot([hinge("j", limits=Limits(upper=F(1)))])
    tree = replace(tree, frames=(Frame("base", BASE), Frame("j_link", 0, HALF)))
    written = urdf.write(tree)
    links = {joint.get("name"): joint.find("child") for joint in parsed(written).iter("joint")}
    assert {
        name: None if child is None else child.get("link") for name, child in links.items()
    } == {
        "j": "j_link_motor",
        "j_link_fixed": "j_link",
    }
    assert written.left_out == (
        "a massless link NAME_motor is added for j_link, whose frame is not the frame of its joint",
    )
    in_mujoco = mjcf.write(tree)
    assert [body.get("name") for body in parsed(in_mujoco).iter("body")] == ["base", "j_link"]
    assert elements(in_mujoco, "joint")[0]["pos"] == "0 0 -0.5"


def test_inertias_of_a_link_are_combined_unless_their_compensation_differs() -> None:
    tree = robot([hinge("j", limits=Limits(upper=F(1)))])
    part = tree.bodies[0].parts[0]
    twice = replace(tree, bodies=(Body("j_link", (part, part)),))
    written = urdf.write(twice)
    assert written.left_out == ("the inertias of j_link are combined into one",)
    assert [mass["value"] for mass in elements(written, "mass")] == ["2"]
    lost = replace(tree, bodies=(Body("j_link", (part, replace(part, link="lost"))),))
    assert [link.get("name") for link in parsed(urdf.write(lost)).findall("link")] == [
        "base",
        "j_link",
        "lost",
    ]
    in_world = replace(tree, bodies=(Body("j_link", (part, replace(part, link="world"))),))
    names = [body["name"] for body in elements(mjcf.write(in_world), "body")]
    assert names == ["base", "j_link", "world_2"]  # MuJoCo's own body is called world
    different = replace(tree, bodies=(Body("j_link", (part, replace(part, gravcomp=F(1)))),))
    links = [link.get("name") for link in parsed(urdf.write(different)).findall("link")]
    assert links == ["base", "j_link", "j_link_2"]
    both_lost = replace(part, link="lost"), replace(part, link="lost", gravcomp=F(1))
    different = replace(tree, bodies=(Body("j_link", (part, *both_lost)),))
    links = [link.get("name") for link in parsed(urdf.write(different)).findall("link")]
    assert links == ["base", "j_link", "lost", "lost_2"]


def test_an_inertia_named_like_a_moving_link_stays_on_its_own_body() -> None:
    tree = robot([hinge("a", limits=Limits(upper=F(1))), hinge("b", 0, limits=Limits(upper=F(1)))])
    parts = tree.bodies[0].parts
    on_first = replace(parts[0], link="b_link", mass=F(5))
    tree = replace(tree, bodies=(Body("a_link", (*parts, on_first)), tree.bodies[1]))
    written = parsed(urdf.write(tree))
    masses = {
        link.attrib["name"]: mass.attrib["value"]
        for link in written.findall("link")
        if (mass := link.find("inertial/mass")) is not None
    }
    assert masses == {"a_link": "1", "b_link": "1", "b_link_2": "5"}
    (joint,) = (joint for joint in written.findall("joint") if joint.get("type") == "fixed")
    ends = {end: joint.find(end) for end in ("parent", "child")}
    assert {end: element.get("link") for end, element in ends.items() if element is not None} == {
        "parent": "a_link",
        "child": "b_link_2",
    }


def test_a_base_whose_frame_is_elsewhere_is_fixed_to_a_massless_body() -> None:
    tree = robot([hinge("j")])
    tree = replace(tree, frames=(Frame("base", BASE, HALF), Frame("j_link", 0)))
    bodies = elements(mjcf.write(tree), "body")
    assert [(body["name"], body.get("pos")) for body in bodies] == [
        ("base_motor", None),
        ("j_link", None),
        ("base", "0 0 0.5"),
    ]
