"""Opaque ones (`symgen.ir.program.ONES`): inputs with value 1 that passes treat as unknown numbers.

Values that are equal only because these are 1 are thus computed separately, which a damped solve
with an ill-conditioned matrix needs. Each unknown has a much larger error than the sum of the
unknowns, in which these errors cancel. If one value stood for two equal unknowns, they would not
cancel any more.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from symgen.ir.program import ONES, Program


def has_opaque_ones(program: Program) -> bool:
    """Return whether the Program's last input holds opaque ones."""
    return bool(program.inputs) and program.inputs[-1].name == ONES


def with_constant_ones(program: Program) -> Program:
    """Return the Program with its opaque ones as constants."""
    last = len(program.inputs) - 1
    rows = [
        row._replace(op="const", value=Fraction(1))
        if row.op == "input" and row.value[0] == last
        else row
        for row in program.rows
    ]
    return replace(program, inputs=program.inputs[:-1], rows=tuple(rows))
