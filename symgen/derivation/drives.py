"""Drives of a linkage as Scalars: armature and forces of each degree of freedom.

Methods take the armature from here, for the diagonal of M. They do not handle the forces. If a
function has forces as inputs, those of the drives are subtracted before a method sees them; if it
returns forces, they are added to the method's result (`symgen.methods.shared.drives`).
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
class DriveScalars:
    """Drive parameters of one entry of v, as in `symgen.mechanism.drives.Drive`; `speed` is ε."""

    armature: Scalar
    damping: Scalar
    friction: Scalar
    stiffness: Scalar
    rest: Scalar
    speed: Scalar

    @property
    def has_forces(self) -> bool:
        """True if the drive has damping, friction or a spring."""
        return not all(
            parameter.is_zero for parameter in (self.damping, self.friction, self.stiffness)
        )

    def force(self, q: Scalar, v: Scalar) -> Scalar:
        """Return damping·v + friction·v/√(v² + ε²) + stiffness·(q − rest); the root is never 0,
        since ε > 0.
        """
        total = self.damping * v
        if not self.friction.is_zero:
            total = total + self.friction * (v * self._inverse_speed(v))
        if not self.stiffness.is_zero:
            total = total + self.stiffness * (q - self.rest)
        return total

    def slope(self, v: Scalar) -> Scalar:
        """Return the derivative of the force with respect to v: damping + friction ε²/(v² +
        ε²)^(3/2).
        """
        if self.friction.is_zero:
            return self.damping
        inverse_speed = self._inverse_speed(v)
        ratio = self.speed * inverse_speed
        return self.damping + self.friction * (ratio * ratio * inverse_speed)

    def _inverse_speed(self, v: Scalar) -> Scalar:
        """Return 1/√(v² + ε²)."""
        derivation = v.derivation
        return derivation.one / derivation.sqrt(v * v + self.speed * self.speed)


def drive_scalars(
    model: Model, derivation: Derivation, at_run_time: Mapping[tuple[int, str], Scalar]
) -> list[DriveScalars]:
    """Return the drive of each entry of v.

    `at_run_time` has the run-time parameters, by link and name.
    """
    speed = derivation.constant(k.rational(model.friction_speed))
    numbers = [
        {
            name: at_run_time.get((i, name))
            or derivation.constant(k.rational(getattr(link.drive.at(velocity), name)))
            for name in NUMBERS
        }
        for i, link in enumerate(model.links)
        for velocity in range(link.v.stop - link.v.start)
    ]
    return [DriveScalars(**parameters, speed=speed) for parameters in numbers]


def drive_forces(
    model: Model,
    drives: Sequence[DriveScalars],
    derivation: Derivation,
    inputs: Mapping[str, Sequence[Scalar]],
) -> list[Scalar]:
    """Return the forces of the drives at (q, v), one per entry of v of all joints, in N·m and N; v
    is 0 if it is no input.
    """
    q, v = inputs["q"], inputs.get("v")
    result = []
    derivation.step("forces of the joint drives: damping, friction, springs")
    for link in model.links:
        for index in range(link.v.start, link.v.stop):
            force = drives[index].force(q[link.q.start], derivation.zero if v is None else v[index])
            derivation.name(f"drive_{index + 1}", force)
            result.append(force)
    return result
