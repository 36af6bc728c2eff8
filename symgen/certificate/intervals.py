"""Interval arithmetic over stacks of boxes in float64, with outward rounding, so that every result
is an enclosure.

`nextafter` after a correctly rounded operation of IEEE 754 covers its half-ulp error. NumPy's sine
and cosine have no such guarantee: their end points are computed with FLINT's balls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from symgen.reference.precision import Array

_TURNS_KNOWN = 1e6
"""rad: larger angles are treated as arbitrary, since float64 does not resolve multiples of π well
enough.
"""
HALF_TURN = 3.1415926535897936
"""π, rounded up."""
_NEAR = 1e-9
"""rad: an extremum of the sine this close to an interval counts as inside; it covers the rounding
of π up to _TURNS_KNOWN.
"""


def up(x: Any) -> Array:
    """Return the next float above: an upper bound of the exact result of a rounded operation."""
    return np.asarray(np.nextafter(x, np.inf))


def down(x: Any) -> Array:
    """Return the next float below."""
    return np.asarray(np.nextafter(x, -np.inf))


def summed(*terms: Any) -> Array:
    """Return an upper bound of a sum."""
    total = terms[0]
    for term in terms[1:]:
        total = up(total + term)
    return np.asarray(total)


def times(a: Any, b: Any) -> Array:
    """Return an upper bound of a product of nonnegative numbers; 0 times an infinite bound is 0."""
    with np.errstate(invalid="ignore", over="ignore"):
        product = up(np.multiply(a, b))
    return np.where((np.asarray(a) == 0) | (np.asarray(b) == 0), 0.0, product)


def hypotenuse(a: Array, b: Array) -> Array:
    """Return an upper bound of √(a² + b²) of nonnegative numbers."""
    return up(np.sqrt(summed(times(a, a), times(b, b))))


@dataclass(frozen=True)
class Interval:
    """Closed intervals [lo, hi], one per box, or one for all boxes."""

    lo: Array
    hi: Array

    @property
    def size(self) -> Array:
        """Largest magnitude in the interval."""
        return np.maximum(np.abs(self.lo), np.abs(self.hi))

    @property
    def least(self) -> Array:
        """Smallest magnitude in the interval."""
        return np.where(
            (self.lo <= 0) & (self.hi >= 0), 0.0, np.minimum(np.abs(self.lo), np.abs(self.hi))
        )

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __add__(self, other: Interval) -> Interval:
        return Interval(down(self.lo + other.lo), up(self.hi + other.hi))

    def __sub__(self, other: Interval) -> Interval:
        return Interval(down(self.lo - other.hi), up(self.hi - other.lo))

    def __mul__(self, other: Interval) -> Interval:
        if other is self:
            return self.squared()
        products = [self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi]
        return Interval(
            down(
                np.minimum(
                    np.minimum(products[0], products[1]), np.minimum(products[2], products[3])
                )
            ),
            up(
                np.maximum(
                    np.maximum(products[0], products[1]), np.maximum(products[2], products[3])
                )
            ),
        )

    def squared(self) -> Interval:
        return Interval(np.maximum(0.0, down(self.least * self.least)), up(self.size * self.size))

    def __truediv__(self, other: Interval) -> Interval:
        """Return the quotient; the whole real line if the divisor may be 0."""
        crosses = (other.lo <= 0) & (other.hi >= 0)
        with np.errstate(all="ignore"):
            quotients = [
                self.lo / other.lo,
                self.lo / other.hi,
                self.hi / other.lo,
                self.hi / other.hi,
            ]
            low = down(
                np.minimum(
                    np.minimum(quotients[0], quotients[1]), np.minimum(quotients[2], quotients[3])
                )
            )
            high = up(
                np.maximum(
                    np.maximum(quotients[0], quotients[1]), np.maximum(quotients[2], quotients[3])
                )
            )
        return Interval(np.where(crosses, -np.inf, low), np.where(crosses, np.inf, high))

    def within(self, size: Any) -> Interval:
        """Return the part of magnitude at most `size`."""
        return Interval(np.maximum(self.lo, -np.asarray(size)), np.minimum(self.hi, size))

    def clipped(self, low: float, high: float) -> Interval:
        """Return the part between `low` and `high`; one of these bounds if the part is empty."""
        return Interval(np.clip(self.lo, low, high), np.clip(self.hi, low, high))

    def sqrt(self) -> Interval:
        return Interval(
            np.maximum(0.0, down(np.sqrt(np.maximum(self.lo, 0.0)))),
            up(np.sqrt(np.maximum(self.hi, 0.0))),
        )

    def sine(self) -> Interval:
        return _circular(self, "sin", 0.5)

    def cosine(self) -> Interval:
        return _circular(self, "cos", 0.0)

    def logarithm(self) -> Interval:
        if not np.all(self.lo > 0):
            return Interval(np.full_like(self.lo, -np.inf), np.full_like(self.hi, np.inf))
        return Interval(_function_bounds(self.lo, "log")[0], _function_bounds(self.hi, "log")[1])

    def angle(self, x: Interval) -> Interval:
        """Return atan2(self, x): any angle where `cuts`, else the range of the corners, since atan2
        is monotone along each edge.
        """
        corners = [_angles(a, b) for a in (self.lo, self.hi) for b in (x.lo, x.hi)]
        low, high = (
            np.maximum.reduce([corner[end] for corner in corners])
            if end
            else np.minimum.reduce([corner[end] for corner in corners])
            for end in (0, 1)
        )
        return Interval(
            np.where(self.cuts(x), -HALF_TURN, low), np.where(self.cuts(x), HALF_TURN, high)
        )

    def cuts(self, x: Interval) -> Array:
        """True where the boxes of y (self) and x meet the half line y = 0, x ≤ 0."""
        return np.asarray((self.lo <= 0) & (self.hi >= 0) & (x.lo <= 0))

    def widened(self, by: Array) -> Interval:
        """Return the interval widened by an error bound."""
        return Interval(down(self.lo - by), up(self.hi + by))


def _function_bounds(points: Array, name: str) -> tuple[Array, Array]:
    """Return lower and upper bounds of a FLINT function at each of `points`; each distinct point is
    evaluated once.
    """
    distinct, inverse = np.unique(points, return_inverse=True)
    low, high = np.empty(len(distinct)), np.empty(len(distinct))
    for k, point in enumerate(distinct):
        value = getattr(flint.arb(float(point)), name)()
        low[k], high[k] = float(value.lower()), float(value.upper())
    shape = np.shape(points)
    return down(low)[inverse].reshape(shape), up(high)[inverse].reshape(shape)


def _angles(y: Array, x: Array) -> tuple[Array, Array]:
    """Return lower and upper bounds of atan2(y, x) at each point."""
    y, x = np.broadcast_arrays(y, x)
    distinct, inverse = np.unique(np.stack([y.ravel(), x.ravel()]), axis=1, return_inverse=True)
    values = [flint.arb.atan2(flint.arb(float(a)), flint.arb(float(b))) for a, b in distinct.T]
    low, high = (
        np.array([float(ball_end) for ball_end in bounds])
        for bounds in zip(*((v.lower(), v.upper()) for v in values), strict=True)
    )
    return down(low)[inverse].reshape(y.shape), up(high)[inverse].reshape(y.shape)


def _circular(x: Interval, name: str, phase: float) -> Interval:
    """Return sine or cosine; the maxima are at (2k + phase) π, the minima at (2k + 1 + phase) π."""
    (low_a, high_a), (low_b, high_b) = _function_bounds(x.lo, name), _function_bounds(x.hi, name)

    def contains_extremum(odd: int) -> Array:
        first = np.ceil((x.lo - _NEAR) / (2 * math.pi) - (phase + odd) / 2 - _NEAR)
        return np.asarray((first * 2 + odd + phase) * math.pi <= x.hi + _NEAR * 10)

    beyond_known_turns = x.size > _TURNS_KNOWN
    low = np.where(beyond_known_turns | contains_extremum(1), -1.0, np.minimum(low_a, low_b))
    high = np.where(beyond_known_turns | contains_extremum(0), 1.0, np.maximum(high_a, high_b))
    return Interval(np.maximum(low, -1.0), np.minimum(high, 1.0))
