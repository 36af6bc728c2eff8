"""Interface of a joint type. Each file of this folder defines one `JOINT`; no other code tests a
type's name.

A joint is declared by an axis, where it has one, and by the numbers in `parameters`. It owns one
entry of q for each of `positions` and one entry of v for each of `velocities`. `pose` gives the
motion of its body. Differentiating `pose` and `integrate_first_order` gives the columns of the
motion subspace H, one column per velocity (`symgen.derivation.closed_forms`). H determines
which inertia of the body does not affect the joint's motion.
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
    """One entry of q or v.

    `unit` is the unit of an entry of q; an entry of v is per second. States are drawn from the
    range `usual` where the description declares none. `name` distinguishes the entries of a joint
    that has several.
    """

    unit: Unit
    usual: tuple[Fraction, Fraction]
    name: str = ""

    @property
    def rate_unit(self) -> str:
        return f"{self.unit}/s"

    @property
    def force_unit(self) -> str:
        """Unit of the generalized force of this coordinate."""
        return "N m" if self.unit == "rad" else "N"

    @property
    def inertia_unit(self) -> str:
        """Unit of the inertia along this coordinate."""
        return "kg m²" if self.unit == "rad" else "kg"


ANGLE = Coordinate("rad", (Fraction(-3217, 1024), Fraction(3217, 1024)))  # ±π
LENGTH = Coordinate("m", (Fraction(-1), Fraction(1)))


class Parameter(NamedTuple):
    """A nonzero number that a joint of this type declares besides its axis, by its name in
    descriptions.
    """

    name: str
    description: str
    """A description for users, with its unit."""


class Turning(NamedTuple):
    """A rotation about the joint's axis by `rate` times the coordinate `of`."""

    of: int
    rate: Fraction = Fraction(1)


class Sliding(NamedTuple):
    """A translation along the joint's axis by `rate` (m per unit of the coordinate) times the
    coordinate `of`.
    """

    of: int
    rate: Fraction = Fraction(1)


class Placing(NamedTuple):
    """A translation by the coordinates from index `of` on, along the first `axes` axes of the
    joint's frame (m).
    """

    of: int
    axes: int = 3


class Orienting(NamedTuple):
    """A rotation by the unit quaternion x y z w: the four coordinates from index `of` on."""

    of: int


AboutAxis = Turning | Sliding
Elementary = AboutAxis | Placing | Orienting
Numbers = Mapping[str, Fraction]
"""Parameters of one joint, by name."""


def add(q: Sequence[Any], step: Sequence[Any]) -> list[Any]:
    """Return q + δ: q ⊕ δ of a joint whose velocities are the rates of its coordinates."""
    return [x + d for x, d in zip(q, step, strict=True)]


Equations = list[tuple[Any, Any]]
"""Pairs (symbol, expression) in order of computation. A symbol named x_2 is component 2 of x."""


def integrate_vector(q: Sequence[Any], v: Sequence[Any], dt: Any) -> tuple[Equations, list[Any]]:
    """Return q + v dt: `integrate` of a joint whose velocities are the rates of its coordinates."""
    return [], [x + rate * dt for x, rate in zip(q, v, strict=True)]


def vector_difference(q: Sequence[Any], goal: Sequence[Any]) -> tuple[Equations, list[Any]]:
    """Return goal − q: `difference` of a joint whose velocities are its coordinates' rates."""
    return [], [end - start for start, end in zip(q, goal, strict=True)]


def no_steps(q: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return no intermediate symbols."""
    return []


@dataclass(frozen=True)
class JointType:
    """A joint type: its coordinates, its motion in SymPy and its motion for the reference.

    - `pose(q, p)` returns (R, r) in SymPy, for motion about the joint's own z axis: axes and origin
      of the moved frame in the joint's frame. It may use the symbols of `steps(q)`, so that a
      shared product is computed once.
    - `steps(q)` returns those symbols with their expressions, in order.
    - `elementary_motions(p)` describes the same motion to the reference, which shares no code with
      the derivation: a product of elementary motions about the declared axis, from left to right.
    - `limited` is False where a declared range has no meaning. `drawn` is the symbol of the joint
      in a picture.
    - `along` is None where each velocity is the rate of a coordinate. Otherwise the joint has no
      axis, and its velocities are those of the moved frame in its own axes. `along` then has the
      axis of each velocity; its unit says whether it is angular.
    - `quaternion` is the index of the first of four coordinates x y z w that are a unit quaternion.
    - `integrate_first_order(q, δ)` returns q ⊕ δ in SymPy, to the first order in δ.
    - `integrate(q, v, dt)` returns (equations, coordinates): q after a time dt at the velocity v,
      which is constant in the axes of the moved frame (the exponential map of v dt). The
      coordinates are expressions in the symbols of the equations.
    - `difference(q, goal)` is the inverse of `integrate` (the logarithm). It returns the δ, in the
      axes of the frame at q, that takes q to `goal`; of the two possible rotations it returns the
      shorter.
    - `integrate_by_series` and `difference_by_series` return the same values in terms of
      `symgen.mechanism.joints._series`. They take more operations, and their derivatives lose no
      digits at any angle.
    """

    positions: tuple[Coordinate, ...]
    velocities: tuple[Coordinate, ...]
    pose: Callable[[Sequence[Any], Mapping[str, Any]], tuple[Any, Any]]
    elementary_motions: Callable[[Numbers], tuple[Elementary, ...]]
    drawn: Literal["hinge", "slider", "ball", "body"]
    parameters: tuple[Parameter, ...] = ()
    limited: bool = True
    integrate_first_order: Callable[[Sequence[Any], Sequence[Any]], list[Any]] = add
    integrate: Callable[[Sequence[Any], Sequence[Any], Any], tuple[Equations, list[Any]]] = (
        integrate_vector
    )
    difference: Callable[[Sequence[Any], Sequence[Any]], tuple[Equations, list[Any]]] = (
        vector_difference
    )
    integrate_by_series: Callable[
        [Sequence[Any], Sequence[Any], Any], tuple[Equations, list[Any]]
    ] = integrate_vector
    difference_by_series: Callable[[Sequence[Any], Sequence[Any]], tuple[Equations, list[Any]]] = (
        vector_difference
    )
    steps: Callable[[Sequence[Any]], list[tuple[Any, Any]]] = no_steps
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
        """True if the joint is declared by an axis."""
        return self.along is None

    @property
    def free(self) -> bool:
        """True if the joint allows all six motions."""
        return self.nv == 6

    @cached_property
    def neutral(self) -> tuple[Fraction, ...]:
        """Coordinates at which the body's frame coincides with the joint's frame."""
        scalar_part = None if self.quaternion is None else self.quaternion + 3
        return tuple(Fraction(i == scalar_part) for i in range(self.nq))

    @cached_property
    def turns(self) -> bool:
        """True if the joint can rotate its body. Its axis, if any, is then a line; otherwise it is
        only a direction.
        """
        return any(isinstance(motion, Turning | Orienting) for motion in self._generic)

    @cached_property
    def slides(self) -> bool:
        """True if the joint can translate its body."""
        return any(isinstance(motion, Sliding | Placing) for motion in self._generic)

    @cached_property
    def _generic(self) -> tuple[Elementary, ...]:
        return self.elementary_motions(
            {parameter.name: Fraction(1) for parameter in self.parameters}
        )
