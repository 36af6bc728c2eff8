"""Spherical joint: a unit quaternion x y z w that gives the body's axes in the joint's frame; v is
the angular velocity in the body's axes.

Rodriguez and Kreutz describe it in Appendix B. The coordinates are those of Pinocchio's
JointModelSpherical.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from symgen.mechanism.joints._joint import (
    ANGLE,
    Elementary,
    Equations,
    JointType,
    Numbers,
    Orienting,
)
from symgen.mechanism.joints._quaternion import (
    ENTRIES,
    compose_small_turn,
    compose_turn,
    integrate_quaternion,
    products,
    quaternion_difference,
    relative_quaternion,
    rotation,
)
from symgen.mechanism.joints._series import (
    continue_turn,
    split_time,
    turn_angle_by_series,
    turn_by_series,
)


def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return R(q) and no translation."""
    import sympy as sp

    return rotation(), sp.zeros(3, 1)


def elementary_motions(p: Numbers) -> tuple[Elementary, ...]:
    """Return the rotation by the quaternion."""
    return (Orienting(0),)


def integrate_by_series(q: Sequence[Any], w: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """Return q ∘ exp(w dt/2), by Stumpff's functions of |w dt/2|²."""
    import sympy as sp

    t, reached = sp.Symbol("t", real=True), sp.symbols("r_1:5", real=True)
    return [
        *split_time(dt),
        *turn_by_series(w, t, 2),
        *zip(reached, compose_turn(q), strict=True),
    ], continue_turn(reached, w)


def difference_by_series(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """Return the shorter rotation from q to `goal`: 2 a u, with a = θ/sin θ of the rotation 2θ and
    its quaternion (u, w).
    """
    import sympy as sp

    pairs, (*turn, last) = relative_quaternion(q, goal)
    u, f = (sp.symbols(f"{name}_1:4", real=True) for name in ("u", "f"))
    arc, w = sp.symbols("arc w", real=True)
    equations = [
        *pairs,
        *zip(u, turn, strict=True),
        (w, last),
        *turn_angle_by_series(u, w),
        *((half, arc * entry) for half, entry in zip(f, u, strict=True)),
    ]
    return equations, [half + half for half in f]


VELOCITIES = tuple(replace(ANGLE, name=f"w{axis}") for axis in "xyz")
JOINT = JointType(
    ENTRIES,
    VELOCITIES,
    pose,
    elementary_motions,
    drawn="ball",
    limited=False,
    integrate_first_order=compose_small_turn,
    integrate=integrate_quaternion,
    difference=quaternion_difference,
    integrate_by_series=integrate_by_series,
    difference_by_series=difference_by_series,
    steps=products,
    along=(0, 1, 2),
    quaternion=0,
)
