"""Free joint: the body's place (m) in the joint's frame, then a unit quaternion x y z w; v is linear, then angular, in its axes.

Rodriguez and Kreutz have it in Appendix B as the mobile base. The numbers are those of Pinocchio's JointModelFreeFlyer.
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
    angled,
    between,
    composed,
    products,
    rotation,
    turned,
    turning,
)
from symgen.mechanism.joints._series import angled_by_series, continued, held, turning_by_series


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


def advanced(q: Sequence[Any], v: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """T exp((v, w) dt) of SE(3) (Murray, Li & Sastry 1994, (2.36)): the place moves by R V v dt, with φ = w dt and

        V v = (sin φ/φ) v + ((1 − cos φ)/φ²) φ × v + ((1 − sin φ/φ)/φ²) φ (φ·v).

    By r = |φ|/2 and n = φ/|φ| these are g cos r + e × g with g = v dt sin r/r and e = n sin r, and a part along n. Where φ is
    small, 1 − sin φ/φ has lost its digits, but is as small: the sum keeps those of v dt. Where nothing turns, n is nothing.
    """
    import sympy as sp

    u = v[:3]
    phi, n, e, g, d = (sp.symbols(f"{name}_1:4", real=True) for name in ("phi", "n", "e", "g", "d"))
    root, inverse, s, c, sinc, reach, pull = sp.symbols(
        "root inverse s c sinc reach pull", real=True
    )
    along = sum(one * rate for one, rate in zip(n, u, strict=True))
    bent = sp.Matrix(e).cross(sp.Matrix(g))
    equations = [
        *turning(v[3:], dt),
        (inverse, 1 / root),
        *((one, turn * inverse) for one, turn in zip(n, phi, strict=True)),
        *((own, s * one) for own, one in zip(e, n, strict=True)),
        (sinc, 2 * SCALE * (s * inverse)),
        (reach, sinc * dt),
        *((one, reach * rate) for one, rate in zip(g, u, strict=True)),
        (pull, (1 - sinc * c) * (along * dt)),
        *((d[k], c * g[k] + bent[k] + pull * n[k]) for k in range(3)),
    ]
    turned_back, coordinates = _arrived(q)
    return [*equations, *turned_back], coordinates


def advanced_by_series(q: Sequence[Any], v: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """`advanced` with h = φ/2 and Stumpff's functions c_k of |h|²: with e = c₁ h and g = c₁ v dt,

    V v dt = c₀ g + e × g + (c₃ + c₁ c₂) h (h·v dt).
    """
    import sympy as sp

    u = v[:3]
    h, e, g, d = (sp.symbols(f"{name}_1:4", real=True) for name in ("h", "e", "g", "d"))
    c, s1, s2, s3, reach, pull, t, late = sp.symbols("c s1 s2 s3 reach pull t late", real=True)
    along = sum(one * rate for one, rate in zip(h, u, strict=True))
    bent = sp.Matrix(e).cross(sp.Matrix(g))
    equations = [
        *held(dt),
        *turning_by_series(v[3:], t, 4),
        (reach, s1 * t),
        *((one, reach * rate) for one, rate in zip(g, u, strict=True)),
        (pull, (s3 + s1 * s2) * (along * t)),
        *((d[k], c * g[k] + bent[k] + pull * h[k]) for k in range(3)),
    ]
    turned_back, coordinates = _arrived(q)
    x = sp.symbols("r_1:8", real=True)
    known: dict[Any, Any] = {}
    for symbol, expression in products(x[3:]):
        known[symbol] = expression.xreplace(known)
    behind = sp.Matrix(u) * late + sp.Matrix(v[3:]).cross(sp.Matrix(u)) * (late * late / 2)
    place = sp.Matrix(x[:3]) + rotation().xreplace(known) * behind
    return [*equations, *turned_back, *zip(x, coordinates, strict=True)], [
        *place,
        *continued(x[3:], v[3:]),
    ]


def _arrived(q: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """The coordinates after the displacement `d` in the body's axes at q and the turn (e, c)."""
    import sympy as sp

    w = q[6]
    d, twice, t = (sp.symbols(f"{name}_1:4", real=True) for name in ("d", "twice", "t"))
    sideways = sp.Matrix(q[3:6]).cross(sp.Matrix(t))
    equations = [
        *((two, one + one) for two, one in zip(twice, q[3:6], strict=True)),
        *zip(t, sp.Matrix(twice).cross(sp.Matrix(d)), strict=True),
    ]
    return equations, [
        *(q[k] + (d[k] + w * t[k] + sideways[k]) for k in range(3)),
        *composed(q[3:]),
    ]


def parted(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """The logarithm of T⁻¹ T_goal in SE(3) (Murray, Li & Sastry 1994, §2.3.3): the turn φ = A n, and with y = Rᵀ (p_goal − p)

        V⁻¹ y = κ y + (1 − κ) n (n·y) − φ/2 × y,    κ = (A/2) cot(A/2).

    The cotangent is w/r, by the quaternion (n r, w) of the turn: κ is 1 where nothing turns, and 0 at half a turn. Where φ is
    small, 1 − κ has lost its digits, but is as small. Where nothing turns, n is nothing.
    """
    import sympy as sp

    pairs, (*turn, w) = between(q[3:], goal[3:])
    e, n, y, f = (sp.symbols(f"{name}_1:4", real=True) for name in ("e", "n", "y", "f"))
    angle, root, inverse, whole, rate, kept, v, pull = sp.symbols(
        "angle root inverse whole rate kept v pull", real=True
    )
    bent = sp.Matrix(f).cross(sp.Matrix(y))
    equations = [
        *pairs,
        *angled(turn, w),
        (inverse, 1 / root),
        *((one, own * inverse) for one, own in zip(n, e, strict=True)),
        (whole, angle * inverse),
        (rate, whole / 2),
        (kept, rate * v),
        *((one, rate * own) for one, own in zip(f, e, strict=True)),
        *_behind(q, goal),
        (pull, (1 - kept) * sum(one * own for one, own in zip(n, y, strict=True))),
    ]
    return equations, [
        *(kept * y[k] + pull * n[k] - bent[k] for k in range(3)),
        *(one + one for one in f),
    ]


def parted_by_series(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """`parted` with a = θ/sin θ of the turn 2θ and its quaternion (u, w): κ = a w, φ/2 = a u, and (1 − κ) n (n·y) is m u (u·y)
    with m = (c₂ − c₃) c₁ a⁴, c_k of θ².
    """
    import sympy as sp

    pairs, (*turn, last) = between(q[3:], goal[3:])
    u, y, f = (sp.symbols(f"{name}_1:4", real=True) for name in ("u", "y", "f"))
    kept, pull, arc, s1, s2, s3, w, fourth = sp.symbols(
        "kept pull arc s1 s2 s3 w fourth", real=True
    )
    bent = sp.Matrix(f).cross(sp.Matrix(y))
    equations = [
        *pairs,
        *zip(u, turn, strict=True),
        (w, last),
        *angled_by_series(u, w),
        (kept, arc * w),
        *((one, arc * own) for one, own in zip(f, u, strict=True)),
        (fourth, arc * arc * (arc * arc)),
        *_behind(q, goal),
        (pull, (s2 - s3) * s1 * fourth * sum(one * own for one, own in zip(u, y, strict=True))),
    ]
    return equations, [
        *(kept * y[k] + pull * u[k] - bent[k] for k in range(3)),
        *(one + one for one in f),
    ]


def _behind(q: Sequence[Any], goal: Sequence[Any]) -> Equations:
    """y = Rᵀ (p_goal − p)."""
    import sympy as sp

    g, y, t, twice = (sp.symbols(f"{name}_1:4", real=True) for name in ("g", "y", "t", "twice"))
    sideways = sp.Matrix(q[3:6]).cross(sp.Matrix(t))
    return [
        *((g[k], goal[k] - q[k]) for k in range(3)),
        *((two, one + one) for two, one in zip(twice, q[3:6], strict=True)),
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
    oracle,
    drawn="body",
    limited=False,
    moved=moved,
    advanced=advanced,
    parted=parted,
    advanced_by_series=advanced_by_series,
    parted_by_series=parted_by_series,
    steps=steps,
    along=(0, 1, 2, 0, 1, 2),
    quaternion=3,
)
