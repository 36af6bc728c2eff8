"""Free joint: the body's position (m) in the joint's frame, then a unit quaternion x y z w; v is
linear, then angular, in the body's axes.

Rodriguez and Kreutz describe it in Appendix B as the mobile base. The coordinates are those of
Pinocchio's JointModelFreeFlyer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from symgen.mechanism.joints._joint import (
    ANGLE,
    LENGTH,
    Elementary,
    Equations,
    JointType,
    Numbers,
    Orienting,
    Placing,
)
from symgen.mechanism.joints._quaternion import (
    ENTRIES,
    SCALE,
    compose_small_turn,
    compose_turn,
    products,
    relative_quaternion,
    rotation,
    turn_angle_equations,
    turn_equations,
)
from symgen.mechanism.joints._series import (
    continue_turn,
    split_time,
    turn_angle_by_series,
    turn_by_series,
)


def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return R(q) and the position."""
    import sympy as sp

    return rotation(), sp.Matrix(q[:3])


def elementary_motions(p: Numbers) -> tuple[Elementary, ...]:
    """Return the translation by the position and the rotation by the quaternion."""
    return Placing(0), Orienting(3)


def steps(q: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the products of the quaternion."""
    return products(q[3:])


def integrate_first_order(q: Sequence[Any], step: Sequence[Any]) -> list[Any]:
    """Return q ⊕ δ to the first order: the position moves along the body's axes."""
    import sympy as sp

    expressions: dict[Any, Any] = {}
    for symbol, expression in steps(q):
        expressions[symbol] = expression.xreplace(expressions)
    R = rotation().xreplace(expressions)
    return [*(sp.Matrix(q[:3]) + R * sp.Matrix(step[:3])), *compose_small_turn(q[3:], step[3:])]


def integrate(q: Sequence[Any], v: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """Return T exp((v, w) dt) of SE(3) (Murray, Li & Sastry 1994, (2.36)).

    The position moves by R V v dt, with φ = w dt and

        V v = (sin φ/φ) v + ((1 − cos φ)/φ²) φ × v + ((1 − sin φ/φ)/φ²) φ (φ·v).

    With r = |φ|/2 and n = φ/|φ| this is g cos r + e × g, where g = v dt sin r/r and e = n sin r,
    plus a part along n. For small φ the term 1 − sin φ/φ has few correct digits but is equally
    small, so that the sum keeps the digits of v dt. At φ = 0, n is zero.
    """
    import sympy as sp

    u = v[:3]
    phi, n, e, g, d = (sp.symbols(f"{name}_1:4", real=True) for name in ("phi", "n", "e", "g", "d"))
    root, inverse, s, c, sinc, reach, pull = sp.symbols(
        "root inverse s c sinc reach pull", real=True
    )
    along = sum(n_k * rate for n_k, rate in zip(n, u, strict=True))
    bent = sp.Matrix(e).cross(sp.Matrix(g))
    equations = [
        *turn_equations(v[3:], dt),
        (inverse, 1 / root),
        *((n_k, phi_k * inverse) for n_k, phi_k in zip(n, phi, strict=True)),
        *((e_k, s * n_k) for e_k, n_k in zip(e, n, strict=True)),
        (sinc, 2 * SCALE * (s * inverse)),
        (reach, sinc * dt),
        *((g_k, reach * rate) for g_k, rate in zip(g, u, strict=True)),
        (pull, (1 - sinc * c) * (along * dt)),
        *((d[k], c * g[k] + bent[k] + pull * n[k]) for k in range(3)),
    ]
    rotated, coordinates = _displaced(q)
    return [*equations, *rotated], coordinates


def integrate_by_series(q: Sequence[Any], v: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """Return `integrate` with h = φ/2 and Stumpff's functions c_k of |h|²: with e = c₁ h and g = c₁
    v dt,

        V v dt = c₀ g + e × g + (c₃ + c₁ c₂) h (h·v dt).
    """
    import sympy as sp

    u = v[:3]
    h, e, g, d = (sp.symbols(f"{name}_1:4", real=True) for name in ("h", "e", "g", "d"))
    c, s1, s2, s3, reach, pull, t, late = sp.symbols("c s1 s2 s3 reach pull t late", real=True)
    along = sum(h_k * rate for h_k, rate in zip(h, u, strict=True))
    bent = sp.Matrix(e).cross(sp.Matrix(g))
    equations = [
        *split_time(dt),
        *turn_by_series(v[3:], t, 4),
        (reach, s1 * t),
        *((g_k, reach * rate) for g_k, rate in zip(g, u, strict=True)),
        (pull, (s3 + s1 * s2) * (along * t)),
        *((d[k], c * g[k] + bent[k] + pull * h[k]) for k in range(3)),
    ]
    rotated, coordinates = _displaced(q)
    x = sp.symbols("r_1:8", real=True)
    expressions: dict[Any, Any] = {}
    for symbol, expression in products(x[3:]):
        expressions[symbol] = expression.xreplace(expressions)
    late_step = sp.Matrix(u) * late + sp.Matrix(v[3:]).cross(sp.Matrix(u)) * (late * late / 2)
    position = sp.Matrix(x[:3]) + rotation().xreplace(expressions) * late_step
    return [*equations, *rotated, *zip(x, coordinates, strict=True)], [
        *position,
        *continue_turn(x[3:], v[3:]),
    ]


def _displaced(q: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """Return the coordinates after the displacement `d` in the body's axes at q and the rotation
    (e, c).
    """
    import sympy as sp

    w = q[6]
    d, twice, t = (sp.symbols(f"{name}_1:4", real=True) for name in ("d", "twice", "t"))
    sideways = sp.Matrix(q[3:6]).cross(sp.Matrix(t))
    equations = [
        *((twice_k, q_k + q_k) for twice_k, q_k in zip(twice, q[3:6], strict=True)),
        *zip(t, sp.Matrix(twice).cross(sp.Matrix(d)), strict=True),
    ]
    return equations, [
        *(q[k] + (d[k] + w * t[k] + sideways[k]) for k in range(3)),
        *compose_turn(q[3:]),
    ]


def difference(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """Return the logarithm of T⁻¹ T_goal in SE(3) (Murray, Li & Sastry 1994, §2.3.3).

    The rotation is φ = A n, and with y = Rᵀ (p_goal − p)

        V⁻¹ y = κ y + (1 − κ) n (n·y) − φ/2 × y,    κ = (A/2) cot(A/2).

    The cotangent is w/r, with the quaternion (n r, w) of the rotation: κ is 1 at φ = 0 and 0 at
    half a turn. For small φ the term 1 − κ has few correct digits but is equally small. At φ = 0, n
    is zero.
    """
    import sympy as sp

    pairs, (*turn, w) = relative_quaternion(q[3:], goal[3:])
    e, n, y, f = (sp.symbols(f"{name}_1:4", real=True) for name in ("e", "n", "y", "f"))
    angle, root, inverse, whole, rate, kept, v, pull = sp.symbols(
        "angle root inverse whole rate kept v pull", real=True
    )
    bent = sp.Matrix(f).cross(sp.Matrix(y))
    equations = [
        *pairs,
        *turn_angle_equations(turn, w),
        (inverse, 1 / root),
        *((n_k, e_k * inverse) for n_k, e_k in zip(n, e, strict=True)),
        (whole, angle * inverse),
        (rate, whole / 2),
        (kept, rate * v),
        *((f_k, rate * e_k) for f_k, e_k in zip(f, e, strict=True)),
        *_relative_translation(q, goal),
        (pull, (1 - kept) * sum(n_k * y_k for n_k, y_k in zip(n, y, strict=True))),
    ]
    return equations, [
        *(kept * y[k] + pull * n[k] - bent[k] for k in range(3)),
        *(f_k + f_k for f_k in f),
    ]


def difference_by_series(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """Return `difference` with a = θ/sin θ of the rotation 2θ and its quaternion (u, w).

    κ is a w, φ/2 is a u, and (1 − κ) n (n·y) is m u (u·y) with m = (c₂ − c₃) c₁ a⁴, where c_k are
    Stumpff's functions of θ².
    """
    import sympy as sp

    pairs, (*turn, last) = relative_quaternion(q[3:], goal[3:])
    u, y, f = (sp.symbols(f"{name}_1:4", real=True) for name in ("u", "y", "f"))
    kept, pull, arc, s1, s2, s3, w, fourth = sp.symbols(
        "kept pull arc s1 s2 s3 w fourth", real=True
    )
    bent = sp.Matrix(f).cross(sp.Matrix(y))
    equations = [
        *pairs,
        *zip(u, turn, strict=True),
        (w, last),
        *turn_angle_by_series(u, w),
        (kept, arc * w),
        *((f_k, arc * u_k) for f_k, u_k in zip(f, u, strict=True)),
        (fourth, arc * arc * (arc * arc)),
        *_relative_translation(q, goal),
        (pull, (s2 - s3) * s1 * fourth * sum(u_k * y_k for u_k, y_k in zip(u, y, strict=True))),
    ]
    return equations, [
        *(kept * y[k] + pull * u[k] - bent[k] for k in range(3)),
        *(f_k + f_k for f_k in f),
    ]


def _relative_translation(q: Sequence[Any], goal: Sequence[Any]) -> Equations:
    """Return the equations of y = Rᵀ (p_goal − p)."""
    import sympy as sp

    g, y, t, twice = (sp.symbols(f"{name}_1:4", real=True) for name in ("g", "y", "t", "twice"))
    sideways = sp.Matrix(q[3:6]).cross(sp.Matrix(t))
    return [
        *((g[k], goal[k] - q[k]) for k in range(3)),
        *((twice_k, q_k + q_k) for twice_k, q_k in zip(twice, q[3:6], strict=True)),
        *zip(t, sp.Matrix(twice).cross(sp.Matrix(g)), strict=True),
        *((y[k], g[k] - q[6] * t[k] + sideways[k]) for k in range(3)),
    ]


POSITIONS = (*(replace(LENGTH, name=f"p{axis}") for axis in "xyz"), *ENTRIES)
VELOCITIES = (
    *(replace(LENGTH, name=f"v{axis}") for axis in "xyz"),
    *(replace(ANGLE, name=f"w{axis}") for axis in "xyz"),
)
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
    steps=steps,
    along=(0, 1, 2, 0, 1, 2),
    quaternion=3,
)
