"""Moments of inertia in exact rationals: when a body can have them, and about which point they are.

Principal moments satisfy the triangle inequality exactly when Σ = ½ tr(I) 1 − I (the second moment of mass) is positive
semidefinite. I is then positive semidefinite too. A matrix is positive semidefinite when no principal minor is negative.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

Moments = tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]
"""(Ixx, Ixy, Ixz, Iyy, Iyz, Izz), tensor entries."""


def is_positive_semidefinite(m: Moments, slack: Fraction = Fraction(0)) -> bool:
    """Whether the symmetric 3×3 matrix xx, xy, xz, yy, yz, zz, with `slack` added to its diagonal, is positive semidefinite."""
    whole = lcm(
        slack.denominator, *(one.denominator for one in m)
    )  # times which all are integers, whose products are quick
    xx, xy, xz, yy, yz, zz, more = (
        one.numerator * (whole // one.denominator) for one in (*m, slack)
    )
    xx, yy, zz = xx + more, yy + more, zz + more
    pairs = (xx * yy - xy * xy, xx * zz - xz * xz, yy * zz - yz * yz)
    determinant = xx * pairs[2] - xy * (xy * zz - xz * yz) + xz * (xy * yz - xz * yy)
    return min(xx, yy, zz) >= 0 and min(pairs) >= 0 and determinant >= 0


def second_moments(m: Moments) -> Moments:
    """Σ = ½ tr(I) 1 − I."""
    half = (m[0] + m[3] + m[5]) / 2
    return half - m[0], -m[1], -m[2], half - m[3], -m[4], half - m[5]


def about_centre(
    moments: Moments, mass: Fraction, centre: tuple[Fraction, Fraction, Fraction]
) -> Moments:
    """Moments about the centre of mass from `moments` about the frame's origin, in the same axes (Steiner, exact)."""
    x, y, z = centre
    shift = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
    a = tuple(m - mass * s for m, s in zip(moments, shift, strict=True))
    return a[0], a[1], a[2], a[3], a[4], a[5]
