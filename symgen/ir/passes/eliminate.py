"""Drop the rows that no result depends on."""

from __future__ import annotations

from symgen.ir.passes.rewrite import Rewriter, with_args
from symgen.ir.program import Program, Row

_new = tuple.__new__


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
    place = out.place
    put, placed, n = out.rows.append, place.append, first
    for row, is_alive in zip(rows[first:], alive[first:], strict=True):
        if not is_alive:
            placed(-1)
            continue
        op, args, value, name, step = row
        if len(args) == 2:  # as most are
            a, b = args
            c, d = place[a], place[b]
            put(row if a == c and b == d else _new(Row, (op, (c, d), value, name, step)))
        else:
            put(with_args(row, tuple([place[a] for a in args])) if args else row)
        placed(n)
        n += 1
    return out.finish()
