"""Compute equal things once: rows with the same operation on the same operands become one row."""

from __future__ import annotations

from symgen.ir import Program, Row
from symgen.passes.rewrite import Rewriter

COMMUTES = frozenset({"add", "mul"})


def value_number(program: Program) -> Program:
    """The same Program with each value computed once; the first row stays, and takes a name if only the second had one."""
    out = Rewriter(program)
    seen: dict[object, int] = {}
    for row in program.rows:
        args = out.moved(row.args)
        key = (row.op, tuple(sorted(args)) if row.op in COMMUTES else args, row.value)
        if key in seen:
            first = seen[key]
            if row.name and not out.rows[first].name and row.op not in ("const", "input"):
                out.rows[first] = out.rows[first]._replace(name=row.name)
            out.place.append(first)
        else:
            seen[key] = out.put(Row(row.op, args, row.value, row.name, row.step))
            out.place.append(seen[key])
    return out.finish()
