"""Numbers of many digits without a radius. A ball of a product of ten thousand turns is so wide that it says nothing."""

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
    """A number that is rounded after each operation, in the working precision."""

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
    """Such numbers of `digits` decimal digits; nothing is solved with them."""
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
        _none,
        _alone,
        _alone,
        exact.working,
    )


def _none(matrices: Array, right: Array) -> Array:
    raise RequestError("numbers without a radius solve nothing; take balls")


def _alone(matrices: Array) -> Array:
    raise RequestError("numbers without a radius have no determinant; take balls")
