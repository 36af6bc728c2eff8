"""Planar joint: motion of a body in the x-y plane of the joint's frame.

The coordinates q are the position x, y (m) of the body in the joint's frame, and an angle (rad)
about the z axis. The velocities v are the linear velocity (2 entries) and then the angular
velocity, in the axes of the body. Pinocchio's JointModelPlanar has the same v, but two coordinates,
cosine and sine, instead of the angle.

T is the pose (rotation R, position p) of the body at q. A variable such as `reach` is a SymPy
symbol; a list of equations gives its value.
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
    """Return the rotation matrix R_z(angle) and the position vector (x, y, 0)."""
    import sympy as sp

    return turn(q[2]), sp.Matrix([q[0], q[1], 0])


def elementary_motions(p: Numbers) -> tuple[Elementary, ...]:
    """Return the translation by the position and the rotation by the angle."""
    return Placing(0, 2), Turning(2)


def integrate_first_order(q: Sequence[Any], step: Sequence[Any]) -> list[Any]:
    """Return q ⊕ δ to the first order: the position moves along the body's axes."""
    import sympy as sp

    c, s = sp.cos(q[2]), sp.sin(q[2])
    return [q[0] + c * step[0] - s * step[1], q[1] + s * step[0] + c * step[1], q[2] + step[2]]


def integrate(q: Sequence[Any], v: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """Return q after a time dt: the coordinates of T exp((v, w) dt) in SE(2).

    Here v is the linear and w the angular velocity, constant in the axes of the body. The body
    turns by φ = w dt, and its origin moves along an arc. The chord of the arc is (sin r/r)
    R_z(angle + r) v dt with r = φ/2.

    To avoid a division by zero, sin r/r is computed as sin ρ/ρ, where ρ is the root of r² + 2⁻¹⁵⁰.
    The error is less than 2⁻¹⁵². The code takes the root of 2⁶⁰ (r² + 2⁻¹⁵⁰), which does not
    underflow in float either.
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
    """Return the values of `integrate` in a form whose derivatives lose no digits at any angle.

    sin r/r is c₁(r²), one of Stumpff's functions. `split_time` writes dt as `t` + `late`, where
    `late` is zero but has the derivative 1 with respect to dt. The equations move the body during
    `t`. The motion during `late` follows, to the second order in `late`.
    """
    import sympy as sp

    phi, half, y, s1, reach, t, late = sp.symbols("phi half y s1 reach t late", real=True)
    q_at_t = sp.symbols("r_1:4", real=True)
    chord, coordinates = _displaced(q, v)
    equations = [
        *split_time(dt),
        (phi, v[2] * t),
        (half, phi / 2),
        (y, half * half),
        *stumpff(2, y),
        (reach, s1 * t),
        *chord,
        *zip(q_at_t, coordinates, strict=True),
    ]
    along_x, along_y, angle = (rate * late for rate in v)
    half_angle = angle / 2
    step = [along_x - along_y * half_angle, along_y + along_x * half_angle, angle]
    return equations, integrate_first_order(q_at_t, step)


def _displaced(q: Sequence[Any], v: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """Return q after the rotation `phi` and the translation along the chord, `reach` times v.

    `half` is phi/2. The caller gives the values of these three symbols.
    """
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
    """Return the displacement from q to `goal`, in the axes at q: the logarithm of T⁻¹ T_goal in
    SE(2).

    The displacement is a translation (x, y) and a rotation of at most half a turn, since whole
    turns do not change the pose. The rotation is the quaternion (0, 0, sin r, cos r), where r is
    half the difference of the angles. `turn_angle_equations` computes its angle A. The symbol
    `kept` is κ = (A/2) cot(A/2), and `f` is half the rotation about z, with its sign.
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
    """Return the values of `difference` in a form whose derivatives lose no digits at any angle.

    The rotation is 2θ, and the symbol `arc` is a = θ/sin θ. Then κ = a cos θ, and half the rotation
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
    """Return the displacement (V⁻¹ y, 2 f) from q to `goal`.

    y = Rᵀ (p_goal − p) is the translation in the axes at q. V is the matrix that maps a linear
    displacement of the exponential map to its chord, and V⁻¹ y = κ y − f × y. The caller gives the
    symbols `kept` (κ) and `f` (half the rotation).
    """
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
    elementary_motions,
    drawn="body",
    limited=False,
    integrate_first_order=integrate_first_order,
    integrate=integrate,
    difference=difference,
    integrate_by_series=integrate_by_series,
    difference_by_series=difference_by_series,
    along=(0, 1, 2),
)
