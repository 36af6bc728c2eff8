"""Requirements of a Program on its C: the rows that are computed, the sizes of its arguments, and
the checks of a checked function.

All of it follows from the rows and from the certified bounds of the divisors. What a printer thinks
of it is not asked.
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
"""Status codes of a checked function, from 0 on, without the prefix NAME_."""
FARTHEST = Fraction(2**15)
"""The largest angle (rad) that an own sine and cosine (NAME_sincos.h) may be given."""


def length(real: str) -> Fraction:
    """By how much the square of a quaternion's length may differ from 1."""
    return Fraction(1, 4096 if REALS[real].digits < 50 else 1048576)


class Owed(NamedTuple):
    """A lower bound of a row: of its magnitude, or of the row itself with its sign."""

    magnitude: bool
    least: Bound


def computed(program: Program) -> list[int]:
    """The rows that some result needs, ascending."""
    rows_needed: set[int] = set()
    open_ = [row for port in program.outputs for row in port.rows]
    while open_:
        row = open_.pop()
        if row not in rows_needed:
            rows_needed.add(row)
            open_ += program.rows[row].args
    return sorted(rows_needed)


def shapes(program: Form) -> list[tuple[Size, ...]]:
    """The shape of every argument, then of every result, in NQ, NV, NB, NF and NW where the table
    of functions has it so.
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
    """The rows whose sine or cosine is taken."""
    return {program.rows[i].args[0] for i in rows if program.rows[i].op in ("sin", "cos")}


def finite(program: Program, rows: Sequence[int]) -> set[int]:
    """Rows that must be finite: results, divisors and arguments of atan2, all but constants and
    arguments of the Program.

    An operand of any other operation that is not finite makes the result of the operation not
    finite.
    """
    compared_rows = {row for port in program.outputs for row in port.rows}
    for i in rows:
        op, args = program.rows[i].op, program.rows[i].args
        if op in ("div", "atan2"):
            compared_rows |= {args[-1], args[0]} if op == "atan2" else {args[-1]}
    return {row for row in compared_rows if program.rows[row].op not in ("const", "input")}


def bounds(
    program: Program, rows: Sequence[int], divisor_bounds: Mapping[int, Bound]
) -> dict[int, Owed]:
    """Return the bounds of divisors, and of operands of logarithms and roots.

    A certified divisor keeps to its floor. Any other has at least the magnitude of a normal number.
    What a logarithm is taken of is at least as large, and positive; what a root is taken of is not
    negative.
    """
    smallest_normal = REALS[program.real].least
    owed_by_row: dict[int, Owed] = {}
    for i in rows:
        op, args = program.rows[i].op, program.rows[i].args
        if op not in ("div", "log", "sqrt") or program.rows[args[-1]].op == "const":
            continue
        row = args[-1]
        if row in divisor_bounds:
            owed_by_row[row] = Owed(False, divisor_bounds[row])
            continue
        owed = Owed(op == "div", Fraction(0) if op == "sqrt" else smallest_normal)
        earlier = owed_by_row.get(row, owed)
        owed_by_row[row] = Owed(
            owed.magnitude and earlier.magnitude, max(owed.least, earlier.least)
        )
    return owed_by_row
