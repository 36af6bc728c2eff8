"""How much easier a joint would move, were its links free of all others: what a method loses that takes the constraints away.

M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ is a difference: of what each link would do were it free, and of what its neighbours keep
it from. Where the links are light beside what they carry, the two nearly cancel. So do the pivots of H_bb, in directions in which
no joint moves: a gantry's slides keep light links from turning, of which M knows nothing.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from symgen.mechanism.joints import Sliding, Turning
from symgen.mechanism.mechanism import BASE, Joint, Mechanism
from symgen.reference.carried_parts import carried, origins
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states

STATES = 4
Points = tuple[tuple[float, float, float], ...]
NO_MOMENT = 1e-12
"""Of the largest principal moment: less is rounding, and a method that divides by it refuses the link."""


@lru_cache(maxsize=64)
def freedom(mechanism: Mechanism, payload: str | None = None, points: Points = ()) -> float:
    """Round-offs of M⁻¹ that one of the terms of H comes to, the most at a few seeded states.

    `points` are where the method takes the wrenches across the joints, in the frames of the bodies that these move (m): a joint's
    axis has many, and a thin link that is held far from its mass centre turns easily. Without, they are the frames' origins.

    All that joint j carries, taken as one body, has a mass m_j and an inertia J_j about the joint, with m_j times the square of
    the shift that goes with a turn of a helical one. Once the two links beside it
    are free, a unit of torque turns them by t_j at most, and a unit of force shifts them by s_j. The terms are
    (Σ √(J_j t_j) + √(m_j s_j))² / 2n: those of H_aa where a joint moves, and of H_bb where it does not, whose pivots det M needs.
    No unit changes that, and no frame. Two digits are kept, so that whatever is decided by it does not hang on the last ones of a
    machine's library.
    """
    with np.errstate(all="ignore"):  # what is larger than any double is infinitely free
        found = _freedom(mechanism, payload, points)
    return float(f"{np.where(np.isnan(found), np.inf, found).max():.1e}")


def _freedom(mechanism: Mechanism, payload: str | None, points: Points) -> Array:
    states = draw_states(mechanism, STATES, payload=payload)
    reference = Reference(mechanism, FLOAT, payload=payload)
    load = states["payload"].astype(float) if payload is not None else None
    placed = reference.placements(states["q"].astype(float))
    own = origins(placed, STATES)
    there = points or ((0.0, 0.0, 0.0),) * len(own)
    roots = [
        origin + at.turn[0] @ np.array(point)
        for origin, at, point in zip(own, placed, there, strict=True)
    ]
    masses, inertias = np.zeros((2, STATES, len(mechanism.bodies)))
    for mass, place, inertia, bodies in carried(reference, placed, load):
        for body in bodies:
            masses[:, body] += mass
            inertias[:, body] += mass * np.linalg.norm(place - roots[body], axis=-1) ** 2 + inertia
    alone = [
        _body(reference, body, None if load is None else load[:1])
        for body in range(len(mechanism.bodies))
    ]
    terms = np.zeros(STATES)
    for j, joint in enumerate(mechanism.joints):
        inertias[:, j] += masses[:, j] * _lead(joint) ** 2
        turned = shifted = np.zeros(STATES)
        for body in (j, joint.parent):
            if body != BASE:
                centre, light, turning = alone[body]
                far = np.linalg.norm(own[body] + placed[body].turn[0] @ centre - roots[j], axis=-1)
                turned = turned + turning
                shifted = shifted + light + far**2 * turning
        terms += np.sqrt(inertias[:, j] * turned) + np.sqrt(masses[:, j] * shifted)
    return np.asarray(terms**2 / (2 * len(mechanism.joints)))


def _lead(joint: Joint) -> float:
    """How far (m) a joint shifts as it turns by a radian; 0 of one that need not."""
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
    """Of a free body: its centre (3,) in its own axes, and at most how much a unit of force shifts that and one of torque turns
    it, 1/m and 1/λ with λ the least principal moment. A `load` is judged by its first state."""
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
    felt = moments[
        moments > NO_MOMENT * moments[-1]
    ]  # a flat link turns about one axis, a thin rod about two
    return centre, 1 / m, 1 / float(felt[0]) if len(felt) else 0.0
