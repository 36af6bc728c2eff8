"""Cancellation in methods that remove the constraints: mobility of a joint with free neighbour
links, compared with M⁻¹.

M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ is a difference: the motion of each link if it were free, minus the
part that its neighbours prevent. If the links are light compared with the bodies that they carry,
the two nearly cancel. So do the pivots of H_bb in directions in which no joint moves: a gantry's
slides keep light links from rotating, and M does not depend on their moments.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from symgen.mechanism.joints import Sliding, Turning
from symgen.mechanism.mechanism import BASE, Joint, Mechanism
from symgen.reference.carried_parts import moving_parts, origins
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states

STATES = 4
Points = tuple[tuple[float, float, float], ...]
NO_MOMENT = 1e-12
"""A principal moment below this fraction of the largest is rounding; a method that divides by it
refuses the link.
"""


@lru_cache(maxsize=64)
def freedom(mechanism: Mechanism, payload: str | None = None, points: Points = ()) -> float:
    """Return the largest term of H in units of the round-off of M⁻¹, over a few seeded states.

    `points` are the points at which the method takes the wrenches across the joints, in the frames
    of the bodies that these joints move (m). A joint's axis has many such points, and a thin link
    that is held far from its mass centre rotates easily. Without `points`, they are the frames'
    origins.

    All bodies that joint j carries, taken as one body, have a mass m_j and an inertia J_j about the
    joint. For a helical joint, m_j times the square of its lead is added to J_j. If the two links
    beside the joint are free, a unit of torque rotates them by t_j at most, and a unit of force
    shifts them by s_j. The terms are (Σ √(J_j t_j) + √(m_j s_j))² / 2n: those of H_aa in the
    joint's directions of motion, and of H_bb in the others, whose pivots det M needs. The result
    depends on no unit and no frame. It has two digits, so that decisions based on it do not depend
    on the last digits of a machine's library.
    """
    with np.errstate(all="ignore"):  # an overflow counts as infinite
        ratios = _freedom(mechanism, payload, points)
    return float(f"{np.where(np.isnan(ratios), np.inf, ratios).max():.1e}")


def _freedom(mechanism: Mechanism, payload: str | None, points: Points) -> Array:
    """Return the largest terms of H at the seeded states (STATES,), relative to M⁻¹."""
    states = draw_states(mechanism, STATES, payload=payload)
    reference = Reference(mechanism, FLOAT, payload=payload)
    load = states["payload"].astype(float) if payload is not None else None
    placements = reference.placements(states["q"].astype(float))
    frame_origins = origins(placements, STATES)
    offsets = points or ((0.0, 0.0, 0.0),) * len(frame_origins)
    roots = [
        origin + at.turn[0] @ np.array(point)
        for origin, at, point in zip(frame_origins, placements, offsets, strict=True)
    ]
    masses, inertias = np.zeros((2, STATES, len(mechanism.bodies)))
    for mass, part_centre, inertia, bodies in moving_parts(reference, placements, load):
        for body in bodies:
            masses[:, body] += mass
            inertias[:, body] += (
                mass * np.linalg.norm(part_centre - roots[body], axis=-1) ** 2 + inertia
            )
    free_bodies = [
        _body(reference, body, None if load is None else load[:1])
        for body in range(len(mechanism.bodies))
    ]
    terms = np.zeros(STATES)
    for j, joint in enumerate(mechanism.joints):
        inertias[:, j] += masses[:, j] * _lead(joint) ** 2
        rotation = translation = np.zeros(STATES)
        for body in (j, joint.parent):
            if body != BASE:
                centre, mobility, rotational_mobility = free_bodies[body]
                lever = np.linalg.norm(
                    frame_origins[body] + placements[body].turn[0] @ centre - roots[j], axis=-1
                )
                rotation = rotation + rotational_mobility
                translation = translation + mobility + lever**2 * rotational_mobility
        terms += np.sqrt(inertias[:, j] * rotation) + np.sqrt(masses[:, j] * translation)
    return np.asarray(terms**2 / (2 * len(mechanism.joints)))


def _lead(joint: Joint) -> float:
    """Return the lead (m/rad) of a helical joint; 0 for all other joints."""
    turns = {motion.of: motion.rate for motion in joint.motions if isinstance(motion, Turning)}
    return max(
        (
            abs(float(motion.rate / turns[motion.of]))
            for motion in joint.motions
            if isinstance(motion, Sliding) and motion.of in turns
        ),
        default=0.0,
    )


def _body(reference: Reference, index: int, load: Array | None) -> tuple[Array, float, float]:
    """Return the centre (3,) of a free body in its own axes, 1/m, and 1/λ with λ the least
    principal moment.

    A unit of force shifts the centre by at most 1/m, a unit of torque rotates the body by at most
    1/λ. Only the first state of a `load` counts.
    """
    parts = [part for part in reference.parts(load) if part.body == index]
    m = float(sum(np.ravel(part.mass)[0] for part in parts))
    if not m > 0:
        return np.zeros(3), np.inf, np.inf
    centre = np.asarray(
        sum(np.ravel(part.mass)[0] * part.centre.reshape(-1, 3)[0] for part in parts) / m
    )
    inertia = np.zeros((3, 3))
    for part in parts:
        d = part.centre.reshape(-1, 3)[0] - centre
        inertia += part.inertia.reshape(-1, 3, 3)[0] + np.ravel(part.mass)[0] * (
            d @ d * np.eye(3) - np.outer(d, d)
        )
    moments = np.linalg.eigvalsh(inertia)
    # a point mass has no moment, a thin rod has two
    nonzero = moments[moments > NO_MOMENT * moments[-1]]
    return centre, 1 / m, 1 / float(nonzero[0]) if len(nonzero) else 0.0
