"""The pass `fold`: which rows are trivial, and what replaces them."""

from __future__ import annotations

from typing import Any

import pytest

from symgen.ir.passes.eliminate import eliminate
from symgen.ir.passes.fold import fold
from symgen.ir.program import check
from tests.shared.pass_programs import drawn_program, formulas, result_values, written

TRIVIAL = {
    "a + 0": "a",
    "0 + a": "a",
    "a - 0": "a",
    "0 - a": "-a",
    "a - a": "0",
    "a * 0": "0",
    "0 * a": "0",
    "a * 1": "a",
    "1 * a": "a",
    "a / 1": "a",
    "0 / a": "0",
    "-(-a)": "a",
    "-(0)": "0",
    "-(2)": "-2",
    "2 + 3": "5",
    "2 - 3": "-1",
    "3 - 3": "0",
    "2 * 3": "6",
    "0 + 0": "0",
    "1 * 1": "1",
    "0 - 2": "-2",
    "0 * 3": "0",
    "0 / 3": "0",
    "3 / 1": "3",
    "(a + 0) - a": "0",
    "(2 + 3) * 1": "5",
    "-(a - 0)": "-a",
    "-(-(-a))": "-a",
    "sin(a + 0)": "sin(a)",
    "atan2(a + 0, b * 1)": "atan2(a, b)",
}
NOT_TRIVIAL = (
    "a + 1",
    "1 + a",
    "a - 1",
    "1 - a",
    "a + 2",
    "2 - a",
    "a * 2",
    "2 * a",
    "a / 2",
    "2 / a",
    "1 / a",
    "2 / 3",
    "1 / 3",
    "a + a",
    "a * a",
    "a / a",
    "a - b",
    "a + b",
    "b * a",
    "-a",
    "-(a - b)",
    "sqrt(a)",
    "cos(2)",
    "sin(-a)",
    "atan2(a, 2)",
    "atan2(2, a)",
)


@pytest.mark.parametrize("before", [(), ("b + 0",)], ids=["at first", "after another"])
@pytest.mark.parametrize("text", TRIVIAL)
def test_a_trivial_row_is_replaced_by_what_it_equals(text: str, before: tuple[str, ...]) -> None:
    assert formulas(fold(written(*before, text)))[-1] == TRIVIAL[text]


@pytest.mark.parametrize("text", NOT_TRIVIAL)
def test_a_row_that_is_not_trivial_stays(text: str) -> None:
    derived = written(text)
    assert fold(derived) is derived
    assert formulas(fold(written("b + 0", text)))[1] == formulas(derived)[0]


def test_a_quotient_of_constants_stays() -> None:
    assert formulas(fold(written("_n = 3", "_n / _n", "2 / 3"))) == ["3 / 3", "2 / 3"]


def test_each_constant_stands_in_one_row_without_a_name() -> None:
    """The Program has the constants 2 and 3 three times, two of them with names."""
    derived = written(
        "a * 2", "two = 2", "b * two", "a - 3", "a * 2", "a / (b * 3)", "three = 3", "c + three"
    )
    folded = fold(derived)
    constants = [row for row in folded.rows if row.op == "const"]
    assert sorted(row.value for row in constants) == [2, 3]
    assert {row.name for row in constants} == {""}
    assert formulas(folded) == formulas(derived)


@pytest.mark.parametrize("changes", [{"name": "two"}, {"step": 0}])
def test_a_constant_loses_its_name_and_its_step(changes: dict[str, Any]) -> None:
    derived = written("a * 2", steps=1)
    rows = [row._replace(step=-1) for row in derived.rows]
    constant = next(i for i, row in enumerate(rows) if row.op == "const")
    plain = derived.with_rows(rows, derived.outputs)
    assert fold(plain) is plain
    rows[constant] = rows[constant]._replace(**changes)
    assert fold(derived.with_rows(rows, derived.outputs)).rows == plain.rows


def test_a_constant_of_a_folded_row_is_shared_with_rows_around_it() -> None:
    """5 stands before the row 2 + 3, 6 comes after the row 2·3."""
    folded = fold(written("a * 5", "2 + 3", "2 * 3", "a * 6"))
    values = [row.value for row in folded.rows if row.op == "const"]
    assert sorted(values) == [2, 3, 5, 6]


def test_names_and_steps_stay() -> None:
    derived = written("minus = 0 - a", "total = a + (b + 0)", "minus * total", steps=3)
    folded = fold(derived)
    row_by_name = {row.name: (row.op, row.step) for row in folded.rows if row.name}
    assert row_by_name == {"minus": ("neg", 0), "total": ("add", 1)}
    assert (folded.rows[-1].op, folded.rows[-1].step) == ("mul", 2)


@pytest.mark.parametrize("seed", range(40))
def test_values_stay_and_nothing_trivial_is_left(seed: int) -> None:
    derived = drawn_program(f"fold {seed}")
    folded = eliminate(check(fold(derived)))
    assert result_values(folded) == result_values(derived)
    assert folded.cost <= eliminate(derived).cost
    assert fold(folded) is folded
