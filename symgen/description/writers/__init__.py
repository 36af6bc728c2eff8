"""Formats that a Mechanism is written in, one a file, found by discovery.

A writer module (a name that starts with _ is none) declares

    NAME: str                                    # what it is called: "urdf"
    SUFFIXES: tuple[str, ...]                    # (".urdf",)
    def write(mechanism: Mechanism) -> Written   # RequestError where a joint has no word in the format

What the format has no words for stands in `Written.left_out`, a sentence each.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from symgen.description.writers._written import Written as Written
from symgen.support.leaves import leaf_names


@cache
def writers() -> dict[str, Any]:
    """Name -> the writer module, sorted by name."""
    modules = [import_module(f"{__name__}.{name}") for name in leaf_names(__path__)]
    return {module.NAME: module for module in modules}


@cache
def suffixes() -> dict[str, Any]:
    """File suffix (lower case, with its dot) -> the writer module."""
    return {suffix: module for module in writers().values() for suffix in module.SUFFIXES}
