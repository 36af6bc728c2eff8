"""Programs: the rules of `check`, evaluation over every number type, and counts of operations."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest

from symgen.ir.program import (
    ARITY,
    BY_SERIES,
    COUNTED,
    EXACT,
    Numbers,
    Outline,
    Port,
    Program,
    Row,
    check,
    evaluate,
)
from symgen.support.errors import ProgramError
from symgen.vocabulary.arrays import Convention
from tests.shared.pass_programs import written

ROWS = (
    Row("input", (), (0, 0)),  # 0: x0
    Row("input", (), (0, 1)),  # 1: x1
    Row("const", (), Fraction(3, 4)),  # 2
    Row("mul", (0, 2), None, "scaled", 0),  # 3
    Row("sub", (3, 1)),  # 4
    Row("div", (4, 2)),  # 5
    Row("add", (5, 0)),  # 6
    Row("neg", (6,), None, "", 1),  # 7
    Row("mul", (1, 1)),  # 8
)
VALID = Program(
    "f",
    "by_hand",
    (Port("x", (2,)),),
    (Port("y", (2,), (7, 3)), Port("z", (), (8,))),
    ROWS,
    ("first", "second"),
)


def with_row(i: int, row: Row) -> Program:
    return VALID.with_rows([row if j == i else old for j, old in enumerate(ROWS)], VALID.outputs)


BROKEN = {
    "an unknown operation": (
        with_row(3, Row("pow", (0, 2))),
        "row 3 has the unknown operation 'pow'",
    ),
    "too few operands": (with_row(3, Row("mul", (0,))), r"row 3 \(mul\) has 1 operands, not 2"),
    "too many operands": (with_row(7, Row("neg", (6, 5))), r"row 7 \(neg\) has 2 operands, not 1"),
    "a row that comes later": (
        with_row(3, Row("mul", (0, 4))),
        r"row 3 \(mul\) uses a row that does not stand before it",
    ),
    "itself": (with_row(3, Row("mul", (0, 3))), "row 3 .* uses a row"),
    "a negative row": (with_row(3, Row("mul", (0, -1))), "row 3 .* uses a row"),
    "a float constant": (
        with_row(2, Row("const", (), 0.75)),
        r"row 2 \(const\) does not hold a Fraction",
    ),
    "an integer constant": (with_row(2, Row("const", (), 1)), "row 2 .* does not hold a Fraction"),
    "no argument of that number": (
        with_row(0, Row("input", (), (1, 0))),
        "row 0 .* reads an argument that does not exist",
    ),
    "no element of that number": (
        with_row(0, Row("input", (), (0, 2))),
        "row 0 .* reads an argument that does not exist",
    ),
    "a value on an operation": (
        with_row(3, Row("mul", (0, 2), Fraction(1))),
        r"row 3 \(mul\) carries a value",
    ),
    "a name used twice": (
        with_row(4, Row("sub", (3, 1), None, "scaled")),
        "row 4 repeats the name 'scaled'",
    ),
    "no such step": (
        with_row(3, Row("mul", (0, 2), None, "", 2)),
        "row 3 stands under a step that does not exist",
    ),
    "a step below none": (
        with_row(3, Row("mul", (0, 2), None, "", -2)),
        "row 3 stands under a step",
    ),
    "a result of another size": (
        replace(VALID, outputs=(Port("y", (3,), (7, 3)),)),
        r"result 'y' has 2 rows for shape \(3,\)",
    ),
    "a result past the end": (
        replace(VALID, outputs=(Port("y", (), (9,)),)),
        "result 'y' names a row that does not exist",
    ),
    "a result before the start": (
        replace(VALID, outputs=(Port("y", (), (-1,)),)),
        "result 'y' names a row",
    ),
}


def test_a_valid_program_is_returned_unchanged() -> None:
    assert check(VALID) is VALID


@pytest.mark.parametrize("rule", BROKEN)
def test_each_broken_rule_is_named_with_its_row(rule: str) -> None:
    program, sentence = BROKEN[rule]
    with pytest.raises(ProgramError, match="^f/by_hand: " + sentence):
        check(program)


def test_operations_cost_and_depth_of_a_program_counted_by_hand() -> None:
    # rows 3 to 8: mul, sub, div, add, neg, mul; neg costs nothing, and the longest chain is rows 3
    # to 6
    assert VALID.operations == {
        "mul": 2,
        "add": 2,
        "div": 1,
        "neg": 1,
        "sqrt": 0,
        "sin": 0,
        "cos": 0,
    }
    assert tuple(VALID.operations) == COUNTED
    assert (VALID.cost, VALID.depth) == (5, 4)
    # rows that no result needs do not count
    assert replace(VALID, outputs=(Port("z", (), (8,)),)).depth == 1
    assert replace(VALID, outputs=()).depth == 0


def _number_types() -> dict[str, tuple[Numbers, object]]:
    def to_ball(x: Fraction) -> flint.arb:
        return flint.arb(flint.fmpq(x.numerator, x.denominator))

    return {
        "Fraction": (Numbers(*[Fraction] * 6), Fraction),
        "float": (Numbers(float, math.sin, math.cos, math.sqrt, math.log), float),
        "NumPy": (
            Numbers(float, np.sin, np.cos, np.sqrt, np.log, np.arctan2),
            lambda x: np.full(3, float(x)),
        ),
        "arb": (
            Numbers(
                to_ball,
                flint.arb.sin,
                flint.arb.cos,
                flint.arb.sqrt,
                flint.arb.log,
                flint.arb.atan2,
            ),
            to_ball,
        ),
    }


@pytest.mark.parametrize("number_type", _number_types())
def test_a_program_has_the_same_value_over_every_number_type(number_type: str) -> None:
    numbers, enter = _number_types()[number_type]
    x = (Fraction(7, 8), Fraction(-5, 16))
    expected = [
        -((x[0] * Fraction(3, 4) - x[1]) / Fraction(3, 4) + x[0]),
        x[0] * Fraction(3, 4),
        x[1] * x[1],
    ]
    results = evaluate(VALID, {"x": [enter(v) for v in x]}, numbers)  # type: ignore[operator]
    assert set(results) == {"y", "z"}
    for value, exact in zip(results["y"] + results["z"], expected, strict=True):
        if number_type == "Fraction":
            assert value == exact
        else:  # five roundings of numbers below 2
            assert np.all(np.abs(np.asarray(value, dtype=float) - float(exact)) < 1e-14)


def test_every_operation_equals_that_of_python() -> None:
    """Evaluate one row of each operation in floats.

    `methods/test_time_step_derivatives` tests the functions of a rotation angle.
    """
    x, y = 0.7, 1.3
    meaning = {
        "add": x + y,
        "sub": x - y,
        "mul": x * y,
        "div": x / y,
        "neg": -x,
        "sin": math.sin(x),
        "cos": math.cos(x),
        "sqrt": math.sqrt(x),
        "log": math.log(x),
        "atan2": math.atan2(x, y),
    }
    assert set(meaning) | {"const", "input", *BY_SERIES} == set(ARITY)
    inputs = [Row("input", (), (0, 0)), Row("input", (), (0, 1))]
    numbers = Numbers(float, math.sin, math.cos, math.sqrt, math.log)
    for op, value in meaning.items():
        rows = [*inputs, Row(op, (0, 1)[: ARITY[op]])]
        program = check(Program("f", "m", (Port("x", (2,)),), (Port("y", (), (2,)),), tuple(rows)))
        assert evaluate(program, {"x": [x, y]}, numbers) == {"y": [value]}, op
        assert program.operations["add" if op == "sub" else op] == 1


# -- facts of a Program ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formulas", "most"),
    [
        (("a",), 0),
        (("a + b",), 1),
        (("a * b + c * d",), 2),  # both products, then the sum in the place of one
        (("a * b * c * d",), 1),
        (("a * b", "c * d", "e * f"), 3),  # results stay until the end
        (("_p = a * b", "_q = _p * c", "_r = _q * d", "_r + _p"), 2),
        (("_p = a * b", "_q = a - b", "_r = a + b", "_p * (_q * _r)"), 3),
        (("_dead = a * b", "c * d"), 1),
        (("_p = a * b", "_p + _p * 2"), 2),
        (("3 * a", "0.5"), 1),  # constants are no temporaries
        (("_p = sin(a)", "(_p + b) * (_p + c) * (_p + d)"), 3),
    ],
)
def test_temporaries_are_the_computed_values_that_are_live_at_once(
    formulas: tuple[str, ...], most: int
) -> None:
    assert written(*formulas).temporaries == most


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("a", 0),
        ("-a", 0),
        ("2", 0),
        ("a + b", 1),
        ("-(a + -b)", 1),
        ("a * b + c * d", 2),
        ("sin(a) * cos(a + b)", 3),
        ("sqrt(a / b) - log(c)", 3),
    ],
)
def test_depth_is_the_longest_chain_of_operations(text: str, depth: int) -> None:
    assert written(text).depth == depth
    assert written("a", text, "-b").depth == depth


def test_rare_operations_are_counted_only_where_they_occur() -> None:
    derived = written("log(a) + log(b)", "atan2(a, b) / sqrt(c)", "-sin(a) - cos(b)")
    assert derived.operations == {
        "mul": 0,
        "add": 2,
        "div": 1,
        "neg": 1,
        "sqrt": 1,
        "sin": 1,
        "cos": 1,
        "log": 2,
        "atan2": 1,
    }
    assert derived.cost == 3
    assert "log" not in written("a").operations


def test_an_outline_has_all_but_the_rows() -> None:
    program = replace(VALID, real="float", convention=Convention("local", "linear"))
    assert program.outline == Outline(
        "f",
        "by_hand",
        program.inputs,
        (Port("y", (2,)), Port("z", ())),
        program.operations,
        len(ROWS),
        "float",
        Convention("local", "linear"),
    )


def test_quaternions_are_in_each_argument_that_is_positions() -> None:
    inputs = (Port("v", (9,)), Port("q", (11,)), Port("q_next", (11,)))
    program = replace(VALID, inputs=inputs, quaternions=(0, 7))
    assert program.unit_quaternions == ((1, 0), (1, 7), (2, 0), (2, 7))
    assert replace(program, inputs=inputs[:1]).unit_quaternions == ()
    assert VALID.unit_quaternions == ()


def test_a_program_has_one_program_and_no_loops() -> None:
    assert VALID.programs == (VALID,)
    assert VALID.rows_in_all == len(ROWS)
    assert VALID.by(lambda program: replace(program, method="other")).method == "other"
    assert VALID.in_real("float") == replace(VALID, real="float")
    assert (VALID.looped, VALID.constant_count, VALID.part_count, VALID.at_once) == (False, 0, 0, 1)
    assert VALID.run({"x": [Fraction(1), Fraction(2)]}, EXACT) == evaluate(
        VALID, {"x": [Fraction(1), Fraction(2)]}, EXACT
    )


def test_programs_are_equal_whatever_was_passed_over_and_searched() -> None:
    assert replace(VALID, passed_over=(("riccati", "too long"),), rounds=3, origin=1) == VALID
    assert replace(VALID, method="other") != VALID


def test_a_program_describes_itself() -> None:
    text = "f by by_hand: x[2] → y[2], z, double"
    assert repr(VALID) == f"<symgen.Program {text}; 5 operations, depth 4>"
    table = VALID._repr_html_()
    assert text in table
    for name, number in {**VALID.operations, "depth": 4, "rows": len(ROWS)}.items():
        assert name in table
        assert str(number) in table
    matrix = replace(VALID, outputs=(Port("M", (2, 1), (7, 3)),))
    assert "→ M[2×1]," in repr(matrix)


def test_fractions_have_no_functions() -> None:
    arguments = {"x": [Fraction(1)] * 8}
    for text in ("sin(a)", "cos(a)", "sqrt(a)", "log(a)", "atan2(a, b)"):
        with pytest.raises(ProgramError, match="a sine, a root or a logarithm is no fraction"):
            evaluate(written(text), arguments, EXACT)
    assert evaluate(written("a / 3 - b"), arguments, EXACT) == {"y": [Fraction(-2, 3)]}


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (Row("mul", (0, 1), None, "", 2), "stands under a step that does not exist"),
        (Row("mul", (0, 1), None, "", -2), "stands under a step that does not exist"),
        (Row("mul", (0, 1), None, "scaled"), "repeats the name 'scaled'"),
        (Row("sin", (0,), Fraction(2)), r"\(sin\) carries a value"),
        (Row("mul", (8, 0)), r"\(mul\) uses a row that does not stand before it"),
        (Row("mul", (-1, 0)), r"\(mul\) uses a row that does not stand before it"),
        (Row("mul", (0, -1)), r"\(mul\) uses a row that does not stand before it"),
        (Row("sqrt", (0, 1)), r"\(sqrt\) has 2 operands, not 1"),
        (Row("nothing", (0, 1)), "has the unknown operation 'nothing'"),
        (Row("nothing", (0, 1), None, "scaled", 7), "has the unknown operation 'nothing'"),
        (Row("mul", (0, 1), None, "scaled", 7), "repeats the name 'scaled'"),
        (Row("input", (), (-1, 0)), r"\(input\) reads an argument that does not exist"),
        (Row("input", (), (0, -1)), r"\(input\) reads an argument that does not exist"),
        (Row("input", (), (1, 0)), r"\(input\) reads an argument that does not exist"),
    ],
)
def test_a_row_at_the_end_is_checked_like_any_other(row: Row, fault: str) -> None:
    wrong = VALID.with_rows([*ROWS[:8], row], [Port("y", (), (0,))])
    with pytest.raises(ProgramError, match=f"^f/by_hand: row 8 {fault}"):
        check(wrong)


def test_the_last_row_of_each_kind_is_valid() -> None:
    for row in (
        Row("mul", (7, 7), None, "", 1),
        Row("mul", (0, 0), None, "", -1),
        Row("mul", (0, 0), None, "square", 0),
        Row("input", (), (0, 1)),
        Row("atan2", (0, 7)),
    ):
        valid = VALID.with_rows([*ROWS[:8], row], [Port("y", (2,), (0, 8))])
        assert check(valid) is valid
    with pytest.raises(ProgramError, match="names a row that does not exist"):
        check(VALID.with_rows(ROWS[:8], [Port("y", (2,), (0, 8))]))
