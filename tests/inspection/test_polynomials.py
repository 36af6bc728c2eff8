"""Polynomials and quotients behind canonical forms, on Programs of a few rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp
from flint import fmpq_mpoly_ctx

from symgen.inspection import canonical as canonical_module
from symgen.inspection.canonical import (
    QUICK,
    Canonical,
    Names,
    Quotient,
    TooLong,
    TooManyHalfAngleTerms,
    TooManyProducts,
    canonical,
    form_of_fraction,
    has_division,
    inputs_of,
)
from symgen.inspection.irrational import canonical_in_exponentials
from symgen.inspection.multiangle import MultiAngle
from tests.inspection.small_programs import Build, names, program_of

BALL = Names({(0, 4): 4}, lambda x: f"q{x[1]}", 5, "it", (tuple((0, i) for i in range(4)),))
"""q0 to q3 are the unit quaternion x y z w, and q4 is an angle."""


def form_of(build: Build, count: int = 2, exact: bool = True, **options: Any) -> str:
    program, rows = program_of(build, count)
    (form,) = canonical(program, rows, names(count), exact, **options)
    return str(form)


# -- sums ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda row: [row("sin", row("sub", 0, 1))], "sin(q0 - q1)"),
        (lambda row: [row("sin", row("neg", row("add", 0, 1)))], "-sin(q0 + q1)"),
        (lambda row: [row("cos", row("neg", row("add", 0, 1)))], "cos(q0 + q1)"),
        (lambda row: [row("sin", row("add", 0, row("add", 1, 1)))], "sin(q0 + 2*q1)"),
        (lambda row: [row("cos", row("sub", 0, 0))], "1"),
        (lambda row: [row("sin", row("sub", 0, 0))], "0"),
        (lambda row: [row("mul", row("sin", 0), row("cos", 0))], "0.5*sin(2*q0)"),
        (
            lambda row: [row("mul", row("sin", 0), row("sin", 1))],
            "0.5*cos(q0 - q1) - 0.5*cos(q0 + q1)",
        ),
        (
            lambda row: [row("mul", row("cos", 0), row("cos", 1))],
            "0.5*cos(q0 - q1) + 0.5*cos(q0 + q1)",
        ),
        (lambda row: [row("sub", row("sin", 0), row("sin", 0))], "0"),
        (
            lambda row: [row("sub", row.number(2), row("mul", row.number(3), row("cos", 1)))],
            "2 - 3*cos(q1)",
        ),
        (lambda row: [row("mul", row("mul", 0, 0), row("sin", 0))], "q0**2*sin(q0)"),
    ],
)
def test_sums_and_products_of_waves_are_sums_of_waves(build: Build, text: str) -> None:
    """Over a denominator of 3 + sin q0, the polynomials in tan(q/2) and in exp(i q) agree."""
    assert form_of(build) == text

    def divided(row: Any) -> Sequence[int]:
        (result,) = build(row)
        return [row("div", result, row("add", row.number(3), row("sin", 0)))]

    program, rows = program_of(divided, 2)
    (form,) = canonical(program, rows, names(2), True)
    assert canonical_in_exponentials(program, rows, names(2), QUICK) == [form]
    if text == "0":
        assert form == MultiAngle(())
    else:
        assert isinstance(form, Quotient)
        assert (str(form.numerator), str(form.denominator)) == (text, "3 + sin(q0)")


def test_a_screw_has_an_angle_and_a_length() -> None:
    def build(row: Any) -> list[int]:
        wave = row("mul", 0, row("cos", 0))
        return [row("div", row("add", wave, 1), row("add", 0, row.number(5)))]

    assert form_of(build) == "(q1 + q0*cos(q0))/(5 + q0)"


def test_the_tangent_of_half_an_angle_is_a_quotient_of_waves() -> None:
    """It is of odd degree in tan(q/2), so both parts are divided by one more power of 1 + t²."""

    def build(row: Any) -> list[int]:
        return [row("div", row("sub", row.number(1), row("cos", 0)), row("sin", 0))]

    assert form_of(build) == "sin(q0)/(1 + cos(q0))"


def test_several_rows_and_their_inputs() -> None:
    def build(row: Any) -> list[int]:
        first = row("add", 0, row.number(1))
        return [row("sin", 1), first, row("div", first, row("cos", 0)), first]

    program, rows = program_of(build, 3)
    assert inputs_of(program, rows[:1]) == {(0, 1)}
    assert inputs_of(program, rows) == {(0, 0), (0, 1)}
    assert has_division(program, rows)
    assert not has_division(program, rows[:2])
    forms = canonical(program, rows, names(3), True)
    assert [str(form) for form in forms] == ["sin(q1)", "1 + q0", "(1 + q0)/cos(q0)", "1 + q0"]


@pytest.mark.parametrize(
    "build",
    [
        lambda row: [row("sin", row("mul", row.number(Fraction(1, 2)), 0))],
        lambda row: [row("sin", row("mul", 0, 1))],
        lambda row: [row("cos", row("mul", 0, 0))],
        lambda row: [row("cos", row("sin", 0))],
    ],
)
def test_waves_of_more_than_joint_angles_have_no_form(build: Build) -> None:
    for number in (0, 1):
        with pytest.raises(TooLong, match="the argument of a sine is not a sum of whole multiples"):
            form_of(lambda row, number=number: [row("add", build(row)[0], row.number(number))])


def test_a_wave_of_a_length_or_of_a_rate_has_no_form() -> None:
    program, rows = program_of(lambda row: [row("sin", row("add", 0, 1))], 2)
    only_first = Names({(0, 0): 0}, lambda x: f"q{x[1]}", 1, "it")
    with pytest.raises(TooLong, match="the argument of a sine is not a sum of whole multiples"):
        canonical(program, rows, only_first, True)


def test_a_constant_angle_has_rounded_waves_unless_the_form_is_exact() -> None:
    """sin(q0 + 0.3) = sin 0.3 cos q0 + cos 0.3 sin q0."""

    def build(row: Any) -> list[int]:
        return [row("sin", row("add", 0, row.number(Fraction(3, 10))))]

    program, rows = program_of(build, 1)
    (form,) = canonical(program, rows, names(1), False)
    assert isinstance(form, MultiAngle)
    assert [wave for wave, _, _ in form.terms] == [((1,), False), ((1,), True)]
    assert form.evaluate([0.7]) == pytest.approx(math.sin(1.0), rel=1e-15)
    assert form.evaluate([-0.3]) == pytest.approx(0, abs=1e-15)
    with pytest.raises(TooLong, match="it has a sine of a constant"):
        form_of(build)
    for evaluate in (canonical, canonical_in_exponentials):
        program, rows = program_of(
            lambda row: [row("div", build(row)[0], row("add", row.number(2), row("cos", 0)))], 1
        )
        with pytest.raises(TooLong, match="it has a sine of a constant"):
            evaluate(program, rows, names(1), *([True] if evaluate is canonical else [QUICK]))
    program, rows = program_of(lambda row: [row("cos", row.number(Fraction(3, 10)))], 1)
    (constant,) = canonical(program, rows, names(1), False)
    assert isinstance(constant, MultiAngle)
    assert constant.is_number
    assert constant.evaluate([0.0]) == pytest.approx(math.cos(0.3), rel=1e-15)


def test_other_operations_and_inexact_divisions_have_no_form() -> None:
    with pytest.raises(TooLong, match="its equations contain a sqrt"):
        form_of(lambda row: [row("sqrt", 0)])
    with pytest.raises(TooLong, match="it has a division, and constants of the robot are irration"):
        form_of(lambda row: [row("div", 0, 1)], exact=False)
    assert form_of(lambda row: [row("div", 0, 1)]) == "q0/q1"


# -- limits ----------------------------------------------------------------------------------------


def least_limit(build: Build) -> int:
    """Return the least number of products of terms with which a form is found."""
    for limit in range(1, 400):
        try:
            form_of(build, most_products=limit)
        except TooManyProducts:
            continue
        return limit
    raise AssertionError


def test_products_of_terms_are_counted() -> None:
    """(1 + 2 terms) times itself has 9 products, that of 1 and the rest of a cosine 4."""

    def square(row: Any) -> list[int]:
        base = row("add", row.number(1), row("cos", 0))
        return [row("mul", base, base)]

    assert least_limit(square) == 9
    assert least_limit(lambda row: [row("add", square(row)[0], square(row)[0])]) == 18
    assert least_limit(lambda row: [row("neg", row("cos", 0))]) == 2
    with pytest.raises(
        TooManyProducts,
        match="the canonical form of it has more than 20000 terms,"
        " or takes more than 8 products of terms",
    ):
        form_of(square, most_products=8)


def test_terms_of_a_form_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 + cos(q0) + cos(q1) + q0 q1 has four terms, and twice those of its cosines in exp(i q)."""

    def build(row: Any) -> list[int]:
        waves = row("add", row("cos", 0), row("cos", 1))
        return [row("add", row("add", waves, row("mul", 0, 1)), row.number(1))]

    monkeypatch.setattr(canonical_module, "MOST_TERMS", 4)
    assert form_of(build) == "1 + q0*q1 + cos(q1) + cos(q0)"
    monkeypatch.setattr(canonical_module, "MOST_TERMS", 3)
    with pytest.raises(TooManyProducts, match="has more than 3 terms"):
        form_of(build)
    # the sum has six terms in exp(i q), which is allowed up to twice the limit
    monkeypatch.setattr(canonical_module, "MOST_TERMS", 2)
    with pytest.raises(TooManyProducts):
        form_of(lambda row: [row("sub", build(row)[0], row("add", row.number(1), row("cos", 0)))])


@pytest.mark.parametrize("in_exponentials", [False, True])
def test_terms_of_a_numerator_and_a_denominator_are_limited(
    in_exponentials: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(row: Any) -> list[int]:
        below = row("add", row("add", row.number(3), row("cos", 0)), 1)
        return [row("div", row("sin", 0), below)]

    def evaluated() -> str:
        program, rows = program_of(build, 2)
        (form,) = (
            canonical_in_exponentials(program, rows, names(2), QUICK)
            if in_exponentials
            else canonical(program, rows, names(2), True)
        )
        return str(form)

    monkeypatch.setattr(canonical_module, "MOST_TERMS", 3)
    assert evaluated() == "sin(q0)/(3 + q1 + cos(q0))"
    monkeypatch.setattr(canonical_module, "MOST_TERMS", 2)
    with pytest.raises(TooManyProducts, match="has more than 2 terms"):
        evaluated()


def test_terms_in_half_angles_are_limited_before_they_become_waves() -> None:
    """1/(2 + cos q) is (1 + t²)/(3 + t²), with two terms above and below."""

    def build(row: Any) -> list[int]:
        return [row("div", row.number(1), row("add", row.number(2), row("cos", 0)))]

    assert form_of(build, most_half_angle_terms=2) == "1/(2 + cos(q0))"
    with pytest.raises(TooManyHalfAngleTerms, match="has more than 20000 terms"):
        form_of(build, most_half_angle_terms=1)
    assert form_of(lambda row: [row("cos", 0)], most_half_angle_terms=0) == "cos(q0)"


# -- quaternions -----------------------------------------------------------------------------------


def of_ball(build: Build) -> str:
    program, rows = program_of(build, 5)
    (form,) = canonical(program, rows, BALL, True)
    return str(form)


def square_sum(row: Any, *entries: int) -> int:
    total = row("mul", entries[0], entries[0])
    for entry in entries[1:]:
        total = row("add", total, row("mul", entry, entry))
    return int(total)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda row: [square_sum(row, 0, 1, 2, 3)], "1"),
        (lambda row: [square_sum(row, 3)], "1 - q0**2 - q1**2 - q2**2"),
        (
            lambda row: [row("mul", square_sum(row, 3), row("mul", 3, row("sin", 4)))],
            "(-q0**2*q3 - q1**2*q3 - q2**2*q3 + q3)*sin(q4)",
        ),
        (lambda row: [row("mul", 0, 3)], "q0*q3"),
        # denominators have no w: 1/(2 + w) = (2 - w)/(4 - w²)
        (
            lambda row: [row("div", row.number(1), row("add", row.number(2), 3))],
            "(2 - q3)/(3 + q0**2 + q1**2 + q2**2)",
        ),
        (
            lambda row: [
                row("div", row("sub", row.number(1), square_sum(row, 3)), square_sum(row, 0, 1, 2))
            ],
            "1",
        ),
        (
            lambda row: [row("div", row("cos", 4), row("mul", 3, 3))],
            "cos(q4)/(1 - q0**2 - q1**2 - q2**2)",
        ),
        (lambda row: [row("div", row("mul", 3, 3), 3)], "q3"),
        (lambda row: [row("div", 0, row("add", row.number(2), 1))], "q0/(2 + q1)"),
    ],
)
def test_a_quaternion_has_the_length_one(build: Build, text: str) -> None:
    assert of_ball(build) == text


def test_two_quaternions_have_a_relation_each() -> None:
    """w² of the first is replaced by its own x, y and z, whichever of its entries occur."""
    groups = tuple(tuple((0, 4 * k + i) for i in range(4)) for k in range(2))
    both = Names({}, lambda x: "xyzw"[x[1] % 4] + "AB"[x[1] // 4], 8, "it", groups)

    def build(row: Any) -> list[int]:
        return [row("mul", row("mul", 3, 3), row("mul", 7, 7)), row("mul", 3, 3)]

    program, rows = program_of(build, 8)
    forms = canonical(program, rows, both, True)
    x, y, z = (sp.symbols(f"{name}A {name}B", real=True) for name in "xyz")
    first, second = (1 - x[k] ** 2 - y[k] ** 2 - z[k] ** 2 for k in range(2))
    assert sp.expand(forms[0].sympy() - first * second) == 0
    assert sp.expand(forms[1].sympy() - first) == 0


def test_a_fraction_of_a_projected_quaternion_becomes_one_of_its_entries() -> None:
    """X = x/(1 + w): 2 X/(1 + X² + Y² + Z²) is x, and (1 − X² − …)/(1 + X² + …) is w."""
    context: Any = fmpq_mpoly_ctx.get(["t0", "w", "x", "y", "z", "m", "q0"], "lex")
    t, _, x, y, z, m, q = context.gens()
    square = x**2 + y**2 + z**2
    others = ["w", "x", "y", "z", "m"]
    group = [("x", "y", "z", "w")]
    unit = context.constant(1)
    of = [
        str(form_of_fraction(above, below, [0], others, names(1), group))
        for above, below in (
            (2 * x, unit + square),
            (unit - square, unit + square),
            (2 * m * q * z, unit + square),
            (m * (unit - t**2), unit + t**2),
        )
    ]
    assert of == ["x", "w", "m*q0*z", "m*cos(q0)"]


# -- texts -----------------------------------------------------------------------------------------


def wave(*index: int, x: int = 1, sine: bool = False, **symbols: int) -> MultiAngle:
    return MultiAngle.of({((index, sine), tuple(sorted(symbols.items()))): Fraction(x)})


@pytest.mark.parametrize(
    ("above", "below", "text"),
    [
        (wave(0), wave(1), "1/cos(q0)"),
        (wave(0), wave(0, m=1), "1/m"),
        (wave(0), wave(1, x=2), "1/(2*cos(q0))"),
        (wave(0), wave(1, m=1), "1/(m*cos(q0))"),
        (wave(0), wave(0) + wave(1), "1/(1 + cos(q0))"),
        (wave(0) + wave(1), wave(1), "(1 + cos(q0))/cos(q0)"),
        (wave(1, x=3), wave(1), "3*cos(q0)/cos(q0)"),
    ],
)
def test_a_quotient_has_parentheses_where_they_are_needed(
    above: MultiAngle, below: MultiAngle, text: str
) -> None:
    quotient = Quotient(above, below)
    assert str(quotient) == text
    assert quotient.text("latex") == rf"\frac{{{above.text('latex')}}}{{{below.text('latex')}}}"


def test_a_matrix_with_a_long_entry_is_written_as_equations() -> None:
    """Entries that are zero are left out; a quotient is long if one of its parts is."""
    long = MultiAngle.of({(((k,), False), ()): Fraction(1) for k in range(21)})
    short, zero = wave(1), MultiAngle(())
    matrix = Canonical("D", (2, 2), (short, zero, zero, Quotient(short, long)))
    assert matrix.is_long
    assert [line.partition(" = ")[0] for line in matrix.text().splitlines() if " = " in line] == [
        "D[0,0]",
        "D[1,1]",
    ]
    assert not Canonical("D", (), (short,)).is_long
    assert Quotient(long, short).is_long
    assert not Quotient(short, short).is_long
    row = Canonical("D", (1, 2), (short, wave(0)))
    assert row.text() == "[cos(q0)  1]"
    assert row.text("c") == "{cos(q0), 1.0}"
    assert Canonical("D", (2, 1), (short, wave(0))).text("python") == "[[cos(q0)], [1]]"
    assert row.sympy().shape == (1, 2)
    assert Canonical("D", (), (short,)).sympy() == sp.cos(sp.Symbol("q0", real=True))


def test_a_form_names_its_coordinates_and_its_abbreviated_sums() -> None:
    run, length = (
        wave(*([0] * 2 + [1] * 8)),
        MultiAngle.of({(((0,) * 10, False), (("q1", 1),)): Fraction(1)}),
    )
    value = Canonical("D", (2, 1), (length, Quotient(length, run)))
    assert value.abbreviations == {"q2:9": "q2 + q3 + … + q9"}
    assert value.coordinates == frozenset({1, *range(2, 10)})
