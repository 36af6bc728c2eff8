"""Ranks of rounded rows, sizes of robots, spanning columns, and the numbers of damped solves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.description.by_hand import Robot
from symgen.mechanism.closed_loops import End, Loop
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.reference import constrained, contacts
from symgen.reference.mechanics import Reference
from symgen.reference.minimum_norm import minimum_norm_forces
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, Array, TooFewDigits, arb
from symgen.reference.rounding import (
    column_scales,
    contradiction,
    count_significant,
    dimensionless,
    exact_rank,
    format_singular_values,
    immobile_loops,
    independent_rows,
    rank,
    robot_size,
    row_scales,
    spanning_columns,
    trailing_spanning_columns,
)
from symgen.vocabulary.poses import Shift
from tests.shared.looped import doubled

BAR: dict[str, Any] = {"mass": 1, "inertia": ("0.01", 0, 0, "0.01", 0, "0.01")}


def arm(distance: float = 1.5) -> Robot:
    """Return a hinge and a slide on it that a rod connects with the base: a box of 3 m by 4 m by 12
    m.
    """
    return (
        symgen.Robot("arm", gravity=(0, 0, 0))
        .body("bar", parent="base", type="revolute", axis=(0, 0, 1), centre=(3, 0, 0), **BAR)
        .body(
            "lift",
            parent="bar",
            type="prismatic",
            axis=(0, 0, 1),
            xyz=(0, 4, 0),
            centre=(0, 0, 12),
            **BAR,
        )
        .loop(
            "rod",
            "distance",
            first=("base", (2, 0, 0)),
            second=("bar", (1, 0, 0)),
            distance=distance,
        )
        .loop("pin", "revolute", first=("base", (2, 0, 0)), second="lift")
    )


# -- sizes --


def test_a_robot_is_as_large_as_the_box_around_its_origins_and_centres() -> None:
    """The points are (0, 0, 0), (3, 0, 0), (0, 4, 0) and (0, 4, 12) with the hinge at zero; with
    nothing, it is 1 m.
    """
    assert robot_size(arm().build()) == pytest.approx(13)
    point = symgen.Robot("point").body("a", parent="base", type="revolute", axis=(0, 0, 1))
    assert robot_size(point.build()) == 1


def test_the_size_is_that_of_the_declared_start() -> None:
    """Turned by a quarter, the points are (0, 0, 0), (0, 3, 0), (−4, 0, 0) and (−4, 0, 12 + 2)."""
    mechanism = arm().build()
    start = (("bar_joint", (Fraction(355, 226),)), ("lift_joint", (Fraction(2),)))
    size = np.sqrt(4**2 + 3**2 + 14**2)
    assert robot_size(replace(mechanism, start=start)) == pytest.approx(size, abs=1e-5)


def test_rows_and_columns_are_scaled_to_angles_and_fractions_of_the_size() -> None:
    """The rod's row is a square of a length; a pin has three lengths and two cosines."""
    mechanism = arm().build()
    expected = [1 / 169, *[1 / 13] * 3, 1, 1]
    assert row_scales(mechanism, mechanism.loops) == pytest.approx(expected)
    assert row_scales(mechanism, mechanism.loops, ((0,), (1, 4))) == pytest.approx(
        [1 / 169, 1 / 13, 1]
    )
    assert column_scales(mechanism).tolist() == pytest.approx([1, 13])
    A = np.ones((6, 2))
    assert dimensionless(mechanism, A) == pytest.approx(np.outer(expected, [1, 13]))


# -- ranks --


def test_singular_values_count_relative_to_the_largest_or_to_one() -> None:
    values = np.array([[100, 2e-3, 5e-4], [0.1, 2e-5, 0.5e-5], [0, 0, 0]])
    assert count_significant(values).tolist() == [2, 2, 0]


def test_the_rank_and_the_singular_values_of_rounded_rows() -> None:
    """The rod's row and a pin's first one count, 169 and 13 times as large; the other rows are
    rounding.
    """
    mechanism = arm().build()
    A = np.zeros((6, 2))
    A[0], A[1] = (169 * 0.5, 0), (0, 0.25)
    A[2] = (1e-5, 0)
    assert rank(mechanism, A) == 2
    assert format_singular_values(mechanism, A) == "0.5, 0.25"
    assert independent_rows(mechanism, A) == ((0,), (0,))
    A[5] = (7, 0)
    assert format_singular_values(mechanism, A).startswith("7, 0.25")
    assert independent_rows(mechanism, A) == ((), (0, 4))


def rod(length: float) -> Mechanism:
    mechanism = arm(length).build()
    return replace(mechanism, loops=mechanism.loops[:1])


def test_a_contradiction_is_relative_to_the_size_of_the_robot() -> None:
    """The rod of 1.5 m is stretched from 1 to 3 m: half the squares differ by −0.625 and 3.375."""
    q = np.array([[0.0, 0.5], [np.pi, 0.5]])
    assert contradiction(rod(1.5), q) == pytest.approx(3.375 / 169)
    assert contradiction(rod(1.5), q[:1]) == pytest.approx(0.625 / 169)


def test_rates_of_rows_count_relative_to_velocities_above_one() -> None:
    """At a quarter turn the slope of half the square is 2 m² per rad; at 5 rad/s it counts once."""
    q, closed = np.array([[np.pi / 2, 0]]), rod(float(np.sqrt(5)))
    for speed, expected in ((0.25, 0.5), (5, 2)):
        v = np.array([[speed, 0]])
        assert contradiction(closed, q, v) == pytest.approx(expected / 169, abs=1e-12)
    assert contradiction(closed, q) == pytest.approx(0, abs=1e-12)


def test_loops_that_no_joint_moves_are_named_with_their_opening() -> None:
    """Frames on one link are 0.5 m apart, as are frames on the hinge's own axis: 0.5/13 of the
    robot's size.
    """
    mechanism = arm().build()

    def at(body: int, z: str) -> End:
        return End(body, (Shift((Fraction(0), Fraction(0), Fraction(z))),))

    loops = (
        Loop("same link", "point", at(0, "0"), at(0, "0.5")),
        Loop("moved", "point", at(0, "0"), at(1, "0")),
        Loop("on the axis", "point", at(BASE, "0"), at(0, "-0.5")),
    )
    openings = immobile_loops(mechanism, loops)
    assert list(openings) == ["same link", "on the axis"]
    assert openings == pytest.approx(dict.fromkeys(openings, 0.5 / 13))
    assert immobile_loops(mechanism, loops[::-1]) == pytest.approx(openings)


# -- elimination and spanning columns --


def balls(rows: list[list[Any]]) -> Array:
    return arb(60).array([[Fraction(x) for x in row] for row in rows])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[0, 0], [0, 0]], 0),
        ([[1, 2], [2, 4]], 1),
        ([[1, 2], [2, "4.0001"]], 2),
        ([[0, 3, 1], [2, 0, 0], [4, 6, 2]], 2),
        ([[0, 3, 1], [2, 0, 0], [4, 6, 3]], 3),
        ([[1, 0, 0]], 1),
        ([[1], [2], [3]], 1),
        ([["1e-20", 0], [0, "1e-20"]], 2),
    ],
)
def test_the_exact_rank_is_that_of_an_elimination(rows: list[list[Any]], expected: int) -> None:
    with arb(60).working():
        assert exact_rank(balls(rows), arb(60).constant(Fraction(1, 10**40))) == expected


def test_remainders_below_the_bound_count_as_zero() -> None:
    """1e-30 of the largest entry is above 1e-40 and below 1e-20."""
    with arb(60).working():
        A = balls([[1000, 0], [0, "1e-27"]])
        assert exact_rank(A, arb(60).constant(Fraction(1, 10**40))) == 2
        assert exact_rank(A, arb(60).constant(Fraction(1, 10**20))) == 1


A = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0]])


def test_spanning_columns_are_the_largest_remainders() -> None:
    assert spanning_columns(A, 1) == (2,)
    assert spanning_columns(A, 2) == (1, 2)
    assert spanning_columns(np.array([[1.0, 1.0, 0], [0, 0, 1]]), 2) == (
        0,
        2,
    )  # the first of equals
    assert spanning_columns(A, 0) == ()


def test_trailing_columns_span_from_the_last_one_on() -> None:
    assert trailing_spanning_columns(A, 2) == (1, 3)
    assert trailing_spanning_columns(A, 2, {3}) == (1, 2)
    assert trailing_spanning_columns(A, 2, {1}) == (0, 3)
    assert trailing_spanning_columns(A, 2, {0, 1}) == (1, 3)
    nearly_dependent = np.array([[1.0, 0, 1e-3], [0, 1, 1]])
    assert trailing_spanning_columns(nearly_dependent, 2) == (0, 2)
    assert trailing_spanning_columns(np.array([[1.0, 0, 0.01], [0, 1e-3, 0]]), 2) == (0, 1)


# -- damped solves --


@pytest.mark.parametrize(("count", "error"), [(1, 1e-6), (2, 1e-12), (3, 1e-18)])
def test_each_damped_solve_leaves_the_same_fraction_of_the_error(count: int, error: float) -> None:
    """With S = s 1 and μ = s/10⁶, a fraction of 1/(1 + 10⁶) is left."""
    scalars = arb(40)
    with scalars.working():
        S = scalars.array(np.eye(2) * 5)
        forces = minimum_norm_forces(scalars, S, scalars.array([10, -15]), count)
        left = [float(1 - forces[0] / 2), float(1 + forces[1] / 3)]
    assert left == pytest.approx([error, error], rel=1e-5)


def test_repeated_rows_share_the_least_force() -> None:
    """Two equal rows of S have half of the force each; a zero row has none."""
    S = np.array([[2.0, 2, 0], [2, 2, 0], [0, 0, 0]])
    forces = minimum_norm_forces(FLOAT, S, np.array([4.0, 4, 0]), 3)
    assert forces == pytest.approx([1, 1, 0], abs=1e-9)


@pytest.mark.parametrize(
    ("least", "expected"),
    # ten times the fraction 1e-6 mean/least is left by each solve, and 1e-16 in the end
    [(1, 4), (1e-2, 6), (1e-3, 8), (1e-9, 8)],
)
def test_as_many_solves_as_leave_no_error(least: float, expected: int) -> None:
    """The mean of the diagonal is 1: (10⁻⁵)ⁿ ≤ 10⁻¹⁶ for n = 4, and 3 to 8 solves are made."""
    S = np.diag([2 - least, least, 1.0])[None]
    assert constrained.solve_count_for(S, 3) == expected
    stack = np.concatenate([np.eye(3)[None], S])
    assert constrained.solve_count_for(stack, 3) == expected


def test_no_fewer_than_three_solves() -> None:
    S = np.diag([1.0, 1.0])[None] * 1e3
    assert constrained.solve_count_for(S, 2) == 4
    assert constrained.solve_count_for(np.diag([1e-9, 1e9])[None], 1) == 4


def test_loops_without_redundant_rows_are_solved_once() -> None:
    four_bar = symgen.load("four_bar")
    assert constrained.solve_count(four_bar, Reference) == 1
    assert constrained.solve_count(doubled(four_bar), Reference) > 3


# -- contacts --


def box() -> Mechanism:
    """Return a free body with a wheel on it, and a link that nothing moves along its axis."""
    builder = symgen.Robot("box").body("box", parent="base", type="free", centre=(0, 0, 0), **BAR)
    builder.body(
        "wheel",
        parent="box",
        type="revolute",
        axis=(0, 0, 1),
        xyz=(1, 0, 0),
        centre=(0, 0, 0),
        **BAR,
    )
    return builder.build()  # fmt: skip


def test_contacts_are_redundant_if_their_rows_depend_on_each_other() -> None:
    """Two points of a rigid body keep their distance, three rows each leave five; a single point is
    free.
    """
    mechanism = box()
    assert not contacts.redundant(mechanism, ("box",))
    assert contacts.redundant(
        mechanism, ("box", "wheel")
    )  # the wheel's own axis does not move its origin
    assert contacts.solve_count(mechanism, ("box",), Reference) == 1
    assert contacts.solve_count(mechanism, ("box", "wheel"), Reference) == 3
    three = ("box", "wheel", "box")
    assert contacts.redundant(mechanism, three)


def test_a_contact_on_the_axis_of_its_only_joint_does_not_move() -> None:
    builder = symgen.Robot("wheel").body(
        "wheel", parent="base", type="revolute", axis=(0, 0, 1), centre=(1, 0, 0), **BAR
    )
    builder.frame("hub", "wheel").frame("rim", "wheel", xyz=(1, 0, 0))
    mechanism = builder.build()  # fmt: skip
    assert contacts.immovable(mechanism, ("hub", "rim")) == ("hub",)
    assert contacts.immovable(mechanism, ("rim",)) == ()


# -- results over balls --


def test_the_last_result_over_balls_is_kept_and_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = Reference(symgen.load("planar_arm"), arb(40))
    calls = []
    placements = Motion.placements
    monkeypatch.setattr(
        Motion, "placements", lambda self, *args: calls.append(1) or placements(self, *args)
    )
    q = reference.scalars.array([[Fraction(1, 2), Fraction(-1, 4)]])
    first = reference.mass_matrix(q)
    evaluated = len(calls)
    assert evaluated > 0
    expected = np.array(first)
    first[...] = reference.scalars.array(0)
    again = reference.mass_matrix(q.copy())
    assert len(calls) == evaluated
    assert all(x.overlaps(y) for x, y in zip(again.ravel(), expected.ravel(), strict=True))
    q[0, 1] = reference.scalars.constant(Fraction(1, 8))
    changed = reference.mass_matrix(q)
    assert len(calls) == 2 * evaluated
    assert not changed[0, 0, 0].overlaps(expected[0, 0, 0])
    assert reference.mass_matrix(q[0]).shape == (2, 2)
    assert len(calls) == 3 * evaluated


def test_doubles_are_evaluated_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = Reference(symgen.load("planar_arm"))
    q = np.array([0.5, -0.3])
    first = reference.mass_matrix(q)
    assert reference.mass_matrix(q) is not first
    assert not reference.cached_results


def test_balls_that_do_not_decide_are_no_solution() -> None:
    scalars = arb(20)
    with scalars.working():
        singular = scalars.array([[1, 2], [2, 4]])
        with pytest.raises(TooFewDigits, match=r"^20 digits do not decide whether the matrix"):
            scalars.solve(singular, scalars.array([[1], [2]]))
