"""Unit quaternions x y z w: rotation matrix, composition with a rotation in the body's axes, and
the inverse map.

The matrix of a unit quaternion takes three doublings and nine products (`products`), and twelve
sums. It is a rotation only if the quaternion has length 1. Pinocchio and Eigen use the same order
of the four numbers.

Exponential map. A rotation by φ = w dt is the quaternion (sin r φ/|φ|, cos r) with r = |φ|/2
(Murray, Li & Sastry 1994, §2.2.2). To avoid branches and a division by zero, r is computed as the
root of (|φ|² + 2⁻¹⁵⁰)/4. The code takes the root of 2⁶⁰ (|φ|² + 2⁻¹⁵⁰), which is
2⁻⁴⁵ or more, so that it does not underflow in float either. This changes cos r by less than 2⁻¹⁵².
It changes sin r/r and (1 − sin φ/φ)/φ² by less: their derivatives with respect to |φ|² are within
1/24 and 1/120, that of cos r within 1/8. The unit round-off of a double is 2⁻⁵³.

Logarithm. A quaternion (u, w) with r = |u| is the rotation A u/r with A = atan2(2 r w, w² − r²),
from −π to π. If the quaternion changes its sign, A and u change theirs, so that the result is the
shorter of two rotations. At half a turn, where w is 0, both are equally long, and the result is one
of them. Here r is the root of |u|² + 2⁻¹⁵⁰. r and w are scaled by 2³⁰, which leaves A unchanged.
The derivative of A/r with respect to r² is within 2, so that the error is less than 2⁻¹⁴⁹. One of
the two arguments of atan2 is as large as r² or w².
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from symgen.mechanism.joints._joint import Coordinate, Equations

ENTRIES = tuple(Coordinate("1", (Fraction(-1), Fraction(1)), name) for name in "xyzw")
SCALE = 2**30
LEAST = Fraction(1, 2**90)
"""Added to (2³⁰ φ)² so that its root is never zero: 2⁻¹⁵⁰ in units of φ²."""
_NAMES = ("xx", "xy", "xz", "yy", "yz", "zz", "wx", "wy", "wz")


def products(q: Sequence[Any]) -> Equations:
    """Return (symbol, expression) pairs: twice x, y and z, and twice products of two entries."""
    import sympy as sp

    x, y, z, w = q
    x2, y2, z2 = sp.symbols("x2 y2 z2", real=True)
    twice = [(x2, x + x), (y2, y + y), (z2, z + z)]
    values = (x * x2, y * x2, z * x2, y * y2, z * y2, z * z2, w * x2, w * y2, w * z2)
    return [*twice, *zip(sp.symbols(_NAMES, real=True), values, strict=True)]


def rotation() -> Any:
    """Return the rotation matrix R in the symbols of `products`."""
    import sympy as sp

    xx, xy, xz, yy, yz, zz, wx, wy, wz = sp.symbols(_NAMES, real=True)
    return sp.Matrix(
        [
            [1 - yy - zz, xy - wz, xz + wy],
            [xy + wz, 1 - xx - zz, yz - wx],
            [xz - wy, yz + wx, 1 - xx - yy],
        ]
    )


def compose_small_turn(q: Sequence[Any], step: Sequence[Any]) -> list[Any]:
    """Return q ∘ (δ/2, 1): q composed with the rotation δ (rad) to the first order. The length of
    the result is not exactly 1.
    """
    x, y, z, w = q
    a, b, c = (d / 2 for d in step)
    return [
        x + w * a + y * c - z * b,
        y + w * b + z * a - x * c,
        z + w * c + x * b - y * a,
        w - x * a - y * b - z * c,
    ]


def turn_equations(w: Sequence[Any], dt: Any) -> Equations:
    """Return the equations of φ = w dt and r = |φ|/2 (see the module): `phi` is 2³⁰ φ, `root` its
    length, `s` and `c` are sin r and cos r.
    """
    import sympy as sp

    scaled, square, root, half, s, c = sp.symbols("h square root half s c", real=True)
    phi = sp.symbols("phi_1:4", real=True)
    return [
        (scaled, SCALE * dt),
        *((component, rate * scaled) for component, rate in zip(phi, w, strict=True)),
        (square, LEAST + sum(component * component for component in phi)),
        (root, sp.sqrt(square)),
        (half, root / (2 * SCALE)),
        (s, sp.sin(half)),
        (c, sp.cos(half)),
    ]


def compose_turn(q: Sequence[Any]) -> list[Any]:
    """Return q ∘ (e, c) in the symbols e and c. The result has the length of q: it is not
    normalised.
    """
    import sympy as sp

    x, y, z, w = q
    a, b, d, c = sp.symbols("e_1:4 c", real=True)
    return [
        x * c + w * a + y * d - z * b,
        y * c + w * b + z * a - x * d,
        z * c + w * d + x * b - y * a,
        w * c - x * a - y * b - z * d,
    ]


def relative_quaternion(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """Return q⁻¹ ∘ goal for a unit quaternion q: the rotation from q to `goal` in the axes at q.

    Terms are summed in pairs, so that the rotation from q to q is exactly zero.
    """
    import sympy as sp

    (x, y, z, w), (a, b, d, c) = q, goal
    first, second = (sp.symbols(f"{name}_1:4", real=True) for name in ("o", "m"))
    pairs = (
        w * a - x * c,
        w * b - y * c,
        w * d - z * c,
        z * b - y * d,
        x * d - z * a,
        y * a - x * b,
    )
    return list(zip((*first, *second), pairs, strict=True)), [
        *(p + r for p, r in zip(first, second, strict=True)),
        w * c + x * a + y * b + z * d,
    ]


def turn_angle_equations(turn: Sequence[Any], w: Any) -> Equations:
    """Return the equations of the angle A of the quaternion (u, w), see the module; u has one
    component or three.

    `e`, `v` and `root` are 2³⁰ u, 2³⁰ w and 2³⁰ r.
    """
    import sympy as sp

    v, square, root, half_sine, cosine, angle = sp.symbols(
        "v square root half_sine cosine angle", real=True
    )
    e = sp.symbols(f"e_1:{len(turn) + 1}", real=True)
    return [
        *((scaled, SCALE * component) for scaled, component in zip(e, turn, strict=True)),
        (v, SCALE * w),
        (square, LEAST + sum(component * component for component in e)),
        (root, sp.sqrt(square)),
        (half_sine, root * v),
        (cosine, v * v - square),
        (angle, sp.atan2(2 * half_sine, cosine)),
    ]


def quaternion_difference(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """Return the shorter rotation (rad) from q to `goal`, in the axes at q."""
    import sympy as sp

    pairs, (*turn, w) = relative_quaternion(q, goal)
    angle, root, rate = sp.symbols("angle root rate", real=True)
    return [*pairs, *turn_angle_equations(turn, w), (rate, angle / root)], [
        rate * component for component in sp.symbols("e_1:4", real=True)
    ]


def integrate_quaternion(
    q: Sequence[Any], w: Sequence[Any], dt: Any
) -> tuple[Equations, list[Any]]:
    """Return q ∘ exp(w dt/2): q after a time dt at the angular velocity w, which is constant in the
    body's axes.
    """
    import sympy as sp

    factor, root, s = sp.symbols("part root s", real=True)
    phi, e = (sp.symbols(f"{name}_1:4", real=True) for name in ("phi", "e"))
    return [
        *turn_equations(w, dt),
        (factor, s / root),
        *((entry, factor * component) for entry, component in zip(e, phi, strict=True)),
    ], compose_turn(q)
