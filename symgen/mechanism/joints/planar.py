"""Planar joint: a position x y (m) in the joint's frame and an angle (rad) about its z axis; v is
linear, then angular, in the body's axes.

Pinocchio's JointModelPlanar has the cosine and the sine instead of the angle, and the same v.
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
    Equations,
    JointType,
    Numbers,
    Placing,
    Turning,
)
from symgen.mechanism.joints._quaternion import LEAST, SCALE, turn_angle_equations
from symgen.mechanism.joints._series import split_time, stumpff, turn_angle_by_series


def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return R_z(angle) and the position."""
    import sympy as sp

    return turn(q[2]), sp.Matrix([q[0], q[1], 0])


def oracle(p: Numbers) -> tuple[Elementary, ...]:
    """Return the translation by the position and the rotation by the angle."""
    return Placing(0, 2), Turning(2)


def integrate_first_order(q: Sequence[Any], step: Sequence[Any]) -> list[Any]:
    """Return q ⊕ δ to the first order: the position moves along the body's axes."""
    import sympy as sp

    c, s = sp.cos(q[2]), sp.sin(q[2])
    return [q[0] + c * step[0] - s * step[1], q[1] + s * step[0] + c * step[1], q[2] + step[2]]


def integrate(q: Sequence[Any], v: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """Return T exp((v, w) dt) of SE(2).

    With φ = w dt and r = φ/2 the position moves along the chord, by (sin r/r) R_z(angle + r) v dt.
    In sin r/r, the root of r² + 2⁻¹⁵⁰ replaces r, so that nothing is divided by zero; the error is
    less than 2⁻¹⁵². As for a quaternion, the root is taken of 2⁶⁰ times that, which is far from the
    smallest number of a float too.
    """
    import sympy as sp

    phi, half, scaled, root, sinc, reach = sp.symbols("phi half scaled root sinc reach", real=True)
    equations = [
        (phi, v[2] * dt),
        (half, phi / 2),
        (scaled, half * SCALE),
        (root, sp.sqrt(scaled * scaled + LEAST)),
        (sinc, sp.sin(root / SCALE) / root * SCALE),
        (reach, sinc * dt),
    ]
    chord, coordinates = _displaced(q, v)
    return [*equations, *chord], coordinates


def integrate_by_series(q: Sequence[Any], v: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """Return `integrate` with sin r/r as Stumpff's function c₁ of r², followed by the motion in the
    time `late`.
    """
    import sympy as sp

    phi, half, y, s1, reach, t, late = sp.symbols("phi half y s1 reach t late", real=True)
    x = sp.symbols("r_1:4", real=True)
    chord, coordinates = _displaced(q, v)
    equations = [
        *split_time(dt),
        (phi, v[2] * t),
        (half, phi / 2),
        (y, half * half),
        *stumpff(2, y),
        (reach, s1 * t),
        *chord,
        *zip(x, coordinates, strict=True),
    ]
    ahead, aside, turned = (rate * late for rate in v)
    bend = turned / 2
    return equations, integrate_first_order(x, [ahead - aside * bend, aside + ahead * bend, turned])


def _displaced(q: Sequence[Any], v: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """Return the coordinates after the translation `reach`·v along the chord of the rotation `phi`."""
    import sympy as sp

    phi, half, reach, s, c, g_1, g_2 = sp.symbols("phi half reach s c g_1 g_2", real=True)
    equations = [
        (g_1, reach * v[0]),
        (g_2, reach * v[1]),
        (s, sp.sin(q[2] + half)),
        (c, sp.cos(q[2] + half)),
    ]
    return equations, [q[0] + (c * g_1 - s * g_2), q[1] + (s * g_1 + c * g_2), q[2] + phi]


def difference(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """Return the logarithm of T⁻¹ T_goal in SE(2): a rotation of at most half a turn, since whole
    turns do not change the pose.

    The rotation is the quaternion (0, 0, sin, cos) of half the difference of the angles; A, n and κ
    are as in a free joint.
    """
    import sympy as sp

    e, v, angle, root, whole, rate, kept, f, r = sp.symbols(
        "e_1 v angle root whole rate kept f r", real=True
    )
    equations = [
        (r, (goal[2] - q[2]) / 2),
        *turn_angle_equations([sp.sin(r)], sp.cos(r)),
        (whole, angle / root),
        (rate, whole / 2),
        (kept, rate * v),
        (f, rate * e),
    ]
    translation, step = _inverse_displacement(q, goal)
    return [*equations, *translation], step


def difference_by_series(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """Return `difference` with a = θ/sin θ of the rotation 2θ: κ = a cos θ, and half the rotation
    is a sin θ.
    """
    import sympy as sp

    r, sine, w, arc, kept, f = sp.symbols("r sine w arc kept f", real=True)
    equations = [
        (r, (goal[2] - q[2]) / 2),
        (sine, sp.sin(r)),
        (w, sp.cos(r)),
        *turn_angle_by_series([sine], w),
        (kept, arc * w),
        (f, arc * sine),
    ]
    translation, step = _inverse_displacement(q, goal)
    return [*equations, *translation], step


def _inverse_displacement(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """Return V⁻¹ y and the rotation, from κ, half the rotation f, and y = Rᵀ (p_goal − p)."""
    import sympy as sp

    s, c, g_1, g_2, y_1, y_2, kept, f = sp.symbols("s c g_1 g_2 y_1 y_2 kept f", real=True)
    equations = [
        (g_1, goal[0] - q[0]),
        (g_2, goal[1] - q[1]),
        (s, sp.sin(q[2])),
        (c, sp.cos(q[2])),
        (y_1, c * g_1 + s * g_2),
        (y_2, c * g_2 - s * g_1),
    ]
    return equations, [kept * y_1 + f * y_2, kept * y_2 - f * y_1, f + f]


POSITIONS = (replace(LENGTH, name="x"), replace(LENGTH, name="y"), replace(ANGLE, name="angle"))
VELOCITIES = (replace(LENGTH, name="vx"), replace(LENGTH, name="vy"), replace(ANGLE, name="w"))
JOINT = JointType(
    POSITIONS,
    VELOCITIES,
    pose,
    oracle,
    drawn="body",
    limited=False,
    integrate_first_order=integrate_first_order,
    integrate=integrate,
    difference=difference,
    integrate_by_series=integrate_by_series,
    difference_by_series=difference_by_series,
    along=(0, 1, 2),
)
