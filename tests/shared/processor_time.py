"""Processor time of this machine relative to a reference machine: bounds in seconds hold on slow machines, too."""

from __future__ import annotations

import time

REFERENCE_SECONDS = 0.12
"""Processor time of `_reference_work` on the machine on which the tests' bounds in seconds were set: one core of
an AMD Zen 3 at rest, Python 3.11.
"""


def slowness() -> float:
    """Return how many times slower than the reference machine this process runs now; at least 1."""
    start = time.process_time()
    _reference_work()
    return max(1.0, (time.process_time() - start) / REFERENCE_SECONDS)


def _reference_work() -> None:
    """Add 300 000 integers to a dictionary with pairs as keys, as derivations do."""
    sums: dict[tuple[int, int], int] = {}
    for i in range(300_000):
        key = i % 1000, i & 7
        sums[key] = sums.get(key, 0) + i
