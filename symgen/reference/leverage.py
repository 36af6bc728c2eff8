"""Cancellation in methods whose reference points are the declared mass centres of the links.

Such a method moves the reference point of a carried inertia to the link's mass centre and back. The
shift terms exceed their sum if the link is light, its centre far from its joint axis, and the
carried masses heavy and near the axis.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.carried_parts import moving_parts, origins
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states

STATES = 4


@lru_cache(maxsize=64)
def leverage(mechanism: Mechanism, payload: str | None = None) -> float:
    """Return the amplification of round-off: inertia about mass centres over inertia about joint
    origins, the largest ratio over joints and a few seeded states; at least 1.

    Each lever of a part, about the joint origin and about the mass centre, is the longest one on
    the way from the part to the joint. The result has two digits, as that of `free_bodies.freedom`.
    """
    with np.errstate(all="ignore"):  # an overflow counts as infinite leverage
        return _leverage(mechanism, payload)


def _leverage(mechanism: Mechanism, payload: str | None) -> float:
    """Return the largest ratio of inertias about mass centres to inertias about joint origins."""
    states = draw_states(mechanism, STATES, payload=payload)
    reference = Reference(mechanism, FLOAT, payload=payload)
    load = states["payload"].astype(float) if payload is not None else None
    placements = reference.placements(states["q"].astype(float))
    roots = origins(placements, STATES)
    centres = [
        _centre(reference, body, placements[body].turn[0], root) for body, root in enumerate(roots)
    ]
    about_centres, about_joints = np.zeros((2, STATES, len(mechanism.bodies)))
    for mass, centre, inertia, bodies in moving_parts(reference, placements, load):
        short, long = np.zeros(STATES), np.zeros(STATES)
        for body in bodies:
            short = np.maximum(short, np.linalg.norm(centre - roots[body], axis=-1))
            long = np.maximum(long, np.linalg.norm(centre - centres[body], axis=-1))
            about_centres[:, body] += mass * short**2 + inertia
            about_joints[:, body] += mass * np.maximum(short, long) ** 2 + inertia
    ratio = np.divide(
        about_joints, about_centres, out=np.ones_like(about_joints), where=about_centres != 0
    )
    return max(1.0, float(f"{np.where(np.isnan(ratio), np.inf, ratio).max():.1e}"))


def _centre(reference: Reference, body: int, rotation: Array, origin: Array) -> Array:
    """Return the declared mass centre of a link; its origin if the link has no mass."""
    parts = [part for part in reference.declared if part.body == body]
    mass = sum(float(part.mass) for part in parts)
    if not mass > 0:
        return origin
    centre = sum(float(part.mass) * np.asarray(part.centre, dtype=float) for part in parts) / mass
    return np.asarray(origin + rotation @ centre)
