"""Constants: products that keep rationals exact, precision, keys, logarithms and rotations."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb, fmpq

from symgen.derivation import constants as k
from symgen.derivation.constants import ZERO, Constant, dot, precision
from symgen.support.errors import MechanismError
from symgen.vocabulary.poses import Angle, Turn

THIRD = fmpq(1, 3)


@pytest.mark.parametrize("index", range(3))
def test_a_dot_product_of_rationals_is_rational_where_balls_are_multiplied_by_zero(
    index: int,
) -> None:
    """An entry of a rotation is often a ball; the mass centre beside it is often on an axis."""
    with precision():
        a: list[Constant] = [arb(2).sqrt()] * 3
        b: list[Constant] = [ZERO] * 3
        a[index], b[index] = THIRD, fmpq(2)
        product = dot((a[0], a[1], a[2]), (b[0], b[1], b[2]))
    assert type(product) is fmpq
    assert product == 2 * THIRD


def test_a_dot_product_of_balls_contains_the_exact_sum() -> None:
    with precision():
        root = arb(2).sqrt()
        product = dot((root, THIRD, root), (root, ZERO, THIRD))
        assert product.overlaps(2 + root / 3)
        assert float(product.rad()) < 1e-100
    assert dot((root, root, root), (ZERO, ZERO, ZERO)) is ZERO


# -- precision -------------------------------------------------------------------------------------


def test_digits_are_doubled_until_they_suffice() -> None:
    tried: list[int] = []

    def compute() -> str:
        tried.append(k.digits())
        assert flint.ctx.dps >= k.digits()
        if len(tried) < 3:
            raise k.PrecisionLoss("too few")
        return "enough"

    assert k.with_enough_precision(compute) == "enough"
    assert tried == [k.WORKING_DIGITS, 2 * k.WORKING_DIGITS, 4 * k.WORKING_DIGITS]
    assert k.digits() == k.WORKING_DIGITS


def test_a_loss_at_the_most_digits_is_raised_with_its_innermost_location() -> None:
    tried: list[int] = []

    def compute() -> None:
        tried.append(k.digits())
        with k.locating_errors("outer"), k.locating_errors("inner"):
            raise k.PrecisionLoss("too few")

    with pytest.raises(k.PrecisionLoss) as loss:
        k.with_enough_precision(compute)
    assert len(tried) == k.DOUBLINGS + 1
    assert loss.value.location == "inner"
    assert loss.value.fault == "too few"
    assert k.digits() == k.WORKING_DIGITS


# -- numbers ---------------------------------------------------------------------------------------


def test_only_zero_and_plus_and_minus_one_are_units() -> None:
    values = {number: k.unit_value(k.rational(number)) for number in (-2, -1, 0, 1, 2)}
    assert values == {-2: None, -1: -1, 0: 0, 1: 1, 2: None}
    assert k.unit_value(k.rational(Fraction(1, 2))) is None
    assert k.unit_value(arb(1)) is None
    assert k.is_zero(k.ZERO)
    assert not k.is_zero(arb(0))
    assert not k.is_zero(k.ONE)


def test_equal_numbers_have_equal_keys_and_different_ones_do_not() -> None:
    with k.precision():
        root = k.square_root(k.rational(2))
        values = [
            k.ONE,
            k.rational(Fraction(1, 2)),
            k.rational(2),
            root,
            root + arb(10) ** -100,
            arb("0.1 +/- 1e-60"),
            arb("0.1 +/- 1e-61"),
        ]
        keys = [k.identity_key(value) for value in values]
        assert len(set(keys)) == len(keys)
        for i, first in enumerate(values):
            for j, second in enumerate(values):
                assert k.same_numbers(first, second) == (i == j)
        assert k.same_numbers(k.rational(Fraction(1, 3)), k.rational(Fraction(1, 3)))
        assert k.same_numbers(k.square_root(k.rational(2)), root)
        assert not k.same_numbers(k.ONE, arb(1))
        assert k.identity_key(arb("nan")) != k.identity_key(arb("inf"))


def test_fractions_are_remembered_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(k, "_fractions", {})
    monkeypatch.setattr(k, "MOST_FRACTIONS", 3)
    sizes = []
    for n in (2, 3, 2, 4, 5):
        assert k.cached_fraction((n,), k.rational(n)) == n
        sizes.append(len(k._fractions))
    assert sizes == [1, 2, 2, 3, 1]
    assert k.cached_fraction((5,), k.rational(6)) == 5  # the key decides


@pytest.mark.parametrize(
    "text", ["0", "12", "-12.50", "0.000123", "1.25e+10", "-1.25e-10", "5e-3", "123.456e+1", "7e0"]
)
def test_a_printed_decimal_is_the_fraction_that_python_reads(text: str) -> None:
    assert k._decimal_fraction(text) == Fraction(text)


def test_a_logarithm_needs_a_positive_number() -> None:
    with k.precision():
        assert k.is_zero(k.logarithm(k.ONE))
        two = k.logarithm(k.rational(2))
        assert k.as_float(two) == math.log(2)
        for value in (k.ZERO, -k.ONE):
            with pytest.raises(MechanismError, match="a pivot of the mass matrix is not positive"):
                k.logarithm(value)


# -- rotations -------------------------------------------------------------------------------------


def rotation_matrix(axis: tuple[float, ...], angle: float) -> np.ndarray:
    """Return Rodrigues' rotation in floating point."""
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * skew + (1 - math.cos(angle)) * skew @ skew


def floats(matrix: k.Mat3) -> np.ndarray:
    return np.array([[k.as_float(x) for x in row] for row in matrix])


@pytest.mark.parametrize(
    "axis", [(1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (-1, 0, 0), (1, 2, -2), (0, 3, 4)]
)
@pytest.mark.parametrize("angle", [Angle(Fraction(2, 3)), Angle(pi=Fraction(1, 2)), Angle()])
def test_a_rotation_about_an_axis_is_that_of_rodrigues(
    axis: tuple[int, int, int], angle: Angle
) -> None:
    x, y, z = map(Fraction, axis)
    with k.precision():
        rotation = k.rotation_about(k.unit(k.vector((x, y, z))), *k.cosine_sine(angle))
        assert np.allclose(floats(rotation), rotation_matrix(axis, float(angle)), atol=1e-15)
        displaced, shift = k.displacement((Turn((x, y, z), angle),))
        assert floats(displaced).tolist() == floats(rotation).tolist()
        assert shift == k.ORIGIN


def test_a_quaternion_of_any_length_is_a_rotation_by_twice_its_angle() -> None:
    w, x, y, z = (Fraction(n) for n in (2, 1, -3, 1))
    angle = 2 * math.atan2(math.sqrt(11), 2)
    rotation = k.quaternion_rotation((w, x, y, z))
    assert np.allclose(floats(rotation), rotation_matrix((1, -3, 1), angle), atol=1e-15)
    assert k.product(rotation, k.transpose(rotation)) == k.IDENTITY
    assert k.quaternion_rotation((5 * w, 5 * x, 5 * y, 5 * z)) == rotation


@pytest.mark.parametrize(
    ("angles", "gamma"),
    [
        ((0, 0, 0.5), 0),
        ((0.3, 0, 0.5), 0),  # only the sum is determined
        ((0.3, math.pi, 0.5), 0),  # only the difference is determined
        ((0, 1.2, 0.5), 0),
        ((math.pi, 1.2, 0.5), 0),  # half a turn is that of -alpha and beta
        ((0.3, 1.2, -2.5), 0.3),
        ((-2, 0.7, 3), -2),
    ],
)
def test_a_rotation_is_split_with_gamma_zero_wherever_possible(
    angles: tuple[float, float, float], gamma: float
) -> None:
    def about(axis: tuple[int, int, int], angle: float) -> k.Mat3:
        exact = Angle(Fraction(angle)) if abs(angle) != math.pi else Angle(pi=Fraction(1))
        x, y, z = map(Fraction, axis)
        return k.displacement((Turn((x, y, z), exact),))[0]

    with k.precision():
        first, second, third = angles
        rotation = k.product(
            about((0, 0, 1), first), k.product(about((1, 0, 0), second), about((0, 0, 1), third))
        )
        parts = [
            math.atan2(k.as_float(sine), k.as_float(cosine)) for cosine, sine in k.zxz(rotation)
        ]
        again = (
            rotation_matrix((0, 0, 1), parts[0])
            @ rotation_matrix((1, 0, 0), parts[1])
            @ rotation_matrix((0, 0, 1), parts[2])
        )
        assert np.allclose(again, floats(rotation), atol=1e-14)
        assert parts[0] == pytest.approx(gamma, abs=1e-15)
        assert k.as_float(k.angle_of(*k.zxz(rotation)[2])) == pytest.approx(parts[2], abs=1e-15)
