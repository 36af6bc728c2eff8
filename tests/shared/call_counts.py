"""Counted calls of a Python function, a measure of work that no load of the machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable

from symgen.support.errors import SymgenError


def calls(work: Callable[[], object]) -> int:
    """Calls of functions, of Python and of C, while `work` is done."""
    count = 0

    def one_more(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(one_more)
    try:
        work()
    except SymgenError:
        pass
    finally:
        sys.setprofile(None)
    return count
