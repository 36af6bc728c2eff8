"""Drop the rows that no result depends on."""

from __future__ import annotations

from symgen.ir.passes.rewrite import Rewriter, with_args
from symgen.ir.program import Program, Row

_new = tuple.__new__


def eliminate(program: Program) -> Program:
    """Return the Program without dead rows; inputs that are never read stay arguments."""
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
    new_index = out.new_index
    append_row, add_index, n = out.rows.append, new_index.append, first
    for row, is_alive in zip(rows[first:], alive[first:], strict=True):
        if not is_alive:
            add_index(-1)
            continue
        op, args, value, name, step = row
        if len(args) == 2:  # as most are
            a, b = args
            c, d = new_index[a], new_index[b]
            append_row(row if a == c and b == d else _new(Row, (op, (c, d), value, name, step)))
        else:
            append_row(with_args(row, tuple([new_index[a] for a in args])) if args else row)
        add_index(n)
        n += 1
    return out.finish()
