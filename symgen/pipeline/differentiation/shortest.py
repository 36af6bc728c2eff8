"""Choice of the shortest of several ways to differentiate a Program."""

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


def shortest_derivative(
    program: Program, derivative: Derivative, name: str, equation: Equation | None = None
) -> Program:
    """Return the derivative of a Program by `derivative.by`, after all passes and with this `name`:
    the shortest of several ways.

    Its arguments are those of the Program and, before those at run time, changes dx or weights
    y_bar. Its results are those of `symgen.vocabulary.functions.derived`. `equation` is the
    equation that the Program solves, if it is known: then its way is the shortest.
    """
    if equation is not None:
        idle = equation.idle(derivative.by)
        implicitly = IMPLICIT[derivative.mode]
        estimates = lengths(equation.program, derivative.mode, equation.of(derivative.by))
        return _shortest(
            program,
            [partial(way, program, equation, derivative.by, name) for way in implicitly],
            lambda program_with_zeros: passes.run(implicit.without(program_with_zeros, idle)),
            min(estimates),
        )
    estimates = lengths(program, derivative.mode, derivative.by)
    ways = [
        way
        for way, rows in zip(WAYS[derivative.mode], estimates, strict=True)
        if rows <= MUCH * min(estimates)
    ]
    # For a unit quaternion e·de equals −w dw, but near zero rotation only e·de is exact: keep the
    # rows as recorded.
    run = passes.as_recorded if "atan2" in program.operations else passes.run
    return _shortest(
        program,
        [partial(way, program, derivative.by, name) for way in ways],
        lambda recorded: run(expanded(recorded)),
        min(estimates),
    )


def _shortest(
    base: Program,
    ways: Sequence[Callable[[], Program]],
    finish: Callable[[Program], Program],
    rows: int,
) -> Program:
    """Return the first of the shortest Programs, built and finished in parallel if they have many
    rows.
    """

    def build(build_draft: Callable[[], Program]) -> Program:
        return finish(build_draft())

    jobs = [partial(build, way) for way in ways]
    results: dict[int, Program | _Sent] = {}
    if len(jobs) > 1 and rows > MANY:
        results = parallel.run(jobs, to_plain=_Sent.of, from_plain=lambda fields: _Sent(*fields))
    results |= {k: job() for k, job in enumerate(jobs) if k not in results}
    least = min(range(len(jobs)), key=lambda k: results[k].cost)
    shortest = results[least]
    return shortest.program(base) if isinstance(shortest, _Sent) else shortest


@dataclass(frozen=True)
class _Sent:
    """A derivative that another process has sent; its rows are read only if it is the shortest."""

    cost: int
    text: str

    @staticmethod
    def of(program: Program) -> tuple[int, str]:
        return program.cost, json.dumps(to_plain(program), separators=(",", ":"))

    def program(self, base: Program) -> Program:
        """Return the derivative, with the origin of this Program."""
        received = from_plain(json.loads(self.text))
        assert received is not None, "it is what `of` wrote"
        return replace(received, origin=base.origin, rounds=base.rounds)


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
"""A way that is this many times longer than another before the passes is never shorter after them.
"""
MANY = 20_000
"""Approximate number of rows above which derivatives are worth separate processes."""
