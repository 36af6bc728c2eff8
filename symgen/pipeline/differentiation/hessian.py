"""Forward over reverse mode: the changes of the arguments' weights, a Hessian times a vector."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.ir.program import Program
from symgen.pipeline.differentiation.forward import jvp
from symgen.pipeline.differentiation.reverse import vjp


def hvp(program: Program, by: Sequence[str], function: str = "") -> Program:
    """Return the changes dx_bar of the weights x_bar of the arguments `by`, when these change by
    dx; before any pass.
    """
    return jvp(vjp(program, by), by, function)
