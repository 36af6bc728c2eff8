"""Numbers that are 1, which the passes do not know (`symgen.ir.program.ONES`): what is equal for that reason alone is computed apart.

A damped solve with an ill-conditioned matrix needs that. Each unknown is off by far more than their sum, in which these errors
cancel; where two of them are equal and one stands for both, they no longer do.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from symgen.ir.program import ONES, Program


def apart(program: Program) -> bool:
    """Whether it has such numbers."""
    return bool(program.inputs) and program.inputs[-1].name == ONES


def told(program: Program) -> Program:
    """The Program in which they are constants."""
    last = len(program.inputs) - 1
    rows = [
        row._replace(op="const", value=Fraction(1))
        if row.op == "input" and row.value[0] == last
        else row
        for row in program.rows
    ]
    return replace(program, inputs=program.inputs[:-1], rows=tuple(rows))
