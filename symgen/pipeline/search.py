"""`--effort high`: fewer operations by a long search, whose rounds are counted, so that the same request gets the same rows.

A search that somebody interrupts ends with what it has found, and says after how many rounds (`Program.rounds`). Asked for as
many (`ProgramOptions.rounds`) it finds the same.
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

Told = Callable[[str], None]
"""Called with what is being done."""

ROUNDS, AGAIN = 40, 3
"""Of a search through SPAN rows, and how often it begins anew: chance leads it elsewhere."""
SPAN = 1300
"""Rows that are compared with each other; of a longer Program, at another place in each round."""
MOVES = 120
"""That a round tries for each way of computing a value."""

_told: ContextVar[Told | None] = ContextVar("told", default=None)


@contextmanager
def telling(told: Told) -> Iterator[None]:
    """Tell `told` of every search within, and whenever it has found something."""
    before = _told.set(told)
    try:
        yield
    finally:
        _told.reset(before)


def searched(finished: Program, plain: Program, most: int | None) -> Program:
    """`plain`, or a Program of fewer operations, from `finished`: the same before the passes that come last.

    `most` are the rounds after which the search ends, None where it has found enough.
    """
    whole = AGAIN * ROUNDS * max(1, math.ceil(len(finished.rows) / SPAN))
    best, done = _search(
        finished, plain, whole // AGAIN, whole if most is None else min(most, whole)
    )
    cache.LOG.info(
        "%s: %d operations after %d of %d rounds, %d without",
        plain.function,
        best.cost,
        done,
        whole,
        plain.cost,
    )
    return replace(
        best, method=plain.method, real=plain.real, rounds=done if done < whole else None
    )


def _search(finished: Program, plain: Program, anew: int, most: int) -> tuple[Program, int]:
    """(The best, rounds). Every so many rounds it begins `anew`. KeyboardInterrupt ends it."""
    told = _told.get() or (lambda what: None)
    limits, random = passes.Limits(), Random("search")
    best, found = plain, finished
    told(f"searching {plain.function}: {plain.cost} operations")
    for n in range(most):
        try:
            found = finished if n % anew == 0 else found
            start = int(random.random() * max(1, len(found.rows) - SPAN + 1))
            after = passes.search_round(found, limits, random, range(start, start + SPAN), MOVES)
        except KeyboardInterrupt:
            return best, n
        found = after if after.cost <= found.cost else found
        told_all = passes.replace_opaque_ones(found)
        if (told_all.cost, told_all.temporaries) < (best.cost, best.temporaries):
            best = told_all
            told(f"searching {plain.function}: {plain.cost} → {best.cost} operations")
    return best, most
