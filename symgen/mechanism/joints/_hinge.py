"""What turns about the joint's axis and does nothing else: shared by the types that differ in their range only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symgen.mechanism.joints._joint import Elementary, Numbers, Turning


def turn(angle: Any) -> Any:
    """R_z(angle) in SymPy."""
    import sympy as sp

    return sp.Matrix(
        [[sp.cos(angle), -sp.sin(angle), 0], [sp.sin(angle), sp.cos(angle), 0], [0, 0, 1]]
    )


def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[Any, Any]:
    """R_z(q), no shift."""
    import sympy as sp

    return turn(q[0]), sp.zeros(3, 1)


def oracle(p: Numbers) -> tuple[Elementary, ...]:
    """A turn by q."""
    return (Turning(0),)
