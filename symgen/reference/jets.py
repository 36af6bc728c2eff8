"""Exact derivatives of the reference: numbers x + ε d with ε² = 0, that go through every formula of it as its balls do.

Each operation has the derivative that calculus gives it; nothing is a difference of two values. d holds the slopes in as many
directions as are asked for at once, so that a whole Jacobian is one evaluation. Jets over jets give second derivatives: η is
entered first, ε on top of it.

Where the reference adds a ball round zero for what a series leaves out (`symgen.reference.integrate`), what the slope's own series
leaves out is in no ball. It is less than 2^10 times as large, far below what anybody asks for.
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
"""Level of jets over jets."""


class Jet(Entered):
    """x + ε d: `x` a ball, `d` what it changes by in each of some directions.

    Jets of `level` 1 have a column of balls as `d`. Those of level 2 go over them: their x may be a jet of level 1, and their
    `d` a row of as many as there are directions, or a jet of level 1 that holds such a row and what it changes by. What is of a
    lower level is constant to a jet.
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
        whole = self.x / other.x
        return Jet(whole, (self.d - other.d * whole) / other.x, self.level)

    def __rtruediv__(self, other: Any) -> Jet:
        whole = other / self.x
        return Jet(whole, -(self.d * whole) / self.x, self.level)

    __radd__ = __add__
    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Jet:
        """x to a positive whole power."""
        return Jet(self.x**exponent, self.d * (exponent * self.x ** (exponent - 1)), self.level)

    def __neg__(self) -> Jet:
        return Jet(-self.x, -self.d, self.level)

    def __abs__(self) -> Jet:
        """Of slope ±d, and anything between them where the sign is not known."""
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

    def atan2(self, other: Any) -> Jet:
        """The angle of (other, self), which is a jet of the same level."""
        square = self.x * self.x + other.x * other.x
        whole = self.x.atan2(other.x) if type(self.x) is Jet else flint.arb.atan2(self.x, other.x)
        return Jet(whole, (self.d * other.x - other.d * self.x) / square, self.level)

    def __lt__(self, other: Any) -> bool:
        return bool(self.x < (other.x if type(other) is Jet else other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.x > (other.x if type(other) is Jet else other))

    def __eq__(self, other: object) -> bool:
        """Of all that is known; as with balls, what has a radius equals nothing."""
        return type(other) is Jet and bool(self.x == other.x) and bool(self.d == other.d)

    __hash__ = None  # type: ignore[assignment]   # equality is of values

    def __float__(self) -> float:
        return float(self.x)


@dataclass(frozen=True)
class Jets(Scalars):
    """Scalars x + ε d; `level` is that of the jets among them."""

    level: int = 1


class ThirdDerivative(RequestError):
    """Jets over jets over jets are asked for."""


def jets(base: Scalars) -> Jets:
    """Scalars x + ε d over `base`, which are balls or jets; what is constant stays a number of `base`."""
    level = 1 + getattr(base, "level", 0)
    if level > DEEPEST:
        raise ThirdDerivative(
            "the reference has no third derivatives; ask for a first derivative of this function"
        )

    def solve(matrices: Array, right: Array) -> Array:
        """A x = b: A x' = b' − A' x, all directions at once."""
        a, b = _values(matrices, level), _values(right, level)
        x = base.solve(a, b)
        count = max(_count(matrices, level), _count(right, level))
        if not count:
            return x
        rates = [
            slope - base.product(bent, x)
            for slope, bent in zip(
                _slopes(right, count, level), _slopes(matrices, count, level), strict=True
            )
        ]
        found = base.solve(a, np.concatenate(np.broadcast_arrays(*rates), axis=-1))
        return _joined(x, np.split(found, count, axis=-1), level)

    def log_determinant(matrices: Array) -> Array:
        """d ln det A = tr(A⁻¹ dA)."""
        a, count = _values(matrices, level), _count(matrices, level)
        whole = base.log_determinant(a)
        if not count:
            return whole
        turned = base.solve(a, np.concatenate(_slopes(matrices, count, level), axis=-1))
        return _joined(whole, [_trace(one) for one in np.split(turned, count, axis=-1)], level)

    def determinant(matrices: Array) -> Array:
        """d det A = det A tr(A⁻¹ dA)."""
        a, count = _values(matrices, level), _count(matrices, level)
        whole = base.determinant(a)
        if not count:
            return whole
        turned = base.solve(a, np.concatenate(_slopes(matrices, count, level), axis=-1))
        return _joined(
            whole, [whole * _trace(one) for one in np.split(turned, count, axis=-1)], level
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
    """The same motion or reference over jets."""
    above = copy(motion)
    above.scalars, above.answers = jets(motion.scalars), {}
    return above


def seeded(values: Array, directions: Array, scalars: Jets) -> Array:
    """values (..., n) + ε directions (m, ..., n), as jets of m slopes among `scalars`."""
    return _joined(values, list(directions), scalars.level)


def slopes(found: Array, count: int, scalars: Jets) -> Array:
    """(m, ...) of results (...) in jets among `scalars`: how they change along each of the `count` directions."""
    with scalars.working():
        return np.stack(_slopes(found, count, scalars.level)) + scalars.array(
            np.zeros(np.shape(found))
        )


def moved(motion: Motion, name: str, given: Array, ways: Array) -> Array:
    """An argument by its name, moved by ε ways (m, ..., n), as jets. Positions are moved by velocities: q ⊕ ε δ.

    `motion` is one over jets.
    """
    scalars = motion.scalars
    if not isinstance(scalars, Jets):
        raise ArgumentError("what is moved by ε is a motion over jets; see `lifted`")
    with scalars.working():
        if name not in POSITIONS:
            return seeded(np.broadcast_to(given, ways.shape[1:]), ways, scalars)
        still = np.broadcast_to(scalars.array(np.zeros(motion.mechanism.nv)), ways.shape[1:])
        return motion.moved(given, seeded(still, ways, scalars))


POSITIONS = ("q", "q_next")
"""Arguments that are positions of all joints."""


def derivatives(
    motion: Any, function: str, arguments: Mapping[str, Array], of: Sequence[str]
) -> dict[str, dict[str, Array]]:
    """{argument: {result: (..., *shape, n)}}: the slope of every result of a function along each coordinate of an argument.

    n is the argument's size, or NV for positions, which are moved by velocities (q ⊕ δ). `motion` is a `Reference` over balls or
    jets, `arguments` are stacks of states (count, …) in its scalars. Raises ArgumentError for an argument that is not there.
    """
    found: dict[str, dict[str, Array]] = {}
    above, scalars = lifted(motion), motion.scalars
    for name in of:
        if name not in arguments:
            raise ArgumentError(
                f"{function} has no argument '{name}'; it has {', '.join(arguments)}"
            )
        given = arguments[name]
        count, shape = (
            given.shape[0],
            (motion.mechanism.nv,) if name in POSITIONS else given.shape[1:],
        )
        n = int(np.prod(shape, dtype=int))
        ways = scalars.array(
            np.broadcast_to(np.eye(n, dtype=int).reshape(n, 1, *shape), (n, count, *shape))
        )
        answers = above.evaluate(function, {**arguments, name: moved(above, name, given, ways)})
        found[name] = {
            result: np.moveaxis(slopes(answer, n, above.scalars), 0, -1)
            for result, answer in answers.items()
        }
    return found


# -- jets in arrays --------------------------------------------------------------------------------------------------------


def _moves(one: Any, level: int) -> bool:
    return type(one) is Jet and one.level == level


def _values(array: Array, level: int) -> Array:
    """The numbers without their slopes."""
    return np.asarray(
        np.frompyfunc(lambda one: one.x if _moves(one, level) else one, 1, 1)(array), dtype=object
    )


def _count(array: Array, level: int) -> int:
    """How many directions the entries have; 0 where none moves."""
    return next(
        (len(_row(one.d)) for one in np.asarray(array, dtype=object).flat if _moves(one, level)), 0
    )


def _slopes(array: Array, count: int, level: int) -> list[Array]:
    """The slopes in each direction, an array as large as the jets' own."""
    array = np.asarray(array, dtype=object)
    rows = [_row(one.d) if _moves(one, level) else [0 * one] * count for one in array.flat]
    out = np.empty((count, len(rows)), dtype=object)
    for i, row in enumerate(rows):
        out[:, i] = row
    return [one.reshape(array.shape) for one in out]


def _joined(whole: Array, ways: Sequence[Array], level: int) -> Array:
    """Jets of that level of these values and slopes, arrays of one shape."""
    whole = np.asarray(whole, dtype=object)
    out = np.empty(whole.shape, dtype=object)
    flat = [np.broadcast_to(way, whole.shape).ravel() for way in ways]
    for i, x in enumerate(whole.ravel()):
        out.flat[i] = Jet(x, _together([way[i] for way in flat], level), level)
    return out


def _row(d: Any) -> list[Any]:
    """The slopes that `d` holds, one by one."""
    if type(d) is not Jet:
        return list(d.entries())
    n, m = d.d.nrows(), d.d.ncols()
    slopes = d.d.entries()
    return [Jet(x, flint.arb_mat(n, 1, slopes[k::m])) for k, x in enumerate(d.x.entries())]


def _together(row: Sequence[Any], level: int) -> Any:
    """One `d` that holds these slopes: see `Jet`."""
    if level == 1:
        return flint.arb_mat(len(row), 1, list(row))
    n = next((one.d.nrows() for one in row if type(one) is Jet), 0)
    if not n:
        return flint.arb_mat(1, len(row), list(row))
    columns = [one.d.entries() if type(one) is Jet else [0 * one] * n for one in row]
    return Jet(
        flint.arb_mat(1, len(row), [one.x if type(one) is Jet else one for one in row]),
        flint.arb_mat(n, len(row), [column[i] for i in range(n) for column in columns]),
    )


def _trace(matrix: Array) -> Array:
    return np.asarray(np.trace(matrix, axis1=-2, axis2=-1), dtype=object)
