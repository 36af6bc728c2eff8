"""Mechanisms from declared links and joints: poses, lumped links, doubtful inertias, choices."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from symgen.description import assembly
from symgen.description.assembly import AssemblyOptions, assemble
from symgen.description.coupling import locked_with_leaders
from symgen.description.ordering import validate_names
from symgen.description.quantities import Location
from symgen.description.snapping import Snapper
from symgen.description.tree import (
    Connection,
    ExtraFrame,
    Inertial,
    Link,
    Tree,
    refuse_many,
    sha256_of,
)
from symgen.mechanism.drives import EVERY, FRICTION_SPEED, NONE, Drive
from symgen.mechanism.mechanism import BASE, Limits, Mechanism, Mimic
from symgen.support.errors import ArgumentError, DescriptionError, RequestError
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, Angle, Shift, Slide, Turn, Vector3

HERE = Location("r.toml")
ROUND = tuple(map(Fraction, (1, 0, 0, 1, 0, 1)))


def vector(*numbers: int | Fraction) -> Vector3:
    x, y, z = map(Fraction, numbers)
    return x, y, z


def link(name: str, mass: int | str = 1, moments: Any = ROUND, **inertial: Any) -> Link:
    """Return a link of one inertia."""
    part = Inertial(Fraction(mass), tuple(map(Fraction, moments)), location=HERE.at(name))
    return Link(name, (replace(part, **inertial),), HERE.at(f"link {name}"))


def hinge(name: str, parent: str, child: str, kind: str = "revolute", **more: Any) -> Connection:
    return Connection(
        name, kind, parent, child, axis=Z_AXIS, location=HERE.at(f"joint {name}"), **more
    )


def tree(links: list[Link], joints: list[Connection], **more: Any) -> Tree:
    return Tree("r", tuple(links), tuple(joints), location=HERE, **more)


ARM = tree([link("base"), link("a"), link("b")], [hinge("j", "base", "a"), hinge("k", "a", "b")])


def texts(mechanism: Mechanism, kind: str) -> list[str]:
    return [note.text for note in mechanism.notes if note.kind == kind]


# -- poses -----------------------------------------------------------------------------------------


def state() -> assembly._Assembly:
    return assembly._Assembly({}, {})


def test_steps_of_all_poses_are_counted_up_to_a_million() -> None:
    shift, turn = Shift(vector(1, 0, 0)), Turn(X_AXIS, Angle(Fraction(1)))
    counted = state()
    pose = counted.extend_pose((), (shift, turn), HERE)
    assert counted.steps == 2
    counted.steps = 999_997
    assert counted.extend_pose(pose, (shift,), HERE) == (shift, turn, shift)
    with pytest.raises(
        DescriptionError, match="have more than 1000000 steps up to here, because of many"
    ):
        counted.extend_pose((), (shift,), HERE)


def test_sums_of_poses_have_numbers_that_can_be_written() -> None:
    """Two numbers of 1500 digits can be written, and their sum cannot."""
    first, second = Fraction(1, int("3" * 1500)), Fraction(1, int("7" * 1499) + 2)
    turn, shift = Turn(X_AXIS, Angle(Fraction(1))), Shift(vector(1, 2, 3))
    for make in (
        lambda x: Shift(vector(0, x, 0)),
        lambda x: Turn(Z_AXIS, Angle(x)),
    ):
        for pose, extension in (
            ((make(first),), (make(second),)),
            ((turn, shift, turn, make(first)), (make(second), turn, shift)),
            ((turn, make(first), shift), (Shift(vector(-1, -2, -3)), make(second), turn, shift)),
        ):
            with pytest.raises(DescriptionError, match="needs numbers beyond a double, or of more"):
                state().extend_pose(pose, extension, HERE)
            state().extend_pose(pose, (turn, *extension[:1]), HERE)
    unwritable = Fraction(1, 3**9100)
    for step in (
        Shift(vector(0, 0, unwritable)),
        Slide(X_AXIS, unwritable),
        Turn(X_AXIS, Angle(unwritable)),
    ):
        for before in ((), (turn, shift, turn)):
            for extension in ((step, turn, shift), (turn, shift, step)):
                with pytest.raises(DescriptionError, match="write poses with fewer digits"):
                    state().extend_pose(before, extension, HERE)


# -- lumped links ----------------------------------------------------------------------------------


def test_lumped_links_follow_the_link_of_their_body() -> None:
    links = [
        Link("x", (Inertial(Fraction(2), ROUND), Inertial(Fraction(3), ROUND, link="y")), HERE),
        link("base", 7),
        link("b"),
        link("z", 5),
        link("a"),
    ]
    joints = [
        hinge("j", "base", "a"),
        hinge("k", "a", "b"),
        hinge("f", "a", "x", "fixed", pose=(Shift(vector(1, 0, 0)),)),
        hinge("g", "x", "z", "fixed", pose=(Shift(vector(0, 1, 0)),)),
    ]
    mechanism = assemble(tree(links, joints))
    first, second = mechanism.bodies
    assert [part.link for part in first.parts] == ["a", "x", "y", "z"]
    assert [part.mass for part in first.parts] == [1, 2, 3, 5]
    assert first.parts[3].pose == (Shift(vector(1, 1, 0)),)
    assert [part.link for part in second.parts] == ["b"]
    assert [part.mass for part in mechanism.base_parts] == [7]
    assert [frame.name for frame in mechanism.frames] == ["base", "a", "b", "x", "z"]
    assert [frame.body for frame in mechanism.frames] == [BASE, 0, 1, 0, 0]
    assert texts(mechanism, "lump") == [
        "x (5 kg) onto a, through the fixed joint f",
        "z (5 kg) onto a, through the fixed joint g",
    ]


def test_a_long_mass_is_shortened_in_a_note() -> None:
    for digits, text in ((38, f"0.{'1' * 38}"), (39, "0.111111111")):
        lumped = link("x", f"0.{'1' * digits}")
        fixed = tree([*ARM.links, lumped], [*ARM.connections, hinge("f", "base", "x", "fixed")])
        assert texts(assemble(fixed), "lump") == [
            f"x ({text} kg) onto base, through the fixed joint f"
        ]


def test_links_of_a_locked_joint_are_merged_at_its_position() -> None:
    limited = tree(
        list(ARM.links),
        [
            hinge("j", "base", "a"),
            hinge("k", "a", "b", limits=Limits(Fraction(-1), Fraction(1)), pose=()),
        ],
    )
    for value, position, outside in (
        ("0.5", "0.5 rad", False),
        ("pi/2", "pi/2 rad", True),
        ("-2", "-2 rad", True),
        (None, "0", False),
    ):
        mechanism = assemble(limited, AssemblyOptions(lock={"k": value}))
        assert texts(mechanism, "lock") == [f"b (1 kg) onto a, joint k locked at {position}"]
        warnings = texts(mechanism, "warning")
        assert any("outside its range -1 … 1 rad" in text for text in warnings) == outside
    slide = hinge("k", "a", "b", "prismatic", limits=Limits(None, Fraction(1)))
    sliding = replace(limited, connections=(ARM.connections[0], slide))
    mechanism = assemble(sliding, AssemblyOptions(lock={"k": 2}))
    assert texts(mechanism, "lock") == ["b (1 kg) onto a, joint k locked at 2 m"]
    assert "joint k is locked at 2 m, outside its range … 1 m" in texts(mechanism, "warning")


def test_gravity_compensation_belongs_to_moving_links_with_mass() -> None:
    half = Fraction(1, 2)
    weightless = link("c", 0, (0,) * 6, gravcomp=half)
    compensated = tree(
        [link("base", gravcomp=half), link("a", gravcomp=half), link("b"), weightless],
        [*ARM.connections, hinge("f", "b", "c", "fixed")],
    )
    on = assemble(compensated, AssemblyOptions(drives=EVERY))
    assert [part.gravcomp for body in on.bodies for part in body.parts] == [half, 0, 0]
    assert [part.gravcomp for part in on.base_parts] == [0]
    assert not any("gravcomp" in note.text for note in on.notes)
    off = assemble(compensated, AssemblyOptions(drives=NONE))
    assert not any(part.gravcomp for body in off.bodies for part in body.parts)
    (note,) = (note.text for note in off.notes if "gravcomp" in note.text)
    assert note == "gravcomp of a is not applied: these links have their full weight"


# -- inertias --------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", range(3))
def test_moments_may_miss_the_triangle_inequality_by_their_rounding(axis: int) -> None:
    """A disc has the moments (1, 1, 2); with e more, Σ has the entry -e/2. It may be -4e-12, the
    share 1e-12 of the trace.
    """
    for excess, accepted in (("7.9e-12", True), ("8.1e-12", False)):
        moments = [Fraction(1), Fraction(1), Fraction(1)]
        moments[axis] = 2 + Fraction(excess)
        xx, yy, zz = moments
        disc = link("b", 1, (xx, 0, 0, yy, 0, zz))
        mechanism = assemble(replace(ARM, links=(*ARM.links[:2], disc)))
        doubts = [text for text in texts(mechanism, "warning") if "triangle inequality" in text]
        assert (not doubts) is accepted


@pytest.mark.parametrize(
    ("mass", "moments", "doubt"),
    [
        (0, (1, 0, 0, 1, 0, 1), "has moments of inertia but no mass"),
        (0, (0, 0, 0, 0, 0, 1), "has moments of inertia but no mass"),
        (1, (-1, 0, 0, -1, 0, -1), "that are not positive semidefinite"),
        (1, (1, 2, 0, 1, 0, 1), "that are not positive semidefinite"),
        (1, (1, 0, 0, 1, 0, 3), "that break the triangle inequality"),
        (1, (0, 0, 0, 0, 0, 0), ""),
        (0, (0, 0, 0, 0, 0, 0), ""),
        (1, (1, 0, 0, 1, 0, 2), ""),
    ],
)
def test_impossible_inertias_are_doubted_where_they_have_an_effect(
    mass: int, moments: tuple[int, ...], doubt: str
) -> None:
    doubtful = link("x", mass, moments)
    moving = tree([*ARM.links, doubtful], [*ARM.connections, hinge("l", "b", "x")])
    fixed = tree([*ARM.links, doubtful], [*ARM.connections, hinge("l", "base", "x", "fixed")])
    doubts = [text for text in texts(assemble(moving), "warning") if "of inertia" in text]
    no_effect = [text for text in texts(assemble(fixed), "info") if "this has no effect" in text]
    assert len(doubts) == len(no_effect) == bool(doubt)
    strict = AssemblyOptions(strict=True)
    assert assemble(fixed, strict).nv == 2
    if not doubt:
        assert assemble(moving, strict).nv == 3
        return
    xx, xy, xz, yy, yz, zz = moments
    entries = f"(ixx {xx}, ixy {xy}, ixz {xz}, iyy {yy}, iyz {yz}, izz {zz})"
    assert doubts[0].startswith("link x ")
    assert doubts[0].endswith(f"{doubt} {entries}")
    assert no_effect[0] == f"{doubts[0]}; this has no effect, since the link is fixed"
    with pytest.raises(DescriptionError, match="strict reading refuses; correct the inertia"):
        assemble(moving, strict)


def test_a_negative_mass_is_refused_unless_its_link_is_fixed() -> None:
    negative = link("x", -2)
    moving = tree([*ARM.links, negative], [*ARM.connections, hinge("l", "b", "x")])
    with pytest.raises(DescriptionError, match="link 'x' has the negative mass -2 kg; masses must"):
        assemble(moving)
    fixed = tree([*ARM.links, negative], [*ARM.connections, hinge("l", "base", "x", "fixed")])
    assert (
        "link x has the negative mass -2 kg; this has no effect, since the link is fixed"
        in texts(assemble(fixed), "info")
    )


def test_a_lumped_inertia_is_named_by_the_link_that_declares_it() -> None:
    lumped = link("b", 0, link="inner")
    mechanism = assemble(replace(ARM, links=(*ARM.links[:2], lumped)))
    assert any(text.startswith("link inner has moments") for text in texts(mechanism, "warning"))


# -- names and frames ------------------------------------------------------------------------------


def test_additional_frames_have_names_and_links_of_their_own() -> None:
    shift = (Shift(vector(1, 2, 3)),)
    frames = (ExtraFrame("f", "b", shift, HERE), ExtraFrame("g", "base", (), HERE))
    mechanism = assemble(replace(ARM, frames=frames))
    assert [(frame.name, frame.body) for frame in mechanism.frames[-2:]] == [("f", 1), ("g", BASE)]
    assert mechanism.frame("f").pose == shift
    for name, on, message in (
        ("a", "b", "the name 'a' is already a link or frame"),
        ("f", "b", "the name 'f' is already a link or frame"),
        ("h", "lost", "its body 'lost' is not declared"),
    ):
        with pytest.raises(DescriptionError, match=message):
            assemble(replace(ARM, frames=(*frames, ExtraFrame(name, on, (), HERE))))


@pytest.mark.parametrize(
    ("name", "valid"),
    [("x", True), ("x" * 200, True), ("x" * 201, False), ("", False), (" ", False), ("\n", False)],
)
def test_names_have_1_to_200_printable_characters(name: str, valid: bool) -> None:
    for named in (
        replace(ARM, name=name),
        replace(ARM, links=(*ARM.links, link(name))),
        replace(ARM, connections=(hinge(name, "base", "a"),)),
        replace(ARM, frames=(ExtraFrame(name, "a"),)),
        replace(ARM, links=(link("a", link=name or " "),)),
    ):
        if valid:
            validate_names(named)
        else:
            with pytest.raises(DescriptionError, match="is not a valid name; give 1 to 200"):
                validate_names(named)


def test_at_most_200000_elements_of_a_kind_are_read() -> None:
    refuse_many(200_000, "links", HERE)
    with pytest.raises(
        DescriptionError, match=r"r\.toml: there are more than 200000 links, the most"
    ):
        refuse_many(200_001, "links", HERE)


def test_the_hash_of_a_description_depends_on_its_included_files() -> None:
    """SHA-256 of "abc" from FIPS 180-2; with included files, that of the lines of all hashes."""
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert sha256_of(b"abc") == abc
    lines = f"{abc}\n{sha256_of(b'')}"
    assert sha256_of(b"abc", [b""]) == sha256_of(lines.encode())
    assert sha256_of(b"", [b"abc"]) != sha256_of(b"abc", [b""])


# -- choices ---------------------------------------------------------------------------------------


def test_gravity_is_that_of_the_user_else_of_the_description_else_of_the_earth() -> None:
    declared = replace(ARM, gravity=vector(1, 0, 0))
    assert assemble(ARM).gravity == (0, 0, Fraction("-9.81"))
    assert assemble(declared).gravity == (1, 0, 0)
    chosen = AssemblyOptions(gravity=vector(0, 0, 0))
    assert assemble(declared, chosen).gravity == (0, 0, 0)


def test_the_friction_speed_matters_only_with_friction() -> None:
    with_friction = hinge("j", "base", "a", drive=Drive(friction=Fraction(1)))
    rough = replace(ARM, connections=(with_friction, ARM.connections[1]))
    for robot, declared, chosen, speed in (
        (ARM, 2, 3, FRICTION_SPEED),
        (rough, None, None, FRICTION_SPEED),
        (rough, 2, None, 2),
        (rough, 2, 3, 3),
        (rough, None, 3, 3),
    ):
        of_tree = None if declared is None else Fraction(declared)
        options = AssemblyOptions(friction_speed=None if chosen is None else Fraction(chosen))
        mechanism = assemble(replace(robot, friction_speed=of_tree), options)
        assert mechanism.friction_speed == speed
    with pytest.raises(DescriptionError, match=r"r\.toml: "):
        assemble(replace(rough, friction_speed=Fraction(0)))


def test_drives_apply_by_default_if_the_format_says_so() -> None:
    damped = hinge("j", "base", "a", drive=Drive(damping=Fraction(1)))
    for applies, chosen, damping in (
        (True, None, 1),
        (False, None, 0),
        (False, EVERY, 1),
        (True, NONE, 0),
        (True, frozenset({"armature"}), 0),
    ):
        robot = replace(ARM, connections=(damped, ARM.connections[1]), drives_apply=applies)
        (joint, _) = assemble(robot, AssemblyOptions(drives=chosen)).joints
        assert joint.drive.damping == damping
        assert joint.unapplied == (() if damping else (("damping", 1),))


def test_unapplied_sources_of_an_applied_drive_are_not_reported() -> None:
    joint = hinge(
        "j",
        "base",
        "a",
        drive=Drive(armature=Fraction(2), damping=Fraction(3)),
        unapplied=(("rotor inertia", Fraction(1)), ("gear", Fraction(4)), ("other", Fraction(5))),
        read_from=(("armature", ("rotor inertia", "gear")),),
    )
    robot = replace(ARM, connections=(joint, ARM.connections[1]))
    for kinds, unapplied in (
        (EVERY, {"other"}),
        (frozenset({"armature"}), {"other", "damping"}),
        (frozenset({"damping"}), {"rotor inertia", "gear", "other"}),
    ):
        (first, _) = assemble(robot, AssemblyOptions(drives=kinds)).joints
        assert {name for name, _ in first.unapplied} == unapplied


def test_a_faulty_drive_is_refused_if_it_is_applied() -> None:
    fault = HERE.error("its damping is wrong")
    joint = hinge("j", "base", "a", faults=(("damping", fault),))
    robot = replace(ARM, connections=(joint, ARM.connections[1]))
    assert assemble(robot, AssemblyOptions(drives=frozenset({"armature"}))).nv == 2
    with pytest.raises(DescriptionError, match="its damping is wrong"):
        assemble(robot, AssemblyOptions(drives=frozenset({"damping"})))


def test_mimic_joints_are_independent_coupled_or_refused() -> None:
    follower = hinge("k", "a", "b", mimic=Mimic("j", Fraction(2), Fraction(0)))
    robot = replace(ARM, connections=(ARM.connections[0], follower))
    for mimic, velocities in ((None, 2), ("independent", 2), ("couple", 1)):
        mechanism = assemble(robot, AssemblyOptions(mimic=mimic))
        assert (mechanism.nv, mechanism.coupled) == (velocities, mimic == "couple")
    assert not assemble(ARM, AssemblyOptions(mimic="couple")).coupled
    with pytest.raises(
        DescriptionError, match=r"joint k: it mimics joint 'j', and mimic joints are"
    ):
        assemble(robot, AssemblyOptions(mimic="refuse"))
    assert assemble(robot, AssemblyOptions(mimic="refuse", lock={"k": None})).nv == 1
    assert assemble(ARM, AssemblyOptions(mimic="refuse")).nv == 2


def test_a_follower_is_locked_with_its_leader_unless_it_is_locked_by_name() -> None:
    follower = hinge("k", "a", "b", mimic=Mimic("j", Fraction(2), Fraction(1, 2)))
    third = hinge("l", "b", "c")
    robot = tree([*ARM.links, link("c")], [ARM.connections[0], follower, third])

    def locked(**lock: Any) -> list[str]:
        mechanism = assemble(robot, AssemblyOptions(mimic="couple", lock=lock))
        return [text.partition("joint ")[2] for text in texts(mechanism, "lock")]

    assert locked(j="0.25") == ["j locked at 0.25 rad", "k locked at 1 rad"]
    assert locked(j="pi/2") == ["j locked at pi/2 rad", "k locked at pi + 0.5 rad"]
    assert locked(j="0.25", k="3") == ["j locked at 0.25 rad", "k locked at 3 rad"]
    assert locked(k="3") == ["k locked at 3 rad"]
    constant = replace(follower, mimic=Mimic("j", Fraction(0), Fraction(1, 2)))
    robot = tree([*ARM.links, link("c")], [ARM.connections[0], constant, third])
    assert locked() == ["k locked at 0.5 rad"]
    slide = replace(follower, kind="prismatic")
    robot = tree([*ARM.links, link("c")], [ARM.connections[0], slide, third])
    assert locked(j="0.25") == ["j locked at 0.25 rad", "k locked at 1 m"]
    with pytest.raises(
        DescriptionError, match="its leader is locked at a multiple of pi, which is"
    ):
        locked(j="pi/2")
    leading_slide = [replace(ARM.connections[0], kind="prismatic"), follower, third]
    robot = tree([*ARM.links, link("c")], leading_slide)
    assert locked(j="0.25") == ["j locked at 0.25 m", "k locked at 1 rad"]


def test_fixed_joints_and_joints_of_unknown_types_follow_no_locked_leader() -> None:
    mimic = Mimic("j", Fraction(2), Fraction(1, 2))

    def locked(leader: str, follower: str, **lock: Any) -> dict[str, Any]:
        joints = (hinge("j", "base", "a", leader), hinge("k", "a", "b", follower, mimic=mimic))
        return locked_with_leaders(replace(ARM, connections=joints), lock, Snapper())

    assert locked("revolute", "fixed", j="0.25") == {"j": "0.25"}
    assert locked("revolute", "revolute", j="0.25", k="3") == {"j": "0.25", "k": "3"}
    assert locked("odd", "revolute", j=None) == {"j": None}
    # a plain number, which is refused with the type of the joint
    assert locked("revolute", "odd", j="0.25") == {"j": "0.25", "k": 1}
    assert locked("revolute", "revolute", j="0.25")["k"] == Angle(Fraction(1))


@pytest.mark.parametrize(
    ("leader", "message"),
    [
        ("lost", "it mimics joint 'lost', which is not declared; lock it, or read mimic joints"),
        ("f", "it mimics joint 'f', which is fixed"),
        ("ball", "it mimics joint 'ball', but 'ball' has more than one degree of freedom"),
        ("k", r"it mimics joint 'k', in a circle \(k → k\); make one of them independent"),
    ],
)
def test_a_joint_that_cannot_follow_is_refused(leader: str, message: str) -> None:
    follower = hinge("k", "a", "b", mimic=Mimic(leader, Fraction(2), Fraction(0)))
    joints = [ARM.connections[0], follower, hinge("f", "b", "c", "fixed")]
    ball = Connection("ball", "spherical", "c", "d", location=HERE, axis=Z_AXIS)
    robot = tree([*ARM.links, link("c"), link("d")], [*joints, ball])
    with pytest.raises(DescriptionError, match=f"joint k: {message}"):
        assemble(robot, AssemblyOptions(mimic="couple"))
    unsure = replace(follower, unsure="its multiplier is rounded")
    robot = tree([*ARM.links, link("c"), link("d")], [*joints[:1], unsure, joints[2], ball])
    message = "but its multiplier is rounded; correct" if leader != "k" else "in a circle"
    with pytest.raises(DescriptionError, match=message):
        assemble(robot, AssemblyOptions(mimic="couple"))


def test_joints_are_locked_at_values_of_their_unit() -> None:
    def locked(kind: str, value: Any, **more: Any) -> str:
        joint = hinge("k", "a", "b", kind, **more)
        robot = replace(ARM, connections=(ARM.connections[0], joint))
        (text,) = texts(assemble(robot, AssemblyOptions(lock={"k": value})), "lock")
        return text.partition("locked at ")[2]

    assert locked("revolute", Fraction(1, 4)) == "0.25 rad"
    assert locked("revolute", Angle(pi=Fraction(1, 3))) == "pi/3 rad"
    assert locked("prismatic", "-0.5") == "-0.5 m"
    assert locked("revolute", "") == locked("prismatic", None) == "0"
    assert locked("prismatic", Fraction(2)) == "2 m"
    pitch = (("pitch", Fraction(1, 2)),)
    assert locked("helical", "2", parameters=pitch) == "2 rad"
    for kind, value in (("spherical", 0), ("spherical", "0"), ("spherical", ""), ("odd", None)):
        assert locked(kind, value) == "0"
    for kind, value, message in (
        ("prismatic", Angle(Fraction(1)), "joint 'k' slides: lock it at a length in m, not at an"),
        ("spherical", 1, "joint 'k' has 4 coordinates and can be locked only at zero"),
        ("cylindrical", 1, "joint 'k' has 2 coordinates and can be locked only at zero"),
        ("odd", 1, "joint 'k' of type 'odd' can be locked only at zero; give no value"),
        ("fixed", None, "joint 'k' cannot be locked: it is fixed already; remove it from lock"),
    ):
        with pytest.raises(ArgumentError, match=message):
            locked(kind, value)
    with pytest.raises(
        DescriptionError, match="it advances as it rotates, and a multiple of pi is"
    ):
        locked("helical", "pi", parameters=pitch)
    with pytest.raises(RequestError, match="no joint"):
        assemble(ARM, AssemblyOptions(lock={"lost": None}))


def test_unsupported_types_are_refused_with_their_replacement() -> None:
    for kind, remedy in (
        ("floating", "write 'free', or lock the joint at zero"),
        ("ball", "write 'spherical'"),
        (" Revolute", "write 'revolute'"),
        ("FIXED", "write 'fixed'"),
        ("universal", "write it as joints of one coordinate with massless links between them"),
        ("odd", "declare another type, or lock the joint"),
    ):
        robot = replace(ARM, connections=(ARM.connections[0], hinge("k", "a", "b", kind)))
        with pytest.raises(DescriptionError, match=remedy):
            assemble(robot)
        assert assemble(robot, AssemblyOptions(lock={"k": None})).nv == 1
    screw = replace(ARM, connections=(ARM.connections[0], hinge("k", "a", "b", "helical")))
    with pytest.raises(DescriptionError, match="a helical joint declares pitch, which this format"):
        assemble(screw)


def test_a_robot_without_a_moving_joint_is_refused() -> None:
    fixed = tree(list(ARM.links[:2]), [hinge("j", "base", "a", "fixed")])
    with pytest.raises(DescriptionError, match="no joint moves, so there are no dynamics"):
        assemble(fixed)
    with pytest.raises(DescriptionError, match="no joint moves"):
        assemble(ARM, AssemblyOptions(lock={"j": None, "k": None}))


def test_snaps_of_locked_angles_become_notes() -> None:
    mechanism = assemble(ARM, AssemblyOptions(lock={"k": "1.5708"}), Snapper())
    (text,) = texts(mechanism, "snap")
    assert text.startswith("lock k: 1.5708 read as pi/2")
    unsnapped = assemble(ARM, AssemblyOptions(lock={"k": "1.5708"}), Snapper(None))
    assert texts(unsnapped, "lock") == ["b (1 kg) onto a, joint k locked at 1.5708 rad"]


# -- trees -----------------------------------------------------------------------------------------


def test_joints_are_ordered_parents_first_and_otherwise_as_declared() -> None:
    links = [link(name) for name in ("d", "c", "b", "a", "base")]
    joints = [
        hinge("4", "c", "d"),
        hinge("3", "a", "c"),
        hinge("2", "base", "b"),
        hinge("1", "base", "a"),
    ]
    assert [joint.name for joint in assemble(tree(links, joints)).joints] == ["2", "1", "3", "4"]


@pytest.mark.parametrize(
    ("links", "joints", "message"),
    [
        ("", [], "no link is declared"),
        ("base a a", ["j base a"], "this name is already a link; give each link its own name"),
        ("base a b", ["j base a", "j a b"], "this name is already a joint"),
        ("base a", ["j base lost"], "its child link 'lost' is not declared"),
        ("base a", ["j lost a"], "its parent link 'lost' is not declared"),
        ("base a", ["j a a"], "it joins link 'a' to itself"),
        ("base a b", ["j base b", "k a b"], "link 'b' already has a parent through joint 'j'"),
        (
            "base a b",
            ["j base a"],
            r"link b: there are 2 root links \('base' and 'b'\); join all but",
        ),
        (
            "base a b c",
            ["j base a"],
            r"link b: there are 3 root links \('base' and 'b' and 1 more\)",
        ),
        ("a b", ["j a b", "k b a"], "no root link reaches it, because of a cycle of joints"),
        ("base a b", ["i base base2", "j a b", "k b a"], "its child link 'base2' is not declared"),
        ("r a b c", ["i r c", "j a b", "k b a"], "joint j: no root link reaches it"),
    ],
)
def test_links_and_joints_that_form_no_tree_are_refused(
    links: str, joints: list[str], message: str
) -> None:
    declared = tree([link(name) for name in links.split()], [hinge(*j.split()) for j in joints])
    with pytest.raises(DescriptionError, match=message):
        assemble(declared)


def test_a_repeated_name_is_refused_with_the_line_of_the_first() -> None:
    first, second = (
        replace(link("a"), location=Location("r.urdf", line, "link")) for line in (3, 9)
    )
    with pytest.raises(
        DescriptionError, match=r"r\.urdf:9: link: this name is already a link at line 3"
    ):
        assemble(tree([link("base"), first, second], [hinge("j", "base", "a")]))


def test_an_order_names_the_joints_that_are_not_locked() -> None:
    order = AssemblyOptions(joint_order=["j"])
    with pytest.raises(ArgumentError, match="joint_order leaves out joint 'k'"):
        assemble(ARM, order)
    assert assemble(ARM, replace(order, lock={"k": None})).nv == 1


def test_an_order_may_leave_out_joints_without_coordinates() -> None:
    """Fixed joints, locked joints and coupled followers; each of them may be named, too."""
    links = [*ARM.links, link("c"), link("d")]
    follower = hinge("l", "b", "c", mimic=Mimic("j", Fraction(2), Fraction(0)))
    joints = [*ARM.connections, follower, hinge("f", "c", "d", "fixed")]
    robot = tree(links, joints)
    coupled = AssemblyOptions(joint_order=["j", "k"], mimic="couple")
    assert [joint.name for joint in assemble(robot, coupled).joints] == ["j", "k", "l"]
    for order in (["j", "k", "l"], ["j", "k", "f"]):
        assert assemble(robot, replace(coupled, joint_order=order)).nv == 2
    locked = replace(coupled, lock={"k": None}, joint_order=["j"])
    assert assemble(robot, locked).nv == 1
    for options, missing in (
        (replace(coupled, joint_order=["j"]), "'k'"),
        (replace(coupled, joint_order=["k"]), "'j'"),
        (replace(coupled, mimic=None), "'l'"),
    ):
        with pytest.raises(ArgumentError, match=f"joint_order leaves out joint {missing}; name"):
            assemble(robot, options)
    assert assemble(robot, AssemblyOptions(joint_order=["j", "k", "l"])).nv == 3


def test_a_follower_of_an_unknown_type_is_refused_as_any_other_joint() -> None:
    follower = hinge("k", "a", "b", "odd", mimic=Mimic("j", Fraction(2), Fraction(0)))
    robot = replace(ARM, connections=(ARM.connections[0], follower))
    with pytest.raises(DescriptionError, match="its type 'odd' is not supported"):
        assemble(robot, AssemblyOptions(mimic="couple"))
