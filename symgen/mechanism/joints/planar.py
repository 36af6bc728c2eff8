"""Planar joint: a place x y (m) in the joint's frame and an angle (rad) about its z axis; v is linear, then angular, in the
body's axes.

Pinocchio's JointModelPlanar has the cosine and the sine in the place of the angle, and the same v.
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
from symgen.mechanism.joints._quaternion import LEAST, SCALE, angled
from symgen.mechanism.joints._series import angled_by_series, held, stumpff


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


def advanced(q: Sequence[Any], v: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """T exp((v, w) dt) of SE(2): with φ = w dt the place moves by (sin r/r) R_z(angle + r) v dt, r = φ/2, along the chord.

    sin r/r is taken of the root of r² + 2⁻¹⁵⁰ for r: nothing is divided by zero, and it is off by less than 2⁻¹⁵² anywhere. As of
    a quaternion the root is taken of 2⁶⁰ times that, which is far from the least number of a float too.
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
    chord, coordinates = _arrived(q, v)
    return [*equations, *chord], coordinates


def advanced_by_series(q: Sequence[Any], v: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """`advanced` with sin r/r as Stumpff's function c₁ of r², and behind it the motion in the time `late`."""
    import sympy as sp

    phi, half, y, s1, reach, t, late = sp.symbols("phi half y s1 reach t late", real=True)
    x = sp.symbols("r_1:4", real=True)
    chord, coordinates = _arrived(q, v)
    equations = [
        *held(dt),
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
    return equations, moved(x, [ahead - aside * bend, aside + ahead * bend, turned])


def _arrived(q: Sequence[Any], v: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """The coordinates after a way of `reach` times v along the chord of the turn `phi`."""
    import sympy as sp

    phi, half, reach, s, c, g_1, g_2 = sp.symbols("phi half reach s c g_1 g_2", real=True)
    equations = [
        (g_1, reach * v[0]),
        (g_2, reach * v[1]),
        (s, sp.sin(q[2] + half)),
        (c, sp.cos(q[2] + half)),
    ]
    return equations, [q[0] + (c * g_1 - s * g_2), q[1] + (s * g_1 + c * g_2), q[2] + phi]


def parted(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """The logarithm of T⁻¹ T_goal in SE(2): a turn of half a turn at most, since whole turns say nothing of the way.

    The turn between both is the quaternion (0, 0, sin, cos) of half of what the angles differ by; A, n and κ are as of a free
    joint.
    """
    import sympy as sp

    e, v, angle, root, whole, rate, kept, f, r = sp.symbols(
        "e_1 v angle root whole rate kept f r", real=True
    )
    equations = [
        (r, (goal[2] - q[2]) / 2),
        *angled([sp.sin(r)], sp.cos(r)),
        (whole, angle / root),
        (rate, whole / 2),
        (kept, rate * v),
        (f, rate * e),
    ]
    behind, step = _gone(q, goal)
    return [*equations, *behind], step


def parted_by_series(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """`parted` with a = θ/sin θ of the turn 2θ between both: κ = a cos θ, and the half turn is a sin θ."""
    import sympy as sp

    r, sine, w, arc, kept, f = sp.symbols("r sine w arc kept f", real=True)
    equations = [
        (r, (goal[2] - q[2]) / 2),
        (sine, sp.sin(r)),
        (w, sp.cos(r)),
        *angled_by_series([sine], w),
        (kept, arc * w),
        (f, arc * sine),
    ]
    behind, step = _gone(q, goal)
    return [*equations, *behind], step


def _gone(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """V⁻¹ y and the turn, of κ, half the turn f and y = Rᵀ (p_goal − p)."""
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
    moved=moved,
    advanced=advanced,
    parted=parted,
    advanced_by_series=advanced_by_series,
    parted_by_series=parted_by_series,
    along=(0, 1, 2),
)
