"""Cylindrical joint: an angle (rad) about the joint's axis and an independent displacement (m)
along it; q̇ are the rates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from symgen.mechanism.joints._hinge import turn
from symgen.mechanism.joints._joint import (
    ANGLE,
    LENGTH,
    Elementary,
    JointType,
    Numbers,
    Sliding,
    Turning,
)


def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return R_z(q_0) and the translation q_1 along z."""
    import sympy as sp

    return turn(q[0]), sp.Matrix([0, 0, q[1]])


def elementary_motions(p: Numbers) -> tuple[Elementary, ...]:
    """Return the rotation by q_0 and the translation by q_1."""
    return Turning(0), Sliding(1)


COORDINATES = (replace(ANGLE, name="angle"), replace(LENGTH, name="distance"))
JOINT = JointType(COORDINATES, COORDINATES, pose, elementary_motions, drawn="hinge")
