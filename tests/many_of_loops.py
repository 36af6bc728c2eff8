"""Times of looped functions for many states at once and one by one, in ns per link.

`python -m tests.many_of_loops 100 1000` takes the numbers of links.

Both are timed from Python with one thread; the least of five times counts.
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
    """Return the least of five times (s) of calling a function with all states in turn."""
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        for arguments in states:
            call(*arguments)
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def main(counts: list[int]) -> None:
    """Print one line for each number of links and function."""
    for n in counts:
        solver = symgen.compile(
            random_mechanism(n, 1), ["forward_dynamics", "inverse_dynamics"], form="looped"
        )
        states = max(64, 40_000 // n)
        samples = [np.random.default_rng(k).uniform(-1, 1, (states, n)) for k in range(3)]
        for function in solver.functions:
            call = getattr(solver, function)
            single_calls = least(call, [*zip(*samples, strict=True)])
            solver.prepare(function)
            blocks = least(call, [samples])
            single, batched = (seconds / states / n * 1e9 for seconds in (single_calls, blocks))
            print(
                f"N = {n:5}  {function:16}  one by one {single:6.1f}, in blocks {batched:6.1f} ns a"
                f" link, {batched / single:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [100, 1000])
