"""Joints that close loops, one file each, found by discovery. See `symgen.mechanism.closures._closure` for what a file answers."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from symgen.mechanism.closures._closure import EVERY, Across, Along, Apart, ClosureType, Row, Unspun
from symgen.support.errors import MechanismError
from symgen.support.leaves import leaf_names

__all__ = [
    "EVERY",
    "Across",
    "Along",
    "Apart",
    "ClosureType",
    "Row",
    "Unspun",
    "closure",
    "closures",
]


@cache
def closures() -> tuple[str, ...]:
    """All of them by name, sorted."""
    return tuple(leaf_names(__path__))


@cache
def closure(kind: str) -> ClosureType:
    """One by name; MechanismError lists what there is."""
    if kind not in closures():
        raise MechanismError(
            f"there is no joint '{kind}' that closes a loop; there are {', '.join(closures())}"
        )
    found = vars(import_module(f"symgen.mechanism.closures.{kind}")).get("CLOSURE")
    assert isinstance(found, ClosureType), (
        f"symgen/mechanism/closures/{kind}.py ends without a CLOSURE"
    )
    return found
