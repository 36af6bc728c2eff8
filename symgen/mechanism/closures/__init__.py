"""Types of joints that close loops, one file each, found by discovery;
`symgen.mechanism.closures._closure` defines the interface.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from symgen.mechanism.closures._closure import (
    ALL_AXES,
    Across,
    Along,
    Apart,
    ClosureType,
    Row,
    Unspun,
)
from symgen.support.errors import MechanismError
from symgen.support.leaves import leaf_names

__all__ = [
    "ALL_AXES",
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
    """Return the names of all closure types, sorted."""
    return tuple(leaf_names(__path__))


@cache
def closure(kind: str) -> ClosureType:
    """Return a closure type by name; MechanismError lists those that exist."""
    if kind not in closures():
        raise MechanismError(
            f"no type of loop closure is named '{kind}'; there are: {', '.join(closures())}"
        )
    closure_type = vars(import_module(f"symgen.mechanism.closures.{kind}")).get("CLOSURE")
    assert isinstance(closure_type, ClosureType), (
        f"symgen/mechanism/closures/{kind}.py ends without a CLOSURE"
    )
    return closure_type
