"""Forward mode over reverse mode: what the weights of the arguments change by, a Hessian times a vector."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.ir.program import Program
from symgen.pipeline.differentiation.forward import jvp
from symgen.pipeline.differentiation.reverse import vjp


def hvp(program: Program, by: Sequence[str], function: str = "") -> Program:
    """What the weights x_bar of the arguments `by` change by, dx_bar, when those change by dx. No pass has run over it."""
    return jvp(vjp(program, by), by, function)
