"""Rigid displacements as declared: products of translations, rotations (about declared directions
or by quaternions) and slides.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Vector3 = tuple[Fraction, Fraction, Fraction]
Quaternion = tuple[Fraction, Fraction, Fraction, Fraction]
ZERO3: Vector3 = (Fraction(0), Fraction(0), Fraction(0))


@dataclass(frozen=True)
class Angle:
    """An angle of `radians` + `pi`·π, both exact."""

    radians: Fraction = Fraction(0)
    pi: Fraction = Fraction(0)

    def __add__(self, other: Angle) -> Angle:
        return Angle(self.radians + other.radians, self.pi + other.pi)

    def __neg__(self) -> Angle:
        return Angle(-self.radians, -self.pi)

    @property
    def is_zero(self) -> bool:
        return self.radians == 0 and self.pi == 0

    @property
    def quarter_turns(self) -> int | None:
        """k if the angle is exactly kπ/2, else None."""
        if self.radians:
            return None
        quarters = 2 * self.pi
        return int(quarters) if quarters.denominator == 1 else None

    def __float__(self) -> float:
        return float(self.radians) + float(self.pi) * 3.141592653589793


@dataclass(frozen=True)
class Shift:
    """A translation by `xyz`, in the current axes."""

    xyz: Vector3


@dataclass(frozen=True)
class Turn:
    """A right-handed rotation by `angle` about the direction `axis` (any nonzero length)."""

    axis: Vector3
    angle: Angle


@dataclass(frozen=True)
class Slide:
    """A translation by `distance` along the direction `axis` (any nonzero length; normalised at
    evaluation).
    """

    axis: Vector3
    distance: Fraction


@dataclass(frozen=True)
class Rotate:
    """A rotation by the `quaternion` w, x, y, z of any nonzero length. The rotation depends on
    ratios of its entries and so is exact.
    """

    quaternion: Quaternion


Step = Shift | Turn | Slide | Rotate
Pose = tuple[Step, ...]
"""A rigid displacement: the product of its steps from left to right; () is the identity."""

X_AXIS: Vector3 = (Fraction(1), Fraction(0), Fraction(0))
Y_AXIS: Vector3 = (Fraction(0), Fraction(1), Fraction(0))
Z_AXIS: Vector3 = (Fraction(0), Fraction(0), Fraction(1))


def compose(*poses: Pose) -> Pose:
    """Return the product of poses without identity steps. Adjacent translations, and adjacent
    rotations about one axis, are merged.
    """
    steps: list[Step] = []
    for step in (s for pose in poses for s in pose):
        last = steps[-1] if steps else None
        if isinstance(step, Shift) and isinstance(last, Shift):
            a, b = last.xyz, step.xyz
            steps[-1] = step = Shift((a[0] + b[0], a[1] + b[1], a[2] + b[2]))
        elif isinstance(step, Turn) and isinstance(last, Turn) and step.axis == last.axis:
            steps[-1] = step = Turn(step.axis, last.angle + step.angle)
        else:
            steps.append(step)
        if _is_identity(step):
            steps.pop()
    return tuple(steps)


def compose_merged(first: Pose, second: Pose) -> Pose:
    """Return the product of two poses that `compose` has already merged.

    Only steps where the two poses meet can be merged, so that this is faster than `compose`.
    """
    end, start = len(first), 0
    while start < len(second):
        seam = compose(first[max(0, end - 1) : end], second[start : start + 1])
        if seam:
            return (*first[: max(0, end - 1)], *seam, *second[start + 1 :])
        end, start = max(0, end - 1), start + 1
    return first[:end]


def inverse(pose: Pose) -> Pose:
    """Return the inverse displacement."""
    return tuple(_inverse_step(step) for step in reversed(pose))


def _inverse_step(step: Step) -> Step:
    if isinstance(step, Shift):
        x, y, z = step.xyz
        return Shift((-x, -y, -z))
    if isinstance(step, Rotate):
        w, x, y, z = step.quaternion
        return Rotate((w, -x, -y, -z))
    return (
        Turn(step.axis, -step.angle) if isinstance(step, Turn) else Slide(step.axis, -step.distance)
    )


def rotation_steps(pose: Pose) -> Pose:
    """Return the rotation of a pose, without its translations."""
    return compose(tuple(step for step in pose if isinstance(step, Turn | Rotate)))


def _is_identity(step: Step) -> bool:
    if isinstance(step, Shift):
        return step.xyz == ZERO3
    if isinstance(step, Rotate):
        return not any(step.quaternion[1:])
    return step.angle.is_zero if isinstance(step, Turn) else step.distance == 0


def pose(
    xyz: Vector3 = ZERO3, rpy: tuple[Angle, Angle, Angle] = (Angle(), Angle(), Angle())
) -> Pose:
    """Return URDF's `origin`: translation by xyz, then R = Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = rpy
    return compose((Shift(xyz), Turn(Z_AXIS, yaw), Turn(Y_AXIS, pitch), Turn(X_AXIS, roll)))
