"""Remove rows that are trivial after value numbering: x − x, x + 0, 1·x, constants on constants,
−(−x).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction

from symgen.ir.passes.rewrite import Rewriter, with_args
from symgen.ir.program import Program, Row

_new = tuple.__new__
_ACT = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def fold(program: Program) -> Program:
    """Return the Program with each trivial row replaced by the row or constant that it equals."""
    rows = program.rows
    first, constants = _nontrivial_prefix(rows)
    if first == len(rows):
        return program
    out = Rewriter(program, first)
    new_index, keep, append_row = out.new_index, out.keep, out.rows.append
    fixed = {i: rows[i].value for i in constants.values()}
    """The constants by their new index."""

    def constant(value: Fraction) -> int:
        key = value.numerator, value.denominator  # compared faster than a Fraction
        if key not in constants:
            constants[key] = out.put(Row("const", (), value))
            fixed[constants[key]] = value
        return constants[key]

    for row in rows[first:]:
        op, args = row[0], row[1]
        if len(args) == 2:
            a, b = new_index[args[0]], new_index[args[1]]
            if a not in fixed and b not in fixed and (a != b or op != "sub"):  # as most are
                new_index.append(len(out.rows))
                append_row(
                    row if args == (a, b) else _new(Row, (op, (a, b), row[2], row[3], row[4]))
                )
                continue
        elif op != "const" and op != "neg":
            new_index.append(keep(row))
            continue
        operands = out.new_indices(args)
        new_index.append(_simpler(row, operands, [fixed.get(x) for x in operands], constant, out))
    return out.finish()


def _nontrivial_prefix(rows: Sequence[Row]) -> tuple[int, dict[tuple[int, int], int]]:
    """Return how many rows at the beginning are not trivial, and the indices of the constants among
    them.
    """
    constants: dict[tuple[int, int], int] = {}
    fixed: set[int] = set()
    for i, (op, args, value, name, step) in enumerate(rows):
        if len(args) == 2:
            a, b = args
            if a in fixed or b in fixed:
                if _is_trivial(op, args, [rows[x].value if x in fixed else None for x in args]):
                    return i, constants
            elif a == b and op == "sub":
                return i, constants
        elif op == "const":
            key = value.numerator, value.denominator
            if key in constants or name or step >= 0:
                return i, constants
            constants[key] = i
            fixed.add(i)
        elif op == "neg" and (args[0] in fixed or rows[args[0]].op == "neg"):
            return i, constants
    return len(rows), constants


def _is_trivial(op: str, args: tuple[int, ...], values: list[Fraction | None]) -> bool:
    """Return whether an operation on two operands, at least one of them constant, equals a
    constant, one of them or the negative of one.
    """
    return (
        (op in _ACT and None not in values)
        or values[0] == 0
        or _same_as(op, args, values) is not None
    )


def _simpler(
    row: Row,
    args: tuple[int, ...],
    values: list[Fraction | None],
    constant: Callable[[Fraction], int],
    out: Rewriter,
) -> int:
    """Return the index of the row's value: that of an existing row if it is trivial, else that of
    the row itself, put.
    """
    op = row.op
    if op == "const":
        return constant(row.value)
    if op == "neg":
        existing = _negated(args[0], values[0], constant, out)
    elif op in _ACT and values[0] is not None and values[1] is not None:
        return constant(_ACT[op](*values))
    elif op == "sub" and args[0] == args[1]:
        return constant(Fraction(0))
    elif op == "sub" and values[0] == 0:
        return out.put(Row("neg", (args[1],), None, row.name, row.step))
    else:
        existing = _same_as(op, args, values)
    return out.put(with_args(row, args)) if existing is None else existing


def _negated(
    index: int, value: Fraction | None, constant: Callable[[Fraction], int], out: Rewriter
) -> int | None:
    """Return the index of −x if it exists: the y of x = −y, or a constant; else None."""
    row = out.rows[index]
    if row.op == "neg":
        return row.args[0]
    return None if value is None else constant(-value)


def _same_as(op: str, args: tuple[int, ...], values: list[Fraction | None]) -> int | None:
    """Return the operand that x + 0, 0 + x, x − 0, 1·x, 0·x, x/1 or 0/x equals; else None."""
    second = {"add": 0, "sub": 0, "mul": 1, "div": 1}
    first = {"add": 0, "mul": 1}
    if op == "mul" and 0 in values:
        return args[0] if values[0] == 0 else args[1]
    if op == "div" and values[0] == 0:
        return args[0]
    if op in first and values[0] == first[op]:
        return args[1]
    return args[0] if op in second and values[1] == second[op] else None
