"""Pause of Python's garbage collector while many objects are created and few are freed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Pause Python's collector.

    A derivation creates rows by the ten thousand and frees none; garbage collection would take a
    third of its time.
    """
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()
