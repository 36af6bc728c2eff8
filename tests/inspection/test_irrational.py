"""Forms with square roots from residues modulo primes, and their rounding, on Programs of a few
rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import symgen
from symgen.inspection import irrational
from symgen.inspection.canonical import QUICK, Names, Quotient, TooLong, TooManyProducts
from symgen.inspection.irrational import (
    ROUNDED_DIGITS,
    SPARE_BITS,
    _combined,
    _fractions,
    _modulo_product,
    _positions,
    _recognised,
    canonical_with_stand_ins,
    exact_forms,
    forms_by_residues,
    has_exact_forms,
    layout_of_stand_in,
    rounded_form,
)
from symgen.inspection.multiangle import DIGITS, MultiAngle
from symgen.inspection.stand_ins import Residues, Roots, primes_of, signs_of
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from tests.inspection.small_programs import Build, names, program_of

Form = MultiAngle | Quotient
COSINE, SINE, CONSTANT = ((1,), False), ((1,), True), ((0,), False)


def forms_with_roots(
    build: Build,
    generators: tuple[int, ...],
    count: int = 1,
    most_products: int = QUICK,
    *in_exponentials: bool,
) -> list[Form]:
    """Return the forms of a Program in which the square roots of the generators occur."""
    field = Roots(generators)

    def derived(prime: int, signs: tuple[int, ...]) -> tuple[Program, list[int]]:
        basis = Residues((), field, prime, signs).basis
        return program_of(build, count, basis[1 : 1 + len(generators)])

    return forms_by_residues(field, derived, names(count), most_products, *in_exponentials)


def one_root_in_a_quotient(row: Any, two: int) -> list[int]:
    """(1 + √2 sin q + cos q)/(√2 + cos q)"""
    cosine, sine, unit = row("cos", 0), row("sin", 0), row.number(1)
    above = row("add", row("add", unit, row("mul", two, sine)), cosine)
    return [row("div", above, row("add", two, cosine))]


def two_roots_in_a_quotient(row: Any, two: int, three: int) -> list[int]:
    """(√2 sin q0 − √3 cos q1 + √6)/(3 + √2 cos(q0 − q1)), and the same once more."""
    waves = row("mul", two, row("sin", 0)), row("mul", three, row("cos", 1))
    above = row("add", row("sub", *waves), row("mul", two, three))
    cosine = row("cos", row("sub", 0, 1))
    below = row("add", row.number(3), row("mul", two, cosine))
    result = row("div", above, below)
    return [result, row("div", cosine, below), result]


def two_roots_in_a_sum(row: Any, two: int, three: int) -> list[int]:
    """√2 sin(q0 + q1) − √3 cos q1/5 + √6, and the first of these terms times √3."""
    wave = row("mul", two, row("sin", row("add", 0, 1)))
    cosine = row("mul", three, row("mul", row.number(Fraction(1, 5)), row("cos", 1)))
    return [row("add", row("sub", wave, cosine), row("mul", two, three)), row("mul", wave, three)]


@pytest.mark.parametrize("in_exponentials", [False, True])
def test_square_roots_of_quotients_are_recognised_by_their_residues(in_exponentials: bool) -> None:
    (form,) = forms_with_roots(one_root_in_a_quotient, (2,), 1, QUICK, in_exponentials)
    assert str(form) == "(sqrt(2) + sqrt(2)*cos(q0) + 2*sin(q0))/(2 + sqrt(2)*cos(q0))"
    first, second, again = forms_with_roots(
        two_roots_in_a_quotient, (2, 3), 2, QUICK, in_exponentials
    )
    below = "(3 + sqrt(2)*cos(q0 - q1))"
    assert str(first) == f"(sqrt(6) - sqrt(3)*cos(q1) + sqrt(2)*sin(q0))/{below}"
    assert str(second) == f"cos(q0 - q1)/{below}"
    assert again == first


def test_square_roots_of_sums_are_recognised_by_their_residues() -> None:
    forms = forms_with_roots(two_roots_in_a_sum, (2, 3), 2)
    assert [str(form) for form in forms] == [
        "sqrt(6) - 0.2*sqrt(3)*cos(q1) + sqrt(2)*sin(q0 + q1)",
        "sqrt(6)*sin(q0 + q1)",
    ]


def test_a_row_that_is_zero_for_all_signs_has_the_form_zero() -> None:
    """√2 sin q − √2 sin q beside √2 sin q, in a sum and over 2 + cos q."""

    def build(row: Any, two: int) -> list[int]:
        wave = row("mul", two, row("sin", 0))
        below = row("add", row.number(2), row("cos", 0))
        zero = row("sub", wave, wave)
        return [zero, row("div", zero, below), row("div", wave, below)]

    assert [str(x) for x in forms_with_roots(build, (2,))] == [
        "0", "0", "sqrt(2)*sin(q0)/(2 + cos(q0))"
    ]  # fmt: skip
    assert [str(x) for x in forms_with_roots(lambda row, two: build(row, two)[:1], (2,))] == ["0"]


def test_long_coefficients_take_several_primes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fraction of 300 digits is recognised modulo the product of three primes of 512 bits or
    more: 1000 bits of the fraction and the spare bits.
    """
    long = Fraction(10**170 + 7, 10**130 + 9)

    def build(row: Any, two: int) -> list[int]:
        return [row("mul", row("mul", two, row.number(long)), row("sin", 0))]

    (form,) = forms_with_roots(build, (2,))
    assert form == MultiAngle.of({(SINE, (("sqrt(2)", 1),)): long})
    monkeypatch.setattr(irrational, "MOST_PRIMES", 3)
    assert forms_with_roots(build, (2,)) == [form]
    monkeypatch.setattr(irrational, "MOST_PRIMES", 2)
    with pytest.raises(TooLong, match=r"coefficients have more than 102\d bits"):
        forms_with_roots(build, (2,))


def test_products_in_exponentials_have_a_limit_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(irrational, "MOST_EXPONENTIAL_PRODUCTS", 2)
    forms_with_roots(one_root_in_a_quotient, (2,))
    with pytest.raises(TooManyProducts, match="takes more than 2 products"):
        forms_with_roots(one_root_in_a_quotient, (2,), 1, QUICK, True)
    monkeypatch.undo()
    with pytest.raises(TooManyProducts, match="takes more than 3 products"):
        forms_with_roots(one_root_in_a_quotient, (2,), 1, 3, True)


# -- polynomials in exp(i q) for rational constants ------------------------------------------------


def rational_quotient(row: Any) -> list[int]:
    """sin(q0 + q1)/(2 + cos(q0 + q1)), in which tan(q/2) has many terms"""
    angle = row("add", 0, 1)
    return [row("div", row("sin", angle), row("add", row.number(2), row("cos", angle)))]


def exact_forms_of(most_products: int) -> str:
    (form,) = exact_forms(*program_of(rational_quotient, 2), names(2), most_products)
    return str(form)


def test_a_form_with_many_terms_in_half_angles_is_evaluated_in_exponentials_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All ways give one form. The way by exponentials alone allows few products, 40 here: that in
    half angles takes 100 and more.
    """
    text = "sin(q0 + q1)/(2 + cos(q0 + q1))"
    assert exact_forms_of(QUICK) == exact_forms_of(40) == text
    with pytest.raises(TooManyProducts, match="more than 3 products"):
        exact_forms_of(3)
    monkeypatch.setattr(irrational, "QUICK", 1)
    assert exact_forms_of(40) == text
    monkeypatch.setattr(irrational, "MOST_HALF_ANGLE_TERMS", 1)
    assert exact_forms_of(QUICK) == text


def test_a_sum_with_rational_constants_is_evaluated_as_a_polynomial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(irrational, "MOST_HALF_ANGLE_TERMS", 0)
    third = Fraction(1, 3)
    program, rows = program_of(lambda row: [row("mul", row.number(third), row("sin", 0))], 1)
    (form,) = exact_forms(program, rows, names(1), QUICK)
    assert form == MultiAngle.of({(SINE, ()): third})


# -- robots ----------------------------------------------------------------------------------------


@cache
def twisted(angle: str, offset: str = "0") -> Mechanism:
    """Return two links, the second one turned by an angle about x and by an offset about z."""
    robot = symgen.Robot("twisted", gravity=(0, 0, "-10"))
    rod: dict[str, Any] = {"type": "revolute", "axis": (0, 0, 1), "mass": 1, "centre": (1, 0, 0)}
    robot.body("link0", parent="base", inertia=(1, 0, 0, 1, 0, 1), **rod)
    robot.body(
        "link1",
        parent="link0",
        xyz=(1, 0, 0),
        rpy=(angle, 0, offset),
        inertia=(1, 0, 0, 1, 0, 2),
        **rod,
    )
    return robot.build()


def multiplier_of(angle: str, offset: str = "0") -> Form:
    """Return U[0,1] of Saha, which is the cosine of the angle times 1 + cos(q1)/3."""

    def derive(robot: Mechanism) -> tuple[Program, Sequence[int]]:
        layout = layout_of_stand_in(robot, "udut", "U")
        return layout.program, layout.rows((0, 1))[0]

    names_of_robot = Names({(0, i): i for i in range(2)}, lambda x: f"q{x[1]}", 2, "it")
    (form,) = canonical_with_stand_ins(twisted(angle, offset), derive, names_of_robot, QUICK)
    return form


def test_forms_of_a_robot_have_square_roots_or_rounded_decimals() -> None:
    """The cosine of half a radian is 0.87758256189037276 to 17 digits."""
    assert str(multiplier_of("pi/4")) == "0.5*sqrt(2) + 1/6*sqrt(2)*cos(q1)"
    assert str(multiplier_of("0.5")) == "0.87758256189037276 + 0.29252752063012422*cos(q1)"
    with pytest.raises(TooLong, match="it has no canonical form: it has a division"):
        multiplier_of("pi/5")
    assert [has_exact_forms(twisted(angle)) for angle in ("pi/4", "0.5", "pi/5")] == [
        True, False, False
    ]  # fmt: skip


@pytest.mark.parametrize(("offset", "radians"), [("0.5", 0.5), ("pi/3", math.pi / 3)])
def test_an_offset_of_a_joint_is_added_to_its_angle(offset: str, radians: float) -> None:
    form = multiplier_of("0", offset)
    assert isinstance(form, MultiAngle)
    for q1 in (-0.3, 2.0):
        expected = 1 + math.cos(q1 + radians) / 3
        assert form.evaluate([0.0, q1]) == pytest.approx(expected, rel=1e-14)


# -- residues --------------------------------------------------------------------------------------


def test_rows_that_are_equal_in_all_images_are_evaluated_once() -> None:
    assert _positions([(3, 4, 3, 3), (7, 8, 7, 9)]) == [0, 1, 0, 3]
    assert _positions([(5,)]) == [0]


def test_residues_are_combined_by_the_chinese_remainder_theorem() -> None:
    """Keys that one of the two lacks have the residue zero there."""
    a, b, c = ((n, 0, 1, (n,)) for n in range(3))
    combined = _modulo_product({a: 5, b: 3}, 7, {a: 9, c: 10}, 11)
    expected = {a: (5, 9), b: (3, 0), c: (0, 10)}
    assert {key: (x % 7, x % 11) for key, x in combined.items()} == expected
    assert all(0 <= x < 77 for x in combined.values())


def test_the_signs_of_the_roots_determine_the_coefficient_of_each_root() -> None:
    """The images of 2 + 3√2 − 5√3 + 7√6 for each choice of signs."""
    field = Roots((2, 3))
    prime = primes_of(field)[0]
    numbers = dict(zip(field.basis, (2, 3, -5, 7), strict=True))
    bases = [Residues((), field, prime, signs).basis for signs in signs_of(field)]
    images: list[dict[int, Sequence[dict[tuple[int, ...], int]]]] = [
        {4: ({(1,): sum(map(int.__mul__, numbers.values(), basis)) % prime}, {(2,): basis[1]})}
        for basis in bases
    ]
    residues = _combined(field, prime, images)
    assert residues == {(4, 0, root, (1,)): x % prime for root, x in numbers.items()} | {
        (4, 1, 2, (2,)): 1
    }


def residue_of(x: Fraction, modulus: int) -> int:
    return x.numerator * pow(x.denominator, -1, modulus) % modulus


@pytest.mark.parametrize("sign", [1, -1])
def test_a_fraction_is_recognised_if_it_is_much_shorter_than_the_modulus(sign: int) -> None:
    """The numerator times the denominator, times the denominator before, leaves the spare bits."""
    x = Fraction(sign * 2**61 - sign, 2**31 - 1)
    size = (2**61 - 1) * (2**31 - 1)
    for common in (1, 15):
        enough = (size * common << SPARE_BITS) + 1
        assert math.gcd(enough, x.denominator) == 1
        pair = _recognised(residue_of(x, enough), enough, common)
        assert pair == (x.numerator, x.denominator)
        too_small = (size * common << SPARE_BITS) - 1
        assert _recognised(residue_of(x, too_small), too_small, common) is None
    assert _recognised(0, 3, 1) == (0, 1)


def test_coefficients_of_a_polynomial_are_recognised_with_their_common_denominator() -> None:
    """3/(2 · 10^20 + 2) after 1/(10^20 + 1) needs a denominator of 2 only."""
    denominator = 10**20 + 1
    numbers = (Fraction(1, denominator), Fraction(-3, 2 * denominator), Fraction(5, 7))
    modulus = 2**200 + 235
    keys: list[tuple[int, int, int, tuple[int, ...]]] = [
        (0, 0, 1, (0,)),
        (0, 0, 2, (1,)),
        (3, 1, 1, (1,)),
    ]
    residues = {key: residue_of(x, modulus) for key, x in zip(keys, numbers, strict=True)}
    fractions = _fractions(residues, modulus)
    assert fractions is not None
    assert set(fractions) == {0, 3}
    assert [{root: {e: str(x) for e, x in terms.items()} for root, terms in part.items()}
            for part in (*fractions[0], *fractions[3])] == [
        {1: {(0,): f"1/{denominator}"}, 2: {(1,): f"-3/{2 * denominator}"}},
        {},
        {},
        {1: {(1,): "5/7"}},
    ]  # fmt: skip
    assert _fractions(residues, 2**160 + 7) is None


# -- rounding --------------------------------------------------------------------------------------


def decimal_places(x: Fraction) -> int:
    """Return the number of decimal places of a terminating decimal."""
    return next(n for n in range(200) if x * 10**n == int(x * 10**n))


def test_all_numbers_of_a_sum_are_rounded_to_digits_of_the_largest_one() -> None:
    """The largest has three digits before the point; there are no more than DIGITS places."""
    third = Fraction(1, 3)
    form = rounded_form(MultiAngle.of({(CONSTANT, ()): 700 + third, (COSINE, ()): -third}))
    assert isinstance(form, MultiAngle)
    (_, _, largest), (_, _, small) = form.terms
    places = DIGITS - 2
    assert largest == 700 + Fraction(10**places // 3, 10**places)
    assert small == -Fraction(10**places // 3, 10**places)
    of_small = rounded_form(MultiAngle.of({(COSINE, ()): third / 100, (SINE, ()): 2 * third / 100}))
    assert isinstance(of_small, MultiAngle)
    cosine, sine = (x for _, _, x in of_small.terms)
    assert cosine == Fraction(10**DIGITS // 300, 10**DIGITS)
    assert sine == cosine * 2 + Fraction(1, 10**DIGITS)  # 0.00666…67
    assert rounded_form(MultiAngle(())) == MultiAngle(())


def test_the_roots_of_a_rounded_sum_become_one_number() -> None:
    root = (("sqrt(2)", 1),)
    numbers = {(COSINE, ()): 1, (COSINE, root): 1, (SINE, root): 2}
    form = rounded_form(MultiAngle.of({key: Fraction(x) for key, x in numbers.items()}))
    assert isinstance(form, MultiAngle)
    (_, of_cosine, x), (_, of_sine, y) = form.terms
    assert of_cosine == of_sine == ()
    assert abs((x - 1) ** 2 - 2) < Fraction(2, 10**DIGITS)
    assert abs(y**2 - 8) < Fraction(3, 10**DIGITS)
    assert decimal_places(x) == decimal_places(y) == DIGITS


@pytest.mark.parametrize(("scale", "more"), [(1, 0), (10**5, -5), (Fraction(1, 100), 2)])
def test_long_numbers_of_a_quotient_are_rounded_and_short_ones_are_not(
    scale: Fraction, more: int
) -> None:
    """The largest number is 1.7, 1.7e5 or 0.017; the last digits of the long one are …7.6."""
    unit = Fraction(10) ** -(ROUNDED_DIGITS + more)
    long = (10**ROUNDED_DIGITS + 7 + Fraction(3, 5)) * unit
    numbers = {
        COSINE: Fraction(17, 10) * scale,
        SINE: long,
        CONSTANT: Fraction(1, 3) * scale,
    }
    below = MultiAngle.of({(CONSTANT, ()): Fraction(1), (COSINE, ()): Fraction(2, 7)})
    above = MultiAngle.of({(wave, ()): x for wave, x in numbers.items()})
    form = rounded_form(Quotient(above, below))
    assert isinstance(form, Quotient)
    assert form.denominator == below
    values = {wave: x for wave, _, x in form.numerator.terms}
    assert values[COSINE] == numbers[COSINE]
    assert values[CONSTANT] == numbers[CONSTANT]
    assert values[SINE] == (10**ROUNDED_DIGITS + 8) * unit


@pytest.mark.parametrize("digits", [ROUNDED_DIGITS, ROUNDED_DIGITS + 1])
def test_a_number_is_short_if_its_numerator_and_denominator_are(digits: int) -> None:
    """10^(n-1)/3 has a numerator of n digits, and 7/(3 · 10^(n-1)) such a denominator."""
    power, below = 10 ** (digits - 1), MultiAngle.of({(COSINE, ()): Fraction(1)})
    for x in (Fraction(power, 3), Fraction(7, 3 * power)):
        above = MultiAngle.of({(CONSTANT, ()): x, (COSINE, ()): Fraction(1, 3)})
        form = rounded_form(Quotient(above, below))
        assert isinstance(form, Quotient)
        assert (form.numerator.terms[0][2] == x) == (digits <= ROUNDED_DIGITS)
