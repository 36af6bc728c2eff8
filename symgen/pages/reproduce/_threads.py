"""Times of calls with one thread of OpenMP and with two."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Collection

from symgen.benchmarks.bench import Timing, race

THREADS = 2
Calls = dict[str, Callable[[], None]]
Setter = Callable[[int], None]


def threads() -> Setter | None:
    """Return the function that sets the number of OpenMP threads; None without OpenMP, or with one
    processor.
    """
    try:
        library = ctypes.CDLL("libgomp.so.1")
    except OSError:
        return None
    return library.omp_set_num_threads if (os.cpu_count() or 1) >= THREADS else None


def raced(
    calls: Calls, sharing: Collection[str], setter: Setter | None
) -> tuple[dict[str, Timing], dict[str, Timing]]:
    """Return times with one thread, and with THREADS for the calls that share work."""
    if setter is None:
        return race(calls), {}
    setter(1)
    alone = race(calls)
    setter(THREADS)
    return alone, race({label: call for label, call in calls.items() if label in sharing})
