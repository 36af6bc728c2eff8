"""Divisors that are sums of squares and a positive constant: no state and no rounding takes them below that constant.

Rounding to nearest is monotone. So a square is computed as no less than 0, a sum of two numbers that are no less than 0 as no
less than the larger bound, and the root of what is no less than a number of the type as no less than that number's own root. A
fused a·b + c is as monotone. Nothing is assumed of the state but that nothing overflows. And a share of a length is no longer
than the length.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import isqrt

from symgen.ir.program import Program
from symgen.vocabulary.reals import REALS

_BITS = 200
"""Of a root, before it is rounded down to the type."""


def least(program: Program, wanted: Iterable[int]) -> dict[int, Fraction]:
    """{row: bound} of the rows in `wanted` whose computed value has a positive bound: numbers of the type, as the rows' units."""
    bounds = _bounds(program)
    return {row: bounds[row] for row in wanted if bounds.get(row, 0) > 0}


def shares(program: Program) -> dict[int, Fraction]:
    """{row: bound of its magnitude} of x·(1/√S), where S is a sum of squares, that of x among them, and a positive constant.

    Such a share is at most 1, and computed as at most 2: S is computed as no less than x² is, and four roundings follow. Where x²
    is so small that it is flushed, the constant is larger.
    """
    bounds, rows, flushed = _bounds(program), program.rows, 4 * REALS[program.real].least
    found: dict[int, Fraction] = {}
    for index, (op, args, _, _, _) in enumerate(rows):
        for x, other in (args, args[::-1]) if op == "mul" else ():
            turned = rows[other]
            if (
                turned.op == "div"
                and rows[turned.args[0]].value == 1
                and rows[turned.args[1]].op == "sqrt"
            ):
                (square,) = rows[turned.args[1]].args
                if bounds.get(square, 0) >= flushed and x in _squared(program, square):
                    found[index] = Fraction(2)
    return found


def _squared(program: Program, total: int) -> set[int]:
    """The rows whose squares are terms of a sum."""
    found: set[int] = set()
    open_ = [total]
    while open_:
        row = program.rows[open_.pop()]
        if row.op == "add":
            open_ += row.args
        elif row.op == "mul" and row.args[0] == row.args[1]:
            found.add(row.args[0])
    return found


def _bounds(program: Program) -> dict[int, Fraction]:
    """{row: lower bound of its computed value} of the rows that are never negative by their form."""
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
    """The largest number of the type that is no more than the root."""
    below = Fraction(isqrt((square.numerator << 2 * _BITS) // square.denominator), 1 << _BITS)
    nearest = REALS[real].nearest(below)
    return nearest if nearest <= below else nearest - REALS[real].spacing(float(below))
