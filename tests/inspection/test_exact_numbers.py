"""Exact numbers behind canonical forms: sums of roots, fractions of residues, stand-ins of
rotations, harmonics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import flint
import mpmath
import pytest
from flint import arb, fmpq, fmpz

from symgen.derivation import constants as k
from symgen.inspection.harmonics import (
    _apply_unit_circle,
    _sine_or_cosine,
    harmonic_sums,
    round_coefficients,
)
from symgen.inspection.pattern import _format_value, _groups
from symgen.inspection.roots import (
    added,
    by_monomial,
    inverse,
    multiply,
    rounded,
    with_root,
    without_root,
)
from symgen.inspection.stand_ins import (
    MOST_MULTIPLES,
    Algebraic,
    Neighbour,
    NoStandIn,
    Residues,
    Roots,
    _common_unit,
    _root_of,
    convergent,
    field_of,
    fractions_of,
    integer_relation,
    primes_of,
    quaternion_of,
    rational_axis,
    rational_pose,
    rational_rotation,
    short_fraction,
    signs_of,
    square_free,
)
from symgen.inspection.where import _runs
from symgen.support.errors import ProgramError
from symgen.vocabulary.poses import Angle, Rotate, Shift, Slide, Turn
from tests.shared.descriptions import pose_matrix

# -- sums of square roots --------------------------------------------------------------------------


def value_of(root: Any) -> float:
    return sum(float(x) * math.sqrt(d) for d, x in root.items())


def test_sums_of_roots_are_added_and_multiplied() -> None:
    a = {1: Fraction(1), 2: Fraction(3), 6: Fraction(1, 2)}
    b = {2: Fraction(3), 3: Fraction(-1), 1: Fraction(4)}
    assert added(a, b) == {1: 5, 2: 6, 3: -1, 6: Fraction(1, 2)}
    assert added(a, b, -1) == {1: -3, 3: 1, 6: Fraction(1, 2)}
    assert value_of(multiply(a, b)) == pytest.approx(value_of(a) * value_of(b))
    assert multiply({2: Fraction(1), 3: Fraction(1)}, {2: Fraction(1), 3: Fraction(-1)}) == {1: -1}
    assert multiply({6: Fraction(1)}, {10: Fraction(1)}) == {15: 2}


def test_a_sum_that_nearly_cancels_is_rounded_to_all_digits() -> None:
    """(√2 − 1)^40 is 4.9e-16, as a difference of numbers of about 1e15."""
    power = {1: Fraction(1)}
    for _ in range(40):
        power = multiply(power, {1: Fraction(-1), 2: Fraction(1)})
    exact = rounded(power, 30)
    with flint.ctx.workdps(80):
        true = (arb(2).sqrt() - 1) ** 40
        assert abs(arb(fmpq(exact.numerator, exact.denominator)) / true - 1) < arb(10) ** -29


def test_the_root_of_a_monomial_is_one_of_its_symbols() -> None:
    monomial = with_root((("m", 2), ("v1", 1)), 6)
    assert monomial == (("m", 2), ("sqrt(6)", 1), ("v1", 1))
    assert without_root(monomial) == (6, (("m", 2), ("v1", 1)))
    assert with_root((("m", 2),), 1) == (("m", 2),)
    assert without_root((("m", 2),)) == (1, (("m", 2),))
    coefficient = {monomial: Fraction(5), (("m", 2), ("v1", 1)): Fraction(7), (): Fraction(1)}
    assert by_monomial(coefficient) == {(("m", 2), ("v1", 1)): {6: 5, 1: 7}, (): {1: 1}}


# -- recognised numbers ----------------------------------------------------------------------------


def test_square_factors_are_taken_out_of_an_integer() -> None:
    for number in (1, 2, 12, 45, 360, 97 * 97, -50):
        free, root = square_free(number)
        assert free * root**2 == number
        assert all(free % (p * p) for p in (2, 3, 5, 7))
    assert square_free(-50) == (-2, 5)


def test_a_convergent_is_the_first_with_a_denominator_that_is_large_enough() -> None:
    """The convergents of π are 3, 22/7, 333/106, 355/113."""
    with flint.ctx.workdps(60):
        for least, expected in ((1, "3"), (7, "22/7"), (10, "333/106"), (107, "355/113")):
            assert convergent(arb.pi(), least) == Fraction(expected)
            assert convergent(-arb.pi(), least) == -Fraction(expected)
        assert convergent(arb(fmpq(5, 4)), 10**6) == Fraction(5, 4)
        near = convergent(arb.pi(), 10**20)
        assert near.denominator >= 10**20
        assert abs(arb(fmpq(near.numerator, near.denominator)) - arb.pi()) < arb(10) ** -40


def test_integer_relations_of_roots_are_found_and_of_other_numbers_are_not() -> None:
    with flint.ctx.workdps(500):
        two = arb(2).sqrt()
        relation = integer_relation([arb(1), two, 3 * two / 7 - arb(1) / 5])
        assert relation is not None
        a, b, c = relation
        assert (Fraction(-a, c), Fraction(-b, c)) == (Fraction(-1, 5), Fraction(3, 7))
        assert integer_relation([arb(1), arb.pi()]) is None
        assert Roots((2,)).coordinates(arb(3).sqrt()) is None
        assert Roots((2,)).coordinates(arb(5) / 3) == [Fraction(5, 3), 0]
        assert _root_of(arb(1) / 3 + 5 * arb(12).sqrt()) == 3
        assert _root_of(arb(7) / 9) is None
        assert _root_of(arb(0)) is None
        assert _root_of(arb.pi()) is None
        assert _root_of(arb(2).root(3)) is None


def test_the_basis_of_a_field_has_a_root_for_each_subset_of_its_generators() -> None:
    assert Roots((2, 3)).basis == [1, 2, 3, 6]
    assert Roots((6, 10)).basis == [1, 6, 10, 15]
    assert Roots(()).basis == [1]
    assert signs_of(Roots((2, 3))) == [(1, 1), (1, -1), (-1, 1), (-1, -1)]


def test_a_fraction_is_recognised_by_its_residue() -> None:
    modulus = 10**9 + 7
    for x in map(Fraction, ("3/7", "-22/105", "5", "1/30000", "-12345/17", "0")):
        residue = x.numerator * pow(x.denominator, -1, modulus) % modulus
        assert short_fraction(residue, modulus) == x
        assert short_fraction(residue - modulus, modulus) == x
    pairs = [*fractions_of(123456789, modulus)]
    assert all((a - b * 123456789) % modulus == 0 for a, b in pairs)
    assert [a for a, _ in pairs] == sorted((a for a, _ in pairs), reverse=True)
    assert [abs(b) for _, b in pairs] == sorted(abs(b) for _, b in pairs)


def test_the_common_unit_of_angles_is_their_greatest_common_divisor() -> None:
    assert _common_unit([Fraction(1, 2), Fraction(1, 3)]) == Fraction(1, 6)
    assert _common_unit([Fraction(3, 10), Fraction(9, 20)]) == Fraction(3, 20)
    for multiple in (MOST_MULTIPLES, MOST_MULTIPLES + 1):
        groups = Neighbour([Fraction(1, 10), Fraction(multiple, 10)]).units
        assert len(groups) == 1 + (multiple > MOST_MULTIPLES)


# -- rational rotations ----------------------------------------------------------------------------


def near(pose: Any, expected: Any) -> bool:
    return bool(abs(pose_matrix(tuple(pose)) - expected).max() < 1e-14)


STRAIGHT, SKEW = (Fraction(0), Fraction(3), Fraction(4)), (Fraction(1), Fraction(-1), Fraction(2))


@pytest.mark.parametrize("axis", [STRAIGHT, SKEW])
@pytest.mark.parametrize(
    "angle",
    [
        Angle(),
        Angle(pi=Fraction(1, 2)),
        Angle(pi=Fraction(1)),
        Angle(pi=Fraction(-1, 2)),
        Angle(pi=Fraction(2)),
        Angle(pi=Fraction(1, 3)),
        Angle(Fraction(7, 10)),
        Angle(Fraction(-7, 10), Fraction(1, 2)),
    ],
)
def test_a_rotation_is_next_to_one_in_rational_numbers(axis: Any, angle: Angle) -> None:
    numbers = Neighbour([abs(angle.radians)] if angle.radians else [])
    with flint.ctx.workdps(150):
        steps = rational_rotation(Turn(axis, angle), numbers)
    assert near(steps, pose_matrix((Turn(axis, angle),)))
    for step in steps:
        is_quarter = isinstance(step, Turn) and step.angle.quarter_turns is not None
        assert isinstance(step, Rotate) or (is_quarter and axis == STRAIGHT)


def test_a_pose_keeps_its_rational_steps() -> None:
    shift, slide = Shift((Fraction(1), Fraction(2), Fraction(3))), Slide(STRAIGHT, Fraction(1, 2))
    numbers = Neighbour([])
    with flint.ctx.workdps(150):
        steps = rational_pose((shift, slide, Slide(SKEW, Fraction(3))), numbers)
    assert near(steps, pose_matrix((shift, slide, Slide(SKEW, Fraction(3)))))
    assert not any(isinstance(step, Slide) and step.axis == SKEW for step in steps)


@pytest.mark.parametrize("signs", [*product((1, -1), repeat=3)])
def test_a_direction_of_irrational_length_is_next_to_one_of_rational_length(signs: Any) -> None:
    axis = tuple(sign * Fraction(x) for sign, x in zip(signs, (1, 2, 3), strict=True))
    numbers = Neighbour([])
    with flint.ctx.workdps(150):
        x, y, z = rational_axis(axis, numbers)
    square = x * x + y * y + z * z
    assert all(math.isqrt(x) ** 2 == x for x in square.as_integer_ratio())
    length = math.sqrt(float(square))
    assert [float(entry) / length for entry in (x, y, z)] == pytest.approx(
        [float(entry) / math.sqrt(14) for entry in axis]
    )


def test_a_direction_of_rational_length_or_in_a_coordinate_plane_keeps_its_zeros() -> None:
    with flint.ctx.workdps(150):
        assert rational_axis(STRAIGHT, Neighbour([])) == STRAIGHT
        x, y, z = rational_axis((Fraction(0), Fraction(1), Fraction(1)), Neighbour([]))
        assert x == 0
        assert float(y / z) == pytest.approx(1)


@pytest.mark.parametrize(
    "quaternion",
    [
        (1, 2, -3, 4),
        (3, 0, 0, 1),
        (0, 1, 0, 0),
        (0, 0, 2, 0),
        (0, 0, 0, 1),
        (0, 1, 2, 3),
        (1, 0, 0, 0),
    ],
)
def test_a_quaternion_of_a_rotation_gives_the_rotation(quaternion: tuple[int, ...]) -> None:
    step = Rotate(tuple(map(Fraction, quaternion)))  # type: ignore[arg-type]
    with flint.ctx.workdps(50):
        rotation, _ = k.displacement((step,))
        again = quaternion_of(rotation)
    assert near((Rotate(again),), pose_matrix((step,)))


# -- fields of square roots --


def test_products_and_inverses_of_sums_of_roots() -> None:
    a = {1: Fraction(1), 2: Fraction(-2, 3), 6: Fraction(1, 2)}
    b = {3: Fraction(5), 6: Fraction(1)}
    assert multiply(a, inverse(a)) == {1: 1}
    assert multiply(b, inverse(b)) == {1: 1}
    with mpmath.workdps(60):
        product = multiply(a, b)
        value = [
            sum(mpmath.mpf(x.numerator) / x.denominator * mpmath.sqrt(d) for d, x in y.items())
            for y in (a, b, product)
        ]
        assert abs(value[0] * value[1] - value[2]) < 1e-55
        assert (
            abs(
                mpmath.mpf(rounded(product, 50).numerator) / rounded(product, 50).denominator
                - value[2]
            )
            < 1e-48
        )


def of(values: Iterable[Any]) -> list[Algebraic]:
    return [Algebraic(value) for value in values]


def test_the_field_of_numbers_has_the_roots_that_they_need() -> None:
    with flint.ctx.workdps(500):
        two, three = arb(2).sqrt(), arb(3).sqrt()
        assert field_of(of([arb(1) / 3, fmpq(2)])) == Roots(())
        assert field_of(of([two - 1, 3 * two / 7])) == Roots((2,))
        assert field_of(of([(arb(1) + three) / 5])) == Roots((3,))
        assert field_of(of([arb(6).sqrt()])) == Roots((6,))
        assert field_of(of([(arb.pi() / 24).tan()])) == Roots((2, 3))
        assert field_of([Algebraic(two / (1 + three), (two, three))]) == Roots((2, 3))
        assert Roots((2, 3)).coordinates(two / 2 - 5 * arb(6).sqrt()) == [0, Fraction(1, 2), 0, -5]
        for value in (arb(2).root(3), arb.pi(), (arb.pi() / 5).sin()):
            with pytest.raises(NoStandIn, match="not sums of square roots"):
                field_of(of([value]))
        with pytest.raises(NoStandIn, match="more than 3 square roots"):
            field_of(of([arb(d).sqrt() for d in (2, 3, 5, 7)]))


@pytest.mark.parametrize("generators", [(2,), (2, 3), (6, 10)])
def test_generators_are_squares_modulo_the_primes_of_a_field(generators: tuple[int, ...]) -> None:
    field = Roots(generators)
    primes = [primes_of(field)[n] for n in range(2)]
    assert len(set(primes)) == 2
    for prime in primes:
        assert fmpz(prime).is_prime()
        for signs in signs_of(field):
            basis = Residues((), field, prime, signs).basis
            for root, residue in zip(field.basis, basis, strict=True):
                assert (residue * residue - root) % prime == 0


def test_residues_of_numbers_are_those_of_their_coordinates() -> None:
    field = Roots((2, 3))
    prime = primes_of(field)[0]
    with flint.ctx.workdps(500):
        value = arb(1) / 3 - 2 * arb(2).sqrt() + arb(6).sqrt() / 5
        for signs in signs_of(field):
            numbers = Residues((), field, prime, signs)
            x = numbers.algebraic(Algebraic(value))
            unit, two, _, six = numbers.basis
            expected = unit * pow(3, -1, prime) - 2 * two + six * pow(5, -1, prime)
            assert (x.numerator - expected * x.denominator) % prime == 0
            assert max(abs(x.numerator), x.denominator) < 1 << 260


def test_multiples_of_a_decimal_angle_keep_their_relation() -> None:
    """tan(2β/2) of the stand-in is the tangent of twice its β/2, exactly; 0.7 has another unit."""
    angles = [Fraction(1, 10), Fraction(-1, 5), Fraction(3, 10), Fraction(7853981633974483, 10**16)]
    numbers = Neighbour(angles)
    assert [len(group) for group in numbers.units] == [3, 1]
    with flint.ctx.workdps(150):
        t, double, triple, unrelated = (numbers.half_tangent(angle) for angle in angles)
        assert t is not None
        assert double is not None
        assert triple is not None
        assert unrelated is not None
        assert -double == 2 * t / (1 - t * t)
        assert triple == (t - double) / (1 + t * double)
        for angle, tangent in zip(angles, (t, double, triple, unrelated), strict=True):
            true_tangent = (arb(k.rational(angle)) / 2).tan()
            assert abs(true_tangent - arb(k.rational(tangent))) < arb(10) ** -75


def test_a_root_of_an_integer_that_is_too_long_to_factor_is_not_recognised() -> None:
    with flint.ctx.workdps(500):
        assert _root_of(arb(2).sqrt() * 10**18) == 2
        assert _root_of(arb(2).sqrt() * 10**20) is None
        assert _root_of(arb(10**20 + 1).sqrt()) is None


# -- harmonics -------------------------------------------------------------------------------------


def test_products_of_sines_and_cosines_are_sums_of_harmonics() -> None:
    """The first multiple of each harmonic that is not zero is positive."""
    random = Random(1)
    part = {
        (pairs[:2], pairs[2:4], pairs[4:]): fmpq(random.randint(-5, 5), 3)
        for pairs in ((tuple(random.randint(0, 2) for _ in range(6))) for _ in range(8))
    }
    sums = harmonic_sums(part)  # type: ignore[arg-type]
    q = [0.3, -1.1, 2.2]
    direct = sum(
        float(x.p)
        / float(x.q)
        * math.prod(math.cos(y) ** a * math.sin(y) ** b for (a, b), y in zip(pairs, q, strict=True))
        for pairs, x in part.items()
    )
    value = 0.0
    for index, (cosine, sine) in sums.items():
        angle = sum(n * y for n, y in zip(index, q, strict=True))
        value += float(cosine.p) / float(cosine.q) * math.cos(angle)
        value += float(sine.p) / float(sine.q) * math.sin(angle)
        assert next((n for n in index if n), 1) > 0
    assert value == pytest.approx(direct)
    assert harmonic_sums({(): fmpq(7)}) == {(): [fmpq(7), fmpq(0)]}


def test_coefficients_are_rounded_to_digits_of_the_largest_one() -> None:
    values = {"a": fmpq(123456, 1000), "b": fmpq(-1, 3), "c": fmpq(1, 10**6)}
    assert round_coefficients(values, 4) == {
        "a": fmpq(12346, 100),  # four digits after the first one
        "b": fmpq(-33, 100),
    }
    small = {"a": fmpq(1, 3), "b": fmpq(-4, 10**5)}
    assert round_coefficients(small, 4) == {"a": fmpq(3333, 10**4)}
    assert round_coefficients({}, 4) == {}


def ring() -> Any:
    """Return c0, c1, s0, s1, q0 and q1."""
    return flint.fmpq_mpoly_ctx.get(["c0", "c1", "s0", "s1", "q0", "q1"], "lex").gens()


def test_the_square_of_a_cosine_is_replaced() -> None:
    c0, c1, s0, s1, _, _ = ring()
    unit = [c0**2 + s0**2 - 1, c1**2 + s1**2 - 1]
    assert _apply_unit_circle(c0**3 * c1, unit) == c0 * c1 - c0 * c1 * s0**2
    assert _apply_unit_circle(c1**2 * s0**2, unit) == s0**2 - s0**2 * s1**2


def test_sines_and_cosines_of_one_angle_and_a_constant_are_polynomials() -> None:
    unknowns = ring()
    c0, c1, _, s1, q0, q1 = unknowns
    assert _sine_or_cosine(q1, "cos", unknowns, 2, "x") == c1
    assert _sine_or_cosine(-q1, "sin", unknowns, 2, "x") == -s1
    with k.precision():
        for op, sign in product(("sin", "cos"), (1, -1)):
            shifted = _sine_or_cosine(sign * q0 + fmpq(3, 10), op, unknowns, 2, "x").to_dict()
            angle = 0.8
            values = (math.cos(angle), 0, math.sin(angle), 0, 0, 0)
            value = sum(
                float(x.p)
                / float(x.q)
                * math.prod(v ** int(n) for v, n in zip(values, powers, strict=True))
                for powers, x in shifted.items()
            )
            assert value == pytest.approx(getattr(math, op)(sign * angle + 0.3))
    for argument in (2 * q0, q0 + q1, q0 + c1, c0, q0 * q1, q0**2, q0 + q1 + 1, 0 * q0):
        with pytest.raises(ProgramError, match="x contains the sin of an expression"):
            _sine_or_cosine(argument, "sin", unknowns, 2, "x")


# -- texts of a pattern ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("angle", "text"),
    [
        (Angle(Fraction(1, 4)), "0.25"),
        (Angle(pi=Fraction(1)), "pi"),
        (Angle(pi=Fraction(-1, 2)), "-pi/2"),
        (Angle(pi=Fraction(11, 3)), "11*pi/3"),
        (Angle(), "0"),
    ],
)
def test_an_angle_of_a_pose_is_a_decimal_or_a_multiple_of_pi(angle: Angle, text: str) -> None:
    assert _format_value(angle) == text


def test_rows_without_a_joint_have_numbers_or_names_of_components() -> None:
    assert _groups(["a", "b"], 2) == (("a", 1), ("b", 1))
    assert _groups(None, 1) == (("", 1),)
    assert [name for name, _ in _groups(None, 3)] == ["x", "y", "z"]
    assert [name for name, _ in _groups(None, 4)] == ["0", "1", "2", "3"]
    assert len({name for name, _ in _groups(None, 6)}) == 6


def test_consecutive_numbers_of_lines_are_one_range() -> None:
    assert _runs([2, 3, 4, 7, 9, 10]) == [(2, 4), (7, 7), (9, 10)]
    assert _runs([]) == []
