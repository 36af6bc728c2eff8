"""Joint types, one a file, found by discovery.

A file declares, about its own z axis, `pose(q)` -> (R, r) in SymPy: the displacement of the moved body's frame in
the joint's frame. Everything else about the joint (motion and constraint subspace, bias) is derived from that.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from symgen.errors import UnknownName


@cache
def kinds() -> tuple[str, ...]:
    """Names of the joint types, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__)))


@cache
def joint_type(kind: str) -> Any:
    """The module of a joint type by name; RequestError lists those that exist."""
    if kind not in kinds():
        raise UnknownName(f"joint type '{kind}' is not known; there are: {', '.join(kinds())}")
    return import_module(f"symgen.joints.{kind}")
