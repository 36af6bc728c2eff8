"""The shortest of several ways to differentiate a Program."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from symgen.ir import passes
from symgen.ir.program import Program
from symgen.pipeline import parallel
from symgen.pipeline.differentiation import forward, hessian, implicit, jacobian, reverse
from symgen.pipeline.differentiation.implicit import Equation
from symgen.pipeline.differentiation.length import lengths
from symgen.pipeline.differentiation.series import expanded
from symgen.pipeline.serialize import from_plain, to_plain
from symgen.vocabulary.derivatives import Derivative


def differentiated(
    program: Program, wanted: Derivative, name: str, equation: Equation | None = None
) -> Program:
    """The derivative of a Program by `wanted.by`, after all passes and called `name`: of several ways the shortest.

    Its arguments are those of the Program and, before those at run time, changes dx or weights y_bar; its results are what
    `symgen.vocabulary.functions.derived` says. `equation` is what the Program solves, if that is known: then that is shorter.
    """
    if equation is not None:
        idle = equation.idle(wanted.by)
        implicitly = IMPLICIT[wanted.mode]
        long = lengths(equation.program, wanted.mode, equation.of(wanted.by))
        return _shortest(
            program,
            [partial(way, program, equation, wanted.by, name) for way in implicitly],
            lambda found: passes.run(implicit.without(found, idle)),
            min(long),
        )
    long = lengths(program, wanted.mode, wanted.by)
    ways = [
        way for way, rows in zip(WAYS[wanted.mode], long, strict=True) if rows <= MUCH * min(long)
    ]
    # A turn that is told from a quaternion keeps |q|, so that e·de is −w dw: but where nothing turns, only the first is exact.
    run = passes.as_recorded if "atan2" in program.operations else passes.run
    return _shortest(
        program,
        [partial(way, program, wanted.by, name) for way in ways],
        lambda found: run(expanded(found)),
        min(long),
    )


def _shortest(
    base: Program,
    ways: Sequence[Callable[[], Program]],
    finish: Callable[[Program], Program],
    rows: int,
) -> Program:
    """Build and finish Programs, at the same time where they have many rows; return the first of the shortest."""

    def build(way: Callable[[], Program]) -> Program:
        return finish(way())

    jobs = [partial(build, way) for way in ways]
    found: dict[int, Program | _Sent] = {}
    if len(jobs) > 1 and rows > MANY:
        found = parallel.run(jobs, to_plain=_Sent.of, from_plain=lambda plain: _Sent(*plain))
    found |= {k: job() for k, job in enumerate(jobs) if k not in found}
    least = min(range(len(jobs)), key=lambda k: found[k].cost)
    shortest = found[least]
    return shortest.program(base) if isinstance(shortest, _Sent) else shortest


@dataclass(frozen=True)
class _Sent:
    """A derivative as another process has sent it: its rows are read only where it is the shortest."""

    cost: int
    text: str

    @staticmethod
    def of(program: Program) -> tuple[int, str]:
        return program.cost, json.dumps(to_plain(program), separators=(",", ":"))

    def program(self, base: Program) -> Program:
        """The derivative, of this Program."""
        found = from_plain(json.loads(self.text))
        assert found is not None, "it is what `of` wrote"
        return replace(found, origin=base.origin, rounds=base.rounds)


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
MANY = 20_000
"""Rows, about, of derivatives that take long enough to be worth processes of their own."""
