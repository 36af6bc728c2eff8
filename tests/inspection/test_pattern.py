"""Patterns of matrices: kinds and values of entries, and the names of rows and columns."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from symgen.description.loading import load
from symgen.inspection.at import parse_values
from symgen.inspection.pattern import (
    HUNDREDTHS,
    MOVES,
    NUMBER,
    SPATIAL,
    ZERO,
    _format_value,
    _random_states,
    pattern,
)
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import Angle
from tests.shared.bars import chain_of_bars

ARM = "planar_arm"
JOINTS = (("joint1", 1), ("joint2", 1))
AXES = (("x", 1), ("y", 1), ("z", 1))


@cache
def ball_and_hinge() -> Mechanism:
    robot = chain_of_bars(2).build()
    ball, hinge = robot.joints
    return replace(robot, joints=(replace(ball, kind="spherical"), hinge))


def test_entries_are_zero_constant_or_variable() -> None:
    """The arm moves in a plane: its tip turns about z at the rate of both joints."""
    arm = load(ARM)
    assert pattern(arm, "M").kinds == ((MOVES, MOVES), (MOVES, NUMBER))
    still, turns, moves = (ZERO, ZERO), (NUMBER, NUMBER), (MOVES, MOVES)
    jacobian = pattern(arm, "J")
    assert jacobian.kinds == (still, still, turns, moves, moves, still)
    assert jacobian.values[2] == (1.0, 1.0)
    assert jacobian.values[0] == jacobian.values[5] == (0.0, 0.0)
    assert pattern(arm, "U", "udut").kinds == ((NUMBER, MOVES), (ZERO, NUMBER))


def test_values_are_those_at_the_pose() -> None:
    """M = [[7/4 + c/2, 1/12 + c/4], [., 1/12]] with c = cos q1, at three poses."""
    arm = load(ARM)
    for text, c in (("pi/2", 0), ("0", 1), ("pi", -1)):
        at_pose = pattern(arm, "M", at=parse_values(arm, f"q1={text}"))
        first, second = at_pose.values
        assert first == pytest.approx((7 / 4 + c / 2, 1 / 12 + c / 4))
        assert second == pytest.approx((1 / 12 + c / 4, 1 / 12))
        assert (at_pose.pose, at_pose.chosen) == (f"q1={text}", True)
        assert at_pose.label == "M"
    # an entry that is zero at the pose only is no constant zero
    at_zero = pattern(arm, "c", at=parse_values(arm, "q0=pi/2,q1=0,v0=0,v1=0"))
    assert [x for (x,) in at_zero.values] == [0.0, 0.0]
    assert at_zero.kinds == ((MOVES,), (MOVES,))


def test_inputs_that_are_not_given_have_random_values_of_two_decimals() -> None:
    arm = load(ARM)
    drawn = pattern(arm, "c")
    assert drawn == pattern(arm, "c")
    assert not drawn.chosen
    names = [assignment.partition("=")[0] for assignment in drawn.pose.split(",")]
    assert names == ["q0", "q1", "v0", "v1"]
    assert pattern(arm, "c", at=parse_values(arm, drawn.pose)).values == drawn.values
    partly = pattern(arm, "c", at=parse_values(arm, "q0=0.5,v1=-0.25"))
    assert not partly.chosen
    assert partly.pose.startswith("q0=0.5,q1=")
    assert partly.pose.endswith("v1=-0.25")


def test_rows_and_columns_are_named_by_joints_axes_or_components() -> None:
    arm = load(ARM)
    components = tuple((name, 1) for name in SPATIAL)
    for what, method, rows, columns in (
        ("M", None, JOINTS, JOINTS),
        ("c", None, JOINTS, (("", 1),)),
        ("J", None, components, JOINTS),
        ("P[0]", "riccati", components, components),
        ("U", "udut", JOINTS, JOINTS),
        ("phi", "riccati", (("joint1", 6), ("joint2", 6)), (("joint1", 6), ("joint2", 6))),
        ("H", "riccati", JOINTS, (("joint1", 6), ("joint2", 6))),
        ("R_links", None, (("joint1", 3), ("joint2", 3)), AXES),
        ("p_links", None, JOINTS, AXES),
    ):
        drawn = pattern(arm, what, method)
        assert (drawn.rows, drawn.columns) == (rows, columns), what
        assert sum(size for _, size in rows) == len(drawn.kinds) == len(drawn.values)
        assert {sum(size for _, size in columns)} == set(map(len, drawn.kinds))


def test_what_is_no_matrix_of_a_program_has_no_pattern() -> None:
    arm = load(ARM)
    for what in ("det", "M[0,1]"):
        with pytest.raises(RequestError, match="is a single number, which cannot be drawn"):
            pattern(arm, what)
    with pytest.raises(RequestError, match="leave --plot out"):
        pattern(arm, "theta_ddot")


def test_all_or_no_entries_of_a_quaternion_are_given() -> None:
    robot = ball_and_hinge()
    message = "q0 … q3 are one unit quaternion x y z w; give all four at --at, or none"
    with pytest.raises(RequestError, match=message):
        pattern(robot, "M", at=parse_values(robot, "q0=0.5,q1=0.5"))
    whole = pattern(robot, "M", at=parse_values(robot, "q0=0.5,q1=0.5,q2=0.5,q3=0.5,q4=0"))
    assert whole.chosen
    assert not pattern(robot, "M", at=parse_values(robot, "q4=0")).pose.startswith("q0=0.5")


def test_random_quaternions_have_the_length_one() -> None:
    """Two ball joints have different ones, of two decimals each."""
    robot = ball_and_hinge()
    balls = replace(robot, joints=tuple(replace(x, kind="spherical") for x in robot.joints))
    first, second = _random_states(balls)
    rotations = [[first["q", 4 * n + i].radians for i in range(4)] for n in range(2)]
    assert all(sum(x * x for x in entries) == 1 for entries in rotations)
    assert rotations[0] != rotations[1]
    assert sorted(100 * x for x in rotations[1]) == sorted(HUNDREDTHS)
    others = (x.radians for (name, i), x in first.items() if name != "q")
    assert all(100 % x.denominator == 0 for x in others)
    assert first.keys() == second.keys()
    assert all(first[key] != second[key] for key in first if key[0] == "v")


@pytest.mark.parametrize(
    ("angle", "text"),
    [
        (Angle(Fraction(1, 8)), "0.125"),
        (Angle(pi=Fraction(1)), "pi"),
        (Angle(pi=Fraction(-1)), "-pi"),
        (Angle(pi=Fraction(1, 3)), "pi/3"),
        (Angle(pi=Fraction(-5, 3)), "-5*pi/3"),
        (Angle(pi=Fraction(2)), "2*pi"),
    ],
)
def test_a_value_is_written_as_it_is_read(angle: Angle, text: str) -> None:
    arm = load(ARM)
    assert _format_value(angle) == text
    assert parse_values(arm, f"q0={text}") == {("q", 0): angle}
