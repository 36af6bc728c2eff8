"""The pass `factor`: which sums get which common factors, and in which order."""

from __future__ import annotations

import pytest

from symgen.ir.passes.eliminate import eliminate
from symgen.ir.passes.factor import factor
from tests.shared.pass_programs import drawn_program, formulas, result_values, written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a * b + a * c", "a * (b + c)"),
        ("a * b + a * c + a", "a * (b + c) + a"),
        ("a + b * a + a * c", "a + a * (b + c)"),
        ("b * a * a + c * a", "a * (b * a + c)"),
        ("b * a + c * a", "a * (b + c)"),
        ("a * b - c * a", "a * (b - c)"),
        ("a * a + a * b", "a * (a + b)"),
        ("a * b + c * (d * a)", "a * (b + c * d)"),
        # both signs of the rest are minus: the sum inside has plus
        ("d - a * b - a * c", "d - a * (b + c)"),
        ("d - (a * b + a * c)", "d - a * (b + c)"),
        ("d - a * b + a * c", "d + a * (c - b)"),
        ("d - (a * b - a * c)", "d + a * (c - b)"),
        # the product stands where the first of its terms stood
        ("d + a * b + a * c + e", "d + a * (b + c) + e"),
        ("d + a * b + e + a * c", "d + a * (b + c) + e"),
        ("(d + e) - (a * b + (f + a * c))", "d + e - a * (b + c) - f"),
        # the factor of most terms first; among equals that of the earliest row
        ("a * b + b * c + a * d + a * e", "a * (b + d + e) + b * c"),
        ("c * a + a * b + b * d + b * e", "c * a + b * (a + d + e)"),
        ("a * b + b * c", "b * (a + c)"),
        ("a * c + c * b + b * d", "a * c + b * (c + d)"),
        # a factor of two terms inside the sum of another
        ("a * b * c + a * b * d + a * e", "a * (b * (c + d) + e)"),
        ("a * b * c + a * b * d", "a * (b * (c + d))"),
        # two groups
        ("a * c + b * d + a * e + b * f", "a * (c + e) + b * (d + f)"),
        # a difference that begins with a product that stays
        ("a * b + c * d - c * e", "a * b + c * (d - e)"),
    ],
)
def test_common_factors_are_taken_out(text: str, expected: str) -> None:
    derived = written(text)
    factored = eliminate(factor(derived))
    assert formulas(factored) == [expected]
    assert factored.operations["add"] == derived.operations["add"]
    assert factored.operations["mul"] < derived.operations["mul"]


@pytest.mark.parametrize(
    "formulas_before",
    [
        ("a * b + c * d",),
        ("a * b + c",),
        ("a * b + a",),
        ("a + a",),
        ("a * a + b * c",),
        ("a * a - b",),
        ("a / b + a / c",),
        ("(a * b) * (a * c)",),
        ("a + b - c - a",),
        ("p = a * b", "p + a * c"),
        ("p = a * b", "a * c - p"),
        ("_p = a * b", "_p + a * c", "_p"),
        ("_p = a * b", "a * c + _p", "_p * d"),
        ("s = d + a * b", "s + a * c"),
        ("_s = a * b - d", "a * c + _s", "_s"),
        # the product a·b, which the sum needs, has a name: its factors are not seen
        ("p = a * b", "p * c + a * d"),
        ("_p = a * b", "d * a + c * _p", "_p"),
    ],
)
def test_a_sum_without_common_factors_of_its_own_terms_stays(
    formulas_before: tuple[str, ...],
) -> None:
    """Rows with names and rows that other rows read, too, are no part of a sum or product."""
    derived = written(*formulas_before)
    assert factor(derived) is derived


def test_a_named_product_is_a_factor() -> None:
    factored = eliminate(factor(written("p = a * b", "p * c + d * p")))
    assert formulas(factored) == ["a * b * (c + d)"]
    assert [row.name for row in factored.rows if row.name] == ["p"]


def test_the_sum_keeps_its_name_and_all_its_rows_its_step() -> None:
    derived = written("s = d - a * b - a * c", "t = a * b + a * c", "s * t", steps=3)
    factored = eliminate(factor(derived))
    assert formulas(factored) == ["(d - a * (b + c)) * (a * (b + c))"]
    assert [(row.op, row.name, row.step) for row in factored.rows if row.args] == [
        ("add", "", 0),
        ("mul", "", 0),
        ("sub", "s", 0),
        ("add", "", 1),
        ("mul", "t", 1),
        ("mul", "", 2),
    ]


def test_sums_below_and_above_a_changed_sum_are_kept() -> None:
    factored = eliminate(factor(written("_s = a + b", "_s * c + d", "_s * c + c * d", "_s - e")))
    assert formulas(factored) == ["(a + b) * c + d", "c * (a + b + d)", "a + b - e"]


@pytest.mark.parametrize("seed", range(25))
def test_values_stay_and_operations_are_not_added(seed: int) -> None:
    derived = drawn_program(f"factor {seed}", size=16, names=9)
    factored = factor(derived)
    assert result_values(factored) == result_values(derived)
    assert eliminate(factored).cost <= eliminate(derived).cost
