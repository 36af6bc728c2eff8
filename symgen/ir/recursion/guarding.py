"""A Recursion whose steps give what is compared with something before any result may be stored: divisors, and angles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from symgen.ir.program import Port, Program
from symgen.ir.recursion.form import GUARD, Recursion, Sweep, angle_of


def guarded(
    recursion: Recursion, rows: Callable[[Program], Sequence[int]], angles: bool
) -> Recursion:
    """The same where each step gives `rows` of itself as well, as GUARD. If `angles`, the angles of a sweep that takes nothing
    but sines and cosines are given by a sweep before it.
    """
    sweeps: list[Sweep] = []
    moved = []
    for sweep in recursion.sweeps:
        if angles and any(angle_of(step) for step in sweep.steps):
            sweeps.append(
                replace(sweep, steps=tuple(map(_angle, sweep.steps)), first=(0,) * len(sweep.steps))
            )
        moved.append(len(sweeps))
        sweeps.append(replace(sweep, steps=tuple(_with(step, rows(step)) for step in sweep.steps)))
    last, looked = recursion.last, None
    if last and rows(last):
        looked = replace(last, outputs=_with(last, rows(last)).outputs[-1:])
    ends = tuple(end._replace(sweep=moved[end.sweep]) for end in recursion.ends)
    return replace(recursion, sweeps=tuple(sweeps), looked=looked, ends=ends)


def unseen(recursion: Recursion) -> bool:
    """Whether it takes a sine of what such a sweep would not give."""
    return any(
        row.op in ("sin", "cos")
        for step in recursion.programs
        if not angle_of(step)
        for row in step.rows
    )


def _with(step: Program, rows: Sequence[int]) -> Program:
    if not rows:
        return step
    return replace(step, outputs=(*step.outputs, Port(GUARD, (len(rows),), tuple(rows))))


def _angle(step: Program) -> Program:
    """A step that gives the angle alone; none where there is no angle."""
    angle = angle_of(step)
    if angle is None:
        return replace(step, rows=(), outputs=())
    return replace(
        angle.program, outputs=tuple(port._replace(name=GUARD) for port in angle.program.outputs)
    )
