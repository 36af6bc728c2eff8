"""Moments of inertia in exact rationals: physical consistency and the parallel-axis theorem.

Principal moments satisfy the triangle inequality exactly if Σ = ½ tr(I) 1 − I (the second moment of
mass) is positive semidefinite. I is then positive semidefinite too. A matrix is positive
semidefinite if no principal minor is negative.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

Moments = tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]
"""(Ixx, Ixy, Ixz, Iyy, Iyz, Izz), tensor entries."""


def is_positive_semidefinite(m: Moments, slack: Fraction = Fraction(0)) -> bool:
    """True if the symmetric 3×3 matrix xx, xy, xz, yy, yz, zz plus `slack` times the unit matrix is
    positive semidefinite.
    """
    # products of integers are faster than products of fractions
    denominator = lcm(slack.denominator, *(entry.denominator for entry in m))
    xx, xy, xz, yy, yz, zz, added = (
        entry.numerator * (denominator // entry.denominator) for entry in (*m, slack)
    )
    xx, yy, zz = xx + added, yy + added, zz + added
    pairs = (xx * yy - xy * xy, xx * zz - xz * xz, yy * zz - yz * yz)
    determinant = xx * pairs[2] - xy * (xy * zz - xz * yz) + xz * (xy * yz - xz * yy)
    return min(xx, yy, zz) >= 0 and min(pairs) >= 0 and determinant >= 0


def second_moments(m: Moments) -> Moments:
    """Return Σ = ½ tr(I) 1 − I."""
    half = (m[0] + m[3] + m[5]) / 2
    return half - m[0], -m[1], -m[2], half - m[3], -m[4], half - m[5]


def about_centre(
    moments: Moments, mass: Fraction, centre: tuple[Fraction, Fraction, Fraction]
) -> Moments:
    """Return moments about the centre of mass from `moments` about the frame's origin, in the same
    axes (Steiner, exact).
    """
    x, y, z = centre
    shift = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
    xx, xy, xz, yy, yz, zz = (m - mass * s for m, s in zip(moments, shift, strict=True))
    return xx, xy, xz, yy, yz, zz
