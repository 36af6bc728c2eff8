"""Exact derivatives of the reference by forward mode: numbers x + ε d with ε² = 0, which pass
through every formula like balls.

Each operation has its derivative from calculus; no finite differences are taken. d holds the
derivatives in several directions at once, so that a whole Jacobian is one evaluation. Jets over
jets give second derivatives: the inner jet η is created first, ε on top of it.

Where the reference adds a ball around zero for the truncation error of a series
(`symgen.reference.integrate`), no ball covers the truncation error of the derivative's own series.
It is less than 2^10 times as large, far below any accuracy that is tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import flint
import numpy as np

from symgen.reference.motion import Motion
from symgen.reference.precision import Array, Entered, Scalars
from symgen.support.errors import ArgumentError, RequestError

_Moved = TypeVar("_Moved", bound=Motion)
DEEPEST = 2
"""Highest level of jets over jets."""


class Jet(Entered):
    """Number x + ε d: `x` is a ball, `d` its derivatives in several directions.

    A jet of `level` 1 has a column of balls as `d`. A jet of level 2 is a jet over jets: its x may
    be a jet of level 1. Its `d` is a row with one entry for each direction, or a jet of level 1
    that holds such a row and the derivatives of the row. A number of a lower level is constant to a
    jet.
    """

    __slots__ = ("d", "level", "x")

    def __init__(self, x: Any, d: Any, level: int = 1) -> None:
        self.x, self.d, self.level = x, d, level

    def __add__(self, other: Any) -> Jet:
        if type(other) is not Jet or other.level < self.level:
            return Jet(self.x + other, self.d, self.level)
        if other.level > self.level:
            return Jet(other.x + self, other.d, other.level)
        return Jet(self.x + other.x, self.d + other.d, self.level)

    def __sub__(self, other: Any) -> Jet:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Jet:
        return self.__neg__().__add__(other)

    def __mul__(self, other: Any) -> Jet:
        if type(other) is not Jet or other.level < self.level:
            return Jet(self.x * other, self.d * other, self.level)
        if other.level > self.level:
            return Jet(other.x * self, other.d * self, other.level)
        return Jet(self.x * other.x, self.d * other.x + other.d * self.x, self.level)

    def __truediv__(self, other: Any) -> Jet:
        if type(other) is not Jet or other.level < self.level:
            return Jet(self.x / other, self.d / other, self.level)
        if other.level > self.level:
            return Jet.__rtruediv__(other, self)
        quotient = self.x / other.x
        return Jet(quotient, (self.d - other.d * quotient) / other.x, self.level)

    def __rtruediv__(self, other: Any) -> Jet:
        quotient = other / self.x
        return Jet(quotient, -(self.d * quotient) / self.x, self.level)

    __radd__ = __add__
    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Jet:
        """Return x to a positive integer power."""
        return Jet(self.x**exponent, self.d * (exponent * self.x ** (exponent - 1)), self.level)

    def __neg__(self) -> Jet:
        return Jet(-self.x, -self.d, self.level)

    def __abs__(self) -> Jet:
        """Return |x| with derivative ±d; if the sign is not known, one that encloses both."""
        sign = 1 if self.x > 0 else -1 if self.x < 0 else flint.arb(0, 1)
        return Jet(abs(self.x), self.d * sign, self.level)

    def sin(self) -> Jet:
        return Jet(self.x.sin(), self.d * self.x.cos(), self.level)

    def cos(self) -> Jet:
        return Jet(self.x.cos(), -(self.d * self.x.sin()), self.level)

    def sqrt(self) -> Jet:
        root = self.x.sqrt()
        return Jet(root, self.d / (2 * root), self.level)

    def log(self) -> Jet:
        return Jet(self.x.log(), self.d / self.x, self.level)

    def atan2(self, x: Any) -> Jet:
        """Return the angle from the x axis to (x, self); both are jets of one level."""
        square = self.x * self.x + x.x * x.x
        angle = self.x.atan2(x.x) if type(self.x) is Jet else flint.arb.atan2(self.x, x.x)
        return Jet(angle, (self.d * x.x - x.d * self.x) / square, self.level)

    def __lt__(self, other: Any) -> bool:
        return bool(self.x < (other.x if type(other) is Jet else other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.x > (other.x if type(other) is Jet else other))

    def __eq__(self, other: object) -> bool:
        """True if value and derivatives are equal. As with balls, a number with a radius equals no
        other number.
        """
        return type(other) is Jet and bool(self.x == other.x) and bool(self.d == other.d)

    __hash__ = None  # type: ignore[assignment]   # equality is of values

    def __float__(self) -> float:
        return float(self.x)


@dataclass(frozen=True)
class Jets(Scalars):
    """Scalars x + ε d; `level` is the level of the jets among them."""

    level: int = 1


class ThirdDerivative(RequestError):
    """A third derivative was requested: jets over jets over jets."""


def jets(base: Scalars) -> Jets:
    """Return the scalars x + ε d over `base`, which are balls or jets. Constants stay numbers of
    `base`.
    """
    level = 1 + getattr(base, "level", 0)
    if level > DEEPEST:
        raise ThirdDerivative(
            "the reference has no third derivatives; ask for a first derivative of this function"
        )

    def solve(matrices: Array, right: Array) -> Array:
        """Return x with A x = b, and derivatives from A x' = b' − A' x, all directions at once."""
        a, b = _values(matrices, level), _values(right, level)
        x = base.solve(a, b)
        count = max(_count(matrices, level), _count(right, level))
        if not count:
            return x
        rates = [
            derivative - base.product(matrix_derivative, x)
            for derivative, matrix_derivative in zip(
                _direction_arrays(right, count, level),
                _direction_arrays(matrices, count, level),
                strict=True,
            )
        ]
        derivative_solutions = base.solve(a, np.concatenate(np.broadcast_arrays(*rates), axis=-1))
        return _make_jets(x, np.split(derivative_solutions, count, axis=-1), level)

    def log_determinant(matrices: Array) -> Array:
        """Return ln det A with the derivative d ln det A = tr(A⁻¹ dA)."""
        a, count = _values(matrices, level), _count(matrices, level)
        value = base.log_determinant(a)
        if not count:
            return value
        solved = base.solve(a, np.concatenate(_direction_arrays(matrices, count, level), axis=-1))
        return _make_jets(
            value, [_trace(derivative) for derivative in np.split(solved, count, axis=-1)], level
        )

    def determinant(matrices: Array) -> Array:
        """Return det A with the derivative d det A = det A tr(A⁻¹ dA)."""
        a, count = _values(matrices, level), _count(matrices, level)
        value = base.determinant(a)
        if not count:
            return value
        solved = base.solve(a, np.concatenate(_direction_arrays(matrices, count, level), axis=-1))
        return _make_jets(
            value,
            [value * _trace(derivative) for derivative in np.split(solved, count, axis=-1)],
            level,
        )

    return Jets(
        f"jets over {base.name}",
        base.dtype,
        base.constant,
        base.sine_cosine,
        np.matmul,
        solve,
        determinant,
        log_determinant,
        base.working,
        level,
    )


def lifted(motion: _Moved) -> _Moved:
    """Return the same motion or reference over jets."""
    copied = copy(motion)
    copied.scalars, copied.cached_results = jets(motion.scalars), {}
    return copied


def seeded(values: Array, directions: Array, scalars: Jets) -> Array:
    """Return values (..., n) + ε directions (m, ..., n), as jets with m derivatives."""
    return _make_jets(values, list(directions), scalars.level)


def jet_derivatives(results: Array, count: int, scalars: Jets) -> Array:
    """Return the derivatives (m, ...) of results (...) in jets, along each of the `count`
    directions.
    """
    with scalars.working():
        return np.stack(_direction_arrays(results, count, scalars.level)) + scalars.array(
            np.zeros(np.shape(results))
        )


def displaced_argument(motion: Motion, name: str, value: Array, directions: Array) -> Array:
    """Return an argument moved by ε directions (m, ..., n), as jets. Positions move by velocities:
    q ⊕ ε δ.

    `motion` is a motion over jets.
    """
    scalars = motion.scalars
    if not isinstance(scalars, Jets):
        raise ArgumentError("an argument moves by ε only in a motion over jets; see `lifted`")
    with scalars.working():
        if name not in POSITIONS:
            return seeded(np.broadcast_to(value, directions.shape[1:]), directions, scalars)
        still = np.broadcast_to(scalars.array(np.zeros(motion.mechanism.nv)), directions.shape[1:])
        return motion.displaced(value, seeded(still, directions, scalars))


POSITIONS = ("q", "q_next")
"""Arguments that are positions of all joints."""


def derivatives(
    motion: Any, function: str, arguments: Mapping[str, Array], of: Sequence[str]
) -> dict[str, dict[str, Array]]:
    """Return {argument: {result: (..., *shape, n)}}: the derivative of every result along each
    coordinate of the arguments `of`.

    n is the argument's size, or NV for positions, which move by velocities (q ⊕ δ). `motion` is a
    `Reference` over balls or jets, `arguments` are stacks of states (count, …) in its scalars.
    Raises ArgumentError for an unknown argument.
    """
    by_argument: dict[str, dict[str, Array]] = {}
    lifted_motion, scalars = lifted(motion), motion.scalars
    for name in of:
        if name not in arguments:
            raise ArgumentError(
                f"{function} has no argument '{name}'; it has {', '.join(arguments)}"
            )
        value = arguments[name]
        count, shape = (
            value.shape[0],
            (motion.mechanism.nv,) if name in POSITIONS else value.shape[1:],
        )
        n = int(np.prod(shape, dtype=int))
        directions = scalars.array(
            np.broadcast_to(np.eye(n, dtype=int).reshape(n, 1, *shape), (n, count, *shape))
        )
        results = lifted_motion.evaluate(
            function,
            {**arguments, name: displaced_argument(lifted_motion, name, value, directions)},
        )
        by_argument[name] = {
            result: np.moveaxis(jet_derivatives(values, n, lifted_motion.scalars), 0, -1)
            for result, values in results.items()
        }
    return by_argument


# -- jets in arrays --------------------------------------------------------------------------------


def _is_jet(number: Any, level: int) -> bool:
    """True if the number is a jet of this level."""
    return type(number) is Jet and number.level == level


def _values(array: Array, level: int) -> Array:
    """Return the numbers without their derivatives."""
    return np.asarray(
        np.frompyfunc(lambda number: number.x if _is_jet(number, level) else number, 1, 1)(array),
        dtype=object,
    )


def _count(array: Array, level: int) -> int:
    """Return the number of directions of the entries; 0 if no entry is a jet."""
    return next(
        (
            len(_row(number.d))
            for number in np.asarray(array, dtype=object).flat
            if _is_jet(number, level)
        ),
        0,
    )


def _direction_arrays(array: Array, count: int, level: int) -> list[Array]:
    """Return the derivatives in each direction, each an array of the jets' shape."""
    array = np.asarray(array, dtype=object)
    rows = [
        _row(number.d) if _is_jet(number, level) else [0 * number] * count for number in array.flat
    ]
    out = np.empty((count, len(rows)), dtype=object)
    for i, row in enumerate(rows):
        out[:, i] = row
    return [row.reshape(array.shape) for row in out]


def _make_jets(values: Array, derivatives: Sequence[Array], level: int) -> Array:
    """Return jets of a level from values and derivatives, arrays of one shape."""
    values = np.asarray(values, dtype=object)
    out = np.empty(values.shape, dtype=object)
    flat = [np.broadcast_to(derivative, values.shape).ravel() for derivative in derivatives]
    for i, x in enumerate(values.ravel()):
        out.flat[i] = Jet(
            x, _pack_derivatives([derivative[i] for derivative in flat], level), level
        )
    return out


def _row(d: Any) -> list[Any]:
    """Return the derivatives that `d` holds, one by one."""
    if type(d) is not Jet:
        return list(d.entries())
    n, m = d.d.nrows(), d.d.ncols()
    entries = d.d.entries()
    return [Jet(x, flint.arb_mat(n, 1, entries[k::m])) for k, x in enumerate(d.x.entries())]


def _pack_derivatives(row: Sequence[Any], level: int) -> Any:
    """Return one `d` that holds these derivatives: see `Jet`."""
    if level == 1:
        return flint.arb_mat(len(row), 1, list(row))
    n = next((derivative.d.nrows() for derivative in row if type(derivative) is Jet), 0)
    if not n:
        return flint.arb_mat(1, len(row), list(row))
    columns = [
        derivative.d.entries() if type(derivative) is Jet else [0 * derivative] * n
        for derivative in row
    ]
    return Jet(
        flint.arb_mat(
            1,
            len(row),
            [derivative.x if type(derivative) is Jet else derivative for derivative in row],
        ),
        flint.arb_mat(n, len(row), [column[i] for i in range(n) for column in columns]),
    )


def _trace(matrix: Array) -> Array:
    return np.asarray(np.trace(matrix, axis1=-2, axis2=-1), dtype=object)
