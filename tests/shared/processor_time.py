"""Processor time relative to work of a known size: bounds in seconds grow on a slow machine."""

from __future__ import annotations

import time

REFERENCE_SECONDS = 0.47
"""Processor time of `_reference_work` that counts as slowness 1.

It was chosen so that a bound keeps its margin: the form of the Panda takes 2.5 to 3.3 times as long
as this work, and its bound of 2 s is 4.3 times as long.
"""


def slowness() -> float:
    """Return how many times longer than REFERENCE_SECONDS the reference work takes; at least 1."""
    start = time.process_time()
    _reference_work()
    return max(1.0, (time.process_time() - start) / REFERENCE_SECONDS)


def _reference_work() -> None:
    """Fill, sort and hash 200 000 pairs: like a derivation, this depends on the speed of the
    memory.
    """
    numbers = {(i, i * 7919 % 100_003): [i, str(i)] for i in range(200_000)}
    pairs = sorted(numbers, key=lambda pair: pair[1])
    {(second, first) for first, second in pairs}
