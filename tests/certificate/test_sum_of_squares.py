"""Lower bounds of sums of squares and of roots, and shares of a length, on Programs of few rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

from symgen.certificate.divisors import (
    DivisorCertificate,
    OwnInertia,
    _by_form,
    _certify_divisor,
    _float_bounds,
    lower_bound,
    rounded_down,
    upper_bound,
)
from symgen.certificate.rounding import Rounded
from symgen.certificate.sum_of_squares import _root, bounded_shares, positive_bounds
from symgen.derivation import constants
from symgen.ir.program import Port, Program, Row
from symgen.vocabulary.reals import REALS


def program(*rows: Row, real: str = "double") -> Program:
    last = len(rows) - 1
    return Program("f", "m", (Port("q", (3,)),), (Port("out", (1,), (last,)),), rows, real=real)


def x(k: int) -> Row:
    return Row("input", (), (0, k))


def const(value: str) -> Row:
    return Row("const", (), Fraction(value))


def bounds(*rows: Row, real: str = "double") -> dict[int, Fraction]:
    return positive_bounds(program(*rows, real=real), range(len(rows)))


SQUARES = [x(0), x(1), Row("mul", (0, 0)), Row("mul", (1, 1)), const("1/4")]
"""Rows: x, y, x², y² and 1/4."""


def test_a_sum_of_squares_is_at_least_its_positive_constant() -> None:
    """Neither a square nor a sum of squares alone has a positive bound."""
    rows = [*SQUARES, Row("add", (2, 3)), Row("add", (5, 4)), Row("add", (4, 4))]
    assert bounds(*rows) == {4: Fraction(1, 4), 6: Fraction(1, 4), 7: Fraction(1, 4)}
    assert positive_bounds(program(*rows), [5, 6]) == {6: Fraction(1, 4)}


@pytest.mark.parametrize(
    "row",
    [
        Row("mul", (0, 1)),
        Row("sub", (2, 3)),
        Row("add", (2, 0)),
        Row("add", (0, 2)),
        Row("neg", (2,)),
        Row("sqrt", (0,)),
    ],
)
def test_other_rows_are_not_known_to_be_nonnegative(row: Row) -> None:
    assert 6 not in bounds(*SQUARES, row, Row("add", (5, 4)))


@pytest.mark.parametrize(
    "row", [Row("mul", (2, 3)), Row("mul", (4, 2)), Row("add", (2, 3)), Row("sqrt", (2,))]
)
def test_products_sums_and_roots_of_nonnegative_numbers_are_nonnegative(row: Row) -> None:
    assert bounds(*SQUARES, row, Row("add", (5, 4)))[6] == Fraction(1, 4)


def test_a_product_of_positive_numbers_may_be_flushed_to_zero() -> None:
    assert 6 not in bounds(*SQUARES, const("1e-200"), Row("mul", (5, 5)))


def test_constants_are_rounded_to_the_type_and_positive() -> None:
    third = bounds(const("1/3"), real="float")[0]
    assert third == Fraction(float(np.float32(1 / 3)))
    assert bounds(const("0")) == bounds(const("-1")) == {}
    least = REALS["float"].least
    assert bounds(const("1e-39"), real="float") == {}
    assert bounds(Row("const", (), Fraction(least)), real="float") == {0: least}


def test_roots_are_rounded_down_to_the_type() -> None:
    """√4 is exact; a root of 2 is the number of the type below it, whichever one is nearest."""
    rows = [
        const("4"),
        Row("sqrt", (0,)),
        const("2"),
        Row("sqrt", (2,)),
        const("3"),
        Row("sqrt", (4,)),
    ]
    for real, kind in (("double", np.float64), ("float", np.float32)):
        result = bounds(*rows, real=real)
        assert result[1] == 2
        for row, square in ((3, 2), (5, 3)):
            above = Fraction(float(np.nextafter(kind(result[row]), kind(np.inf))))
            assert result[row] ** 2 < square < above**2
            assert result[row] == float(kind(float(result[row])))


@pytest.mark.parametrize("square", ["2", "3", "1/3", "1e-20", "12345.6789"])
def test_a_root_is_the_largest_number_not_above_it(square: str) -> None:
    root = _root(Fraction(square), "float")
    above = Fraction(float(np.nextafter(np.float32(root), np.float32(np.inf))))
    assert root**2 <= Fraction(square) < above**2


# -- shares of a length --

LENGTH = [
    *SQUARES,
    Row("add", (2, 3)),
    Row("add", (5, 4)),
    Row("sqrt", (6,)),
    const("1"),
    Row("div", (8, 7)),
]
"""Rows 5 to 9: x² + y², S = x² + y² + 1/4, √S, 1 and 1/√S."""


@pytest.mark.parametrize(
    ("row", "is_share"),
    [
        (Row("mul", (0, 9)), True),
        (Row("mul", (9, 1)), True),
        (Row("mul", (2, 9)), False),
        (Row("mul", (9, 9)), False),
        (Row("add", (0, 9)), False),
    ],
)
def test_a_component_times_the_inverse_length_is_at_most_two(row: Row, is_share: bool) -> None:
    result = bounded_shares(program(*LENGTH, row))
    assert result == ({10: Fraction(2)} if is_share else {})


@pytest.mark.parametrize(
    ("index", "row"),
    [
        (8, const("2")),  # 2/√S
        (9, Row("mul", (8, 7))),  # √S
        (7, Row("add", (6, 8))),  # S + 1
        (4, const("0")),  # no positive constant
        (4, const("2e-308")),  # one below four times the least normal number
        (3, Row("mul", (1, 0))),  # x y in the place of y²
    ],
)
def test_other_quotients_are_no_shares(index: int, row: Row) -> None:
    rows = list(LENGTH)
    rows[index] = row
    assert bounded_shares(program(*rows, Row("mul", (1, 9)))) == {}


def test_the_constant_is_at_least_four_times_the_least_normal_number() -> None:
    rows = list(LENGTH)
    rows[4] = Row("const", (), 4 * REALS["double"].least)
    assert bounded_shares(program(*rows, Row("mul", (0, 9)))) == {10: Fraction(2)}


def test_a_component_whose_square_is_missing_is_no_share() -> None:
    rows = [*LENGTH[:5], Row("add", (2, 2)), *LENGTH[6:]]
    assert bounded_shares(program(*rows, Row("mul", (1, 9)))) == {}
    assert bounded_shares(program(*rows, Row("mul", (0, 9)))) == {10: Fraction(2)}


# -- bounds as numbers --


def test_rationals_are_exact_and_irrationals_rounded_outward() -> None:
    with constants.precision():
        third, ball = constants.rational(Fraction(1, 3)), flint.arb(2).sqrt()
    assert lower_bound(third) == Fraction(1, 3)
    assert lower_bound(ball) ** 2 < 2 < upper_bound(ball) ** 2
    assert upper_bound(ball) - lower_bound(ball) < Fraction(1, 10**100)
    low, high = _float_bounds(Fraction(1, 3), ball)
    assert Fraction(low) < Fraction(1, 3) < Fraction(low) + Fraction(1, 10**15)
    assert Fraction(high) ** 2 > 2 > (Fraction(high) - Fraction(1, 10**15)) ** 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [("2/3", "0.666666"), ("0.0123456789", "0.0123456"), ("1234567.8901239", "1234567.890123")],
)
def test_bounds_are_rounded_down_to_six_digits(value: str, expected: str) -> None:
    """Six digits behind the point, or behind the first zeros."""
    assert rounded_down(Fraction(value)) == Fraction(expected)


# -- certificates of single divisors --

INERTIA = OwnInertia("j", "l", Fraction(3))


def rounded(error: float) -> Rounded:
    nothing: Any = None
    return Rounded(nothing, np.array([error / 2, error]))


def certify(error: float, inertia: OwnInertia = INERTIA, reason: str = "why") -> DivisorCertificate:
    return _certify_divisor(5, 1, inertia, rounded(error), reason, {})


def test_a_divisor_is_its_exact_bound_without_the_largest_round_off() -> None:
    certificate = certify(0.25)
    assert (certificate.row, certificate.joint) == (5, 1)
    assert (certificate.exact_bound, certificate.round_off) == (3, Fraction(1, 4))
    assert certificate.lower_bound == Fraction(11, 4)
    assert certificate.certified
    assert certificate.reason == ""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (np.inf, "no bound of its round-off is known; why"),
        (3.0, "its round-off is only known to be below 3; why"),
        (4.5, "its round-off is only known to be below 4.5; why"),
    ],
)
def test_a_divisor_that_round_off_may_cancel_has_no_certificate(error: float, reason: str) -> None:
    certificate = certify(error)
    assert (certificate.lower_bound, certificate.reason) == (None, reason)
    assert certificate.exact_bound == 3
    assert not certificate.certified


def test_a_joint_without_inertia_has_no_certificate() -> None:
    certificate = certify(0.1, OwnInertia("j", "l", None, "no mass"))
    assert (certificate.exact_bound, certificate.round_off, certificate.reason) == (
        None,
        None,
        "no mass",
    )


def test_divisors_by_their_form_are_sums_of_squares_or_no_pivots() -> None:
    rows = [*SQUARES, Row("add", (2, 3)), Row("add", (5, 4))]
    certificates = _by_form(program(*rows), [5, 6])
    assert certificates[6] == DivisorCertificate(
        6, None, Fraction(1, 4), Fraction(0), Fraction(1, 4)
    )
    assert certificates[5] == DivisorCertificate(
        5, None, reason="it is no pivot of the mass matrix"
    )
