"""What a link carries, and what pushes it, where both come at run time: in the axes of the link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation import constants as k
from symgen.derivation.model import Frame
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import RigidInertia, Rotation, Symmetric, Vector, wrench_to_parent


@dataclass(frozen=True)
class LoadedFrames:
    """The frames on which run-time loads act: the payload, and the external wrenches in their order."""

    payload: Frame | None = None
    wrenches: Sequence[Frame] = ()


UNLOADED = LoadedFrames()

Mounted = tuple[Rotation, Vector]
"""Where a frame sits on its link, as the link's vectors are written."""


def carried(
    home: Derivation, frame: Frame, mounted: Mounted, payload: Sequence[Scalar]
) -> RigidInertia:
    """Run-time matter on a frame: (m, centre, xx xy xz yy yz zz about the frame's origin) as seen from its link."""
    m, center = payload[0], Vector(payload[1:4])
    home.step(f"payload on {frame.name}, in the axes of link {frame.link + 1}")
    return RigidInertia.of(m, center * m, second_moments(home, payload[4:])).to_parent(*mounted)


def second_moments(home: Derivation, moments: Sequence[Scalar]) -> Symmetric:
    """Σ = ½tr(I)1 − I of the moments of inertia xx xy xz yy yz zz."""
    xx, xy, xz, yy, yz, zz = moments
    half = (xx + yy + zz) * home.constant(k.rational(1) / 2)
    return Symmetric(half - xx, -xy, -xz, half - yy, -yz, half - zz)


def exerted(
    home: Derivation, frame: Frame, mounted: Mounted, wrench: Sequence[Scalar]
) -> tuple[Vector, Vector]:
    """A run-time wrench on a frame, (moment, force) in its axes at its origin, as seen from its link."""
    home.step(f"wrench on {frame.name}, in the axes of link {frame.link + 1}")
    return wrench_to_parent(*mounted, Vector(wrench[:3]), Vector(wrench[3:]))
