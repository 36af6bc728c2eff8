"""The rules of a Recursion and of its steps."""

from __future__ import annotations

from typing import Any

from symgen.ir.program import Program
from symgen.ir.program import check as check_program
from symgen.ir.recursion.form import (
    CARRIED,
    ENDED,
    JOINS,
    KEPT,
    TABLE,
    Kind,
    Recursion,
    Sweep,
    steps_of,
)
from symgen.support.errors import ProgramError


def check(recursion: Recursion) -> Recursion:
    """Check the rules of a Recursion and of its steps. Returns it unchanged, or raises ProgramError naming the first place that
    breaks one.
    """
    here = f"{recursion.function}/{recursion.method}"

    def fail(what: str) -> None:
        raise ProgramError(f"{here}: {what}")

    n = len(recursion)
    if not len(recursion.of) == len(recursion.tables) == n:
        fail("links, their classes and the rows of the table are not equally many")
    for i, parent in enumerate(recursion.parents):
        if not -1 <= parent < i:
            fail(f"the parent of link {i} does not stand before it")
        if not 0 <= recursion.of[i] < len(recursion.kinds):
            fail(f"link {i} is of no class")
        if len(recursion.tables[i]) != recursion.kinds[recursion.of[i]].width:
            fail(
                f"link {i} has {len(recursion.tables[i])} constants, not {recursion.kinds[recursion.of[i]].width}"
            )
    if {step.real for step in steps_of(recursion)} - {recursion.real}:
        fail("its steps are of another real type")
    known = {port.name for port in recursion.inputs}
    for s, sweep in enumerate(recursion.sweeps):
        if not len(sweep.steps) == len(sweep.first) == len(recursion.kinds):
            fail(f"sweep {s} has not one step a class")
        gathers = sweep.inward and sweep.tip < 0
        if (sweep.joins and not gathers) or (gathers and len(sweep.joins) != len(sweep.start)):
            fail(f"sweep {s} joins what it does not carry inward")
        if sweep.tip >= n:
            fail(f"sweep {s} goes to no link")
        if not set(sweep.joins) <= set(JOINS):
            fail(f"sweep {s} joins by none of {', '.join(JOINS)}")
        for kind, step, first in zip(recursion.kinds, sweep.steps, sweep.first, strict=True):
            _check_step(recursion, s, sweep, kind, check_program(step), first, known, fail)
    for end in recursion.ends:
        sweep = recursion.sweeps[end.sweep]
        if (
            not all(0 <= e < len(sweep.start) for e in end.elements)
            or not -sweep.inward <= end.link < n
            or (sweep.tip >= 0 and end.link != recursion.visited(sweep)[-1])
        ):
            fail(f"result '{end.name}' ends nowhere")
    if recursion.last is not None:
        check_program(recursion.last)
        ended = sum(len(end.elements) for end in recursion.ends if end.name == ENDED)
        if [(port.name, port.size) for port in recursion.last.inputs] != [(ENDED, ended)]:
            fail("what makes its results in the end does not take what the sweeps carry there")
    given = {end.name for end in recursion.ends} | {
        port.name for step in steps_of(recursion) for port in step.outputs
    } - {KEPT, CARRIED}
    if given - {ENDED} != {port.name for port in recursion.outputs}:
        fail("its results are not those of its steps")
    return recursion


def _check_step(
    recursion: Recursion,
    s: int,
    sweep: Sweep,
    kind: Kind,
    step: Program,
    first: int,
    known: set[str],
    fail: Any,
) -> None:
    sizes = {TABLE: kind.width, KEPT: recursion.work, CARRIED: len(sweep.start)}
    for port in step.inputs:
        if port.name not in sizes and port.name not in known:
            fail(f"sweep {s} of {kind.name} takes '{port.name}', which the function does not")
        if port.size != (
            sizes[port.name] if port.name in sizes else recursion.width(port.name, kind)
        ):
            fail(f"sweep {s} of {kind.name} takes {port.size} of '{port.name}'")
    for port in step.outputs:
        if port.name == KEPT and first + port.size > recursion.work:
            fail(f"sweep {s} of {kind.name} keeps more than there is room for")
        if port.name == CARRIED and port.size != len(sweep.start):
            fail(f"sweep {s} of {kind.name} hands on {port.size} numbers, not {len(sweep.start)}")
    if sweep.start and all(port.name != CARRIED for port in step.outputs):
        fail(f"sweep {s} of {kind.name} hands on nothing")
