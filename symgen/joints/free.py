"""Free joint: the body's place (m) in the joint's frame, then a unit quaternion x y z w; v is linear, then angular, in its axes.

Rodriguez and Kreutz have it in Appendix B as the mobile base. The numbers are those of Pinocchio's JointModelFreeFlyer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from symgen.joints._joint import ANGLE, LENGTH, Elementary, JointType, Numbers, Orienting, Placing
from symgen.joints._quaternion import ENTRIES, products, rotation, turned


def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[Any, Any]:
    """R(q), and the place."""
    import sympy as sp

    return rotation(), sp.Matrix(q[:3])


def oracle(p: Numbers) -> tuple[Elementary, ...]:
    """A displacement by the place, and a turn by the quaternion."""
    return Placing(0), Orienting(3)


def steps(q: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Those of the quaternion."""
    return products(q[3:])


def moved(q: Sequence[Any], step: Sequence[Any]) -> list[Any]:
    """The place moves along the body's axes."""
    import sympy as sp

    known: dict[Any, Any] = {}
    for symbol, expression in steps(q):
        known[symbol] = expression.xreplace(known)
    R = rotation().xreplace(known)
    return [*(sp.Matrix(q[:3]) + R * sp.Matrix(step[:3])), *turned(q[3:], step[3:])]


POSITIONS = (*(replace(LENGTH, name=f"p{axis}") for axis in "xyz"), *ENTRIES)
VELOCITIES = (*(replace(LENGTH, name=f"v{axis}") for axis in "xyz"), *(replace(ANGLE, name=f"w{axis}") for axis in "xyz"))
JOINT = JointType(POSITIONS, VELOCITIES, pose, oracle, drawn="body", limited=False, moved=moved, steps=steps,
                  along=(0, 1, 2, 0, 1, 2), quaternion=3)
