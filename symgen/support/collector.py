"""Python's collector of cyclic garbage, at rest while much is made and little dropped."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Rest Python's collector. A derivation makes rows by the ten thousand and drops none; collecting takes a third of its
    time.
    """
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()
