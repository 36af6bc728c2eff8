"""Drop the rows that no result depends on."""

from __future__ import annotations

from symgen.ir.passes.rewrite import Rewriter
from symgen.ir.program import Program


def eliminate(program: Program) -> Program:
    """The same Program without dead rows; inputs that are never read stay arguments."""
    rows = program.rows
    alive = [False] * len(rows)
    for port in program.outputs:
        for r in port.rows:
            alive[r] = True
    for i in reversed(range(len(rows))):
        if alive[i]:
            for a in rows[i][1]:
                alive[a] = True
    if all(alive):
        return program
    first = alive.index(False)
    out = Rewriter(program, first)
    keep, place = out.keep, out.place.append
    for i in range(first, len(rows)):
        place(keep(rows[i]) if alive[i] else -1)
    return out.finish()
