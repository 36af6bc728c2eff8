"""Drop the rows that no result depends on."""

from __future__ import annotations

from symgen.ir import Program
from symgen.passes.rewrite import Rewriter


def eliminate(program: Program) -> Program:
    """The same Program without dead rows; inputs that are never read stay arguments."""
    alive = [False] * len(program.rows)
    for port in program.outputs:
        for r in port.rows:
            alive[r] = True
    for i in reversed(range(len(program.rows))):
        if alive[i]:
            for a in program.rows[i].args:
                alive[a] = True
    if all(alive):
        return program
    out = Rewriter(program)
    for i, row in enumerate(program.rows):
        out.place.append(out.keep(row) if alive[i] else -1)
    return out.finish()
