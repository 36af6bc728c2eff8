"""D'Alembert wrenches of the parts, and the wrenches across the joints that cause a motion.

D'Alembert's wrench of a part is the force m (c̈ − gravity) at its centre and the moment I ω̇ + ω ×
I ω. The wrench across the joint of a link is the sum over the parts of the link and of all links
that it carries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symgen.reference.arrays import axial, cross, times, transposed
from symgen.reference.motion import BodyPart, Motion, Placement
from symgen.reference.precision import Array


def angular_acceleration(rotation: Sequence[Array]) -> Array:
    """Return ω̇ of a power series of rotations."""
    r0, r1, r2 = rotation
    return axial(2 * (r2 @ transposed(r0)) + r1 @ transposed(r1))  # (Ṙ Rᵀ)˙ = R̈ Rᵀ + Ṙ Ṙᵀ


def d_alembert_wrench(
    part: BodyPart, placement: Placement, gravity: Array
) -> tuple[Array, Array, Array]:
    """Return (centre, moment about it, force) of a part, (..., 3) each, in the axes of the base."""
    (r0, r1, r2), (p0, _, p2) = placement
    linear_acceleration = 2 * (p2 + times(r2, part.centre)) - gravity
    omega = axial(r1 @ transposed(r0))  # Ṙ Rᵀ = ω×
    inertia = r0 @ part.inertia @ transposed(r0)
    moment = times(inertia, angular_acceleration((r0, r1, r2))) + cross(
        omega, times(inertia, omega)
    )
    return p0 + times(r0, part.centre), moment, part.mass[..., None] * linear_acceleration


def frame_acceleration(placement: Placement) -> Array:
    """Return (ω̇, v̇) (..., 6) of a frame from the power series of its pose."""
    return np.concatenate(
        np.broadcast_arrays(angular_acceleration(placement.turn), 2 * placement.shift[2]), axis=-1
    )


def interbody_forces(
    motion: Motion,
    q: Array,
    v: Array,
    a: Array,
    payload: Array | None = None,
    wrench: Array | None = None,
) -> Array:
    """Return F (..., NB, 6): the wrench on every body from its parent, at the origin of the body's
    frame, in base axes.

    q, v and a have one shape.
    """
    placements = motion.placements(q, v, a)
    out = motion.scalars.array(np.zeros((*a.shape[:-1], len(placements), 6)))
    for part in motion.parts(payload):
        centre, moment, force = d_alembert_wrench(part, placements[part.body], motion.gravity)
        for i in motion.paths[part.body]:
            out[..., i, :3] += moment + cross(centre - placements[i].shift[0], force)
            out[..., i, 3:] += force
    # the joints do not transmit the external wrench
    for body, point, moment, force in motion.external_wrenches(placements, wrench):
        for i in motion.paths[body]:
            out[..., i, :3] -= moment + cross(point - placements[i].shift[0], force)
            out[..., i, 3:] -= force
    return out
