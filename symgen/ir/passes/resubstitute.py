"""Compute a value anew as the sum or the product of others that are there, where that frees rows that serve nothing else.

Factoring, distributing, adding in another order and the identities of angles are cases of it: a·x + b·x is one product where
a + b is there. What might be equal is found modulo a prime (`_alternatives`), and has to be no worse in its round-off
(`_candidates`). Afterwards all of it is proved at another point modulo another prime.
"""

from __future__ import annotations

from random import Random

from symgen.ir.passes._candidates import Limits
from symgen.ir.passes._search import improved
from symgen.ir.program import Program

SPAN, LONGEST = 1100, 4000
"""Rows that are compared with each other: of a longer Program, so many behind one another at a time. The longest is left as it
is."""
MOVES = 8
"""That are tried for each way of computing a value."""


def resubstitute(program: Program) -> Program:
    """The same Program with fewer operations, where few rows can stand for more; see the module docstring."""
    if len(program.rows) > LONGEST:
        return program
    found, limits, random = program, Limits(), Random("resubstitute")
    for start in range(0, len(program.rows), SPAN):
        found = improved(found, limits, random, range(start, start + SPAN), MOVES, thorough=False)
    return found if found.cost < program.cost else program
