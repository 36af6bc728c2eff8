"""Spherical joint: a unit quaternion x y z w, the body's axes in the joint's frame; v is the angular velocity in the body's axes.

Rodriguez and Kreutz have it in Appendix B. The numbers are those of Pinocchio's JointModelSpherical.
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
    between,
    composed,
    products,
    rotation,
    turn_between,
    turned,
    turned_for,
)
from symgen.mechanism.joints._series import angled_by_series, continued, held, turning_by_series


def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[Any, Any]:
    """R(q), no shift."""
    import sympy as sp

    return rotation(), sp.zeros(3, 1)


def oracle(p: Numbers) -> tuple[Elementary, ...]:
    """A turn by the quaternion."""
    return (Orienting(0),)


def advanced_by_series(q: Sequence[Any], w: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """q ∘ exp(w dt/2), by Stumpff's functions of |w dt/2|²."""
    import sympy as sp

    t, reached = sp.Symbol("t", real=True), sp.symbols("r_1:5", real=True)
    return [
        *held(dt),
        *turning_by_series(w, t, 2),
        *zip(reached, composed(q), strict=True),
    ], continued(reached, w)


def parted_by_series(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """The shorter turn from q to `goal`, 2 a u with a = θ/sin θ of the turn 2θ and its quaternion (u, w)."""
    import sympy as sp

    pairs, (*turn, last) = between(q, goal)
    u, f = (sp.symbols(f"{name}_1:4", real=True) for name in ("u", "f"))
    arc, w = sp.symbols("arc w", real=True)
    equations = [
        *pairs,
        *zip(u, turn, strict=True),
        (w, last),
        *angled_by_series(u, w),
        *((half, arc * entry) for half, entry in zip(f, u, strict=True)),
    ]
    return equations, [half + half for half in f]


VELOCITIES = tuple(replace(ANGLE, name=f"w{axis}") for axis in "xyz")
JOINT = JointType(
    ENTRIES,
    VELOCITIES,
    pose,
    oracle,
    drawn="ball",
    limited=False,
    moved=turned,
    advanced=turned_for,
    parted=turn_between,
    advanced_by_series=advanced_by_series,
    parted_by_series=parted_by_series,
    steps=products,
    along=(0, 1, 2),
    quaternion=0,
)
