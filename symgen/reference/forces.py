"""What each part of a moving mechanism resists, and what has to cross the joints to make it move so.

D'Alembert's wrench of a part, m (c̈ − gravity) at its centre and I ω̇ + ω × I ω, is all that moves it. Cut the joint of a
link: what crosses it is the sum over the parts of the link and of all that it carries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symgen.reference.arrays import axial, cross, times, transposed
from symgen.reference.motion import Carried, Motion, Placement
from symgen.reference.precision import Array


def spin_rate(turn: Sequence[Array]) -> Array:
    """ω̇ of a power series of turns."""
    r0, r1, r2 = turn
    return axial(2 * (r2 @ transposed(r0)) + r1 @ transposed(r1))  # (Ṙ Rᵀ)˙ = R̈ Rᵀ + Ṙ Ṙᵀ


def d_alembert(part: Carried, placed: Placement, gravity: Array) -> tuple[Array, Array, Array]:
    """(centre, moment about it, force) of a part, (..., 3) each, in the axes of the base."""
    (r0, r1, r2), (p0, _, p2) = placed
    acceleration = 2 * (p2 + times(r2, part.centre)) - gravity
    omega = axial(r1 @ transposed(r0))  # Ṙ Rᵀ = ω×
    inertia = r0 @ part.inertia @ transposed(r0)
    moment = times(inertia, spin_rate((r0, r1, r2))) + cross(omega, times(inertia, omega))
    return p0 + times(r0, part.centre), moment, part.mass[..., None] * acceleration


def acceleration(placed: Placement) -> Array:
    """(ω̇, v̇) of a power series of poses."""
    return np.concatenate(np.broadcast_arrays(spin_rate(placed.turn), 2 * placed.shift[2]), axis=-1)


def interbody_forces(
    motion: Motion,
    q: Array,
    v: Array,
    a: Array,
    payload: Array | None = None,
    wrench: Array | None = None,
) -> Array:
    """F (..., NB, 6) on every body from its parent, at the origin of the body's frame in base axes; q, v, a of one shape."""
    placed = motion.placements(q, v, a)
    out = motion.scalars.array(np.zeros((*a.shape[:-1], len(placed), 6)))
    for part in motion.parts(payload):
        centre, moment, force = d_alembert(part, placed[part.body], motion.gravity)
        for i in motion.ways[part.body]:
            out[..., i, :3] += moment + cross(centre - placed[i].shift[0], force)
            out[..., i, 3:] += force
    for body, point, moment, force in motion.outside(
        placed, wrench
    ):  # what these exert need not cross the joints
        for i in motion.ways[body]:
            out[..., i, :3] -= moment + cross(point - placed[i].shift[0], force)
            out[..., i, 3:] -= force
    return out
