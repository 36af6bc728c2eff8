"""Numbers of a description: exact rationals, balls after a root or sine, zero decided by radius."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import flint
import numpy as np
import pytest
from flint import arb, fmpq

from symgen.derivation import constants as k
from symgen.support.errors import MechanismError
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Shift, Slide, Turn
from tests.shared.descriptions import pose_matrix
from tests.shared.robots_for_tests import rationals


def vec(*values: str | int) -> tuple[fmpq, ...]:
    return tuple(k.rational(Fraction(v)) for v in values)


def test_zero_and_one_are_decided_by_the_radius() -> None:
    with k.precision():
        root = k.square_root(k.rational(2))
        for value, exact in ((root * root - 2, 0), (root * root / 2, 1), (-root * root / 2, -1)):
            assert isinstance(value, arb)
            assert k.normalize(value) == exact
            assert isinstance(k.normalize(value), fmpq)
        assert isinstance(k.normalize(root), arb)
        near_one = arb(1) + arb(10) ** -30  # a real difference is kept, even if it is tiny
        assert isinstance(k.normalize(near_one), arb)
        assert k.normalize(near_one) != 1
        assert not k.is_zero(k.normalize(arb(10) ** -40))
        assert k.is_zero(k.normalize(root * root - 2))


@pytest.mark.parametrize("value", [0, 1, -1])
def test_a_ball_too_wide_for_its_sign_raises(value: int) -> None:
    with k.precision():
        assert k.normalize(arb(value, 1e-60)) == value
        with pytest.raises(k.PrecisionLoss, match="differ so much in size"):
            k.normalize(arb(value, 1e-40))


def test_square_roots_of_squares_of_rationals_are_exact() -> None:
    with k.precision():
        for root in (Fraction(0), Fraction(1), Fraction(3, 7), Fraction(10**30 + 1, 3**40)):
            exact_root = k.square_root(k.rational(root * root))
            assert isinstance(exact_root, fmpq)
            assert k.to_fraction(exact_root) == root
        for value in (
            Fraction(2),
            Fraction(4, 3),
            Fraction(3, 4),
        ):  # a square numerator or denominator alone gives no rational root
            exact_root = k.square_root(k.rational(value))
            assert isinstance(exact_root, arb)
            assert (exact_root * exact_root).overlaps(arb(k.rational(value)))


def test_the_root_of_the_square_of_an_irrational_is_that_irrational() -> None:
    with k.precision():
        root = k.square_root(k.rational(5))
        assert k.to_fraction(k.square_root(root * root)) == k.to_fraction(root)


def test_equal_numbers_reached_in_two_ways_give_equal_fractions() -> None:
    with k.precision():
        two, three, six = (k.square_root(k.rational(n)) for n in (2, 3, 6))
        assert k.to_fraction(two * three) == k.to_fraction(six)
        assert k.to_fraction(1 / (three - two)) == k.to_fraction(three + two)
        c, s = k.cosine_sine(Angle(Fraction(7, 10)))
        double_c, double_s = k.cosine_sine(Angle(Fraction(14, 10)))
        assert k.to_fraction(c * c - s * s) == k.to_fraction(double_c)
        assert k.to_fraction(2 * c * s) == k.to_fraction(double_s)
        assert k.to_fraction(two) != k.to_fraction(
            two + arb(10) ** -60
        )  # differences beyond 64 digits are lost


def test_a_fraction_is_the_rational_itself_or_the_ball_to_64_digits() -> None:
    long = Fraction(10**90 + 7, 10**90)
    with k.precision():
        assert k.to_fraction(k.rational(long)) == long
        root = k.to_fraction(k.square_root(k.rational(2)))
        assert abs(root * root - 2) < Fraction(1, 10**62)
        assert root.denominator <= 10**64
        assert k.as_float(k.square_root(k.rational(2))) == math.sqrt(2)


def test_a_rational_with_too_many_digits_becomes_a_ball() -> None:
    with k.precision():
        long = k.rational(Fraction(1, 3**4000))
        assert isinstance(k.normalize(long), arb)
        assert k.normalize(long).overlaps(arb(long))


@pytest.mark.parametrize("quarter", range(-5, 9))
def test_sines_of_quarter_turns_are_exact(quarter: int) -> None:
    c, s = k.cosine_sine(Angle(pi=Fraction(quarter, 2)))
    assert (c, s) == (
        round(math.cos(quarter * math.pi / 2)),
        round(math.sin(quarter * math.pi / 2)),
    )
    assert isinstance(c, fmpq)
    assert isinstance(s, fmpq)


def test_sines_of_other_angles_have_a_hundred_digits() -> None:
    with k.precision():
        for turn in (angle("7/10"), angle("-1/3", "1/7"), angle("0", "1/3")):
            c, s = k.cosine_sine(turn)
            assert abs(float(c) - math.cos(float(turn))) < 1e-15  # each number is rounded once
            assert abs(float(s) - math.sin(float(turn))) < 1e-15
            assert k.normalize(c * c + s * s) == 1
            assert c.rad() < arb(10) ** -100
            assert k.angle_of(c, s).overlaps(
                arb(k.rational(turn.radians)) + k.rational(turn.pi) * arb.pi()
            )


@pytest.mark.parametrize("pi", ["0", "1/7"])
def test_sines_of_large_angles_have_a_hundred_digits(pi: str) -> None:
    """A turn of 10⁴⁰ radians and a third has the digits of a small angle."""
    turn = angle(f"{3 * 10**40 + 1}/3", pi)
    with flint.ctx.workdps(300):
        value = arb(k.rational(turn.radians)) + k.rational(turn.pi) * arb.pi()
        exact = value.cos(), value.sin()
    with k.precision():
        for computed, number in zip(k.cosine_sine(turn), exact, strict=True):
            assert computed.overlaps(number)
            assert computed.rad() < arb(10) ** -100


def test_vector_operations_agree_with_numpy() -> None:
    source = Random(1)
    for _ in range(20):
        a, b = rationals(source, 3), rationals(source, 3)
        m, n = (np.array(rationals(source, 9), dtype=object).reshape(3, 3) for _ in range(2))
        ka, kb = vec(*a), vec(*b)
        km, kn = (tuple(vec(*row) for row in x) for x in (m, n))

        def to_fractions(v: object) -> np.ndarray:
            return np.array([k.to_fraction(x) for x in np.ravel(np.array(v, dtype=object))])

        fa, fb = np.array(a), np.array(b)
        assert (to_fractions(k.add(ka, kb)) == fa + fb).all()
        assert (to_fractions(k.sub(ka, kb)) == fa - fb).all()
        assert (to_fractions(k.scale(k.rational(3), ka)) == 3 * fa).all()
        assert k.to_fraction(k.dot(ka, kb)) == fa @ fb
        assert (
            to_fractions(k.cross(ka, kb))
            == [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        ).all()
        assert (to_fractions(k.apply(km, ka)) == m @ fa).all()
        assert (to_fractions(k.product(km, kn)) == (m @ n).ravel()).all()
        assert (to_fractions(k.transpose(km)) == m.T.ravel()).all()
        assert (to_fractions(k.columns(*km)) == m.T.ravel()).all()


def test_a_unit_vector_of_rational_length_is_exact() -> None:
    with k.precision():
        assert k.unit(vec(3, 0, 4)) == vec("3/5", 0, "4/5")
        assert k.unit(vec(0, -7, 0)) == vec(0, -1, 0)
        general = k.unit(vec(1, 2, 3))
        assert k.dot(general, general) == 1


def point(*xyz: str | int) -> tuple[Fraction, Fraction, Fraction]:
    x, y, z = (Fraction(c) for c in xyz)
    return x, y, z


def angle(radians: str, pi: str = "0") -> Angle:
    return Angle(Fraction(radians), Fraction(pi))


POSES = {
    "nothing": (),
    "a shift": (Shift(point("1/3", -2, "1/7")),),
    "turns about the axes": (
        Turn(Z_AXIS, angle("1/2")),
        Turn(Y_AXIS, angle("-3/4")),
        Turn(X_AXIS, angle("2")),
    ),
    "a turn about any axis": (Turn(point(1, -2, "1/2"), angle("1/3", "1/5")),),
    "a slide along any axis": (Slide(point(1, 1, -3), Fraction(5, 4)),),
    "all of them, in this order": (
        Turn(point(2, 3, 6), angle("-4/5")),
        Slide(X_AXIS, Fraction(2)),
        Shift(point(1, 2, 3)),
        Turn(Z_AXIS, angle("0", "1/2")),
        Shift(point(1, 0, 0)),
    ),
}


@pytest.mark.parametrize("name", POSES)
def test_a_displacement_is_the_product_of_its_steps_in_order(name: str) -> None:
    with k.precision():
        rotation, shift = k.displacement(POSES[name])  # type: ignore[arg-type]
        expected = pose_matrix(POSES[name])  # type: ignore[arg-type]
        matrix = np.eye(4)
        matrix[:3, :3] = [[k.as_float(x) for x in row] for row in rotation]
        matrix[:3, 3] = [k.as_float(x) for x in shift]
        assert np.abs(matrix - expected).max() < 1e-14  # about a dozen roundings of floats below 10
        assert k.product(rotation, k.transpose(rotation)) == k.IDENTITY


def test_a_rotation_and_its_inverse_are_exactly_the_identity() -> None:
    axis = (Fraction(1), Fraction(2), Fraction(-1, 3))
    with k.precision():
        rotation, shift = k.displacement(
            (Turn(axis, Angle(Fraction(9, 10))), Turn(axis, Angle(Fraction(-9, 10))))
        )
        assert rotation == k.IDENTITY
        assert shift == k.ORIGIN


def test_the_working_precision_ends_with_the_block() -> None:
    before = flint.ctx.dps
    with k.precision():
        assert flint.ctx.dps >= k.WORKING_DIGITS
    assert flint.ctx.dps == before


def test_a_number_beyond_a_double_is_refused() -> None:
    """Sums of valid lengths may exceed a double; the fuzzer of the readers found such a sum."""
    with k.precision(), pytest.raises(MechanismError, match="more than any double holds"):
        k.as_float(fmpq(17 * 10**307) * 3)
