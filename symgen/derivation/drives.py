"""The drives of a linkage as Scalars, made in one place: what each degree of freedom meets besides its bodies.

Methods take the armature from here, for the diagonal of M. The forces they need not know: where a function is given forces, those
of the drives are taken off before a method sees them, and where it gives forces, they are added behind it
(`symgen.methods.shared.drives`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symgen.derivation import constants as k
from symgen.derivation.scalars import Derivation, Scalar
from symgen.mechanism.drives import NUMBERS

if TYPE_CHECKING:
    from symgen.derivation.model import Model


@dataclass(frozen=True)
class Driven:
    """Of one entry of v, as `symgen.mechanism.drives.Drive` has them; `speed` is ε."""

    armature: Scalar
    damping: Scalar
    friction: Scalar
    stiffness: Scalar
    rest: Scalar
    speed: Scalar

    @property
    def resists(self) -> bool:
        """Whether it takes any force at a constant velocity."""
        return not all(one.is_zero for one in (self.damping, self.friction, self.stiffness))

    def force(self, q: Scalar, v: Scalar) -> Scalar:
        """damping·v + friction·v/√(v² + ε²) + stiffness·(q − rest); the root of a sum of squares is never 0."""
        total = self.damping * v
        if not self.friction.is_zero:
            total = total + self.friction * (v * self._slowness(v))
        if not self.stiffness.is_zero:
            total = total + self.stiffness * (q - self.rest)
        return total

    def slope(self, v: Scalar) -> Scalar:
        """Of that force along v: damping + friction ε²/(v² + ε²)^(3/2)."""
        if self.friction.is_zero:
            return self.damping
        slowness = self._slowness(v)
        share = self.speed * slowness
        return self.damping + self.friction * (share * share * slowness)

    def _slowness(self, v: Scalar) -> Scalar:
        """1/√(v² + ε²)."""
        home = v.home
        return home.one / home.sqrt(v * v + self.speed * self.speed)


def driven(model: Model, home: Derivation, given: Mapping[tuple[int, str], Scalar]) -> list[Driven]:
    """Of every entry of v. What is `given`, by link and name, comes at run time."""
    speed = home.constant(k.rational(model.friction_speed))
    numbers = [
        {
            name: given.get((i, name))
            or home.constant(k.rational(getattr(link.drive.at(velocity), name)))
            for name in NUMBERS
        }
        for i, link in enumerate(model.links)
        for velocity in range(link.v.stop - link.v.start)
    ]
    return [Driven(**own, speed=speed) for own in numbers]


def forces(
    model: Model, drives: Sequence[Driven], home: Derivation, inputs: Mapping[str, Sequence[Scalar]]
) -> list[Scalar]:
    """What the drives take of the forces of all joints at (q, v), an entry for each of v, in N·m and N; v is 0 where it is no
    input.
    """
    q, v = inputs["q"], inputs.get("v")
    found = []
    home.step("forces of the drives: damping, friction, springs")
    for link in model.links:
        for index in range(link.v.start, link.v.stop):
            own = drives[index].force(q[link.q.start], home.zero if v is None else v[index])
            home.name(f"drive_{index + 1}", own)
            found.append(own)
    return found
