"""Formats in which a Mechanism is written, one file each, found by discovery.

A writer module (its name does not start with _) declares

    NAME: str                                    # name of the format: "urdf"
    SUFFIXES: tuple[str, ...]                    # (".urdf",)
    def write(mechanism: Mechanism) -> Written

`write` raises a RequestError for a joint that the format cannot represent. `Written.left_out`
has a sentence for each property that the format cannot represent.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from symgen.description.writers._written import Written as Written
from symgen.support.leaves import leaf_names


@cache
def writers() -> dict[str, Any]:
    """Return the writer modules by name, sorted."""
    modules = [import_module(f"{__name__}.{name}") for name in leaf_names(__path__)]
    return {module.NAME: module for module in modules}


@cache
def suffixes() -> dict[str, Any]:
    """Return the writer module of each file suffix (lower case, with its dot)."""
    return {suffix: module for module in writers().values() for suffix in module.SUFFIXES}
