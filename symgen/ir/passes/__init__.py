"""Passes from Program to Program, one verb per file; `PIPELINE` is their order. The Program is
checked after each group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from symgen.ir.passes import _opaque_ones
from symgen.ir.passes._alternatives import with_spare_rows_last, without_spare
from symgen.ir.passes._candidates import Limits as Limits
from symgen.ir.passes._search import improve
from symgen.ir.passes.balance import balance
from symgen.ir.passes.divide import divide
from symgen.ir.passes.eliminate import eliminate
from symgen.ir.passes.factor import factor
from symgen.ir.passes.fold import fold
from symgen.ir.passes.merge_equal import merge_equal
from symgen.ir.passes.reassociate_constants import reassociate_constants
from symgen.ir.passes.resubstitute import resubstitute
from symgen.ir.passes.value_number import value_number
from symgen.ir.program import Program, check

FIRST = (eliminate, value_number)
"""After these, no row is dead or repeated; all other passes change the count by a few per cent."""
PIPELINE = (
    *FIRST,
    fold,
    merge_equal,
    fold,
    eliminate,
    reassociate_constants,
    factor,
    value_number,
    fold,
    eliminate,
    divide,
    balance,
    eliminate,
)
LAST = (
    resubstitute,
    fold,
    eliminate,
    reassociate_constants,
    factor,
    value_number,
    fold,
    eliminate,
    divide,
    balance,
    eliminate,
)
"""The search for other rows, and the passes that use what it exposes. It takes as long as PIPELINE,
so that it runs only for the Program chosen in the end.
"""


def cost(begun: Program) -> int:
    """Return mul + add + div after the passes of FIRST, without spare rows."""
    return eliminate(without_spare(begun)).cost


def begin(program: Program) -> Program:
    """Run the passes of FIRST on a Program as it was recorded."""
    program = with_spare_rows_last(check(program))
    for apply in FIRST:
        program = apply(program)
    return check(program)


def finish(program: Program) -> Program:
    """Run the passes of PIPELINE after those of FIRST."""
    return _apply_all(program, PIPELINE[len(FIRST) :])


def shortest_finished(begun: list[Program]) -> Program:
    """Return the shortest of some Programs after `finish`.

    Its spare rows are removed first unless they save operations in the end.
    """
    finished = [finish(program) for program in begun]
    shortest = min(range(len(begun)), key=lambda i: finished[i].cost)
    without_alternatives = without_spare(begun[shortest])
    if without_alternatives is begun[shortest]:
        return finished[shortest]
    finished_without = finish(eliminate(without_alternatives))
    return (
        finished[shortest] if finished[shortest].cost < finished_without.cost else finished_without
    )


def polish(finished: Program) -> Program:
    """Run the passes of LAST."""
    return _apply_all(finished, LAST)


def replace_opaque_ones(program: Program) -> Program:
    """Return the Program with its opaque ones (`symgen.ir.program.ONES`) replaced by the constant
    1, simplified again.
    """
    return (
        _apply_all(_opaque_ones.with_constant_ones(program), (value_number, *LAST[1:]))
        if _opaque_ones.has_opaque_ones(program)
        else program
    )


def search_round(
    program: Program, limits: Limits, random: Random, span: range, moves: int
) -> Program:
    """Run one round of a thorough search for fewer operations (`_search.improve`)."""
    return _apply_all(improve(program, limits, random, span, moves, thorough=True), LAST[1:])


def run(program: Program) -> Program:
    """Run all passes in order."""
    return replace_opaque_ones(polish(shortest_finished([begin(program)])))


def as_recorded(program: Program) -> Program:
    """Run the passes of PIPELINE except `merge_equal`, so that each value is computed the way it
    was recorded.

    That keeps a formula that is exact if another cancels at states that `merge_equal` does not
    sample.
    """
    return _apply_all(program, [apply for apply in PIPELINE if apply is not merge_equal])


def _apply_all(program: Program, passes: Iterable[Callable[[Program], Program]]) -> Program:
    for apply in passes:
        program = apply(program)
    return check(program)
