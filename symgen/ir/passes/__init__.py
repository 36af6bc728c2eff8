"""Program → Program, one verb a file; `PIPELINE` is the order they run in, the IR checked after each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from symgen.ir.passes import _opaque_ones
from symgen.ir.passes._alternatives import behind, without_spare
from symgen.ir.passes._candidates import Limits as Limits
from symgen.ir.passes._search import improved
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
"""After these, no row is idle or repeated: what is left over changes the count by a few per cent."""
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
"""The search for other rows, which takes as long as all before it and is made for the Program that is taken in the end, and what
that search lays bare."""


def cost(begun: Program) -> int:
    """mul + add + div after the passes of FIRST, without what is spare."""
    return eliminate(without_spare(begun)).cost


def begin(program: Program) -> Program:
    """Run the passes of FIRST on a Program as it was recorded."""
    program = behind(check(program))
    for apply in FIRST:
        program = apply(program)
    return check(program)


def finish(program: Program) -> Program:
    """The passes behind those of FIRST."""
    return _through(program, PIPELINE[len(FIRST) :])


def least(begun: list[Program]) -> Program:
    """What `finish` makes shortest of some Programs, its spare rows left out where they do not save operations in the end."""
    finished = [finish(one) for one in begun]
    found = min(range(len(begun)), key=lambda i: finished[i].cost)
    plain = without_spare(begun[found])
    if plain is begun[found]:
        return finished[found]
    without = finish(eliminate(plain))
    return finished[found] if finished[found].cost < without.cost else without


def polish(finished: Program) -> Program:
    """The passes of LAST."""
    return _through(finished, LAST)


def told(program: Program) -> Program:
    """The same Program where the numbers that the passes do not know are 1 (`symgen.ir.program.ONES`)."""
    return (
        _through(_opaque_ones.told(program), (value_number, *LAST[1:]))
        if _opaque_ones.apart(program)
        else program
    )


def searched(program: Program, limits: Limits, random: Random, span: range, moves: int) -> Program:
    """A round of a thorough search, with no more operations than before; see `_search.improved`."""
    return _through(improved(program, limits, random, span, moves, thorough=True), LAST[1:])


def run(program: Program) -> Program:
    """All passes in order."""
    return told(polish(least([begin(program)])))


def as_recorded(program: Program) -> Program:
    """The passes of PIPELINE but `merge_equal`: what can be computed in two ways is computed in the one that was recorded.

    For what is exact in one of them where the other cancels, at states that `merge_equal` does not try.
    """
    return _through(program, [one for one in PIPELINE if one is not merge_equal])


def _through(program: Program, some: Iterable[Callable[[Program], Program]]) -> Program:
    for apply in some:
        program = apply(program)
    return check(program)
