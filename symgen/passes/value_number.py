"""Compute equal things once: rows with the same operation on the same operands become one row."""

from __future__ import annotations

from symgen.ir import Program
from symgen.passes.rewrite import Rewriter, with_args

COMMUTES = frozenset({"add", "mul"})


def value_number(program: Program) -> Program:
    """The same Program with each value computed once; the first row stays, and takes a name if only the second had one."""
    out = Rewriter(program)
    seen: dict[object, int] = {}
    for row in program.rows:
        op, args, value, _, _ = row
        args = out.moved(args)
        if op == "const":   # its two integers are told apart sooner than a Fraction
            value = (value.numerator, value.denominator)
        key = (op, args[::-1], value) if op in COMMUTES and args[0] > args[1] else (op, args, value)
        first = seen.get(key)
        if first is not None:
            if row.name and not out.rows[first].name and row.op not in ("const", "input"):
                out.rows[first] = out.rows[first]._replace(name=row.name)
            out.place.append(first)
        else:
            seen[key] = out.put(with_args(row, args))
            out.place.append(seen[key])
    return out.finish()
