"""The shortest of several ways to differentiate a Program."""

from __future__ import annotations

from collections.abc import Callable

from symgen.ir import passes
from symgen.ir.program import Program
from symgen.pipeline.differentiation import forward, hessian, implicit, jacobian, reverse
from symgen.pipeline.differentiation.implicit import Equation
from symgen.pipeline.differentiation.length import lengths
from symgen.pipeline.differentiation.series import expanded
from symgen.vocabulary.derivatives import Derivative


def differentiated(
    program: Program, wanted: Derivative, name: str, equation: Equation | None = None
) -> Program:
    """The derivative of a Program by `wanted.by`, after all passes and called `name`: of several ways the shortest.

    Its arguments are those of the Program and, before those at run time, changes dx or weights y_bar; its results are what
    `symgen.vocabulary.functions.derived` says. `equation` is what the Program solves, if that is known: then that is shorter.
    """
    if equation is not None:
        solved = [
            passes.run(
                implicit.without(way(program, equation, wanted.by, name), equation.idle(wanted.by))
            )
            for way in IMPLICIT[wanted.mode]
        ]
        return min(solved, key=lambda one: one.cost)
    long = lengths(program, wanted.mode, wanted.by)
    ways = [
        way for way, rows in zip(WAYS[wanted.mode], long, strict=True) if rows <= MUCH * min(long)
    ]
    # A turn that is told from a quaternion keeps |q|, so that e·de is −w dw: but where nothing turns, only the first is exact.
    run = passes.as_recorded if "atan2" in program.operations else passes.run
    return min(
        [run(expanded(way(program, wanted.by, name))) for way in ways], key=lambda one: one.cost
    )


WAYS: dict[str, tuple[Callable[..., Program], ...]] = {
    "jvp": (forward.jvp,),
    "vjp": (reverse.vjp,),
    "jacobian": (jacobian.by_columns, jacobian.by_rows),
    "hvp": (hessian.hvp,),
}
IMPLICIT: dict[str, tuple[Callable[..., Program], ...]] = {
    "jvp": (implicit.jvp,),
    "vjp": (implicit.vjp,),
    "jacobian": (implicit.by_columns, implicit.by_rows),
    "hvp": (implicit.hvp,),
}
MUCH = 3
"""A way that is so many times as long as another before the passes is not shorter behind them."""
