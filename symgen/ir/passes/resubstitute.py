"""Compute a value as the sum or product of other values that exist, if that frees rows that nothing
else uses.

Factoring, distributing, another order of addition and the identities of angles are special cases:
a·x + b·x is one product if a + b exists. Possible equalities are found modulo a prime
(`_pair_matches`), and must not increase round-off (`_candidates`). The result is proved at another
point modulo another prime.
"""

from __future__ import annotations

from random import Random

from symgen.ir.passes._candidates import Limits
from symgen.ir.passes._search import improve
from symgen.ir.program import Program

SPAN, LONGEST = 1100, 4000
"""Rows that are compared with each other, in consecutive spans of a longer Program; a Program above
LONGEST is not changed.
"""
MOVES = 8
"""Moves of the search per way of computing a value."""


def resubstitute(program: Program) -> Program:
    """Return the Program with fewer operations, if values can be computed from others with fewer
    rows; see the module docstring.
    """
    if len(program.rows) > LONGEST:
        return program
    best, limits, random = program, Limits(), Random("resubstitute")
    for start in range(0, len(program.rows), SPAN):
        best = improve(best, limits, random, range(start, start + SPAN), MOVES, thorough=False)
    return best if best.cost < program.cost else program
