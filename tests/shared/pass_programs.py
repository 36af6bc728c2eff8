"""Programs written by hand for tests of single passes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symgen.ir.program import Port, Program, Row, check


def by_hand(outputs: list[int], *rows: tuple[Any, ...], inputs: int = 3) -> Program:
    """Inputs stand in the first rows; a row is (op, *args), ("const", value), or either with a name behind."""
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
