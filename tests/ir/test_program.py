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
    Numbers,
    Port,
    Program,
    Row,
    check,
    evaluate,
)
from symgen.support.errors import ProgramError

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
    # rows 3 to 8: mul, sub, div, add, neg, mul; neg costs nothing, and the longest chain is rows 3 to 6
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
