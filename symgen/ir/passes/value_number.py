"""Compute equal things once: rows with the same operation on the same operands become one row."""

from __future__ import annotations

from symgen.ir.passes.rewrite import Rewriter, with_args
from symgen.ir.program import Program

COMMUTES = frozenset({"add", "mul"})


def value_number(program: Program) -> Program:
    """The same Program with each value computed once; the first row stays, and takes a name if only the second had one."""
    out = Rewriter(program)
    rows, place = out.rows, out.place
    seen: dict[object, int] = {}
    for row in program.rows:
        op, args, value, name, _ = row
        key: object
        if not args:  # a const's two integers are told apart sooner than a Fraction
            key = (op, value.numerator, value.denominator) if op == "const" else (op, value)
        elif len(args) == 2:
            a, b = args = (place[args[0]], place[args[1]])
            key = (op, b, a) if a > b and op in COMMUTES else (op, a, b)
        else:
            args = (place[args[0]],)
            key = (op, args)
        first = seen.setdefault(key, len(rows))
        if first == len(rows):
            rows.append(with_args(row, args))
        elif name and args and not rows[first].name:
            rows[first] = rows[first]._replace(name=name)
        place.append(first)
    return out.finish()
