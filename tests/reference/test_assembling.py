"""Assembly of closed loops in closed form: a parallelogram, a pendulum on a rod, and slides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import acos, atan2, hypot
from random import Random

import numpy as np
import pytest

import symgen
from symgen.description.by_hand import Robot
from symgen.mechanism.mechanism import Mechanism
from symgen.reference import assembling, closing
from symgen.reference.assembling import (
    DIGITS,
    OpenLoops,
    assemble,
    closed_near,
    closed_states,
    gauss_newton,
    open_states,
)
from symgen.reference.assembly_starts import (
    draw_positions_near,
    leading_slices,
    position_near_start,
    rational_positions,
    rational_unit_quaternion,
    start_positions,
)
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, Array, arb
from symgen.reference.states import GRID
from tests.shared.looped import doubled

BAR = {"mass": 1, "centre": (0.1, 0, 0), "inertia": (0.01, 0, 0, 0.01, 0, 0.01)}
HINGE = {"type": "revolute", "axis": (0, 0, 1), **BAR}


def parallelogram(**numbers: float) -> Robot:
    """Return bars of 0.3, 0.5 and 0.3 m on two hinges of the base, 0.5 m apart."""
    start = {"crank_joint": 1.0, "coupler_joint": -1.0, "rocker_joint": 1.0} | numbers
    return (
        symgen.Robot("parallelogram")
        .body("crank", parent="base", **HINGE)
        .body("coupler", parent="crank", xyz=(0.3, 0, 0), **HINGE)
        .body("rocker", parent="base", xyz=(0.5, 0, 0), **HINGE)
        .loop("closing", "revolute", first=("coupler", (0.5, 0, 0)), second=("rocker", (0.3, 0, 0)))
        .start(**start)
    )


def pendulum(length: float, angle: float = 0.3, tip: float = 1.0) -> Robot:
    """Return a bar whose tip a rod connects with the point (2, 0) of the base."""
    return (
        symgen.Robot("pendulum")
        .body("bar", parent="base", **HINGE)
        .body("wheel", parent="bar", **HINGE)
        .loop(
            "rod",
            "distance",
            first=("base", (2, 0, 0)),
            second=("bar", (tip, 0, 0)),
            distance=length,
        )
        .start(bar_joint=angle)
    )


def slides(first: str = "spherical", anchor: float = 10.0, **options: object) -> Robot:
    """Return a slide along x on a slide along x, whose end is to be at a point of the base."""
    kinds = {"type": "prismatic", "axis": (1, 0, 0), **BAR}
    return (
        symgen.Robot("slides")
        .body("lower", parent="base", **kinds)
        .body("upper", parent="lower", **kinds)
        .loop("stop", first, first="upper", second=("base", (anchor, 0, 0)))
    )


# -- the assembly --


def test_a_parallelogram_keeps_two_rows_of_five_and_one_degree_of_freedom() -> None:
    """In its plane the origins coincide along x and y; the declared start opens them by the
    coupler's change.
    """
    mechanism = parallelogram(coupler_joint=-0.9).build()
    at = assemble(mechanism)
    crank, coupler, rocker = at.q
    assert crank + coupler == pytest.approx(0, abs=1e-12)
    assert crank == pytest.approx(rocker, abs=1e-12)
    assert (at.kept, at.rank, at.rows, at.redundant) == (((0, 1),), 2, 2, 0)
    assert (at.eliminated, at.actuated, at.passive) == ((1, 2), (0,), (1, 2))
    assert (at.unmoved, at.rounded) == ("", False)
    # d = (0.5, 0) + 0.3 e(1) - 0.3 e(1) - 0.5 e(0.1), along the axes of the coupler, at the angle
    # 0.1
    across = 0.5 * np.array([np.cos(0.1) - 1, -np.sin(0.1)])
    assert at.start == pytest.approx(np.abs(across).max(), abs=1e-12)


def test_a_loop_that_is_closed_twice_has_redundant_rows() -> None:
    at = assemble(doubled(parallelogram().build()))
    assert (at.kept, at.rank, at.rows, at.redundant) == (((0, 1), (0, 1)), 2, 4, 2)
    assert at.start < 1e-15


def test_a_loop_of_a_tiny_robot_has_its_rank() -> None:
    """In a robot of 0.1 mm, half the square of the rod's length changes by 1e-8 m² per rad."""
    small = {"mass": 1, "centre": ("1e-5", 0, 0), "inertia": ("1e-10", 0, 0, "1e-10", 0, "1e-10")}
    robot = symgen.Robot("tiny")
    for name, parent in (("bar", "base"), ("wheel", "bar")):
        robot.body(name, parent=parent, type="revolute", axis=(0, 0, 1), **small)
    robot.loop(
        "rod",
        "distance",
        first=("base", ("2e-4", 0, 0)),
        second=("bar", ("1e-4", 0, 0)),
        distance="1.5e-4",
    )
    at = assemble(robot.start(bar_joint=0.8).build())
    assert (at.rank, at.kept, at.rounded) == (1, ((0,),), False)
    assert at.q[0] == pytest.approx(acos((5 - 2.25) / 4), abs=1e-2)


def test_each_loop_keeps_its_own_rows() -> None:
    """A rod parallel to the coupler has a length that never changes, so its row is redundant."""
    robot = parallelogram().loop(
        "rod",
        "distance",
        first=("crank", (0.1, 0, 0)),
        second=("rocker", (0.1, 0, 0)),
        distance=0.5,
    )
    mechanism = robot.build()
    closing_loop, rod = mechanism.loops
    for loops, kept in (
        ((closing_loop, rod), ((0, 1), (0,))),
        ((rod, closing_loop), ((0,), (0, 1))),
    ):
        at = assemble(replace(mechanism, loops=loops))
        assert (at.kept, at.rank, at.redundant) == (kept, 2, 1)


@pytest.mark.parametrize(
    ("independent", "actuated", "eliminated", "expected", "passive"),
    [
        ((), (), (1, 2), (0,), (1, 2)),
        (("rocker_joint",), (), (0, 1), (2,), (0, 1)),
        (("coupler_joint",), ("rocker_joint",), (0, 2), (2,), (0, 1)),
        ((), ("crank_joint", "rocker_joint"), (1, 2), (0, 2), (1, 2)),
    ],
)
def test_declared_joints_determine_which_velocities_are_eliminated(
    independent: tuple[str, ...],
    actuated: tuple[str, ...],
    eliminated: tuple[int, ...],
    expected: tuple[int, ...],
    passive: tuple[int, ...],
) -> None:
    mechanism = replace(parallelogram().build(), independent=independent, actuated=actuated)
    at = assemble(mechanism)
    assert (at.eliminated, at.actuated, at.passive) == (eliminated, expected, passive)


def test_too_few_actuated_joints_are_named_in_the_assembly() -> None:
    """A wheel on the bar of a closed pendulum takes no part in the loop."""
    mechanism = replace(
        slides("point", 0.5).body("wheel", parent="upper", **HINGE).build(),
        actuated=("lower_joint",),
    )
    at = assemble(mechanism)
    assert at.unmoved == (
        "'slides': 1 velocity is actuated, which cannot move all 2 degrees of freedom of the "
        "closed loops; name wheel_joint as well, with --actuated or in the description"
    )
    assert assemble(replace(mechanism, actuated=("lower_joint", "wheel_joint"))).unmoved == ""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: pendulum(4).build(),
            "the loops of 'pendulum' cannot be closed: from 16 poses round its start the best is "
            # half the square of 3 is 4.5, of the rod 8
            "off by 3.5 m or rad, and rounded numbers explain 1e-05 of the robot's size or rad",
        ),
        (
            lambda: pendulum(1, angle=0).build(),
            "the loops of 'pendulum' close in a singular pose: their rank is 0 there",
        ),
        (
            lambda: replace(
                pendulum(2).build(),
                joints=pendulum(2).build().joints[:1],
                bodies=pendulum(2).build().bodies[:1],
                frames=(),
            ),
            r"the loops of 'pendulum' leave no degree of freedom: 1 velocities, and rows of rank 1 "
            # the slope 2 sin q with cos q = 1/4, by the square of 0.1 m from the hinge to the mass
            # centre
            r"\(singular values 1\.9e\+02, where rounded numbers explain 1e-05\)",
        ),
        (
            lambda: replace(parallelogram().build(), independent=("crank_joint", "rocker_joint")),
            "2 velocities are declared independent, and the closed loops have 1 independent; "
            "name one of crank_joint, coupler_joint, rocker_joint$",
        ),
    ],
)
def test_faulty_loops_are_refused_with_a_reason(
    make: Callable[[], Mechanism], message: str
) -> None:
    with pytest.raises(OpenLoops, match=message):
        assemble(make())


# -- closed states --


@pytest.fixture(scope="module")
def closed() -> tuple[Mechanism, dict[str, Array]]:
    mechanism = parallelogram().build()
    return mechanism, closed_states(mechanism, assemble(mechanism), 4, 1)


def test_closed_states_are_decimals_near_the_assembled_position(
    closed: tuple[Mechanism, dict[str, Array]],
) -> None:
    """The crank is drawn: it is on the grid, within 0.6 rad; the others have the angles of a
    parallelogram.
    """
    mechanism, states = closed
    centre = assemble(mechanism).q
    (drawn,) = {0, 1, 2} - set(assemble(mechanism).dependent)
    for q, v in zip(states["q"], states["v"], strict=True):
        assert abs(q[0] + q[1]) < Fraction(1, 10**110)
        assert abs(q[0] - q[2]) < Fraction(1, 10**110)
        assert abs(v[0] + v[1]) < Fraction(1, 10**110)
        assert abs(v[0] - v[2]) < Fraction(1, 10**110)
        assert all((x * 10**DIGITS).denominator == 1 for x in (*q, *v))
        assert (q[drawn] * GRID).denominator == (v[drawn] * GRID).denominator == 1
        assert abs(q[drawn] - centre[drawn]) <= 0.6 + 1 / GRID
        assert abs(v[drawn]) <= 2
    assert len(set(states["q"][:, drawn])) == len(set(states["v"][:, drawn])) == 4


def test_closed_states_are_those_of_their_seed(
    closed: tuple[Mechanism, dict[str, Array]],
) -> None:
    mechanism, states = closed
    at = assemble(mechanism)
    assert (closed_states.__wrapped__(mechanism, at, 4, 1)["q"] == states["q"]).all()
    assert (closed_states(mechanism, at, 4)["q"] != states["q"]).any()


def test_open_states_are_near_closed_ones_on_the_grid(
    closed: tuple[Mechanism, dict[str, Array]],
) -> None:
    mechanism, states = closed
    opened = open_states(mechanism, assemble(mechanism), 4, 1, Fraction(1, 16))
    for q, near in zip(opened, states["q"], strict=True):
        assert all((x * GRID).denominator == 1 for x in q)
        assert 0 < max(abs(q - near)) <= Fraction(1, 16) + Fraction(1, 2 * GRID)


def test_states_near_a_singular_position_are_drawn_from_a_smaller_region() -> None:
    """A pendulum of 1 m on a rod of 1 + 2⁻¹² m from 2 m away is nearly stretched."""
    mechanism = pendulum(1 + 2.0**-12, angle=0.02).build()
    q = closed_states(mechanism, assemble(mechanism), 2, 0)["q"].astype(float)
    expected = acos((5 - (1 + 2.0**-12) ** 2) / 4)
    assert np.abs(q[:, 0]) == pytest.approx(expected, abs=1e-12)


# -- closing from a position --


@pytest.mark.parametrize(("angle", "sign"), [(0.9, 1), (-1.4, -1)])
def test_a_pendulum_closes_on_the_side_where_it_starts(angle: float, sign: int) -> None:
    """Law of cosines: 1.5² = 1 + 2² − 4 cos q."""
    mechanism = pendulum(1.5, angle=0.3).build()
    q = closed_near(mechanism, [angle, 0.25])
    assert float(q[0]) == pytest.approx(sign * acos((5 - 2.25) / 4), abs=1e-14)
    assert q[1] == Fraction(1, 4)
    assert all((x * 10**DIGITS).denominator == 1 for x in q)


def test_without_a_position_the_declared_start_is_closed() -> None:
    mechanism = pendulum(1.5, angle=-0.9).build()
    assert float(closed_near(mechanism, None)[0]) == pytest.approx(-acos(2.75 / 4), abs=1e-14)


def test_a_crossed_four_bar_is_reached_from_its_side() -> None:
    """With the crank at 1 rad, the rocker's tip is the mirror image on the line from crank tip to
    rocker hinge.
    """
    q = closed_near(parallelogram().build(), [1.0, -2.4, -1.9]).astype(float)
    x, y = 0.3 * np.cos(q[0]), 0.3 * np.sin(q[0])
    across = atan2(-y, 0.5 - x)
    assert q[0] + q[1] == pytest.approx(2 * across, abs=1e-12)
    tip = np.array([x, y]) + 0.5 * np.array([np.cos(q[0] + q[1]), np.sin(q[0] + q[1])])
    assert hypot(tip[0] - 0.5, tip[1]) == pytest.approx(0.3, abs=1e-12)
    assert atan2(tip[1], tip[0] - 0.5) == pytest.approx(q[2], abs=1e-12)


def test_a_position_from_which_the_loops_do_not_close_is_refused() -> None:
    """At the dead point the slope of the rod's length is zero; half the squares differ by (1 −
    2.25)/2.
    """
    with pytest.raises(
        OpenLoops,
        match=(
            r"from that position the loops of 'pendulum' do not close: 0\.62 m or rad are left;"
            r" start nearer"
        ),
    ):
        closed_near(pendulum(1.5).build(), [0.0, 0.0])


def test_steps_stop_at_a_closed_position_and_where_nothing_moves() -> None:
    motion = Motion(pendulum(1.5).build(), FLOAT)
    angle = acos((5 - 2.25) / 4)
    closed_q = np.array([angle, 0.5])
    assert gauss_newton(motion, None, closed_q) == pytest.approx(closed_q, abs=1e-12)
    dead = np.array([0.0, 0.5])
    assert (gauss_newton(motion, None, dead) == dead).all()
    assert np.isnan(gauss_newton(motion, None, np.array([np.nan, 0.5]))).any()


def test_a_step_moves_no_joint_by_more_than_the_longest_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two slides share a distance of 10 m equally; 21 steps of 0.5 m at most reach it."""
    motion, q = Motion(slides().build(), FLOAT), np.zeros(2)
    for count in (1, 4):
        monkeypatch.setattr(assembling, "TURNS", count)
        assert gauss_newton(motion, None, q) == pytest.approx([0.5 * count] * 2, abs=1e-12)
    monkeypatch.setattr(assembling, "TURNS", 21)
    assert gauss_newton(motion, None, q) == pytest.approx([5, 5], abs=1e-9)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("0.25", "0.25"), ("-0.3", "-0.3"), ("1e-121", "0"), ("6e-121", "1e-120")],
)
def test_balls_are_rounded_to_decimals(value: str, expected: str) -> None:
    scalars = arb(150)
    with scalars.working():
        (rounded,) = assembling._decimal(scalars.array([Fraction(value)]))
    assert rounded == Fraction(expected)


# -- start positions --


def with_ball(**start: object) -> Mechanism:
    robot = symgen.Robot("ball").body("bar", parent="base", **HINGE)
    robot.body("ball", parent="bar", type="spherical", **BAR)
    robot.body("slide", parent="ball", type="prismatic", axis=(1, 0, 0), **BAR)
    robot.loop("rod", "distance", first="base", second=("slide", (1, 0, 0)), distance=1)
    return robot.start(**start).build() if start else robot.build()


def test_joints_without_a_declared_start_are_neutral() -> None:
    assert start_positions(with_ball()).tolist() == [0, 0, 0, 0, 1, 0]
    assert start_positions(with_ball(slide_joint=0.5)).tolist() == [0, 0, 0, 0, 1, 0.5]


def test_the_declared_start_is_taken_with_quaternions_of_length_one() -> None:
    q = start_positions(with_ball(bar_joint=0.5, ball_joint=(0.6, 0, 0, 0.8)))
    assert q == pytest.approx([0.5, 0.6, 0, 0, 0.8, 0], abs=1e-15)
    start = (("ball_joint", (Fraction(1), Fraction(2), Fraction(2), Fraction(4))),)
    mechanism = replace(with_ball(), start=start)
    assert start_positions(mechanism) == pytest.approx([0, 0.2, 0.4, 0.4, 0.8, 0], abs=1e-15)


def test_a_declared_pose_of_a_free_body_keeps_its_position() -> None:
    robot = symgen.Robot("body").body("box", parent="base", type="free", **BAR)
    robot.loop("rod", "distance", first="base", second="box", distance=1)
    start = (("box_joint", (3, 4, 5, 2, 4, 4, 8)),)
    mechanism = replace(robot.build(), start=start)  # type: ignore[arg-type]
    assert start_positions(mechanism) == pytest.approx([3, 4, 5, 0.2, 0.4, 0.4, 0.8], abs=1e-15)


def test_start_positions_are_farther_away_with_each_attempt() -> None:
    mechanism = parallelogram().build()
    start = start_positions(mechanism)
    first = position_near_start(mechanism, start, 0)
    assert (first == start).all()
    assert first is not start
    for attempt in (1, 4, 8):
        q = position_near_start(mechanism, start, attempt)
        assert 0 < np.abs(q - start).max() <= attempt / 8 + 1 / GRID
        assert (q == position_near_start(mechanism, start, attempt)).all()
    farthest = max(
        np.abs(position_near_start(mechanism, start, attempt) - start).max()
        for attempt in range(10, 16)
    )
    assert farthest > 1


@pytest.mark.parametrize("grid", [GRID, 2**40])
def test_rational_positions_are_the_nearest_on_the_grid(grid: int) -> None:
    q = np.array([0.3, 0.1, -0.5, 0.7, 0.5, -0.9])
    q[1:5] /= np.linalg.norm(q[1:5])
    rational = rational_positions(with_ball(), q, grid)
    for k in (0, 5):
        assert (rational[k] * grid).denominator == 1
        assert abs(rational[k] - q[k]) <= Fraction(1, 2 * grid)
    assert sum(rational[1:5] ** 2) == 1
    assert np.abs(rational[1:5].astype(float) - q[1:5]).max() < 2 / grid + 1e-15


def test_positions_drawn_near_a_centre_are_within_reach_and_fill_it() -> None:
    mechanism, random = with_ball(), Random(1)
    centre = np.array([Fraction(1, 4), 0, 0, 0, Fraction(1), Fraction(-1, 2)], dtype=object)
    reach = Fraction(3, 5)
    drawn = np.array([draw_positions_near(mechanism, centre, reach, random) for _ in range(300)])
    for k in (0, 5):
        offset = drawn[:, k] - centre[k]
        assert all((x * GRID).denominator == 1 for x in offset)
        assert -reach <= min(offset) < -0.95 * reach
        assert 0.95 * reach < max(offset) <= reach
    for x, y, z, w in drawn[:, 1:5]:
        assert x * x + y * y + z * z + w * w == 1
    projected = drawn[:, 1:4] / (1 + drawn[:, 4:5])  # half a tangent of a quarter of the angle
    assert projected.min() >= -reach / 2
    assert projected.max() <= reach / 2
    assert -projected.min() > 0.95 * reach / 2
    assert projected.max() > 0.95 * reach / 2


@pytest.mark.parametrize("sign", [1, -1])
def test_a_rational_quaternion_is_moved_in_its_projection(sign: int) -> None:
    """(2 u, 1 − u²)/(1 + u²) has the projection u; a quaternion with negative w is projected with
    the other sign.
    """
    u = np.array([Fraction(1, 4), Fraction(-3, 8), Fraction(1, 2)], dtype=object)
    square = sum(u * u)
    quaternion = [sign * float(x / (1 + square)) for x in (*(2 * u), 1 - square)]
    offset = [Fraction(1, 16), Fraction(-1, 8), Fraction(1, 32)]
    moved = np.array(rational_unit_quaternion(quaternion, offset), dtype=object) * sign
    assert sum(moved**2) == 1
    assert (moved[:3] / (1 + moved[3])).tolist() == (u + offset).tolist()


def test_a_projection_is_rounded_to_the_grid() -> None:
    x, y, z, w = rational_unit_quaternion([0.6, 0, 0, 0.8], [Fraction(0)] * 3, 8)
    assert (x / (1 + w), y, z) == (Fraction(3, 8), 0, 0)  # 0.6/1.8 is 2.67 eighths


def test_followers_have_no_slice_of_the_leading_coordinates() -> None:
    robot = symgen.Robot("led", mimic="couple").body("a", parent="base", **HINGE)
    robot.body("b", parent="a", mimic=("a_joint", 2, 0), **HINGE)
    robot.body("c", parent="b", type="planar", **BAR)
    assert leading_slices(robot.build()) == [slice(0, 1), slice(1, 4)]


def test_balls_of_closed_states_satisfy_the_loops_to_110_digits(
    closed: tuple[Mechanism, dict[str, Array]],
) -> None:
    mechanism, states = closed
    sharp = Motion(mechanism, arb(150))
    with sharp.scalars.working():
        C = closing.residual(sharp, None, sharp.scalars.array(states["q"]))
        assert all(abs(x) < sharp.scalars.constant(Fraction(1, 10**110)) for x in C.ravel())
