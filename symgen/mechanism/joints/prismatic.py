"""Prismatic joint: one displacement q in m along the joint's axis; q̇ is its rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symgen.mechanism.joints._joint import LENGTH, Elementary, JointType, Numbers, Sliding


def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return no rotation and the translation q along z."""
    import sympy as sp

    return sp.eye(3), sp.Matrix([0, 0, q[0]])


def elementary_motions(p: Numbers) -> tuple[Elementary, ...]:
    """Return the translation by q."""
    return (Sliding(0),)


JOINT = JointType((LENGTH,), (LENGTH,), pose, elementary_motions, drawn="slider")
