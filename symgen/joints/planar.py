"""Planar joint: a place x y (m) in the joint's frame and an angle (rad) about its z axis; v is linear, then angular, in the
body's axes.

Pinocchio's JointModelPlanar has the cosine and the sine in the place of the angle, and the same v.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from symgen.joints._hinge import turn
from symgen.joints._joint import ANGLE, LENGTH, Elementary, JointType, Numbers, Placing, Turning


def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[Any, Any]:
    """R_z(angle), and the place."""
    import sympy as sp

    return turn(q[2]), sp.Matrix([q[0], q[1], 0])


def oracle(p: Numbers) -> tuple[Elementary, ...]:
    """A displacement by the place, and a turn by the angle."""
    return Placing(0, 2), Turning(2)


def moved(q: Sequence[Any], step: Sequence[Any]) -> list[Any]:
    """The place moves along the body's axes."""
    import sympy as sp

    c, s = sp.cos(q[2]), sp.sin(q[2])
    return [q[0] + c * step[0] - s * step[1], q[1] + s * step[0] + c * step[1], q[2] + step[2]]


POSITIONS = (replace(LENGTH, name="x"), replace(LENGTH, name="y"), replace(ANGLE, name="angle"))
VELOCITIES = (replace(LENGTH, name="vx"), replace(LENGTH, name="vy"), replace(ANGLE, name="w"))
JOINT = JointType(POSITIONS, VELOCITIES, pose, oracle, drawn="body", limited=False, moved=moved, along=(0, 1, 2))
