"""Free joint: the body's place (m) in the joint's frame, then a unit quaternion x y z w; v is linear, then angular, in its axes.

Rodriguez and Kreutz have it in Appendix B as the mobile base. The numbers are those of Pinocchio's JointModelFreeFlyer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from symgen.joints._joint import ANGLE, LENGTH, Elementary, Equations, JointType, Numbers, Orienting, Placing
from symgen.joints._quaternion import ENTRIES, SCALE, angled, between, composed, products, rotation, turned, turning


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

    u, (x, y, z, w) = v[:3], q[3:]
    phi, n, e, g, d, twice, t = (sp.symbols(f"{name}_1:4", real=True) for name in ("phi", "n", "e", "g", "d", "twice", "t"))
    root, inverse, s, c, sinc, reach, pull = sp.symbols("root inverse s c sinc reach pull", real=True)
    along = sum(one * rate for one, rate in zip(n, u, strict=True))
    bent = sp.Matrix(e).cross(sp.Matrix(g))
    sideways = sp.Matrix([x, y, z]).cross(sp.Matrix(t))
    equations = [
        *turning(v[3:], dt), (inverse, 1 / root), *((one, turn * inverse) for one, turn in zip(n, phi, strict=True)),
        *((own, s * one) for own, one in zip(e, n, strict=True)), (sinc, 2 * SCALE * (s * inverse)), (reach, sinc * dt),
        *((one, reach * rate) for one, rate in zip(g, u, strict=True)), (pull, (1 - sinc * c) * (along * dt)),
        *((d[k], c * g[k] + bent[k] + pull * n[k]) for k in range(3)),
        *((two, one + one) for two, one in zip(twice, (x, y, z), strict=True)),
        *zip(t, sp.Matrix(twice).cross(sp.Matrix(d)), strict=True),
    ]
    return equations, [*(q[k] + (d[k] + w * t[k] + sideways[k]) for k in range(3)), *composed(q[3:])]


def parted(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """The logarithm of T⁻¹ T_goal in SE(3) (Murray, Li & Sastry 1994, §2.3.3): the turn φ = A n, and with y = Rᵀ (p_goal − p)

        V⁻¹ y = κ y + (1 − κ) n (n·y) − φ/2 × y,    κ = (A/2) cot(A/2).

    The cotangent is w/r, by the quaternion (n r, w) of the turn: κ is 1 where nothing turns, and 0 at half a turn. Where φ is
    small, 1 − κ has lost its digits, but is as small. Where nothing turns, n is nothing.
    """
    import sympy as sp

    pairs, (*turn, w) = between(q[3:], goal[3:])
    e, n, g, y, t, f, twice = (sp.symbols(f"{name}_1:4", real=True) for name in ("e", "n", "g", "y", "t", "f", "twice"))
    angle, root, inverse, whole, rate, kept, v, pull = sp.symbols("angle root inverse whole rate kept v pull", real=True)
    sideways = sp.Matrix(q[3:6]).cross(sp.Matrix(t))
    bent = sp.Matrix(f).cross(sp.Matrix(y))
    equations = [
        *pairs, *angled(turn, w), (inverse, 1 / root), *((one, own * inverse) for one, own in zip(n, e, strict=True)),
        (whole, angle * inverse), (rate, whole / 2), (kept, rate * v),
        *((one, rate * own) for one, own in zip(f, e, strict=True)),
        *((g[k], goal[k] - q[k]) for k in range(3)), *((two, one + one) for two, one in zip(twice, q[3:6], strict=True)),
        *zip(t, sp.Matrix(twice).cross(sp.Matrix(g)), strict=True), *((y[k], g[k] - q[6] * t[k] + sideways[k]) for k in range(3)),
        (pull, (1 - kept) * sum(one * own for one, own in zip(n, y, strict=True))),
    ]
    return equations, [*(kept * y[k] + pull * n[k] - bent[k] for k in range(3)), *(one + one for one in f)]


POSITIONS = (*(replace(LENGTH, name=f"p{axis}") for axis in "xyz"), *ENTRIES)
VELOCITIES = (*(replace(LENGTH, name=f"v{axis}") for axis in "xyz"), *(replace(ANGLE, name=f"w{axis}") for axis in "xyz"))
JOINT = JointType(POSITIONS, VELOCITIES, pose, oracle, drawn="body", limited=False, moved=moved, advanced=advanced,
                  parted=parted, steps=steps, along=(0, 1, 2, 0, 1, 2), quaternion=3)
