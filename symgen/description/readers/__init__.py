"""Description formats, one a file, found by discovery.

A reader module (a name that starts with _ is none) declares

    SUFFIXES: tuple[str, ...]                                   # (".urdf",)
    ROOTS: tuple[str, ...]                                      # ("robot",): root elements, of XML; wins over the suffix
    TAKES: tuple[str, ...]                                      # fields of Asked that mean something to it
    def read(data: bytes, file: str, snapper: Snapper, asked: Asked) -> Tree
                                                                # or a DescriptionError naming file, line and element

`file` is the path, as error sentences name it; rotation tokens pass through `snapper.angle` and `snapper.quaternion`.
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
    """File suffix (lower case, with its dot) -> the reader module."""
    return {suffix: module for module in _modules() for suffix in module.SUFFIXES}


def reader(suffix: str, data: bytes) -> Any:
    """The reader module for a file: by its root element where it is XML that a reader knows, else by its suffix.

    KeyError when no format has the suffix.
    """
    by_suffix, root = suffixes()[suffix.lower()], root_name(data)
    if not by_suffix.ROOTS:
        return by_suffix
    return next((module for module in _modules() if root in module.ROOTS), by_suffix)
