"""Requirements of a Program on its C: the computed rows, the shapes of the arguments, and checks.

The requirements follow from the rows and from the certified bounds of the divisors only. They do
not depend on the printer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from symgen.ir.loops import Form
from symgen.ir.program import Bound, Program
from symgen.vocabulary.arrays import Size
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.reals import REALS

STATUSES = (
    "OK",
    "NOT_FINITE",
    "OUT_OF_RANGE",
    "DIVISOR",
    "NOT_UNIT",
    "NO_WORK",
    "RESULT_NOT_FINITE",
)
"""Status codes of a checked function, counted from 0, without the prefix NAME_."""
FARTHEST = Fraction(2**15)
"""Largest angle (rad) of the text's own sine and cosine (NAME_sincos.h)."""


def unit_length_tolerance(real: str) -> Fraction:
    """Return the largest difference between 1 and the squared length of a unit quaternion."""
    return Fraction(1, 4096 if REALS[real].digits < 50 else 1048576)


class LowerBound(NamedTuple):
    """Lower bound that a checked function must verify: of the magnitude or the value of a row."""

    magnitude: bool
    least: Bound


def computed(program: Program) -> list[int]:
    """Return the rows on which a result depends, ascending."""
    rows_needed: set[int] = set()
    unvisited = [row for port in program.outputs for row in port.rows]
    while unvisited:
        row = unvisited.pop()
        if row not in rows_needed:
            rows_needed.add(row)
            unvisited += program.rows[row].args
    return sorted(rows_needed)


def shapes(program: Form) -> list[tuple[Size, ...]]:
    """Return the shape of each argument, then of each result.

    Sizes that the table of functions states by name are names: NQ, NV, NB, NF or NW.
    """
    declared = FUNCTIONS.get(program.function)
    named = (
        {
            array.name: array
            for array in (*declared.arguments, *declared.results, *declared.depends_on)
        }
        if declared
        else {}
    )
    return [
        named[port.name].laid_out(port.shape).shape if port.name in named else port.shape
        for port in (*program.inputs, *program.outputs)
    ]


def angle_rows(program: Program, rows: Sequence[int]) -> set[int]:
    """Return the rows that are operands of a sine or cosine."""
    return {program.rows[i].args[0] for i in rows if program.rows[i].op in ("sin", "cos")}


def finite(program: Program, rows: Sequence[int]) -> set[int]:
    """Return the rows that must be finite: results, divisors and operands of atan2.

    Constants and arguments of the Program are left out. For all other operations, an operand that
    is not finite makes the result not finite.
    """
    compared_rows = {row for port in program.outputs for row in port.rows}
    for i in rows:
        op, args = program.rows[i].op, program.rows[i].args
        if op in ("div", "atan2"):
            compared_rows |= {args[-1], args[0]} if op == "atan2" else {args[-1]}
    return {row for row in compared_rows if program.rows[row].op not in ("const", "input")}


def bounds(
    program: Program, rows: Sequence[int], divisor_bounds: Mapping[int, Bound]
) -> dict[int, LowerBound]:
    """Return the lower bounds of divisors, and of operands of logarithms and roots, by row.

    A certified divisor has its certified bound. The magnitude of any other divisor is at least the
    smallest normal number. The operand of a logarithm is at least the smallest normal number. The
    operand of a root is at least zero.
    """
    smallest_normal = REALS[program.real].least
    bounds_by_row: dict[int, LowerBound] = {}
    for i in rows:
        op, args = program.rows[i].op, program.rows[i].args
        if op not in ("div", "log", "sqrt") or program.rows[args[-1]].op == "const":
            continue
        row = args[-1]
        if row in divisor_bounds:
            bounds_by_row[row] = LowerBound(False, divisor_bounds[row])
            continue
        bound = LowerBound(op == "div", Fraction(0) if op == "sqrt" else smallest_normal)
        earlier = bounds_by_row.get(row, bound)
        bounds_by_row[row] = LowerBound(
            bound.magnitude and earlier.magnitude, max(bound.least, earlier.least)
        )
    return bounds_by_row
