"""The pass `reassociate_constants`: one constant in each sum and each product."""

from __future__ import annotations

import pytest

from symgen.ir.passes.eliminate import eliminate
from symgen.ir.passes.reassociate_constants import reassociate_constants
from tests.shared.pass_programs import drawn_program, formulas, result_values, written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 * (2 * a)", "6 * a"),
        ("a * 2 * 5", "10 * a"),
        ("2 * a * (b * 3)", "6 * a * b"),
        ("2 * (3 * (5 * a))", "30 * a"),
        ("2 + (3 + a)", "5 + a"),
        ("a + 2 + 3", "5 + a"),
        ("2 - (3 - a)", "-1 + a"),
        ("2 - (a - 3)", "5 - a"),
        ("a - 2 - (b - 7)", "5 + a - b"),
        ("a - 2 + 2", "0 + a"),
        ("2 + (a + (b - (c + 3)))", "-1 + a + b - c"),
        ("2 * (a + 3) + 5", "2 * (a + 3) + 5"),
        ("(2 + a * 3) * 5", "(2 + a * 3) * 5"),
        ("2 * (3 * (a + 5))", "6 * (a + 5)"),
        ("2 + (3 + 4 * (a * 6))", "5 + 24 * a"),
    ],
)
def test_constants_of_one_sum_or_product_are_one_constant(text: str, expected: str) -> None:
    assert formulas(eliminate(reassociate_constants(written(text)))) == [expected]


@pytest.mark.parametrize(
    "formulas_before",
    [
        ("a + 2",),
        ("2 * a * b",),
        ("2 * (a + 3)",),
        ("2 + a * 3",),
        ("2 / (3 / a)",),
        ("2 * a + 3 * b",),
        ("-(2 * a)",),
        ("_s = a + 2", "_s + 3", "_s"),
        ("_s = a * 2", "_s * 3", "_s + b"),
        ("s = a + 2", "s + 3"),
        ("s = a * 2", "3 * s"),
    ],
)
def test_rows_stay_if_there_is_one_constant_or_the_inner_row_is_needed(
    formulas_before: tuple[str, ...],
) -> None:
    derived = written(*formulas_before)
    assert reassociate_constants(derived) is derived


def test_the_outer_row_keeps_its_name_and_all_rows_the_step() -> None:
    derived = written("a - b", "s = 2 - (b - a - 3)", "2 * (3 * s)", steps=3)
    after = eliminate(reassociate_constants(derived))
    assert formulas(after) == ["a - b", "6 * (5 - b + a)"]
    assert [(row.op, row.name, row.step) for row in after.rows if row.args] == [
        ("sub", "", 0),
        ("sub", "", 1),
        ("add", "s", 1),
        ("mul", "", 2),
    ]


def test_a_sum_of_constants_alone_is_a_constant_without_a_name() -> None:
    after = eliminate(reassociate_constants(written("five = 2 + 3", "five", "six = 2 * 3", "six")))
    assert formulas(after) == ["5", "6"]
    assert {row.name for row in after.rows} == {""}


@pytest.mark.parametrize("seed", range(20))
def test_values_stay_and_operations_are_not_added(seed: int) -> None:
    derived = drawn_program(f"constants {seed}", size=16, names=9)
    after = reassociate_constants(derived)
    assert result_values(after) == result_values(derived)
    assert eliminate(after).cost <= eliminate(derived).cost
