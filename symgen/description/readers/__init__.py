"""Description formats, one file each, found by discovery.

A reader module (its name does not start with _) declares

    SUFFIXES: tuple[str, ...]   # (".urdf",)
    ROOTS: tuple[str, ...]      # ("robot",): root elements of XML; they outrank the suffix
    TAKES: tuple[str, ...]      # fields of FileOptions that the format uses
    def read(data: bytes, file: str, snapper: Snapper, options: FileOptions) -> Tree

`read` raises a DescriptionError that names file, line and element. `file` is the path
as messages name it. Rotation tokens are read by `snapper.angle` and `snapper.quaternion`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from symgen.description.parsing.xml import root_name
from symgen.support.leaves import leaf_names


@cache
def _modules() -> list[Any]:
    return [import_module(f"{__name__}.{name}") for name in leaf_names(__path__)]


@cache
def suffixes() -> dict[str, Any]:
    """Return the reader module of each file suffix (lower case, with its dot)."""
    return {suffix: module for module in _modules() for suffix in module.SUFFIXES}


def reader(suffix: str, data: bytes) -> Any:
    """Return the reader module of a file, chosen by its root element or else by its suffix.

    Raises KeyError for an unknown suffix.
    """
    by_suffix, root = suffixes()[suffix.lower()], root_name(data)
    if not by_suffix.ROOTS:
        return by_suffix
    return next((module for module in _modules() if root in module.ROOTS), by_suffix)
