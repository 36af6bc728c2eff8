"""Description formats, one a file, found by discovery.

A reader module (a name that starts with _ is none) declares

    SUFFIXES: tuple[str, ...]                                   # (".urdf",)
    def read(data: bytes, file: str, snapper: Snapper) -> Tree  # or a DescriptionError naming file, line and element

`file` is the name for error sentences; rotation tokens pass through `snapper.angle`.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from symgen.description.readers import _foreign


@cache
def suffixes() -> dict[str, str]:
    """File suffix (lower case, with its dot) -> name of the reader module."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    return {suffix: name for name in names for suffix in import_module(f"{__name__}.{name}").SUFFIXES}


def reader(suffix: str) -> Any:
    """The reader module for a file suffix; KeyError when no format has it."""
    return import_module(f"{__name__}.{suffixes()[suffix.lower()]}")


def foreign(suffix: str) -> tuple[str, str] | None:
    """(what a file of another format of the field is, what to give instead); None for a suffix that nobody knows."""
    return _foreign.by_suffix(suffix)
