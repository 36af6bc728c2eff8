"""Divide once: x·(1/y) becomes x/y where the reciprocal serves nothing else."""

from __future__ import annotations

from symgen.ir.passes.rewrite import Rewriter, uses
from symgen.ir.program import Program, Row


def divide(program: Program) -> Program:
    """The same Program with a multiplication less for every reciprocal that is used once."""
    rows = program.rows
    quotients = [r for r, row in enumerate(rows) if row[0] == "div"]
    over_one = [
        r
        for r in quotients
        if rows[rows[r].args[0]].op == "const" and rows[rows[r].args[0]].value == 1
    ]
    count = uses(program) if over_one else []
    reciprocals = {r for r in over_one if count[r] == 1}
    if not reciprocals:
        return program
    out = Rewriter(program)
    for row in rows:
        where = next(
            (k for k, a in enumerate(row.args) if row.op == "mul" and a in reciprocals), None
        )
        if where is None:
            out.place.append(out.keep(row))
        else:
            other, by = row.args[1 - where], rows[row.args[where]].args[1]
            out.place.append(out.put(Row("div", out.moved((other, by)), None, row.name, row.step)))
    return out.finish()
