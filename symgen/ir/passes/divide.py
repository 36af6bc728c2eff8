"""Divide once: x·(1/y) becomes x/y if nothing else uses the reciprocal."""

from __future__ import annotations

from symgen.ir.passes.rewrite import Rewriter, uses
from symgen.ir.program import Program, Row


def divide(program: Program) -> Program:
    """Return the Program with one multiplication less per reciprocal that is used once."""
    rows = program.rows
    quotients = [r for r, row in enumerate(rows) if row[0] == "div"]
    over_one = [
        r for r in quotients if rows[rows[r].args[0]].value == 1
    ]  # constants alone have numbers
    count = uses(program) if over_one else []
    reciprocals = {r for r in over_one if count[r] == 1}
    if not reciprocals:
        return program
    out = Rewriter(program)
    for row in rows:
        position = next(
            (k for k, a in enumerate(row.args) if row.op == "mul" and a in reciprocals), None
        )
        if position is None:
            out.new_index.append(out.keep(row))
        else:
            dividend, divisor = row.args[1 - position], rows[row.args[position]].args[1]
            out.new_index.append(
                out.put(Row("div", out.new_indices((dividend, divisor)), None, row.name, row.step))
            )
    return out.finish()
