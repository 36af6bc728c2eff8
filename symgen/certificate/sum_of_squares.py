"""Divisors that are sums of squares and a positive constant: no state and no rounding can take them
below that constant.

Rounding to nearest is monotone. So a computed square is at least 0. A computed sum of two
nonnegative numbers is at least the larger of their bounds. A computed root of a number is at least
the root of a bound that is a number of the type. A fused a·b + c is monotone as well. The only
assumption on the state is that nothing overflows. In addition, a component of a vector is at most
as long as the vector.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import isqrt

from symgen.ir.program import Program
from symgen.vocabulary.reals import REALS

_BITS = 200
"""Bits of a root before it is rounded down to the type."""


def positive_bounds(program: Program, requested_rows: Iterable[int]) -> dict[int, Fraction]:
    """Return {row: bound} for those of `requested_rows` whose computed value has a positive lower
    bound. A bound is a number of the real type.
    """
    bounds = _bounds(program)
    return {row: bounds[row] for row in requested_rows if bounds.get(row, 0) > 0}


def bounded_shares(program: Program) -> dict[int, Fraction]:
    """Return {row: bound of its magnitude} of x·(1/√S), where S is a sum of squares including x²,
    and a positive constant.

    Such a ratio is at most 1, and computed as at most 2: the computed S is at least the computed
    x², and four roundings follow. If x² is so small that it is flushed to zero, the constant is
    larger.
    """
    bounds, rows, flushed = _bounds(program), program.rows, 4 * REALS[program.real].least
    result: dict[int, Fraction] = {}
    for index, (op, args, _, _, _) in enumerate(rows):
        for x, reciprocal in (args, args[::-1]) if op == "mul" else ():
            division = rows[reciprocal]
            if (
                division.op == "div"
                and rows[division.args[0]].value == 1
                and rows[division.args[1]].op == "sqrt"
            ):
                (square,) = rows[division.args[1]].args
                if bounds.get(square, 0) >= flushed and x in _squared(program, square):
                    result[index] = Fraction(2)
    return result


def _squared(program: Program, total: int) -> set[int]:
    """Return the rows whose squares are terms of a sum."""
    result: set[int] = set()
    pending = [total]
    while pending:
        row = program.rows[pending.pop()]
        if row.op == "add":
            pending += row.args
        elif row.op == "mul" and row.args[0] == row.args[1]:
            result.add(row.args[0])
    return result


def _bounds(program: Program) -> dict[int, Fraction]:
    """Return {row: lower bound of its computed value} of the rows that are nonnegative by their
    form.
    """
    bounds: dict[int, Fraction] = {}
    real = REALS[program.real]
    for index, (op, args, value, _, _) in enumerate(program.rows):
        if op == "const" and value >= real.least:
            bounds[index] = Fraction(real.rounded(value))
        elif op == "mul" and (args[0] == args[1] or all(a in bounds for a in args)):
            bounds[index] = Fraction(0)  # a product of small numbers may be flushed
        elif op == "add" and all(a in bounds for a in args):
            bounds[index] = max(bounds[a] for a in args)
        elif op == "sqrt" and args[0] in bounds:
            bounds[index] = _root(bounds[args[0]], program.real)
    return bounds


def _root(square: Fraction, real: str) -> Fraction:
    """Return the largest number of the type that does not exceed the root."""
    below = Fraction(isqrt((square.numerator << 2 * _BITS) // square.denominator), 1 << _BITS)
    nearest = REALS[real].nearest(below)
    return nearest if nearest <= below else nearest - REALS[real].spacing(float(below))
