"""Unit quaternions x y z w: the rotation that one is, and what a small turn in the body's axes makes of it.

The twelve products of `products` and twelve sums are what the matrix of a unit quaternion takes; it is a rotation on the unit
sphere only. Pinocchio and Eigen keep the same order of the four numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from symgen.joints._joint import Coordinate

ENTRIES = tuple(Coordinate("1", (Fraction(-1), Fraction(1)), name) for name in "xyzw")
_NAMES = ("xx", "xy", "xz", "yy", "yz", "zz", "wx", "wy", "wz")


def products(q: Sequence[Any]) -> list[tuple[Any, Any]]:
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
    return sp.Matrix([[1 - yy - zz, xy - wz, xz + wy],
                      [xy + wz, 1 - xx - zz, yz - wx],
                      [xz - wy, yz + wx, 1 - xx - yy]])


def turned(q: Sequence[Any], step: Sequence[Any]) -> list[Any]:
    """q ∘ (δ/2, 1): to the first order in the turn δ (rad), whose length is no longer quite 1."""
    x, y, z, w = q
    a, b, c = (d / 2 for d in step)
    return [x + w * a + y * c - z * b, y + w * b + z * a - x * c, z + w * c + x * b - y * a, w - x * a - y * b - z * c]
