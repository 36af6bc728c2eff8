"""Scalars of the reference and small linear algebra on them, in floats, balls and numbers without a
radius.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

import symgen
from symgen.reference import adaptive_precision, arrays
from symgen.reference.adaptive_precision import evaluate_adaptively
from symgen.reference.base import base_parameter_map
from symgen.reference.mechanics import Reference
from symgen.reference.midpoint_numbers import Point, points
from symgen.reference.parameters import regressor
from symgen.reference.precision import FLOAT, Array, Scalars, TooFewDigits, arb, atan2
from symgen.reference.task import _gram_schmidt_rows, independent_rows
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import Angle
from tests.shared.robots_for_tests import random_mechanism

EVERY = pytest.mark.parametrize("scalars", [FLOAT, arb(40)], ids=lambda scalars: scalars.name)
DRAW = np.random.default_rng(5)
A, B = DRAW.integers(-4, 5, (2, 2, 3, 3)) + 12 * np.eye(3, dtype=int)
RIGHT = DRAW.integers(-3, 4, (2, 3, 2))


def floats(values: Array) -> Array:
    return np.asarray(values, dtype=float)


# -- floats and balls --


@EVERY
def test_solutions_determinants_and_products_are_those_of_numpy(scalars: Scalars) -> None:
    with scalars.working():
        a, b, right = (scalars.array(x) for x in (A, B, RIGHT))
        assert np.allclose(floats(scalars.product(a, b)), A @ B)
        assert np.allclose(floats(scalars.product(a, right)), A @ RIGHT)
        assert np.allclose(floats(scalars.solve(a, right)), np.linalg.solve(A, RIGHT))
        assert np.allclose(floats(scalars.determinant(a)), np.linalg.det(A))
        expected = np.log(np.linalg.det(A))
        assert np.allclose(floats(scalars.log_determinant(a)), expected)
        assert np.allclose(floats(scalars.determinant(a[0])), np.linalg.det(A[0]))


@EVERY
def test_stacks_are_broadcast(scalars: Scalars) -> None:
    with scalars.working():
        a, b, right = (scalars.array(x) for x in (A, B[0], RIGHT[0]))
        assert np.allclose(floats(scalars.product(a, b)), A @ B[0])
        assert np.allclose(floats(scalars.product(b, a)), B[0] @ A)
        if scalars is not FLOAT:
            assert np.allclose(floats(scalars.solve(a, right)), np.linalg.solve(A, RIGHT[[0, 0]]))
            assert np.allclose(
                floats(scalars.solve(b, scalars.array(RIGHT))), np.linalg.solve(B[[0, 0]], RIGHT)
            )


@EVERY
def test_the_logarithm_of_a_negative_determinant_is_undefined(scalars: Scalars) -> None:
    with scalars.working():
        logarithm = scalars.log_determinant(scalars.array([[[1, 0], [0, -1]], [[2, 0], [0, 3]]]))
    assert np.isnan(floats(logarithm)[0])
    assert floats(logarithm)[1] == pytest.approx(np.log(6))


@EVERY
@pytest.mark.parametrize("quarters", range(-4, 5))
def test_quarter_turns_have_exact_sines(scalars: Scalars, quarters: int) -> None:
    with scalars.working():
        sine, cosine = scalars.sine_cosine(Angle(pi=Fraction(quarters, 2)))
    assert (sine, cosine) == ((0, 1, 0, -1)[quarters % 4], (1, 0, -1, 0)[quarters % 4])


@pytest.mark.parametrize(("y", "x"), [(1.0, 2.0), (-1.0, -2.0), (0.5, -3.0), (-2.0, 0.25)])
def test_angles_of_points_are_those_of_numpy(y: float, x: float) -> None:
    expected = np.arctan2(y, x)
    assert atan2(np.array([y]), np.array([x]))[0] == expected
    (ball,) = atan2(arb(40).array([y]), arb(40).array([x]))
    assert float(ball) == pytest.approx(expected)
    (mixed,) = atan2(arb(40).array([y]), np.array([x]))
    assert float(mixed) == pytest.approx(expected)


def test_numbers_enter_exactly() -> None:
    scalars = arb(40)
    fraction, double, whole, ball = scalars.array([Fraction(1, 3), 0.1, 7, flint.arb(1, 0.5)])
    assert abs(float(fraction) - 1 / 3) < 1e-16
    assert 0 < fraction.rad() < 1e-38
    assert double.rad() == 0
    assert float(double) == 0.1
    assert whole == 7
    assert ball.rad() > 0.4
    assert FLOAT.array([Fraction(1, 3)]).tolist() == [1 / 3]
    assert FLOAT.constant(Fraction(10**400, 10**399)) == 10


# -- numbers without a radius --


def point(value: Any) -> Point:
    return Point(flint.arb(value))


def test_points_calculate_as_floats_do() -> None:
    x, y = 0.75, -2.5
    a, b = point(x), point(y)
    for result, expected in (
        (a + b, x + y), (a + 2, x + 2), (2 + a, 2 + x), (a - b, x - y), (a - 2, x - 2),
        (2 - a, 2 - x), (a * b, x * y), (a * 3, x * 3), (3 * a, 3 * x), (a / b, x / y),
        (a / 2, x / 2), (2 / a, 2 / x), (-a, -x), (abs(b), -y), (a.sin(), np.sin(x)),
        (a.cos(), np.cos(x)), (a.sqrt(), np.sqrt(x)), (a.log(), np.log(x)),
    ):  # fmt: skip
        assert isinstance(result, Point)
        assert float(result) == pytest.approx(expected, rel=1e-14)
        assert result.ball.rad() == 0


def test_points_drop_the_radius_of_balls_and_work_in_arrays() -> None:
    assert Point(flint.arb(3, 0.5)).ball == 3
    scalars = points(30)
    with scalars.working():
        vector, matrix = scalars.array([Fraction(1, 4), 2]), scalars.array([[1, 2], [3, 4]])
        assert [float(x) for x in matrix @ vector] == [4.25, 8.75]
        assert [float(x) for x in vector - np.array([1, 1])] == [-0.75, 1]
        assert [float(x) for x in 1 / vector] == [4, 0.5]
        assert [float(x) for x in np.array([1, 1]) * vector + vector] == [0.5, 4]
        assert [float(x) for x in scalars.product(matrix, matrix).ravel()] == [7, 10, 15, 22]
        sine, cosine = scalars.sine_cosine(Angle(pi=Fraction(1, 3)))
        assert float(sine) == pytest.approx(np.sqrt(3) / 2)
        assert float(cosine) == 0.5
        assert isinstance(scalars.constant(Fraction(1, 3)), Point)
    assert scalars.name == "points(30)"
    with pytest.raises(RequestError, match="cannot solve a linear system; use balls"):
        scalars.solve(matrix, vector)
    for refused in (scalars.determinant, scalars.log_determinant):
        with pytest.raises(RequestError, match="have no determinant; use balls"):
            refused(matrix)


# -- vectors and matrices --


def test_products_of_stacks_of_vectors_are_those_of_numpy() -> None:
    a, b = DRAW.normal(size=(2, 4, 3))
    assert np.allclose(arrays.cross(a, b), np.cross(a, b))
    assert np.allclose((arrays.skewed(a) @ b[..., None])[..., 0], np.cross(a, b))
    assert np.allclose(arrays.skew(a[0]) @ b[0], np.cross(a[0], b[0]))
    assert np.allclose(arrays.axial(arrays.skewed(a)), a)
    assert np.allclose(arrays.times(arrays.skewed(a), b), np.cross(a, b))
    assert np.allclose(arrays.transposed(arrays.skewed(a)), -arrays.skewed(a))
    assert arrays.added([1, 2, 3]) == 6


def test_a_quaternion_and_an_axis_with_its_angle_give_the_same_rotation() -> None:
    axis, angle = np.array([2.0, -3, 6]) / 7, np.array([0.3, -1.2, 4.0])
    half = angle[:, None] / 2
    q = np.concatenate([np.sin(half) * axis, np.cos(half)], axis=-1)
    R = arrays.rodrigues(axis, np.sin(angle), np.cos(angle))
    assert np.allclose(arrays.quaternion(q), R)
    assert np.allclose(R @ axis, axis)
    across = np.array([3.0, 2, 0])
    turned = np.cos(angle)[:, None] * across + np.sin(angle)[:, None] * np.cross(axis, across)
    assert np.allclose(R @ across, turned)
    assert arrays.quaternion(q[0]).shape == (3, 3)


def test_vectors_are_broadcast_over_one_stack_of_states() -> None:
    a, b = arrays.stacked(np.zeros((2, 1, 3)), np.ones((4, 5)))
    assert (a.shape, b.shape) == ((2, 4, 3), (2, 4, 5))
    assert arrays.stack([np.zeros(3), np.ones((4, 3))]).shape == (4, 3, 2)
    assert np.array_equal(arrays.identity(FLOAT), np.eye(3))


# -- more digits --


class Narrowing:
    """In the place of a reference: balls that are known to half of the working digits."""

    described = None

    def __init__(self, digits: int, calls: list[int], least: int = 0) -> None:
        self.digits, self.calls, self.least = digits, calls, least

    def evaluate(self, function: str, arguments: Mapping[str, Any]) -> dict[str, Array]:
        self.calls.append(self.digits)
        if self.digits < self.least:
            raise TooFewDigits("too few")
        return {"a": np.array([[flint.arb(1, flint.arb(10) ** (-self.digits // 2))]], dtype=object)}


@pytest.mark.parametrize(
    ("function", "required", "least", "calls"),
    [
        ("mass_matrix", 50, 0, [20]),  # no solve
        ("forward_dynamics", 9, 0, [20]),
        ("forward_dynamics", 15, 0, [20, 40]),
        ("forward_dynamics", 50, 0, [20, 40, 80, 160]),
        ("forward_dynamics", 500, 0, [20, 40, 80, 160, 320]),
        ("forward_dynamics", 9, 100, [20, 40, 80, 160]),
        ("mass_matrix", 9, 300, [20, 40, 80, 160, 320]),
    ],
)
def test_digits_are_doubled_until_the_results_of_a_solve_are_known(
    function: str, required: int, least: int, calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    monkeypatch.setattr(
        adaptive_precision, "_with_digits", lambda _, digits: Narrowing(digits, made, least)
    )
    first: Any = Narrowing(20, made, least)
    evaluate_adaptively(first, 20, function, {}, required)
    assert made == calls


def test_sixteen_times_the_digits_are_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(
        adaptive_precision, "_with_digits", lambda _, digits: Narrowing(digits, made, 999)
    )
    first: Any = Narrowing(20, made, 999)
    with pytest.raises(TooFewDigits, match="too few"):
        evaluate_adaptively(first, 20, "forward_dynamics", {}, 5)
    assert made == [20, 40, 80, 160, 320]


def test_a_copy_with_more_digits_has_the_same_attachments() -> None:
    robot = symgen.load("planar_arm")
    names = [frame.name for frame in robot.frames[-2:]]
    reference = Reference(
        robot,
        arb(20),
        frame=names,
        payload=names[0],
        wrench=names[1],
        contact=names[1],
        task_rows=(2, 5),
    )
    copy = adaptive_precision._with_digits(reference, 60)
    assert copy.scalars.name == "arb(60)"
    assert [frame.name for frame in copy.frames] == names
    assert copy.payload is not None
    assert copy.payload.name == names[0]
    assert [frame.name for frame in copy.wrenches] == names[1:]
    assert (copy.contact, copy.task_rows) == ((names[1],), (2, 5))
    assert copy.described is reference.described


# -- independent rows and columns --


def test_rows_depend_on_the_rows_before_them() -> None:
    """The fourth row is the sum of the first two, the third one is zero."""
    J = arb(40).array([[1, 0, 2], [0, 1, 1], [0, 0, 0], [1, 1, 3], [0, 0, 1]])
    with arb(40).working():
        assert _gram_schmidt_rows(J, range(5)) == (0, 1, 4)
        assert _gram_schmidt_rows(J, (3, 2, 1, 0)) == (3, 1)
        tiny = arb(40).array([[1, 0], [1, 1e-10], [1, 1e-20]])
        assert _gram_schmidt_rows(tiny, (0, 1)) == (0, 1)
        assert _gram_schmidt_rows(tiny, (0, 2)) == (0,)


def test_independent_rows_of_a_planar_arm_are_those_of_its_plane() -> None:
    """The joints turn about one axis; of six rows, the rotation about it and the velocities across
    it remain.
    """
    robot = symgen.load("planar_arm")
    frame = robot.frames[-1].name
    rows = independent_rows(lambda scalars: Reference(robot, scalars, frame=frame), robot, range(6))
    moved = np.abs(Reference(robot, FLOAT, frame=frame).jacobian(np.array([0.3, 0.8]))).max(axis=1)
    assert len(rows) == 2
    assert all(moved[row] > 1e-9 for row in rows)


def test_base_parameters_give_the_same_torques() -> None:
    """Y π is Y of the kept columns times their combinations, for any parameters."""
    reference = Reference(random_mechanism(2, 1))
    columns, combinations = base_parameter_map(reference)
    assert combinations.shape == (len(columns), 20)
    assert columns == sorted(columns)
    assert np.allclose(combinations[:, columns], np.eye(len(columns)), atol=1e-12)
    q, v, a = DRAW.normal(size=(3, 2))
    pi = DRAW.normal(size=20)
    Y = regressor(reference, q, v, a)
    assert np.allclose(Y @ pi, Y[:, columns] @ (combinations @ pi), atol=1e-10)
    stacked = np.concatenate([regressor(reference, *x) for x in DRAW.normal(size=(40, 3, 2))])
    assert np.linalg.matrix_rank(stacked) == len(columns)
    assert base_parameter_map(reference)[0] == columns
