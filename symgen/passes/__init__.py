"""Program → Program, one verb a file; `PIPELINE` is the order they run in, the IR checked after each."""

from __future__ import annotations

from symgen.ir import Program, check
from symgen.passes.divide import divide
from symgen.passes.eliminate import eliminate
from symgen.passes.factor import factor
from symgen.passes.fold import fold
from symgen.passes.gather import gather
from symgen.passes.value_number import value_number

PIPELINE = (
    eliminate, value_number, fold, value_number, eliminate, gather, factor, value_number, fold, eliminate, divide, eliminate,
)


def run(program: Program) -> Program:
    """All passes in order."""
    check(program)
    for one in PIPELINE:
        program = check(one(program))
    return program
