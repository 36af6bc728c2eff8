"""Errors planted in the rows of a Program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from symgen.ir.program import Program, check
from symgen.verification.report import Report


def caught_by(report: Report) -> set[str]:
    """Return the kinds of the failed checks: algebra, text, floating, identities."""
    return {check.kind for check in report.failures}


def _uses(
    program: Program, old: int, new: int, where: Callable[[int], bool] = lambda _: True
) -> Program:
    """Uses of row `old` by rows with where(row) become uses of the earlier row `new`."""
    rows = [
        row._replace(args=tuple(new if a == old else a for a in row.args)) if where(i) else row
        for i, row in enumerate(program.rows)
    ]
    return check(replace(program, rows=tuple(rows)))


def _sums(program: Program) -> list[int]:
    return [i for i, row in enumerate(program.rows) if row.op in ("add", "sub")]


def _flip(program: Program, index: int) -> Program:
    row = program.rows[index]
    rows = (
        *program.rows[:index],
        row._replace(op={"add": "sub", "sub": "add"}[row.op]),
        *program.rows[index + 1 :],
    )
    return check(replace(program, rows=rows))


def _drop(program: Program, index: int) -> Program:
    """The second term of a sum is left out."""
    first_term = program.rows[index].args[0]
    outputs = tuple(
        port._replace(rows=tuple(first_term if r == index else r for r in port.rows))
        for port in program.outputs
    )
    return _uses(replace(program, outputs=outputs), index, first_term)
