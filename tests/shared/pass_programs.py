"""Programs written by hand for tests of single passes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from random import Random
from typing import Any

from symgen.ir.program import ARITY, Numbers, Port, Program, Row, check, evaluate


def by_hand(outputs: list[int], *rows: tuple[Any, ...], inputs: int = 3) -> Program:
    """Inputs stand in the first rows; a row is (op, *args), ("const", value), or either with a name
    behind.
    """
    program_rows = [Row("input", (), (0, i)) for i in range(inputs)]
    for op, *arguments in rows:
        name = arguments.pop() if isinstance(arguments[-1], str) else ""
        program_rows.append(
            Row("const", (), Fraction(arguments[0]), name)
            if op == "const"
            else Row(op, tuple(arguments), None, name)
        )
    return check(
        Program(
            "f",
            "m",
            (Port("x", (inputs,)),),
            (Port("y", (len(outputs),), tuple(outputs)),),
            tuple(program_rows),
        )
    )


def ops(derived: Program) -> list[str]:
    return sorted(row.op for row in derived.rows if row.op not in ("input", "const"))


def value_before(meaning: dict[str, Fraction], name: str) -> Fraction:
    """Return the former value of a name; for a new name `neg_x`, the negative of x."""
    return meaning[name] if name in meaning else -meaning[name.removeprefix("neg_")]


# -- Programs as formulas --------------------------------------------------------------------------

OPERATORS: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "mul": ast.Mult,
    "div": ast.Div,
}
LETTERS = "abcdefgh"
"""Names of the arguments in formulas."""


def written(*formulas: str, steps: int = 0) -> Program:
    """Return the Program of Python formulas of the arguments a to h.

    `x = formula` gives a row the name x, which later formulas read; a row with a name that begins
    with _ has no name in the Program. The other formulas are the results. With `steps`, the rows of
    formula k stand under step k.
    """
    rows = [Row("input", (), (0, i)) for i in range(len(LETTERS))]
    row_of = {letter: i for i, letter in enumerate(LETTERS)}
    results: list[int] = []

    def put(row: Row) -> int:
        rows.append(row)
        return len(rows) - 1

    def row_of_node(node: ast.expr, name: str, step: int) -> int:
        if isinstance(node, ast.Name):
            return row_of[node.id]
        if isinstance(node, ast.Constant):
            return put(Row("const", (), Fraction(str(node.value)), name, step))
        if isinstance(node, ast.UnaryOp):
            return put(Row("neg", (row_of_node(node.operand, "", step),), None, name, step))
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            operands = tuple([row_of_node(argument, "", step) for argument in node.args])
            return put(Row(node.func.id, operands, None, name, step))
        assert isinstance(node, ast.BinOp)
        op = next(op for op, kind in OPERATORS.items() if isinstance(node.op, kind))
        operands = row_of_node(node.left, "", step), row_of_node(node.right, "", step)
        return put(Row(op, operands, None, name, step))

    for k, formula in enumerate(formulas):
        statement = ast.parse(formula).body[0]
        step = k if k < steps else -1
        if isinstance(statement, ast.Assign):
            (target,) = statement.targets
            assert isinstance(target, ast.Name)
            name = "" if target.id.startswith("_") else target.id
            row_of[target.id] = row_of_node(statement.value, name, step)
        else:
            assert isinstance(statement, ast.Expr)
            results.append(row_of_node(statement.value, "", step))
    return check(
        Program(
            "f",
            "m",
            (Port("x", (len(LETTERS),)),),
            (Port("y", (len(results),), tuple(results)),),
            tuple(rows),
            tuple(f"step {k}" for k in range(steps)),
        )
    )


def formula(program: Program, row: int) -> str:
    """Return a row as a formula of the arguments, with the order of operations of the rows."""

    def node(r: int) -> ast.expr:
        op, args, value, _, _ = program.rows[r]
        if op == "input":
            return ast.Name(LETTERS[value[1]])
        if op == "const":
            return ast.Name(str(value))
        operands = [node(a) for a in args]
        if op == "neg":
            return ast.UnaryOp(ast.USub(), operands[0])
        if op in OPERATORS:
            return ast.BinOp(operands[0], OPERATORS[op](), operands[1])
        return ast.Call(ast.Name(op), operands, [])

    return ast.unparse(node(row))


def formulas(program: Program) -> list[str]:
    """Return each element of the results as a formula."""
    return [formula(program, r) for port in program.outputs for r in port.rows]


# -- exact values ----------------------------------------------------------------------------------

POINTS = (
    tuple(Fraction(n) for n in ("3/7", "-5/2", "11/3", "2/9", "-7/4", "13/5", "-1/6", "17/11")),
    tuple(Fraction(n) for n in ("-2/9", "1/4", "13/5", "-19/8", "5/3", "-7/13", "23/6", "-3/11")),
)
EXACT = Numbers(Fraction, Fraction, Fraction, Fraction, Fraction)


def row_values(derived: Program, at: Sequence[Fraction]) -> list[Fraction]:
    """Return the exact value of every row, where a sine, a cosine and a root count as their
    operand.
    """
    all_rows = derived.with_rows(
        derived.rows, [Port("y", (len(derived.rows),), tuple(range(len(derived.rows))))]
    )
    return evaluate(all_rows, {"x": at}, EXACT)["y"]


def result_values(derived: Program) -> list[list[Fraction]]:
    """Return the exact values of all results at the two POINTS."""
    rows = [r for port in derived.outputs for r in port.rows]
    return [[values[r] for r in rows] for values in (row_values(derived, at) for at in POINTS)]


RATIONAL = ("add", "sub", "mul", "mul", "add", "neg", "div")
TRIGONOMETRIC = ("add", "sub", "mul", "mul", "sub", "neg", "sin", "cos")


def drawn_program(
    seed: str, size: int = 12, names: int = 4, operations: tuple[str, ...] = RATIONAL
) -> Program:
    """Return a Program of random rows over few operands, without divisions by zero at POINTS.

    Equal, trivial, shared and factorable rows are frequent; one row in `names` has a name. With
    TRIGONOMETRIC operations there are a sine and a cosine of one angle.
    """
    random = Random(seed)
    while True:
        rows: list[tuple[Any, ...]] = [("const", random.choice((0, 1, -1, 2, 3))) for _ in "12"]
        if operations is TRIGONOMETRIC:
            rows += [("sin", 0), ("cos", 0)]
        for i in range(size):
            last = 2 + len(rows)
            op = random.choice(operations)
            operands = [
                random.randint(random.choice((0, max(0, last - 4))), last) for _ in range(ARITY[op])
            ]
            rows.append((op, *operands, *([f"n_{i}"] if random.randrange(names) == 0 else [])))
        last = 2 + len(rows)
        drawn = by_hand([random.randint(last - 6, last) for _ in range(3)], *rows)
        with suppress(ZeroDivisionError):
            result_values(drawn)
            return drawn
