"""Loops over links for many states beside one at a time: `python -m tests.many_of_loops 100 1000` prints nanoseconds a link.

Both are timed from Python, one thread, over a few thousand links' worth of states and more; the least of five turns counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import symgen
from tests.shared.robots_for_tests import random_mechanism


def least(call: Callable[..., object], states: Sequence[Sequence[Any]]) -> float:
    """Seconds of the quickest of five, of which each calls it with all of these arguments in turn."""
    found = []
    for _ in range(5):
        begin = time.perf_counter()
        for arguments in states:
            call(*arguments)
        found.append(time.perf_counter() - begin)
    return min(found)


def main(counts: list[int]) -> None:
    """Print a line a length and a function."""
    for n in counts:
        solver = symgen.compile(
            random_mechanism(n, 1), ["forward_dynamics", "inverse_dynamics"], form="looped"
        )
        states = max(64, 40_000 // n)
        given = [np.random.default_rng(k).uniform(-1, 1, (states, n)) for k in range(3)]
        for function in solver.functions:
            call = getattr(solver, function)
            alone = least(call, [*zip(*given, strict=True)])
            solver.prepare(function)
            blocks = least(call, [given])
            one, many = (seconds / states / n * 1e9 for seconds in (alone, blocks))
            print(
                f"N = {n:5}  {function:16}  one by one {one:6.1f}, in blocks {many:6.1f} ns a link, {many / one:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [100, 1000])
