"""Helical joint (a screw): an angle q in rad about the joint's axis and a displacement `pitch`·q
along it; q̇ is the rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symgen.mechanism.joints._hinge import turn
from symgen.mechanism.joints._joint import (
    ANGLE,
    Elementary,
    JointType,
    Numbers,
    Parameter,
    Sliding,
    Turning,
)


def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return R_z(q) and the translation pitch·q along z."""
    import sympy as sp

    return turn(q[0]), sp.Matrix([0, 0, p["pitch"] * q[0]])


def elementary_motions(p: Numbers) -> tuple[Elementary, ...]:
    """Return the rotation by q and the translation by pitch·q."""
    return Turning(0), Sliding(0, p["pitch"])


JOINT = JointType(
    (ANGLE,),
    (ANGLE,),
    pose,
    elementary_motions,
    drawn="hinge",
    parameters=(
        Parameter("pitch", "advance along the axis in m per rad (a lead of L m a turn is L/2π)"),
    ),
)
