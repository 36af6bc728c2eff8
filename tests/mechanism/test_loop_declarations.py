"""Declarations of loop closures: types, faults, starts and choices of joints."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from symgen.mechanism.closed_loops import (
    SHOWN,
    End,
    Loop,
    choice_fault,
    fault,
    loop_count_suffix,
    start_fault,
)
from symgen.mechanism.closures import ALL_AXES, Across, Along, Apart, Unspun, closure, closures
from symgen.support.errors import MechanismError

ROD = Loop("rod", "distance", End(0), End(1), (("distance", Fraction(1, 2)),))
HINGE = Loop("hinge", "revolute", End(-1), End(1))
LINKS = ["a", "b", "base"]


def test_a_loop_is_described_by_its_type_links_and_parameters() -> None:
    assert ROD.describe(LINKS) == "rod: distance from a to b, distance 0.5"
    assert HINGE.describe(LINKS) == "hinge: revolute from base to b"
    assert HINGE.facts(LINKS) == {
        "name": "hinge",
        "type": "revolute",
        "first": "base",
        "second": "b",
    }
    assert ROD.facts(LINKS)["parameters"] == {"distance": 0.5}


def test_loops_are_counted_after_the_joints() -> None:
    suffixes = [loop_count_suffix(loops) for loops in ([], [ROD], [ROD, HINGE])]
    assert suffixes == ["", ", 1 loop", ", 2 loops"]


def test_valid_loops_have_no_fault() -> None:
    assert fault([ROD, HINGE], 2) is None
    assert fault([], 0) is None


@pytest.mark.parametrize(
    ("loop", "text", "remedy"),
    [
        (replace(ROD, name="hinge"), "loop 'hinge' is declared twice", "its own name"),
        (replace(ROD, kind="rope"), "has the unknown type 'rope'", "use one of cylindrical, dist"),
        (replace(ROD, first=End(-2)), "a body that does not exist", "name bodies"),
        (replace(ROD, second=End(2)), "a body that does not exist", "name bodies"),
        (replace(ROD, second=End(0)), "joins a link to itself", "two links"),
        (replace(HINGE, name="h", second=End(-1)), "joins a link to itself", "two links"),
        (replace(ROD, parameters=()), "declares no parameters", "this type takes distance"),
        (replace(ROD, kind="weld"), "is a weld and declares distance", "this type takes none"),
        (replace(ROD, parameters=(("distance", Fraction(0)),)), "is not positive", "larger"),
        (replace(ROD, parameters=(("distance", Fraction(-1)),)), "is not positive", "larger"),
    ],
)
def test_a_fault_of_a_loop_is_named_with_its_remedy(loop: Loop, text: str, remedy: str) -> None:
    declared_fault = fault([HINGE, loop], 2)
    assert declared_fault is not None
    assert text in declared_fault[0]
    assert remedy in declared_fault[1]


JOINTS: dict[str, tuple[int, int | None]] = {"hinge": (1, None), "ball": (4, 0), "free": (7, 3)}
ONE, ZERO = Fraction(1), Fraction(0)
MANY = {f"j{k}": (1, None) for k in range(SHOWN + 1)}


@pytest.mark.parametrize(
    "start",
    [
        (),
        (("hinge", (ZERO,)),),
        (("ball", (ZERO, ZERO, ZERO, ONE)), ("hinge", (ONE,))),
        (("free", (ZERO,) * 3 + (ONE, ZERO, ZERO, ZERO)),),
        (("free", (ZERO,) * 6 + (ONE,)),),
    ],
)
def test_a_valid_start_has_no_fault(start: tuple[tuple[str, tuple[Fraction, ...]], ...]) -> None:
    assert start_fault(start, [ROD], JOINTS) is None


@pytest.mark.parametrize(
    ("start", "loops", "text", "remedy"),
    [
        ((("hinge", (ZERO,)),), [], "no closed loop", "remove the start"),
        ((("hing", (ZERO,)),), [ROD], "'hing' is declared, but", "hinge, ball, free"),
        ((("hinge", (ZERO,)),) * 2, [ROD], "'hinge' is declared twice", "once"),
        ((("hinge", (ZERO, ZERO)),), [ROD], "has 2 numbers", "give 1"),
        ((("ball", (ZERO,) * 4),), [ROD], "a quaternion of zero", "0, 0, 0, 1"),
        ((("free", (ONE,) * 3 + (ZERO,) * 4),), [ROD], "a quaternion of zero", "0, 0, 0, 1"),
    ],
)
def test_a_fault_of_a_start_is_named_with_its_remedy(
    start: tuple[tuple[str, tuple[Fraction, ...]], ...], loops: list[Loop], text: str, remedy: str
) -> None:
    declared_fault = start_fault(start, loops, JOINTS)
    assert declared_fault is not None
    assert text in declared_fault[0]
    assert remedy in declared_fault[1]


def test_a_remedy_names_at_most_twelve_joints() -> None:
    for declared_fault in (
        start_fault((("x", ()),), [ROD], MANY),
        choice_fault("actuated", ["x"], [ROD], dict.fromkeys(MANY, (0,))),
    ):
        assert declared_fault is not None
        assert declared_fault[1] == f"use names of {', '.join(f'j{k}' for k in range(12))}"


VELOCITIES = {"hinge": (0,), "planar": (1, 2, 3), "planar.vx": (1,), "follower": ()}


@pytest.mark.parametrize(
    ("names", "loops", "text"),
    [
        ([], [], None),
        ([], [ROD], None),
        (["hinge", "planar"], [ROD], None),
        (["hinge", "planar.vx"], [ROD], None),
        (["hinge"], [], "independent joints are declared, but the mechanism has no closed loop"),
        (["hing"], [ROD], "'hing' is declared to be independent, but no moving joint"),
        (["follower"], [ROD], "'follower' is declared to be independent, but it is a mimic joint"),
        (["hinge", "hinge"], [ROD], "'hinge' is declared to be independent twice"),
        (
            ["hinge", "planar", "planar.vx"],
            [ROD],
            "'planar.vx' is declared to be independent twice",
        ),
    ],
)
def test_joints_are_chosen_once_each_among_those_with_velocities(
    names: list[str], loops: list[Loop], text: str | None
) -> None:
    declared_fault = choice_fault("independent", names, loops, VELOCITIES)
    assert (declared_fault is None) == (text is None)
    if declared_fault is not None and text is not None:
        assert declared_fault[0].startswith(text)


# -- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", closures())
def test_a_closure_has_a_row_for_each_motion_that_it_forbids(kind: str) -> None:
    closure_type = closure(kind)
    rotations = 3 - len(closure_type.angular_velocity_axes)
    translations = 3 - len(closure_type.translation_axes)
    forbidden = {"distance": 1, "universal": 4}.get(kind, rotations + translations)
    assert len(closure_type.rows) == forbidden
    forces = [row for row in closure_type.rows if isinstance(row, Along | Apart)]
    units = ["N/m" if kind == "distance" else "N"] * len(forces)
    assert list(closure_type.units) == units + ["N m"] * (len(closure_type.rows) - len(forces))
    slid = {row.axis for row in closure_type.rows if isinstance(row, Along)}
    if kind != "distance":
        assert slid == set(ALL_AXES) - {*closure_type.translation_axes}


@pytest.mark.parametrize("kind", closures())
def test_each_force_of_a_closure_acts_where_the_motion_is_forbidden(kind: str) -> None:
    """The rows about x, y and z of small rotations have one axis each that is not free."""
    closure_type = closure(kind)
    forces = closure_type.forces
    assert len(set(forces)) == len(forces)
    locked = [axis for axis in ALL_AXES if axis not in closure_type.angular_velocity_axes]
    if kind not in ("distance", "universal"):
        assert [force for force in forces if force.startswith("moment")] == [
            f"moment about {'xyz'[axis]}" for axis in locked
        ]
        assert [force for force in forces if force.startswith("force")] == [
            f"force along {'xyz'[axis]}"
            for axis in ALL_AXES
            if axis not in closure_type.translation_axes
        ]


def test_rows_of_small_rotations_have_the_sign_of_their_axis() -> None:
    """For E = (1 + δ×) e, the row sign · e_i · E_j changes by sign · (δ × e_j) · e_i: +1 per unit
    δ.
    """
    for kind in closures():
        rows = [row for row in closure(kind).rows if isinstance(row, Across)]
        if kind == "universal":
            continue
        for row in rows:
            axis = 3 - row.first - row.second
            # (e_axis × e_second) · e_first is the sign of the permutation (axis, second, first)
            even = (axis, row.second, row.first) in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
            assert row.sign * (1 if even else -1) == 1


def test_frames_are_aligned_along_axes_that_no_rotation_turns() -> None:
    aligned = {kind: closure(kind).aligned for kind in closures()}
    assert aligned["weld"] == aligned["prismatic"] == (0, 1, 2)
    assert aligned["revolute"] == aligned["cylindrical"] == (2,)
    assert aligned["spherical"] == aligned["universal"] == aligned["soft_finger"] == ()


def test_a_soft_finger_forbids_one_angular_velocity() -> None:
    assert [row for row in closure("soft_finger").rows if isinstance(row, Unspun)] == [Unspun(2)]
    assert closure("universal").forces[-1] == "moment about the normal of both axes"
    assert closure("distance").forces == (
        "force along the line between the origins, by its length",
    )


def test_an_unknown_closure_is_refused_with_the_list_of_types() -> None:
    with pytest.raises(MechanismError, match="is named 'rope'; there are: cylindrical, distance, "):
        closure("rope")
