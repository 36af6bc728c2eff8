"""Unit quaternions x y z w: the rotation that one is, and what a turn in the body's axes makes of it, small or not.

The twelve products of `products` and twelve sums are what the matrix of a unit quaternion takes; it is a rotation on the unit
sphere only. Pinocchio and Eigen keep the same order of the four numbers.

A turn by φ = w dt is the quaternion (sin r φ/|φ|, cos r) with r = |φ|/2 (Murray, Li & Sastry 1994, §2.2.2). So that
nothing is divided by zero and nothing branches, r is the root of (|φ|² + 2⁻¹⁵⁰)/4. The root is taken of 2⁶⁰ times
|φ|² + 2⁻¹⁵⁰, far from the least number of a float as well: it is 2⁻⁴⁵ or more. That changes cos r by less than 2⁻¹⁵², and sin r/r
and (1 − sin φ/φ)/φ² by less still: the slopes of the three over |φ|² are within 1/8, 1/24 and 1/120. A double's u is 2⁻⁵³.

The way back: of a quaternion (u, w) with r = |u| the turn is A u/r with A = atan2(2 r w, w² − r²), from −π to π. Where the
quaternion changes its sign, A and u do, so that of two turns it is the shorter. At half a turn, where w is 0, both are as long,
and it is one of them. Here r is the root of |u|² + 2⁻¹⁵⁰, and r and w are taken 2³⁰ times as large, which is all one to A. The
slope of A/r over r² is within 2, so that is off by less than 2⁻¹⁴⁹. One of the two that A is taken of is as large as r² or w².
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from symgen.mechanism.joints._joint import Coordinate, Equations

ENTRIES = tuple(Coordinate("1", (Fraction(-1), Fraction(1)), name) for name in "xyzw")
SCALE = 2**30
LEAST = Fraction(1, 2**90)
"""What is added to (2³⁰ φ)², so that its root may be divided by: 2⁻¹⁵⁰ of the scale of φ²."""
_NAMES = ("xx", "xy", "xz", "yy", "yz", "zz", "wx", "wy", "wz")


def products(q: Sequence[Any]) -> Equations:
    """(symbol, expression): twice x, y and z, and twice the products of two entries."""
    import sympy as sp

    x, y, z, w = q
    x2, y2, z2 = sp.symbols("x2 y2 z2", real=True)
    twice = [(x2, x + x), (y2, y + y), (z2, z + z)]
    values = (x * x2, y * x2, z * x2, y * y2, z * y2, z * z2, w * x2, w * y2, w * z2)
    return [*twice, *zip(sp.symbols(_NAMES, real=True), values, strict=True)]


def rotation() -> Any:
    """R in the symbols of `products`."""
    import sympy as sp

    xx, xy, xz, yy, yz, zz, wx, wy, wz = sp.symbols(_NAMES, real=True)
    return sp.Matrix(
        [
            [1 - yy - zz, xy - wz, xz + wy],
            [xy + wz, 1 - xx - zz, yz - wx],
            [xz - wy, yz + wx, 1 - xx - yy],
        ]
    )


def turned(q: Sequence[Any], step: Sequence[Any]) -> list[Any]:
    """q ∘ (δ/2, 1): to the first order in the turn δ (rad), whose length is no longer quite 1."""
    x, y, z, w = q
    a, b, c = (d / 2 for d in step)
    return [
        x + w * a + y * c - z * b,
        y + w * b + z * a - x * c,
        z + w * c + x * b - y * a,
        w - x * a - y * b - z * c,
    ]


def turning(w: Sequence[Any], dt: Any) -> Equations:
    """φ = w dt, with r = |φ|/2 as above: `phi` is 2³⁰ φ, `root` its length, `s` and `c` are sin r and cos r."""
    import sympy as sp

    scaled, square, root, half, s, c = sp.symbols("h square root half s c", real=True)
    phi = sp.symbols("phi_1:4", real=True)
    return [
        (scaled, SCALE * dt),
        *((one, rate * scaled) for one, rate in zip(phi, w, strict=True)),
        (square, LEAST + sum(one * one for one in phi)),
        (root, sp.sqrt(square)),
        (half, root / (2 * SCALE)),
        (s, sp.sin(half)),
        (c, sp.cos(half)),
    ]


def composed(q: Sequence[Any]) -> list[Any]:
    """q ∘ (e, c), over these symbols. It is as long as q: nothing is scaled."""
    import sympy as sp

    x, y, z, w = q
    a, b, d, c = sp.symbols("e_1:4 c", real=True)
    return [
        x * c + w * a + y * d - z * b,
        y * c + w * b + z * a - x * d,
        z * c + w * d + x * b - y * a,
        w * c - x * a - y * b - z * d,
    ]


def between(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """q⁻¹ ∘ goal, of a unit quaternion q: the turn from q to `goal` in the axes at q. In pairs, so that of q and q it is none."""
    import sympy as sp

    (x, y, z, w), (a, b, d, c) = q, goal
    one, two = (sp.symbols(f"{name}_1:4", real=True) for name in ("o", "m"))
    pairs = (
        w * a - x * c,
        w * b - y * c,
        w * d - z * c,
        z * b - y * d,
        x * d - z * a,
        y * a - x * b,
    )
    return list(zip((*one, *two), pairs, strict=True)), [
        *(p + r for p, r in zip(one, two, strict=True)),
        w * c + x * a + y * b + z * d,
    ]


def angled(turn: Sequence[Any], w: Any) -> Equations:
    """A of the quaternion (u, w) as above, u in one part or three: `e`, `v` and `root` are 2³⁰ u, 2³⁰ w and 2³⁰ r."""
    import sympy as sp

    v, square, root, half_sine, cosine, angle = sp.symbols(
        "v square root half_sine cosine angle", real=True
    )
    e = sp.symbols(f"e_1:{len(turn) + 1}", real=True)
    return [
        *((own, SCALE * one) for own, one in zip(e, turn, strict=True)),
        (v, SCALE * w),
        (square, LEAST + sum(one * one for one in e)),
        (root, sp.sqrt(square)),
        (half_sine, root * v),
        (cosine, v * v - square),
        (angle, sp.atan2(2 * half_sine, cosine)),
    ]


def turn_between(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """The turn (rad) from q to `goal`, in the axes at q: the shorter of two."""
    import sympy as sp

    pairs, (*turn, w) = between(q, goal)
    angle, root, rate = sp.symbols("angle root rate", real=True)
    return [*pairs, *angled(turn, w), (rate, angle / root)], [
        rate * one for one in sp.symbols("e_1:4", real=True)
    ]


def turned_for(q: Sequence[Any], w: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """q ∘ exp(w dt/2): where the angular velocity w, constant in the body's axes, takes q in a time dt."""
    import sympy as sp

    part, root, s = sp.symbols("part root s", real=True)
    phi, e = (sp.symbols(f"{name}_1:4", real=True) for name in ("phi", "e"))
    return [
        *turning(w, dt),
        (part, s / root),
        *((own, part * one) for own, one in zip(e, phi, strict=True)),
    ], composed(q)
