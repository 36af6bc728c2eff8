"""Error bounds of single operations at points, in closed form."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from symgen.certificate.intervals import Interval
from symgen.certificate.rounding import (
    Arithmetic,
    HalfAngleRatio,
    Rounded,
    half_angle_ratios,
    propagate,
    required_rows,
)
from symgen.ir.program import Port, Program, Row

U = 2.0**-24
"""Unit round-off of a float."""
X, Y = 3.0, -0.75
EX, EY = 2 * U * X, 2 * U * abs(Y)
"""Errors of two rounded arguments."""


def program(*rows: Row) -> Program:
    inputs = (Row("input", (), (0, 0)), Row("input", (), (0, 1)))
    every = (*inputs, *rows)
    port = Port("out", (1,), (len(every) - 1,))
    return Program("f", "m", (Port("b", (2,)),), (port,), every, real="float")


def last(*rows: Row, x: float = X, y: float = Y, arithmetic: Arithmetic | None = None) -> Rounded:
    """Return the last row at a point with rounded arguments."""
    arithmetic = arithmetic or Arithmetic("float", rounded_arguments=frozenset({"b"}))
    point = [Interval(np.array([value]), np.array([value])) for value in (x, y)]
    return propagate(program(*rows), {"b": point}, arithmetic)[len(rows) + 1]


def error(*rows: Row, x: float = X, y: float = Y, arithmetic: Arithmetic | None = None) -> float:
    return float(last(*rows, x=x, y=y, arithmetic=arithmetic).error[0])


def rounded(size: float, propagated: float) -> float:
    """Return an error with the rounding of the result."""
    return propagated + U * (size + propagated)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (Row("neg", (0,)), EX),
        (Row("add", (0, 1)), rounded(2.25, EX + EY)),
        (Row("sub", (0, 1)), rounded(3.75, EX + EY)),
        (Row("mul", (0, 1)), rounded(2.25, EX * 0.75 + (3 + EX) * EY)),
        (Row("mul", (0, 0)), rounded(9, EX * 3 + (3 + EX) * EX)),
        (Row("div", (0, 1)), rounded(4, (EX + 4 * EY) / (0.75 - EY))),
        (Row("div", (1, 0)), rounded(0.25, (EY + 0.25 * EX) / (3 - EX))),
        (Row("sqrt", (0,)), rounded(np.sqrt(3), EX / (np.sqrt(3) + np.sqrt(3 - EX)))),
        (Row("sin", (0,)), EX + U),
        (Row("cos", (1,)), EY + U),
        (Row("log", (0,)), EX / (3 - EX) + 2 * U * (np.log(3) + EX / (3 - EX))),
    ],
)
def test_errors_are_propagated_and_rounded(row: Row, expected: float) -> None:
    """Relative to these terms, outward rounding adds less than 1e-6."""
    assert expected <= error(row) * (1 + 1e-15)
    assert error(row) == pytest.approx(expected, rel=1e-5, abs=0)


D = 2.0**-20
"""A difference of two arguments near 1, known to a quarter."""
ED = 4 * U * (1 + D / 2) * (1 + U) + U * D


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (Row("log", (2,)), ED / (D - 2 * ED) + 2 * U * (abs(np.log(D - ED)) + ED / (D - 2 * ED))),
        (Row("sqrt", (2,)), ED / (np.sqrt(D - ED) + np.sqrt(D - 2 * ED))),
        (Row("mul", (2, 2)), ED * (D + ED) + (D + 2 * ED) * ED),
        (Row("div", (1, 2)), (2 * U + ED / (D - ED)) / (D - 2 * ED)),
        (Row("atan2", (2, 2)), ED / (D - 2 * ED)),
        (Row("neg", (2,)), ED),
    ],
)
def test_large_errors_count_in_the_computed_values(row: Row, expected: float) -> None:
    """The exact difference is within ED of D; divisors and radicands are smaller by their error,
    factors larger.
    """
    result = error(Row("sub", (0, 1)), row, x=1 + D, y=1.0)
    assert result == pytest.approx(expected, rel=1e-4, abs=0)


def test_logarithms_of_small_numbers_are_bounded() -> None:
    assert error(Row("log", (0,)), x=0.5) == pytest.approx(
        2 * U + 2 * U * np.log(2), rel=1e-5, abs=0
    )


def test_an_angle_has_the_error_of_its_point_over_its_distance() -> None:
    """atan2 of (3, −0.75), with 2 ulp of its own."""
    distance = np.hypot(X, Y)
    propagated = np.hypot(EX, EY) / (distance - np.hypot(EX, EY))
    angle = abs(np.arctan2(Y, X))
    expected = propagated + 4 * U * (angle + propagated)
    assert error(Row("atan2", (1, 0))) == pytest.approx(expected, rel=1e-5, abs=0)


@pytest.mark.parametrize(("x", "y"), [(-3.0, 0.0), (0.0, 0.0), (-3.0, 1e-45)])
def test_an_angle_that_may_jump_is_off_by_a_whole_turn(x: float, y: float) -> None:
    assert error(Row("atan2", (1, 0)), x=x, y=y) == pytest.approx(2 * np.pi, rel=1e-5, abs=0)


@pytest.mark.parametrize(("x", "y"), [(3.0, 0.0), (-3.0, 1.0), (-3.0, -1.0)])
def test_an_angle_away_from_the_half_line_does_not_jump(x: float, y: float) -> None:
    assert error(Row("atan2", (1, 0)), x=x, y=y) < 1e-5


@pytest.mark.parametrize(
    ("row", "x"),
    [
        (Row("div", (1, 0)), 0.0),
        (Row("sqrt", (0,)), 0.0),
        (Row("sqrt", (0,)), -1.0),
        (Row("log", (0,)), 0.0),
        (Row("log", (0,)), -1.0),
    ],
)
def test_operations_outside_of_their_range_have_no_bound(row: Row, x: float) -> None:
    assert error(row, x=x) == np.inf


def test_other_assumptions_of_the_library_scale_its_errors() -> None:
    names = {"rounded_arguments": frozenset({"b"})}
    worse = Arithmetic("float", trig=3, log=5, angle=4, **names)  # type: ignore[arg-type]
    assert error(Row("sin", (0,)), arithmetic=worse) == pytest.approx(EX + 3 * U, rel=1e-5, abs=0)
    propagated = EX / (3 - EX)
    logarithm = propagated + 10 * U * (np.log(3) + propagated)
    assert error(Row("log", (0,)), arithmetic=worse) == pytest.approx(logarithm, rel=1e-5, abs=0)
    usual = error(Row("atan2", (1, 0)))
    more = error(Row("atan2", (1, 0)), arithmetic=worse)
    assert more - usual == pytest.approx(4 * U * abs(np.arctan2(Y, X)), rel=1e-5, abs=0)


# -- constants --


@pytest.mark.parametrize(
    ("value", "is_exact"),
    [("0.5", True), ("-3", True), ("0", True), ("0.1", False), ("1/3", False)],
)
def test_constants_are_off_by_their_rounding(value: str, is_exact: bool) -> None:
    exact = Fraction(value)
    result = last(Row("const", (), exact))
    off = abs(Fraction(float(np.float32(float(exact)))) - exact)
    assert (float(result.error[0]) == 0) is is_exact
    assert Fraction(float(result.error[0])) >= off
    assert float(result.error[0]) == pytest.approx(float(off), rel=1e-6)
    assert Fraction(float(result.exact.lo[0])) <= exact <= Fraction(float(result.exact.hi[0]))


@pytest.mark.parametrize(
    ("factor", "is_exact"),
    [
        ("2", True),
        ("-4", True),
        ("1/8", True),
        ("1", True),
        ("3", False),
        ("3/4", False),
        ("5/8", False),
    ],
)
def test_products_with_powers_of_two_are_not_rounded(factor: str, is_exact: bool) -> None:
    size = abs(float(Fraction(factor)))
    rows = [Row("const", (), Fraction(factor)), Row("mul", (2, 0))]
    propagated = size * EX
    expected = propagated if is_exact else rounded(3 * size, propagated)
    assert error(*rows) == pytest.approx(expected, rel=1e-5, abs=0)


def test_a_product_with_zero_is_zero() -> None:
    assert error(Row("const", (), Fraction(0)), Row("mul", (2, 0))) < 1e-30


# -- arguments --


def test_arguments_are_exact_unless_they_are_rounded_or_quaternions() -> None:
    """Flushing may still change them by the least normal number."""
    least = 2.0**-126
    exact = Arithmetic("float")
    assert error(Row("neg", (0,)), arithmetic=exact) == least
    assert error(Row("neg", (0,))) == pytest.approx(EX)
    of_quaternions = Arithmetic("float", unit_entries=frozenset({0}))
    assert error(Row("neg", (0,)), arithmetic=of_quaternions) == least  # b holds no positions


def test_entries_of_unit_quaternions_are_within_four_units_and_at_most_one() -> None:
    entries = (Row("input", (), (0, 0)), Row("input", (), (0, 1)))
    form = Program("f", "m", (Port("q", (2,)),), (Port("out", (1,), (0,)),), entries, real="float")
    box = [Interval(np.array([0.5]), np.array([1.0]))] * 2
    arithmetic = Arithmetic("float", unit_entries=frozenset({0}))
    rows = propagate(form, {"q": box}, arithmetic)
    assert rows[0].error[0] == pytest.approx(4 * U)
    assert rows[0].exact.hi[0] == 1
    assert rows[0].exact.lo[0] == pytest.approx(0.5 - 4 * U, abs=1e-12)
    assert rows[1].error[0] < 1e-30


# -- rotations and bounds --


def rotation(sign: str, swapped: bool = False) -> list[Row]:
    """Return the rows of cos b₀ · b₁ ± sin b₀ · b₁."""
    first, second = Row("mul", (2, 1)), Row("mul", (1, 3))
    return [
        Row("cos", (0,)),
        Row("sin", (0,)),
        *((second, first) if swapped else (first, second)),
        Row(sign, (4, 5)),
    ]


@pytest.mark.parametrize("sign", ["add", "sub"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_rotated_vector_is_no_longer_than_it_was(sign: str, swapped: bool) -> None:
    """Over all angles a plain sum of two products of 3/4 would be 1.5; their vector has 0.75 √2."""
    form = program(*rotation(sign, swapped))
    box = [
        Interval(np.array([-4.0]), np.array([4.0])),
        Interval(np.array([-0.75]), np.array([0.75])),
    ]
    arithmetic = Arithmetic("float", rounded_arguments=frozenset({"b"}))
    result = propagate(form, {"b": box}, arithmetic)[6]
    assert result.exact.hi[0] == pytest.approx(0.75 * np.sqrt(2))
    assert result.exact.lo[0] == pytest.approx(-0.75 * np.sqrt(2))


def test_sums_that_are_no_rotations_keep_their_interval() -> None:
    """The sine is that of another angle, or the second product has no sine."""
    for rows in (
        [Row("cos", (0,)), Row("sin", (1,)), Row("mul", (2, 1)), Row("mul", (3, 1)),
         Row("add", (4, 5))],
        [Row("cos", (0,)), Row("cos", (0,)), Row("mul", (2, 1)), Row("mul", (3, 1)),
         Row("add", (4, 5))],
    ):  # fmt: skip
        box = [
            Interval(np.array([-4.0]), np.array([4.0])),
            Interval(np.array([-0.75]), np.array([0.75])),
        ]
        result = propagate(program(*rows), {"b": box}, Arithmetic("float"))[6]
        assert result.exact.hi[0] > 1.2


def test_known_bounds_clip_the_enclosure_of_a_row() -> None:
    box = [Interval(np.array([-1.0]), np.array([1.0]))] * 2
    form = program(Row("add", (0, 1)), Row("mul", (2, 2)))
    rows = propagate(form, {"b": box}, Arithmetic("float"), {2: (0.5, 1.5)})
    assert (rows[2].exact.lo[0], rows[2].exact.hi[0]) == (0.5, 1.5)
    assert rows[3].exact.hi[0] == pytest.approx(2.25)


def test_only_rows_that_are_needed_are_returned() -> None:
    form = program(Row("neg", (0,)), Row("sin", (1,)), Row("mul", (2, 2)))
    assert required_rows(form, [4]) == [0, 2, 4]
    assert required_rows(form, [3, 2]) == [0, 1, 2, 3]
    assert required_rows(form, []) == []
    box = [Interval(np.array([0.0]), np.array([1.0]))] * 2
    assert sorted(propagate(form, {"b": box}, Arithmetic("float"), None, [4])) == [0, 2, 4]
    assert sorted(propagate(form, {"b": box}, Arithmetic("float"))) == [0, 1, 2, 3, 4]


# -- the angle of a rotation divided by its sine --

RATIO = [
    Row("const", (), Fraction(1, 16)),  # 2
    Row("mul", (0, 0)),
    Row("add", (3, 2)),  # 4: S = x² + 1/16
    Row("sqrt", (4,)),  # 5: r
    Row("mul", (5, 1)),
    Row("const", (), Fraction(2)),
    Row("mul", (7, 6)),  # 8: 2 r w
    Row("mul", (1, 1)),
    Row("sub", (9, 4)),  # 10: w² − S
    Row("atan2", (8, 10)),  # 11: A
    Row("div", (11, 5)),  # 12: A/r
]
"""Rows of A/r with r = √S and A = atan2(2 r w, w² − S)."""


def test_the_angle_of_a_rotation_over_its_sine_is_recognised() -> None:
    """The least value of r is √(1/16); as a product with 1/r the ratio is the same."""
    ratio = HalfAngleRatio(4, 1, 0.25)
    (recognised,) = half_angle_ratios(program(*RATIO)).items()
    assert recognised[0] == 12
    assert recognised[1][:2] == ratio[:2]
    assert recognised[1].least == pytest.approx(0.25)
    assert recognised[1].least <= 0.25
    reciprocal = [Row("const", (), Fraction(1)), Row("div", (12, 5))]
    for args in ((11, 13), (13, 11)):
        by_reciprocal = program(*RATIO[:-1], *reciprocal, Row("mul", args))
        assert [*half_angle_ratios(by_reciprocal)] == [14]
    exchanged = list(RATIO)
    exchanged[4], exchanged[6] = Row("mul", (1, 5)), Row("mul", (6, 7))
    assert [*half_angle_ratios(program(*exchanged))] == [12]


@pytest.mark.parametrize(
    ("index", "row"),
    [
        (0, Row("const", (), Fraction(0))),  # r may be zero
        (3, Row("neg", (4,))),  # r is no root
        (4, Row("mul", (5, 0))),  # x in the place of w
        (4, Row("add", (5, 1))),
        (5, Row("const", (), Fraction(3))),
        (7, Row("mul", (1, 0))),  # w x in the place of w²
        (8, Row("sub", (9, 3))),  # x² in the place of S
        (8, Row("sub", (4, 9))),
        (8, Row("add", (9, 4))),
        (9, Row("atan2", (10, 8))),
        (9, Row("sub", (8, 10))),
        (10, Row("div", (11, 6))),
        (10, Row("div", (5, 11))),
        (10, Row("add", (11, 5))),
        (10, Row("mul", (11, 5))),
    ],
)
def test_other_quotients_are_no_ratios(index: int, row: Row) -> None:
    rows = list(RATIO)
    rows[index] = row
    assert half_angle_ratios(program(*rows)) == {}


def test_the_ratio_is_bounded_where_w_keeps_its_sign() -> None:
    """With θ of tan θ = r/w, it is 2 θ/r, at most π/ρ and here within a few units; at w = 0 it has
    no such bound.
    """
    x, w = 1e-3, 0.9
    r = np.sqrt(x * x + 1 / 16)
    result = last(*RATIO, x=x, y=w, arithmetic=Arithmetic("float"))
    value = 2 * np.arctan2(r, w) / r
    assert result.exact.lo[0] <= value <= result.exact.hi[0]
    assert 4 * U < result.error[0] < 100 * U
    box = [Interval(np.array([low]), np.array([x])) for low in (x, -0.1)]
    assert propagate(program(*RATIO), {"b": box}, Arithmetic("float"))[12].error[0] > 1


# -- sentences --


def test_assumptions_state_their_numbers() -> None:
    arithmetic = Arithmetic("float", trig=1.5, angle=3, unit_entries=frozenset({0}))
    rounding, sines, arguments, lengths = arithmetic.assumptions
    assert "every operation rounded to nearest in this type, u = 2^-24" in rounding
    assert sines == "sine and cosine within 1.5 ulp of the exact value of the argument"
    assert arguments.startswith("arguments are numbers of type float")
    assert lengths.startswith("the length of a quaternion is 1 within 4 u")
    assert len(Arithmetic("double").assumptions) == 3
    assert "u = 2^-53" in Arithmetic("double").assumptions[0]
    assert arithmetic.of_angles.startswith("atan2 within 3 ulp")
