"""What a link carries, and what pushes it, where both come at run time: in the axes of the link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from symgen.derivation import constants as k
from symgen.derivation.model import Frame
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import RigidInertia, Symmetric, Vector, wrench_outward

if TYPE_CHECKING:
    from symgen.derivation.linkage import Linkage


def carried(linkage: Linkage, frame: Frame, payload: Sequence[Scalar]) -> RigidInertia:
    """Run-time matter on a frame: (m, centre, xx xy xz yy yz zz about the frame's origin) as seen from its link."""
    m, center, (xx, xy, xz, yy, yz, zz) = payload[0], Vector(payload[1:4]), payload[4:]
    linkage.home.step(f"payload on {frame.name}, in the axes of link {frame.link + 1}")
    half = (xx + yy + zz) * linkage.home.constant(k.rational(1) / 2)
    own = RigidInertia.of(m, center * m, Symmetric(half - xx, -xy, -xz, half - yy, -yz, half - zz))
    return own.outward(*linkage.mounted(frame))


def exerted(linkage: Linkage, frame: Frame, wrench: Sequence[Scalar]) -> tuple[Vector, Vector]:
    """A run-time wrench on a frame, (moment, force) in its axes at its origin, as seen from its link."""
    linkage.home.step(f"wrench on {frame.name}, in the axes of link {frame.link + 1}")
    n, f = Vector(wrench[:3]), Vector(wrench[3:])
    return wrench_outward(*linkage.mounted(frame), n, f)
