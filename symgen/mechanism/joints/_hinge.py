"""Rotation about the joint's axis: shared by the types that differ only in their range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symgen.mechanism.joints._joint import Elementary, Numbers, Turning


def turn(angle: Any) -> Any:
    """Return R_z(angle) in SymPy."""
    import sympy as sp

    return sp.Matrix(
        [[sp.cos(angle), -sp.sin(angle), 0], [sp.sin(angle), sp.cos(angle), 0], [0, 0, 1]]
    )


def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return R_z(q) and no translation."""
    import sympy as sp

    return turn(q[0]), sp.zeros(3, 1)


def elementary_motions(p: Numbers) -> tuple[Elementary, ...]:
    """Return the rotation by q."""
    return (Turning(0),)
