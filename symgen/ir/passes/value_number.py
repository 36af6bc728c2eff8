"""Compute equal operations once: rows with the same operation and operands become one row."""

from __future__ import annotations

from symgen.ir.passes.rewrite import Rewriter, with_args
from symgen.ir.program import Program, Row

_new = tuple.__new__
COMMUTES = frozenset({"add", "mul"})


def value_number(program: Program) -> Program:
    """Return the Program with each operation computed once; the first row stays, and takes a name
    if only the second had one.
    """
    out = Rewriter(program)
    rows, new_index = out.rows, out.new_index
    row_of: dict[object, int] = {}
    find_or_add, append_row, add_index, length = row_of.setdefault, rows.append, new_index.append, 0
    for row in program.rows:
        op, args, value, name, step = row
        key: object
        if len(args) == 2:
            a, b = args
            c, d = new_index[a], new_index[b]
            key = (op, d, c) if c > d and op in COMMUTES else (op, c, d)
            first = find_or_add(key, length)
            if first == length:
                append_row(row if a == c and b == d else _new(Row, (op, (c, d), value, name, step)))
                length += 1
                add_index(first)
                continue
        elif not args:  # a constant's two integers are compared faster than a Fraction
            key = (op, value.numerator, value.denominator) if op == "const" else (op, value)
            first = find_or_add(key, length)
        else:
            args = (new_index[args[0]],)
            first = find_or_add((op, args), length)
        if first == length:
            append_row(with_args(row, args))
            length += 1
        elif name and args and not rows[first].name:
            rows[first] = rows[first]._replace(name=name)
        add_index(first)
    return out.finish()
