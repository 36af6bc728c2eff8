"""Program → Program, one verb a file; `PIPELINE` is the order they run in, the IR checked after each."""

from __future__ import annotations

from symgen.ir import Program, check
from symgen.passes._spare import behind, without_spare
from symgen.passes.balance import balance
from symgen.passes.divide import divide
from symgen.passes.eliminate import eliminate
from symgen.passes.factor import factor
from symgen.passes.fold import fold
from symgen.passes.gather import gather
from symgen.passes.recognize import recognize
from symgen.passes.value_number import value_number

FIRST = (eliminate, value_number)
"""After these, no row is idle or repeated: what is left over changes the count by a few per cent."""
PIPELINE = (
    *FIRST, fold, recognize, fold, eliminate, gather, factor, value_number, fold, eliminate, divide, balance, eliminate,
)


def cost(begun: Program) -> int:
    """mul + add + div after the passes of FIRST, without what is spare."""
    return eliminate(without_spare(begun)).cost


def begin(program: Program) -> Program:
    """The passes of FIRST."""
    return _through(behind(check(program)), 0, len(FIRST))


def finish(program: Program) -> Program:
    """The passes behind those of FIRST. What is spare is left out where it does not save operations in the end."""
    finished = _through(program, len(FIRST), len(PIPELINE))
    plain = without_spare(program)
    if plain is program:
        return finished
    without = _through(eliminate(plain), len(FIRST), len(PIPELINE))
    return finished if finished.cost < without.cost else without


def run(program: Program) -> Program:
    """All passes in order."""
    return finish(begin(program))


def as_recorded(program: Program) -> Program:
    """All passes but `recognize`: what can be computed in two ways is computed in the one that was recorded.

    For what is exact in one of them where the other cancels, at states that `recognize` does not try.
    """
    return _through(program, 0, len(PIPELINE), but=recognize)


def _through(program: Program, start: int, end: int, but: object = None) -> Program:
    for one in PIPELINE[start:end]:
        program = program if one is but else one(program)
    return check(program)
