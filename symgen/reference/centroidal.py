"""What is said of all moving links at once: poses, mass centre, energy and momentum, and how the momentum changes.

Everything is a sum over the declared parts and the payload, of powers of t along q + v t + a t²/2 or of the columns of their
Jacobians. Momenta are about the mass centre, in the axes of the base, angular first. Gravity is no part of them: a rate of
momentum is what everything outside exerts, weight included. Arrays are as `symgen.reference.mechanics` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from symgen.reference.arrays import added, axial, cross, stacked, times, transposed
from symgen.reference.drives import with_spin
from symgen.reference.forces import d_alembert
from symgen.reference.motion import Carried, Motion, Placement, at_precision
from symgen.reference.precision import Array
from symgen.reference.twists import stated_rate


@at_precision
def bias_acceleration(motion: Motion, q: Array, v: Array) -> Array:
    """J̇ v (..., 6) of the frame: how its twist changes at (q, v) with a = 0, stated as the convention has it."""
    q, v = stacked(q, v)
    return stated_rate(motion.convention, motion.frame_series(motion.placements(q, v, 0 * v), q))


@at_precision
def link_poses(motion: Motion, q: Array) -> tuple[Array, Array]:
    """Axes R (..., NB, 3, 3) and origins p (..., NB, 3), in the base, of the frames that the joints move."""
    placed = motion.placements(q)
    turns = (np.broadcast_to(at.turn[0], (*q.shape[:-1], 3, 3)) for at in placed)
    shifts = (np.broadcast_to(at.shift[0], (*q.shape[:-1], 3)) for at in placed)
    return np.stack(list(turns), axis=-3), np.stack(list(shifts), axis=-2)


def _centre(
    motion: Motion, placed: Sequence[Placement], payload: Array | None, power: int = 0
) -> Array:
    """A power of t of the mass centre (..., 3)."""
    parts = motion.parts(payload)
    terms = (
        (
            p.mass[..., None],
            placed[p.body].shift[power] + times(placed[p.body].turn[power], p.centre),
        )
        for p in parts
    )
    return np.asarray(added(mass * place for mass, place in terms) / _mass(parts)[..., None])


@at_precision
def center_of_mass(motion: Motion, q: Array, payload: Array | None = None) -> Array:
    """Σ m c / Σ m (..., 3), in m. A mechanism without mass has none, and gives what a division by zero gives."""
    return np.broadcast_to(
        _centre(motion, motion.placements(q), payload), (*_batch(motion, q, payload), 3)
    )


@at_precision
def center_of_mass_jacobian(motion: Motion, q: Array, payload: Array | None = None) -> Array:
    """Jcom (..., 3, NV) = Σ m Jv / Σ m."""
    placed, parts = motion.placements(q), motion.parts(payload)
    out = motion.scalars.array(np.zeros((*_batch(motion, q, payload), 3, motion.mechanism.nv)))
    for part in parts:
        at = placed[part.body]
        _, linear = motion.columns(part.body, at.shift[0] + times(at.turn[0], part.centre), placed)
        out[..., motion.supports[part.body]] += part.mass[..., None, None] * linear
    return np.asarray(out / _mass(parts)[..., None, None])


@at_precision
def kinetic_energy(motion: Motion, q: Array, v: Array, payload: Array | None = None) -> Array:
    """½ Σ (m ċ·ċ + ω·I ω) (...), in J, and that of the drives' rotors in their joints."""
    q, v = stacked(q, v)
    placed = motion.placements(q, v, 0 * v)
    total = motion.scalars.array(np.zeros(_batch(motion, q, payload)))
    for part in motion.parts(payload):
        (r0, r1, _), (_, p1, _) = placed[part.body]
        velocity, omega = p1 + times(r1, part.centre), axial(r1 @ transposed(r0))
        spin = times(r0 @ part.inertia @ transposed(r0), omega)
        total = (
            total
            + (part.mass * (velocity * velocity).sum(axis=-1) + (omega * spin).sum(axis=-1)) / 2
        )
    return with_spin(motion, np.asarray(total), v)


@at_precision
def centroidal_momentum(motion: Motion, q: Array, v: Array, payload: Array | None = None) -> Array:
    """h (..., 6): Σ (c − com) × m ċ + I ω in kg·m²/s, then Σ m ċ in kg·m/s."""
    q, v = stacked(q, v)
    placed = motion.placements(q, v, 0 * v)
    centre = _centre(motion, placed, payload)
    out = motion.scalars.array(np.zeros((*_batch(motion, q, payload), 6)))
    for part in motion.parts(payload):
        (r0, r1, _), (p0, p1, _) = placed[part.body]
        push = part.mass[..., None] * (p1 + times(r1, part.centre))
        spin = times(r0 @ part.inertia @ transposed(r0), axial(r1 @ transposed(r0)))
        out[..., :3] += cross(p0 + times(r0, part.centre) - centre, push) + spin
        out[..., 3:] += push
    return out


@at_precision
def centroidal_momentum_matrix(motion: Motion, q: Array, payload: Array | None = None) -> Array:
    """A_G (..., 6, NV) with h = A_G v: Σ (c − com) × m Jv + I Jw over Σ m Jv."""
    placed = motion.placements(q)
    centre = _centre(motion, placed, payload)
    out = motion.scalars.array(np.zeros((*_batch(motion, q, payload), 6, motion.mechanism.nv)))
    for part in motion.parts(payload):
        at, support = placed[part.body], motion.supports[part.body]
        place = at.shift[0] + times(at.turn[0], part.centre)
        angular, linear = motion.columns(part.body, place, placed)
        push = part.mass[..., None, None] * linear
        turned = transposed(cross((place - centre)[..., None, :], transposed(push)))
        out[..., :3, support] += (
            turned + at.turn[0] @ part.inertia @ transposed(at.turn[0]) @ angular
        )
        out[..., 3:, support] += push
    return out


@at_precision
def centroidal_momentum_rate(
    motion: Motion, q: Array, v: Array, a: Array, payload: Array | None = None
) -> Array:
    """dh/dt (..., 6) at (q, v, a): Σ (c − com) × m c̈ + I ω̇ + ω × I ω in N·m, then Σ m c̈ in N."""
    q, v, a = stacked(q, v, a)
    placed = motion.placements(q, v, a)
    centre = _centre(motion, placed, payload)
    out = motion.scalars.array(np.zeros((*_batch(motion, q, payload), 6)))
    for part in motion.parts(payload):
        place, moment, force = d_alembert(part, placed[part.body], 0 * motion.gravity)
        out[..., :3] += cross(place - centre, force) + moment
        out[..., 3:] += force
    return out


def _mass(parts: Sequence[Carried]) -> Array:
    return np.asarray(added(part.mass for part in parts))  # of one state as well


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
    "center_of_mass": lambda motion, **given: {"com": center_of_mass(motion, **given)},
    "center_of_mass_jacobian": lambda motion, **given: {
        "Jcom": center_of_mass_jacobian(motion, **given)
    },
    "kinetic_energy": lambda motion, **given: {"T": kinetic_energy(motion, **given)},
    "centroidal_momentum": lambda motion, **given: {"h": centroidal_momentum(motion, **given)},
    "centroidal_momentum_matrix": lambda motion, **given: {
        "A_G": centroidal_momentum_matrix(motion, **given)
    },
    "centroidal_momentum_rate": lambda motion, **given: {
        "hdot": centroidal_momentum_rate(motion, **given)
    },
}
"""One oracle per function: (motion, arguments by name) → results by name."""
