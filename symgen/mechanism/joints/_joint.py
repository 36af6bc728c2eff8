"""What is asked of a joint type. A file of this folder answers all of it, in one `JOINT`, and nobody else asks for a type's name.

A joint is declared by an axis, where it has one, and by the numbers in `parameters`. It owns one entry of q for each of
`positions` and one of v for each of `velocities`, and moves its body by `pose`. The columns of its motion subspace H, one a
velocity, follow from `pose` and `moved` by differentiation (`symgen.derivation.closed_forms`), and from H whatever inertia it
cannot feel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

Unit = Literal["rad", "m", "1"]


@dataclass(frozen=True)
class Coordinate:
    """An entry of q or v: its unit (of v: a second), the range that states are drawn from where none is declared, and the name
    that tells it from the joint's others, where there are others."""

    unit: Unit
    usual: tuple[Fraction, Fraction]
    name: str = ""

    @property
    def rate_unit(self) -> str:
        return f"{self.unit}/s"

    @property
    def force_unit(self) -> str:
        """Of the generalized force that goes with it."""
        return "N m" if self.unit == "rad" else "N"

    @property
    def inertia_unit(self) -> str:
        """Of the inertia that it meets."""
        return "kg m²" if self.unit == "rad" else "kg"


ANGLE = Coordinate("rad", (Fraction(-3217, 1024), Fraction(3217, 1024)))  # ±π
LENGTH = Coordinate("m", (Fraction(-1), Fraction(1)))


class Parameter(NamedTuple):
    """A number other than zero that a joint of this type declares besides its axis, by the name that descriptions give it."""

    name: str
    what: str
    """For a person, with its unit."""


class Turning(NamedTuple):
    """A turn about the joint's axis by `rate` times the coordinate `of`."""

    of: int
    rate: Fraction = Fraction(1)


class Sliding(NamedTuple):
    """A displacement along the joint's axis by `rate` (m per unit of the coordinate) times the coordinate `of`."""

    of: int
    rate: Fraction = Fraction(1)


class Placing(NamedTuple):
    """A displacement by coordinates from `of` on, along `axes` axes of the joint's frame, x first (m)."""

    of: int
    axes: int = 3


class Orienting(NamedTuple):
    """A turn by the unit quaternion x y z w, four coordinates from `of` on."""

    of: int


AboutAxis = Turning | Sliding
Elementary = AboutAxis | Placing | Orienting
Numbers = Mapping[str, Fraction]
"""The parameters of one joint by name."""


def added(q: Sequence[Any], step: Sequence[Any]) -> list[Any]:
    """q ⊕ δ where a velocity is the rate of its coordinate."""
    return [x + d for x, d in zip(q, step, strict=True)]


Equations = list[tuple[Any, Any]]
"""Symbols with their expressions, in order. A symbol x_2 is component 2 of x."""


def straight(q: Sequence[Any], v: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """q moved for a time dt by a velocity that is the rate of the coordinates."""
    return [], [x + rate * dt for x, rate in zip(q, v, strict=True)]


def apart(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """The way from q to `goal` where a velocity is the rate of its coordinate."""
    return [], [there - here for here, there in zip(q, goal, strict=True)]


def none(q: Sequence[Any]) -> list[tuple[Any, Any]]:
    """A pose without `steps`."""
    return []


@dataclass(frozen=True)
class JointType:
    """See the module docstring.

    `pose(q, p)` → (R, r) in SymPy, about the joint's own z axis: axes and origin of the moved frame in the joint's frame. It may
    be written in symbols that `steps(q)` gives with their expressions, in order, so that a product is computed once.
    `oracle(p)` says the same motion to the reference, which shares nothing with the derivation: a product of elementary motions
    about the declared axis, from left to right. `limited` is False where a description's range means nothing. `drawn` is the
    sign that a picture has for it.

    `along` is None where each velocity is the rate of a coordinate. Else the joint has no axis: velocities are those of the moved
    frame in its own axes, and `along` says of each which of these axes it turns about or slides along, by its unit. `quaternion`
    is the first of four coordinates x y z w that are a unit quaternion. `moved(q, δ)` is q ⊕ δ in SymPy, to the first order in δ.
    `advanced(q, v, dt)` is where the velocity v, constant in the moved frame's own axes, takes q in a time dt: the exponential
    map of v dt. It gives (equations, coordinates), the coordinates over the symbols of the equations. `parted(q, goal)` is its
    inverse, the logarithm: the δ, in the axes of the frame at q, that takes q to `goal`, and of two turns the shorter.
    `advanced_by_series` and `parted_by_series` give the same coordinates and the same δ in the functions of a turn of
    `symgen.mechanism.joints._series`: these take more operations, and their derivatives keep all digits at any turn.
    """

    positions: tuple[Coordinate, ...]
    velocities: tuple[Coordinate, ...]
    pose: Callable[[Sequence[Any], Mapping[str, Any]], tuple[Any, Any]]
    oracle: Callable[[Numbers], tuple[Elementary, ...]]
    drawn: Literal["hinge", "slider", "ball", "body"]
    parameters: tuple[Parameter, ...] = ()
    limited: bool = True
    moved: Callable[[Sequence[Any], Sequence[Any]], list[Any]] = added
    advanced: Callable[[Sequence[Any], Sequence[Any], Any], tuple[Equations, list[Any]]] = straight
    parted: Callable[[Sequence[Any], Sequence[Any]], tuple[Equations, list[Any]]] = apart
    advanced_by_series: Callable[
        [Sequence[Any], Sequence[Any], Any], tuple[Equations, list[Any]]
    ] = straight
    parted_by_series: Callable[[Sequence[Any], Sequence[Any]], tuple[Equations, list[Any]]] = apart
    steps: Callable[[Sequence[Any]], list[tuple[Any, Any]]] = none
    along: tuple[int, ...] | None = None
    quaternion: int | None = None

    @property
    def nq(self) -> int:
        return len(self.positions)

    @property
    def nv(self) -> int:
        return len(self.velocities)

    @property
    def directed(self) -> bool:
        """Whether it is declared by an axis."""
        return self.along is None

    @property
    def free(self) -> bool:
        """Whether it allows every motion."""
        return self.nv == 6

    @cached_property
    def neutral(self) -> tuple[Fraction, ...]:
        """The coordinates at which it leaves its body in its own frame."""
        whole = None if self.quaternion is None else self.quaternion + 3
        return tuple(Fraction(i == whole) for i in range(self.nq))

    @cached_property
    def turns(self) -> bool:
        """Whether it turns its body at all; then its axis, if it has one, is a line, and else but a direction."""
        return any(isinstance(one, Turning | Orienting) for one in self._generic)

    @cached_property
    def slides(self) -> bool:
        """Whether it moves its body along its axis, or anywhere, at all."""
        return any(isinstance(one, Sliding | Placing) for one in self._generic)

    @cached_property
    def _generic(self) -> tuple[Elementary, ...]:
        return self.oracle({parameter.name: Fraction(1) for parameter in self.parameters})
