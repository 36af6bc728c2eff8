"""Multiprecision numbers without a radius, for long products: a ball after ten thousand rotations
is too wide to be useful.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np

from symgen.reference.precision import Array, Entered, Scalars
from symgen.reference.precision import arb as balls
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import Angle


class Point(Entered):
    """A number that is rounded to the working precision after each operation."""

    __slots__ = ("ball",)

    def __init__(self, ball: Any) -> None:
        self.ball = ball.mid() if isinstance(ball, flint.arb) else flint.arb(ball)

    def __add__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else Point(self.ball + _ball(other))

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else Point(self.ball - _ball(other))

    def __rsub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else Point(_ball(other) - self.ball)

    def __mul__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else Point(self.ball * _ball(other))

    def __truediv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else Point(self.ball / _ball(other))

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else Point(_ball(other) / self.ball)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Point:
        return Point(-self.ball)

    def __abs__(self) -> Point:
        return Point(abs(self.ball))

    def __float__(self) -> float:
        return float(self.ball)

    def sin(self) -> Point:
        return Point(self.ball.sin())

    def cos(self) -> Point:
        return Point(self.ball.cos())

    def sqrt(self) -> Point:
        return Point(self.ball.sqrt())

    def log(self) -> Point:
        return Point(self.ball.log())


def _ball(x: Any) -> Any:
    return x.ball if isinstance(x, Point) else x


def points(digits: int) -> Scalars:
    """Return Points of `digits` decimal digits as scalars. They support no linear solve and no
    determinant.
    """
    exact = balls(digits)

    def sine_cosine(angle: Angle) -> tuple[Any, Any]:
        sine, cosine = exact.sine_cosine(angle)
        return Point(sine), Point(cosine)

    def constant(value: Fraction) -> Any:
        return Point(exact.constant(value))

    return Scalars(
        f"points({digits})",
        object,
        constant,
        sine_cosine,
        lambda a, b: a @ b,
        _refuse_solve,
        _refuse_determinant,
        _refuse_determinant,
        exact.working,
    )


def _refuse_solve(matrices: Array, right: Array) -> Array:
    """Raise RequestError: a solve needs error bounds."""
    raise RequestError("numbers without a radius cannot solve a linear system; use balls")


def _refuse_determinant(matrices: Array) -> Array:
    """Raise RequestError: a determinant needs error bounds."""
    raise RequestError("numbers without a radius have no determinant; use balls")
