"""Run-time payload and wrenches, in the axes of their link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation import constants as k
from symgen.derivation.model import Frame
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import RigidInertia, Rotation, Symmetric, Vector, wrench_to_parent


@dataclass(frozen=True)
class LoadedFrames:
    """The frames on which run-time loads act: the payload, and the external wrenches in their
    order.
    """

    payload: Frame | None = None
    wrenches: Sequence[Frame] = ()


UNLOADED = LoadedFrames()

FramePose = tuple[Rotation, Vector]
"""Rotation and origin of a frame on its link, in the axes in which the link's vectors are written.
"""


def payload_inertia(
    derivation: Derivation, frame: Frame, pose: FramePose, payload: Sequence[Scalar]
) -> RigidInertia:
    """Return the inertia of a run-time payload in the frame of its link.

    The payload is (m, centre, xx xy xz yy yz zz about the origin of its frame) in its frame.
    """
    m, center = payload[0], Vector(payload[1:4])
    derivation.step(f"payload on {frame.name}, in the axes of link {frame.link + 1}")
    return RigidInertia.of(m, center * m, second_moments(derivation, payload[4:])).to_parent(*pose)


def second_moments(derivation: Derivation, moments: Sequence[Scalar]) -> Symmetric:
    """Return Σ = ½tr(I)1 − I of the moments of inertia xx xy xz yy yz zz."""
    xx, xy, xz, yy, yz, zz = moments
    half = (xx + yy + zz) * derivation.constant(k.rational(1) / 2)
    return Symmetric(half - xx, -xy, -xz, half - yy, -yz, half - zz)


def link_wrench(
    derivation: Derivation, frame: Frame, pose: FramePose, wrench: Sequence[Scalar]
) -> tuple[Vector, Vector]:
    """Return a run-time wrench, given as (moment, force) in the axes of its frame at its origin, in
    the frame of its link.
    """
    derivation.step(f"wrench on {frame.name}, in the axes of link {frame.link + 1}")
    return wrench_to_parent(*pose, Vector(wrench[:3]), Vector(wrench[3:]))
