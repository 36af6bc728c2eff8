"""Tools of the passes, and the passes `eliminate` and `value_number`."""

from __future__ import annotations

from fractions import Fraction

import pytest

from symgen.ir.passes import _alternatives, _opaque_ones
from symgen.ir.passes.eliminate import eliminate
from symgen.ir.passes.rewrite import Rewriter, leaves, uses, with_args
from symgen.ir.passes.value_number import value_number
from symgen.ir.program import ONES, SPARE, Port, Program, Row, check
from tests.shared.pass_programs import LETTERS, drawn_program, formulas, result_values, written

INPUTS = len(LETTERS)


def row_names(derived: Program) -> list[str]:
    return [row.name for row in derived.rows if row.name]


# -- rewrite ---------------------------------------------------------------------------------------


def test_a_row_is_used_by_each_operand_and_each_result() -> None:
    """a·a uses a twice, and a result that is listed twice uses its row twice."""
    derived = written("_p = a * a", "_p + a", "_p", "_p")
    count = uses(derived)
    assert count[0] == 3
    assert count[1:INPUTS] == [0] * (INPUTS - 1)
    assert count[INPUTS:] == [3, 1]


def test_the_leaves_of_a_sum_have_the_signs_of_its_terms() -> None:
    """Leaves of a − (b − (c + d)) − e, from left to right."""
    derived = written("a - (b - (c + d)) - e")
    top = derived.outputs[0].rows[0]
    everything = leaves(derived.rows, top, ("add", "sub"), lambda _: True)
    assert everything == [(1, 0), (-1, 1), (1, 2), (1, 3), (-1, 4)]
    sums_alone = leaves(derived.rows, top, ("sub",), lambda _: True)
    inner = next(r for r, row in enumerate(derived.rows) if row.op == "add")
    assert sums_alone == [(1, 0), (-1, 1), (1, inner), (-1, 4)]
    left = derived.rows[top].args[0]
    assert leaves(derived.rows, top, ("add", "sub"), lambda _: False) == [(1, left), (-1, 4)]


def test_a_row_with_the_same_operands_is_the_same_row() -> None:
    row = Row("add", (1, 2), None, "sum", 3)
    assert with_args(row, (1, 2)) is row
    assert with_args(row, (4, 0)) == Row("add", (4, 0), None, "sum", 3)


def test_kept_rows_read_the_new_rows_of_their_operands() -> None:
    derived = written("_s = sin(a)", "_s + b", "two = 2", "n = two - _s", "n", steps=5)
    out = Rewriter(derived, 2)
    for row in derived.rows[2:]:
        out.put(Row("const", (), Fraction(9)))  # every row moves
        out.new_index.append(out.keep(row))
    moved = check(out.finish())
    assert moved.rows[:2] == derived.rows[:2]
    assert formulas(moved) == formulas(derived)
    assert out.new_indices((3, 4)) == (5, 7)
    assert out.new_indices((2, 3, 4)) == (3, 5, 7)
    assert out.new_indices((4,)) == (7,)
    kept = [row for row in moved.rows if row.value != 9]
    assert [(r.op, r.value, r.name, r.step) for r in kept] == [
        (r.op, r.value, r.name, r.step) for r in derived.rows
    ]


# -- eliminate -------------------------------------------------------------------------------------


def test_only_rows_that_results_need_are_left() -> None:
    derived = written(
        "_x = sin(a)", "_dead = cos(b)", "d = _dead * 2", "e = _x - b", "_f = c / d", "-e", steps=6
    )
    after = eliminate(derived)
    assert formulas(after) == ["-(sin(a) - b)"]
    assert [(row.op, row.name, row.step) for row in after.rows] == [
        ("input", "", -1),
        ("input", "", -1),
        ("sin", "", 0),
        ("sub", "e", 3),
        ("neg", "", 5),
    ]
    assert after.inputs == derived.inputs


def test_a_dead_first_row_is_removed() -> None:
    after = eliminate(written("b * c - b"))
    assert [row.op for row in after.rows] == ["input", "input", "mul", "sub"]
    assert formulas(after) == ["b * c - b"]


def test_a_program_without_dead_rows_is_unchanged() -> None:
    derived = eliminate(written("a * b + sin(c)"))
    assert eliminate(derived) is derived


def test_rows_before_the_first_dead_row_are_the_same() -> None:
    derived = written("a + b + c + d + e + f + g + h", "a - (b - c)", "a * b", "c * d")
    first = derived.outputs[0].rows[0]
    needed = derived.with_rows(derived.rows, [Port("y", (2,), (first, derived.outputs[0].rows[3]))])
    after = eliminate(needed)
    assert after.rows[: first + 1] == derived.rows[: first + 1]
    assert formulas(after)[1] == "c * d"
    assert len(after.rows) == first + 2


# -- value_number ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ("a + b", "b + a", True),
        ("a * b", "b * a", True),
        ("a - b", "b - a", False),
        ("a / b", "b / a", False),
        ("a - b", "a - b", True),
        ("a / b", "a / b", True),
        ("a + b", "a - b", False),
        ("a + b", "a + c", False),
        ("sin(a)", "sin(a)", True),
        ("sin(a)", "cos(a)", False),
        ("sin(a)", "sin(b)", False),
        ("-a", "-a", True),
        ("-a", "-b", False),
        ("atan2(a, b)", "atan2(a, b)", True),
        ("atan2(a, b)", "atan2(b, a)", False),
        ("2", "2", True),
        ("2", "3", False),
        ("0.5", "2", False),
        ("0.5", "1", False),
        ("(a + b) * c", "c * (b + a)", True),
        ("sin(a + b) - 2", "sin(b + a) - 2", True),
    ],
)
def test_operations_are_equal_if_their_operands_are(first: str, second: str, equal: bool) -> None:
    numbered = check(value_number(written(first, second)))
    a, b = numbered.outputs[0].rows
    assert (a == b) == equal
    assert formulas(numbered)[:1] == formulas(written(first))
    if not equal:
        assert formulas(numbered)[1:] == formulas(written(second))


def test_the_first_row_stays_and_gets_a_missing_name() -> None:
    derived = written(
        "a * b", "p = b * a", "q = a * b", "s = sin(p)", "t = sin(q)", "s - t", steps=6
    )
    numbered = value_number(derived)
    assert [(row.op, row.name, row.step) for row in numbered.rows if row.args] == [
        ("mul", "p", 0),
        ("sin", "s", 3),
        ("sub", "", 5),
    ]
    assert row_names(value_number(written("sin(a)", "s = sin(a)", "s"))) == ["s"]
    constants = value_number(written("2", "two = 2", "a + two"))
    assert row_names(constants) == []


@pytest.mark.parametrize("seed", range(15))
def test_values_stay_and_no_operation_is_repeated(seed: int) -> None:
    derived = drawn_program(f"numbers {seed}", size=18)
    numbered = check(value_number(derived))
    assert result_values(numbered) == result_values(derived)
    operations = [
        (row.op, tuple(sorted(row.args)) if row.op in ("add", "mul") else row.args)
        for row in numbered.rows
        if row.args
    ]
    assert len(set(operations)) == len(operations)
    assert value_number(numbered).rows == numbered.rows


# -- spare rows ------------------------------------------------------------------------------------


def with_spare(derived: Program) -> Program:
    """Return the Program with its last result as the spare row."""
    *kept, spare = derived.outputs[0].rows
    return derived.with_rows(
        derived.rows, [Port("y", (len(kept),), tuple(kept)), Port(SPARE, (1,), (spare,))]
    )


def test_spare_rows_are_those_that_no_result_needs() -> None:
    """b + c serves the spare row alone; a, b and a·b serve the result."""
    derived = written("_p = a * b", "_p - a", "_p * (b + c)")
    assert _alternatives.spare_only_rows(derived) == set()
    spare = _alternatives.spare_only_rows(with_spare(derived))
    assert {derived.rows[r].op for r in spare if r >= INPUTS} == {"add", "mul"}
    assert spare == {2, 3, 4, 5, 6, 7, INPUTS + 2, INPUTS + 3}


def test_results_are_all_outputs_but_the_spare_one() -> None:
    derived = written("a + b", "a * b")
    assert _alternatives.results(derived) == derived.outputs
    assert _alternatives.without_spare(derived) is derived
    spare = with_spare(derived)
    assert [port.name for port in _alternatives.results(spare)] == ["y"]
    without = _alternatives.without_spare(spare)
    assert [port.name for port in without.outputs] == ["y"]
    assert without.rows == derived.rows


def test_spare_rows_come_last_in_their_order() -> None:
    """The spare row is computed between two rows of the result."""
    derived = with_spare(written("_s = b + c", "_p = a * b", "_t = _s * a", "_p - a", "_t"))
    moved = check(_alternatives.with_spare_rows_last(derived))
    assert formulas(moved) == formulas(derived) == ["a * b - a", "(b + c) * a"]
    assert [row.op for row in moved.rows if row.args] == ["mul", "sub", "add", "mul"]
    needed = len(moved.rows) - len(_alternatives.spare_only_rows(moved))
    assert _alternatives.spare_only_rows(moved) == set(range(needed, len(moved.rows)))
    plain = written("a + b")
    assert _alternatives.with_spare_rows_last(plain) is plain


# -- opaque ones -----------------------------------------------------------------------------------


def test_opaque_ones_become_constants_and_no_argument() -> None:
    x, ones = Port("x", (2,)), Port(ONES, (2,))
    rows = (
        Row("input", (), (0, 1)),
        Row("input", (), (1, 0)),
        Row("input", (), (1, 1)),
        Row("mul", (0, 1)),
        Row("add", (3, 2)),
    )
    derived = check(Program("f", "m", (x, ones), (Port("y", (), (4,)),), rows))
    assert _opaque_ones.has_opaque_ones(derived)
    constant = check(_opaque_ones.with_constant_ones(derived))
    assert constant.inputs == (x,)
    assert [row.value for row in constant.rows] == [(0, 1), 1, 1, None, None]
    assert not _opaque_ones.has_opaque_ones(constant)


def test_ones_are_opaque_only_as_the_last_input() -> None:
    x, ones = Port("x", (1,)), Port(ONES, (1,))
    rows = (Row("input", (), (0, 0)),)
    output = (Port("y", (), (0,)),)
    assert not _opaque_ones.has_opaque_ones(Program("f", "m", (ones, x), output, rows))
    assert not _opaque_ones.has_opaque_ones(Program("f", "m", (), (), ()))
