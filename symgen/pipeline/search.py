"""Search for fewer operations (`--effort high`). Its rounds are counted, so that the same request
gets the same rows.

An interrupted search ends with its best result, and the Program states the number of rounds
(`Program.rounds`). A search with that number of rounds (`ProgramOptions.rounds`) has the same
result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from random import Random

from symgen.ir import passes
from symgen.ir.program import Program
from symgen.support import cache

Announce = Callable[[str], None]
"""Function that is called with a description of each step."""

ROUNDS, AGAIN = 40, 3
"""Rounds of a search through SPAN rows, and the number of restarts: a random search finds other
results each time.
"""
SPAN = 1300
"""Number of rows that are compared with each other; in a longer Program, the window moves in each
round.
"""
MOVES = 120
"""Number of moves that a round tries for each way of computing a value."""

_announce: ContextVar[Announce | None] = ContextVar("told", default=None)


@contextmanager
def announcing(announce: Announce) -> Iterator[None]:
    """Call `announce` at the start of every search inside the block, and at every improvement."""
    token = _announce.set(announce)
    try:
        yield
    finally:
        _announce.reset(token)


def search_program(finished: Program, unsearched: Program, most: int | None) -> Program:
    """Return `unsearched` or a Program with fewer operations, found from `finished`, the same
    Program before the last passes.

    `most` is the number of rounds after which the search ends; None for the default.
    """
    all_rounds = AGAIN * ROUNDS * max(1, math.ceil(len(finished.rows) / SPAN))
    best, done = _search(
        finished,
        unsearched,
        all_rounds // AGAIN,
        all_rounds if most is None else min(most, all_rounds),
    )
    cache.LOG.info(
        "%s: %d operations after %d of %d rounds, %d without",
        unsearched.function,
        best.cost,
        done,
        all_rounds,
        unsearched.cost,
    )
    return replace(
        best,
        method=unsearched.method,
        real=unsearched.real,
        rounds=done if done < all_rounds else None,
    )


def _search(finished: Program, unsearched: Program, anew: int, most: int) -> tuple[Program, int]:
    """Return (the best Program, number of rounds). The search restarts every `anew` rounds.
    KeyboardInterrupt ends it.
    """
    announce = _announce.get() or (lambda message: None)
    limits, random = passes.Limits(), Random("search")
    best, current = unsearched, finished
    announce(f"searching {unsearched.function}: {unsearched.cost} operations")
    for round_number in range(most):
        try:
            current = finished if round_number % anew == 0 else current
            start = int(random.random() * max(1, len(current.rows) - SPAN + 1))
            candidate = passes.search_round(
                current, limits, random, range(start, start + SPAN), MOVES
            )
        except KeyboardInterrupt:
            return best, round_number
        current = candidate if candidate.cost <= current.cost else current
        polished = passes.replace_opaque_ones(current)
        if (polished.cost, polished.temporaries) < (best.cost, best.temporaries):
            best = polished
            announce(f"searching {unsearched.function}: {unsearched.cost} → {best.cost} operations")
    return best, most
