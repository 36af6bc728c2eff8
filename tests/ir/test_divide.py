"""The pass `divide`: which reciprocals become divisions."""

from __future__ import annotations

import pytest

from symgen.ir.passes.divide import divide
from symgen.ir.passes.eliminate import eliminate
from symgen.ir.program import Program
from tests.shared.pass_programs import drawn_program, formulas, result_values, written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(1 / a) * b", "b / a"),
        ("b * (1 / a)", "b / a"),
        ("(1 / a) * (1 / b)", "1 / b / a"),
        ("(b + c) * (1 / (a - b))", "(b + c) / (a - b)"),
        ("(1 / a) * b * (c * (1 / d))", "b / a * (c / d)"),
    ],
)
def test_a_product_with_a_reciprocal_is_a_quotient(text: str, expected: str) -> None:
    derived = written(text)
    divided = eliminate(divide(derived))
    assert formulas(divided) == [expected]
    assert divided.operations["div"] == derived.operations["div"]
    assert divided.operations["mul"] == expected.count("*")


@pytest.mark.parametrize(
    "text", ["(2 / a) * b", "(b / a) * b", "1 / a", "1 / a + b", "b - 1 / a", "a * 1", "-(1 / a)"]
)
def test_a_quotient_of_another_kind_or_use_stays(text: str) -> None:
    derived = written(text)
    assert divide(derived).rows == derived.rows


@pytest.mark.parametrize("also", ["_r * c", "_r", "_r + c"])
def test_a_reciprocal_that_is_used_twice_stays(also: str) -> None:
    """The two uses are rows, or a row and a result."""
    derived = written("_r = 1 / a", "_r * b", also)
    assert divide(derived).rows == derived.rows


def test_a_sum_with_a_reciprocal_stays_where_a_product_changes() -> None:
    assert formulas(divide(written("1 / a + b", "(1 / c) * d"))) == ["1 / a + b", "d / c"]


def test_the_quotient_has_the_name_and_the_step_of_the_product() -> None:
    derived: Program = written("p = b * (1 / a)", "p", steps=1)
    last = divide(derived).rows[-1]
    assert (last.op, last.name, last.step) == ("div", "p", 0)


@pytest.mark.parametrize("seed", range(15))
def test_values_stay_and_operations_are_saved(seed: int) -> None:
    derived = drawn_program(f"divide {seed}")
    divided = divide(derived)
    assert result_values(divided) == result_values(derived)
    assert eliminate(divided).cost <= eliminate(derived).cost
