"""Quantities of all moving links together: poses, mass centre, energy, momentum and the rate of the
momentum.

Each quantity is a sum over the declared parts and the payload. The terms are coefficients of powers
of t along q + v t + a t²/2, or columns of the parts' Jacobians. Momenta are about the mass centre,
in base axes, angular part first. They exclude gravity: a rate of momentum is the sum of all
external wrenches, weight included. Arrays are as in `symgen.reference.mechanics`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from symgen.reference.arrays import added, axial, cross, stacked, times, transposed
from symgen.reference.drives import add_rotor_energy
from symgen.reference.forces import d_alembert_wrench
from symgen.reference.motion import BodyPart, Motion, Placement, at_precision
from symgen.reference.precision import Array
from symgen.reference.twists import twist_rate


@at_precision
def bias_acceleration(motion: Motion, q: Array, v: Array) -> Array:
    """Return J̇ v (..., 6) of the frame: the rate of its twist at (q, v) with a = 0, in the
    requested convention.
    """
    q, v = stacked(q, v)
    return twist_rate(motion.convention, motion.frame_series(motion.placements(q, v, 0 * v), q))


@at_precision
def link_poses(motion: Motion, q: Array) -> tuple[Array, Array]:
    """Return axes R (..., NB, 3, 3) and origins p (..., NB, 3), in the base, of the frames that the
    joints move.
    """
    placements = motion.placements(q)
    turns = (np.broadcast_to(at.turn[0], (*q.shape[:-1], 3, 3)) for at in placements)
    shifts = (np.broadcast_to(at.shift[0], (*q.shape[:-1], 3)) for at in placements)
    return np.stack(list(turns), axis=-3), np.stack(list(shifts), axis=-2)


def _centre(
    motion: Motion, placements: Sequence[Placement], payload: Array | None, power: int = 0
) -> Array:
    """Return the coefficient of a power of t of the mass centre (..., 3)."""
    parts = motion.parts(payload)
    terms = (
        (
            p.mass[..., None],
            placements[p.body].shift[power] + times(placements[p.body].turn[power], p.centre),
        )
        for p in parts
    )
    return np.asarray(added(mass * centre for mass, centre in terms) / _mass(parts)[..., None])


@at_precision
def center_of_mass(motion: Motion, q: Array, payload: Array | None = None) -> Array:
    """Return Σ m c / Σ m (..., 3), in m. A mechanism without mass gives the result of a division by
    zero.
    """
    return np.broadcast_to(
        _centre(motion, motion.placements(q), payload), (*_batch(motion, q, payload), 3)
    )


@at_precision
def center_of_mass_jacobian(motion: Motion, q: Array, payload: Array | None = None) -> Array:
    """Return Jcom (..., 3, NV) = Σ m Jv / Σ m."""
    placements, parts = motion.placements(q), motion.parts(payload)
    total = motion.scalars.array(np.zeros((*_batch(motion, q, payload), 3, motion.mechanism.nv)))
    for part in parts:
        at = placements[part.body]
        _, linear = motion.columns(
            part.body, at.shift[0] + times(at.turn[0], part.centre), placements
        )
        total[..., motion.supports[part.body]] += part.mass[..., None, None] * linear
    return np.asarray(total / _mass(parts)[..., None, None])


@at_precision
def kinetic_energy(motion: Motion, q: Array, v: Array, payload: Array | None = None) -> Array:
    """Return ½ Σ (m ċ·ċ + ω·I ω) (...) plus the energy of the drives' rotors, in J."""
    q, v = stacked(q, v)
    placements = motion.placements(q, v, 0 * v)
    total = motion.scalars.array(np.zeros(_batch(motion, q, payload)))
    for part in motion.parts(payload):
        (r0, r1, _), (_, p1, _) = placements[part.body]
        velocity, omega = p1 + times(r1, part.centre), axial(r1 @ transposed(r0))
        spin = times(r0 @ part.inertia @ transposed(r0), omega)
        total = (
            total
            + (part.mass * (velocity * velocity).sum(axis=-1) + (omega * spin).sum(axis=-1)) / 2
        )
    return add_rotor_energy(motion, np.asarray(total), v)


@at_precision
def centroidal_momentum(motion: Motion, q: Array, v: Array, payload: Array | None = None) -> Array:
    """Return h (..., 6): Σ (c − com) × m ċ + I ω in kg·m²/s, then Σ m ċ in kg·m/s."""
    q, v = stacked(q, v)
    placements = motion.placements(q, v, 0 * v)
    centre = _centre(motion, placements, payload)
    h = motion.scalars.array(np.zeros((*_batch(motion, q, payload), 6)))
    for part in motion.parts(payload):
        (r0, r1, _), (p0, p1, _) = placements[part.body]
        momentum = part.mass[..., None] * (p1 + times(r1, part.centre))
        spin = times(r0 @ part.inertia @ transposed(r0), axial(r1 @ transposed(r0)))
        h[..., :3] += cross(p0 + times(r0, part.centre) - centre, momentum) + spin
        h[..., 3:] += momentum
    return h


@at_precision
def centroidal_momentum_matrix(motion: Motion, q: Array, payload: Array | None = None) -> Array:
    """Return A_G (..., 6, NV) with h = A_G v: Σ (c − com) × m Jv + I Jw over Σ m Jv."""
    placements = motion.placements(q)
    centre = _centre(motion, placements, payload)
    A_G = motion.scalars.array(np.zeros((*_batch(motion, q, payload), 6, motion.mechanism.nv)))
    for part in motion.parts(payload):
        at, support = placements[part.body], motion.supports[part.body]
        part_centre = at.shift[0] + times(at.turn[0], part.centre)
        angular, linear = motion.columns(part.body, part_centre, placements)
        momentum = part.mass[..., None, None] * linear
        moment = transposed(cross((part_centre - centre)[..., None, :], transposed(momentum)))
        A_G[..., :3, support] += (
            moment + at.turn[0] @ part.inertia @ transposed(at.turn[0]) @ angular
        )
        A_G[..., 3:, support] += momentum
    return A_G


@at_precision
def centroidal_momentum_rate(
    motion: Motion, q: Array, v: Array, a: Array, payload: Array | None = None
) -> Array:
    """Return dh/dt (..., 6) at (q, v, a): Σ (c − com) × m c̈ + I ω̇ + ω × I ω in N·m, then Σ m c̈
    in N.
    """
    q, v, a = stacked(q, v, a)
    placements = motion.placements(q, v, a)
    centre = _centre(motion, placements, payload)
    rate = motion.scalars.array(np.zeros((*_batch(motion, q, payload), 6)))
    for part in motion.parts(payload):
        part_centre, moment, force = d_alembert_wrench(
            part, placements[part.body], 0 * motion.gravity
        )
        rate[..., :3] += cross(part_centre - centre, force) + moment
        rate[..., 3:] += force
    return rate


def _mass(parts: Sequence[BodyPart]) -> Array:
    """Return the total mass (...)."""
    return np.asarray(added(part.mass for part in parts))


def _batch(motion: Motion, q: Array, payload: Array | None) -> tuple[int, ...]:
    return np.broadcast_shapes(q.shape[:-1], *(part.mass.shape for part in motion.parts(payload)))


def _bias_acceleration(
    motion: Motion, /, q: Array, v: Array, payload: Array | None = None
) -> dict[str, Array]:
    return {"Jdot_v": bias_acceleration(motion, q, v)}


def _poses(motion: Motion, /, q: Array, payload: Array | None = None) -> dict[str, Array]:
    turns, shifts = link_poses(motion, q)
    return {"R_links": turns, "p_links": shifts}


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "bias_acceleration": _bias_acceleration,
    "link_poses": _poses,
    "center_of_mass": lambda motion, **arguments: {"com": center_of_mass(motion, **arguments)},
    "center_of_mass_jacobian": lambda motion, **arguments: {
        "Jcom": center_of_mass_jacobian(motion, **arguments)
    },
    "kinetic_energy": lambda motion, **arguments: {"T": kinetic_energy(motion, **arguments)},
    "centroidal_momentum": lambda motion, **arguments: {
        "h": centroidal_momentum(motion, **arguments)
    },
    "centroidal_momentum_matrix": lambda motion, **arguments: {
        "A_G": centroidal_momentum_matrix(motion, **arguments)
    },
    "centroidal_momentum_rate": lambda motion, **arguments: {
        "hdot": centroidal_momentum_rate(motion, **arguments)
    },
}
"""One oracle per function: (motion, arguments by name) → results by name."""
