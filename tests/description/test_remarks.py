"""Notes on mechanisms: which facts are reported, and in which words."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest

from symgen.description import remarks
from symgen.mechanism.mechanism import BASE, Body, Joint, Limits, Mechanism, Mimic, Note, Part
from symgen.vocabulary.poses import Pose

MASS = (Part("a", (), Fraction(1)),)
MOMENTS = (Part("a", (), Fraction(0), (Fraction(1), *(Fraction(0),) * 5)),)
NOTHING = (Part("a", (), Fraction(0)),)


def joint(name: str, parent: int, kind: str = "revolute", leader: str = "") -> Joint:
    pose: Pose = ()
    mimic = Mimic(leader, Fraction(1), Fraction(0)) if leader else None
    return Joint(name, kind, parent, pose, mimic=mimic)


def texts(notes: list[Note]) -> list[str]:
    return [f"{note.kind}: {note.text}" for note in notes]


# -- mimic joints ----------------------------------------------------------------------------------


def test_followers_are_noted_as_independent_or_coupled() -> None:
    joints = [joint("a", BASE), joint("b", 0, leader="a"), joint("c", 1, leader="lost")]
    assert texts(remarks.note_mimics(joints, {"a", "b", "c"})) == [
        "mimic: read as independent although declared to mimic another joint: b, c",
        "warning: joint c mimics joint lost, which is not declared",
    ]
    assert texts(remarks.note_mimics(joints, {"a", "lost"}, coupled=True)) == [
        "mimic: coupled to their leaders, without coordinates of their own: "
        "b follows a, c follows lost"
    ]
    assert remarks.note_mimics(joints[:1], set()) == []


@pytest.mark.parametrize(
    ("lower", "upper", "noted"),
    [("0.5", "0.6", False), ("1.2", "2", True), ("-3", "-1.1", True), ("1", "2", False)],
)
def test_ranges_without_a_common_position_are_noted(lower: str, upper: str, noted: bool) -> None:
    """The leader is limited to ±1; its follower has the same position."""
    leader = Joint("a", "revolute", BASE, (), limits=Limits(Fraction(-1), Fraction(1)))
    follower = Joint(
        "b",
        "revolute",
        0,
        (),
        limits=Limits(Fraction(lower), Fraction(upper)),
        mimic=Mimic("a", Fraction(1), Fraction(0)),
    )
    bodies = (Body("a", MASS), Body("b", MASS))
    mechanism = Mechanism("r", (leader, follower), bodies, coupled=True)
    expected = "warning: joint a and its followers have no common position within their ranges"
    assert texts(remarks.note_empty_ranges(mechanism)) == [expected] * noted


def test_a_reversed_range_of_a_joint_without_followers_is_not_noted() -> None:
    """The reader of the range notes that."""
    reversed_limits = Limits(Fraction(1), Fraction(-1))
    alone = Joint("c", "revolute", BASE, (), limits=reversed_limits)
    joints = (joint("a", BASE), joint("b", 0, leader="a"), alone)
    bodies = tuple(Body(name, MASS) for name in "abc")
    assert remarks.note_empty_ranges(Mechanism("r", joints, bodies, coupled=True)) == []


# -- masses ----------------------------------------------------------------------------------------


def ends(parents: list[int], parts: Mapping[int, tuple[Part, ...]]) -> list[str]:
    joints = [joint(f"j{k}", parent) for k, parent in enumerate(parents)]
    return texts(remarks.note_massless_ends(joints, parts))


def test_joints_that_move_no_mass_are_named() -> None:
    no_mass = "warning: joint {} moves no mass: forward dynamics does not exist"
    chain = [BASE, 0, 1]
    assert ends(chain, {0: NOTHING, 1: NOTHING, 2: MASS}) == []
    assert ends(chain, {0: MASS, 1: MASS, 2: NOTHING}) == [no_mass.format("j2")]
    assert ends(chain, {0: MASS, 1: NOTHING, 2: MOMENTS}) == []
    assert ends(chain, {0: MASS, 1: NOTHING, 2: ()}) == [
        "warning: joints j1, j2 move no mass: forward dynamics does not exist"
    ]
    nothing = (
        "warning: no moving link has mass: forward dynamics does not exist, and every force is"
    )
    (note,) = ends(chain, {0: NOTHING, 1: (), 2: NOTHING})
    assert note == f"{nothing} zero"
    # two branches: mass of one counts for its own ancestors only
    assert ends([BASE, BASE, 0, 1], {0: (), 1: (), 2: MASS, 3: ()}) == [
        "warning: joints j1, j3 move no mass: forward dynamics does not exist"
    ]
    assert ends([BASE, BASE], {0: MASS, 1: NOTHING}) == [no_mass.format("j1")]
    assert ends([BASE, BASE], {0: NOTHING, 1: MASS}) == [no_mass.format("j0")]


def test_many_joints_without_mass_are_counted() -> None:
    parts = {k: MASS if k == 0 else NOTHING for k in range(15)}
    (note,) = ends([BASE] * 15, parts)
    assert note.startswith("warning: joints j1, j2, ")
    assert "j12 and 2 more move no mass" in note


def test_free_joints_with_only_a_massless_link_between_are_noted() -> None:
    def noted(kinds: str, parents: list[int], parts: Mapping[int, tuple[Part, ...]]) -> list[str]:
        joints = [
            joint(f"j{k}", parent, "free" if kind == "f" else "revolute")
            for k, (kind, parent) in enumerate(zip(kinds, parents, strict=True))
        ]
        return [
            note.text.partition(" have")[0]
            for note in remarks.note_free_joints_in_a_row(joints, parts)
        ]

    nothing = {0: NOTHING, 1: MASS, 2: MASS}
    assert noted("ff", [BASE, 0], nothing) == ["the free joints j0 and j1"]
    assert noted("ff", [BASE, 0], {0: (), 1: MASS}) == ["the free joints j0 and j1"]
    assert noted("rf", [BASE, 0], nothing) == noted("fr", [BASE, 0], nothing) == []
    assert noted("ff", [BASE, BASE], nothing) == []
    assert noted("ff", [BASE, 0], {0: MASS, 1: MASS}) == []
    assert noted("ff", [BASE, 0], {0: MOMENTS, 1: MASS}) == []
    assert noted("fff", [BASE, 0, 0], nothing) == []
    assert noted("ffr", [BASE, 0, 0], nothing) == []
    assert noted("fff", [BASE, 0, 1], {0: NOTHING, 1: NOTHING, 2: MASS}) == [
        "the free joints j0 and j1",
        "the free joints j1 and j2",
    ]


def test_a_fixed_base_with_mass_is_a_warning_if_it_looks_like_a_trunk() -> None:
    def kind(
        masses: str, *joints: tuple[str, str, bool], base: str = "b", explicit: bool = False
    ) -> str:
        of_links = {name: Fraction(mass) for name, mass in (w.split("=") for w in masses.split())}
        notes = remarks.note_fixed_base(base, of_links, joints, explicit)
        return notes[0].kind if notes else ""

    limb = ("b", "x", False)
    assert kind("b=1 x=1", limb) == "info"
    assert kind("b=2 x=1", limb) == "warning"
    assert kind("b=2 x=1", limb, explicit=True) == "info"
    assert kind("b=0 x=1", limb) == kind("b=-1 x=1", limb) == ""
    assert kind("world=2 x=1", ("world", "x", False), base="world") == ""
    assert kind("b=1 x=1 y=1", limb, ("b", "y", False)) == "warning"
    assert kind("b=1 x=1 y=1", limb, ("x", "y", False)) == "info"
    # links fixed to the base belong to it, and so do their limbs
    assert kind("b=0 f=1 x=1", ("b", "f", True), ("f", "x", False)) == "info"
    assert kind("b=1 f=1 x=1", ("b", "f", True), ("f", "x", False)) == "warning"
    assert (
        kind("b=1 f=0 x=1 y=1", ("b", "f", True), ("f", "x", False), ("b", "y", False)) == "warning"
    )
    # a link fixed to a moving one is part of it
    assert kind("b=2 x=1 f=1", limb, ("x", "f", True)) == "info"
    (note,) = remarks.note_fixed_base("b", {"b": Fraction(2, 3), "x": Fraction(1)}, [limb])
    assert note.text == (
        "b (0.666667 kg) is fixed, since no joint moves it: its inertia has no effect"
    )


# -- drives, orders, loops, names ------------------------------------------------------------------


def test_unapplied_drives_are_listed_by_kind() -> None:
    joints = [
        Joint(
            "a", "revolute", BASE, (), unapplied=(("damping", Fraction(1)), ("rotor", Fraction(2)))
        ),
        Joint("b", "revolute", 0, (), unapplied=(("damping", Fraction(1)),)),
    ]
    assert texts(remarks.note_unapplied_drives(joints)) == [
        "unapplied: read and not applied: damping of a, b; rotor of a"
    ]
    assert remarks.note_unapplied_drives([joint("a", BASE)]) == []


def test_a_chosen_order_of_joints_is_noted() -> None:
    assert remarks.note_joint_order("file", ["a"]) == []
    assert texts(remarks.note_joint_order("pinocchio", ["a", "b"])) == [
        "info: joints are in Pinocchio's order: a, b"
    ]
    assert texts(remarks.note_joint_order(["b", "a"], ["b", "a"])) == [
        "info: joints are in the chosen order: b, a"
    ]


def test_loops_and_names_in_c_are_noted() -> None:
    assert remarks.note_loops([]) == []
    assert texts(remarks.note_loops(["a"]))[0].endswith("those of the open tree: loop a")
    assert texts(remarks.note_loops(["a", "b"]))[0].endswith("those of the open tree: loops a, b")
    assert remarks.note_c_name("arm") == []
    (note,) = remarks.note_c_name("an arm")
    assert note.text.endswith("; generate(name=...) sets another name")


@pytest.mark.parametrize(
    ("value", "lower", "upper", "span"),
    [
        (1.0005, -1, 1, ""),
        (-1.0009, -1, 1, ""),
        (1.002, -1, 1, "-1 … 1"),
        (-1.002, -1, 1, "-1 … 1"),
        (2.0021, 0, 2, "0 … 2"),
        (-0.0019, 0, 2, ""),
        (-0.0021, 0, 2, "0 … 2"),
        (5, None, 2, "… 2"),
        (1, None, 2, ""),
        (1, 2, None, "2 …"),
        (5, 2, None, ""),
        (5, None, None, ""),
        (5, 2, 1, ""),
        (5, 3, 3, "3 … 3"),
    ],
)
def test_a_value_may_exceed_its_limit_by_a_thousandth(
    value: float, lower: int | None, upper: int | None, span: str
) -> None:
    """Limits are printed with few digits: the larger one determines the tolerance."""
    limits = Limits(*(None if end is None else Fraction(end) for end in (lower, upper)))
    expected = f"warning: joint j is locked at {value:g} rad, outside its range {span} rad"
    assert texts(remarks.note_locked_value("j", value, limits, "rad")) == [expected] * bool(span)
