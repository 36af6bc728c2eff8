"""Leaves: modules of a folder that are found by their presence."""

from __future__ import annotations

from collections.abc import Iterable
from pkgutil import iter_modules


def leaf_names(path: Iterable[str]) -> list[str]:
    """Return the sorted names of the modules in a package's `__path__`, without those that start
    with _.
    """
    return sorted(module.name for module in iter_modules(path) if not module.name.startswith("_"))
