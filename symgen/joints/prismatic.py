"""Prismatic joint: one displacement q in m along the joint's z axis; q̇ is the rate."""

from __future__ import annotations

from typing import Any

TURNS = False
"""The coordinate is a length along z."""


def pose(q: Any) -> tuple[Any, Any]:
    """(R, r): the moved frame's axes and origin in the joint's frame, as SymPy matrices."""
    import sympy as sp

    return sp.eye(3), sp.Matrix([0, 0, q])
