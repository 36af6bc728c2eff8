"""Revolute joint: one angle q in rad about the joint's z axis; q̇ is the rate."""

from __future__ import annotations

from typing import Any

TURNS = True
"""The coordinate is an angle about z."""


def pose(q: Any) -> tuple[Any, Any]:
    """(R, r): the moved frame's axes and origin in the joint's frame, as SymPy matrices."""
    import sympy as sp

    return sp.Matrix([[sp.cos(q), -sp.sin(q), 0], [sp.sin(q), sp.cos(q), 0], [0, 0, 1]]), sp.zeros(3, 1)
