"""Processor time of this machine relative to a reference machine: bounds in seconds hold on slow machines, too."""

from __future__ import annotations

import time

REFERENCE_SECONDS = 0.47
"""Processor time of `_reference_work` on the machine on which the tests' bounds in seconds were set."""


def slowness() -> float:
    """Return how many times slower than the reference machine this process runs now; at least 1."""
    start = time.process_time()
    _reference_work()
    return max(1.0, (time.process_time() - start) / REFERENCE_SECONDS)


def _reference_work() -> None:
    """Fill, sort and hash 200 000 pairs: like a derivation, this depends on the speed of the memory."""
    numbers = {(i, i * 7919 % 100_003): [i, str(i)] for i in range(200_000)}
    pairs = sorted(numbers, key=lambda pair: pair[1])
    {(second, first) for first, second in pairs}
