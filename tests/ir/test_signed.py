"""Rows from signed operands, and the proof of a rewriting."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from symgen.ir.passes._proof import prove
from symgen.ir.passes._signed import Signed, SignedRow
from symgen.ir.program import SPARE, Port, Program, Row
from symgen.support.errors import ProgramError
from tests.shared.pass_programs import formula, formulas, written

BOTH = (1, -1)


def collected(*used_names: str) -> Signed:
    """Return a collection with the arguments a, b and the constant 3 in rows 0, 1, 2."""
    out = Signed(used_names)
    for i in range(2):
        out.put("input", [], (0, i))
    out.put("const", [], Fraction(3))
    return out


def as_program(out: Signed, row: int) -> Program:
    return Program("f", "m", (Port("x", (2,)),), (Port("y", (), (row,)),), tuple(out.rows))


def value(out: Signed, signed_row: SignedRow) -> Fraction:
    """Return the value of a signed row at a = 2/7, b = 5/3."""
    values: list[Fraction] = []
    for op, args, number, _, _ in out.rows:
        operands = [values[a] for a in args]
        if op == "input":
            values.append((Fraction(2, 7), Fraction(5, 3))[number[1]])
        elif op == "const":
            values.append(number)
        else:
            values.append(
                {
                    "add": lambda x: x[0] + x[1],
                    "sub": lambda x: x[0] - x[1],
                    "mul": lambda x: x[0] * x[1],
                    "div": lambda x: x[0] / x[1],
                    "neg": lambda x: -x[0],
                }[op](operands)
            )
    return values[signed_row[0]] * signed_row[1]


@pytest.mark.parametrize("preferred", BOTH)
@pytest.mark.parametrize("second", BOTH)
@pytest.mark.parametrize("first", BOTH)
@pytest.mark.parametrize("op", ["add", "mul", "div"])
def test_signs_of_operands_cost_no_operation(
    op: str, first: int, second: int, preferred: int
) -> None:
    out = collected()
    signed_row = out.put(op, [(0, first), (1, second)], preferred_sign=preferred)
    assert len(out.rows) == 4
    assert signed_row[0] == 3
    a, b = first * Fraction(2, 7), second * Fraction(5, 3)
    assert value(out, signed_row) == {"add": a + b, "mul": a * b, "div": a / b}[op]
    if op == "add" and first != second:
        assert signed_row[1] == preferred  # either difference is one operation


@pytest.mark.parametrize(
    ("op", "expected", "sign"),
    [("sin", "sin(a)", -1), ("cos", "cos(a)", 1), ("sqrt", "sqrt(-a)", 1), ("log", "log(-a)", 1)],
)
def test_only_sine_and_cosine_take_an_operand_of_either_sign(
    op: str, expected: str, sign: int
) -> None:
    out = collected()
    row, row_sign = out.put(op, [(0, -1)])
    assert (formula(as_program(out, row), row), row_sign) == (expected, sign)
    positive = out.put(op, [(0, 1)])
    assert (formula(as_program(out, positive[0]), positive[0]), positive[1]) == (f"{op}(a)", 1)


def test_each_operand_of_another_function_has_its_sign() -> None:
    out = collected()
    row, sign = out.put("atan2", [(1, 1), (0, -1)])
    assert (formula(as_program(out, row), row), sign) == ("atan2(b, -a)", 1)


def test_a_row_is_negated_once() -> None:
    out = collected()
    row, sign = out.put("mul", [(0, 1), (1, -1)], step=4)
    assert sign == -1
    assert out.positive_row((row, 1)) == row
    negative = out.positive_row((row, -1))
    assert out.rows[negative] == Row("neg", (row,), None, "", 4)
    assert out.positive_row((row, -1)) == negative
    assert len(out.rows) == 5
    constant = out.positive_row((2, -1))
    assert out.rows[constant] == Row("const", (), Fraction(-3), "", -1)


def test_a_row_of_the_other_sign_has_the_name_of_the_negative() -> None:
    out = collected("p", "neg_q")

    def name(op: str, second: int, name: str, preferred: int = 1) -> str:
        row, _ = out.put(op, [(0, 1), (1, second)], None, name, 2, preferred)
        assert out.rows[row].step == 2
        return out.rows[row].name

    assert name("mul", 1, "p") == "p"
    assert name("mul", -1, "p") == "neg_p"
    assert name("mul", -1, "p", -1) == "p"
    assert name("mul", -1, "neg_r") == "r"
    assert name("mul", -1, "neg_p") == ""  # another row is p
    assert name("mul", -1, "q") == ""  # another row is neg_q
    assert name("add", -1, "s", -1) == "s"  # b − a is the negative of what the name says
    assert name("mul", -1, "") == ""


# -- proof -----------------------------------------------------------------------------------------


def test_rows_of_equal_value_are_proved() -> None:
    """(a − b)·c is computed as −((b − a)·c); the difference is not needed any more."""
    before, after = written("p = (a - b) * c", "p"), written("-((b - a) * c)")
    assert formulas(after) == ["-((b - a) * c)"]
    same: list[SignedRow | None] = [(i, 1) for i in range(8)]
    prove(before, after, [*same, (8, -1), (9, -1)])
    prove(before, after, [*same, None, (10, 1)])
    with pytest.raises(ProgramError, match=r"^f/m: row 8 was recognized as what it does not equal"):
        prove(before, after, [*same, (8, 1), (9, -1)])
    with pytest.raises(ProgramError, match=r"^f/m: row 9 \('p'\) was moved as what it does not"):
        prove(before, after, [*same, (8, -1), (9, 1)], "moved")
    with pytest.raises(ProgramError, match="row 0 was"):
        prove(before, after, [(1, 1), *same[1:], None, None])


def test_a_result_of_another_value_is_refused() -> None:
    before, after = written("a", "a - b"), written("a", "b - a")
    with pytest.raises(ProgramError, match="f/m: row 8, a result, has lost its sign"):
        prove(before, after, [])
    prove(before, before, [])


def test_a_spare_result_is_not_compared() -> None:
    before = written("a - b", "b - a")
    spare = replace(before, outputs=(Port("y", (1,), (8,)), Port(SPARE, (1,), (9,))))
    prove(spare, written("a - b"), [])


def test_a_program_that_divides_by_zero_cannot_be_proved() -> None:
    derived = written("a / (b - b)")
    with pytest.raises(
        ProgramError, match=r"^f/m: what was moved cannot be proved, for it divides"
    ):
        prove(derived, derived, [], "moved")
