"""How much farther masses lie from the mass centres of the links that carry them than from their joints.

A method whose reference points are the declared mass centres shifts what a link carries to them and back. Where a link is light,
its centre far from its axis, and what it carries heavy and near, those terms are larger than what they leave over.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.carried_parts import carried, origins
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states

STATES = 4


@lru_cache(maxsize=64)
def leverage(mechanism: Mechanism, payload: str | None = None) -> float:
    """Round-offs of M that one of the terms about the centres comes to, the most over joints and a few seeded states; 1 or more.

    Both levers of a part are the longest on its way out to it. Two digits are kept, as of `free_bodies.freedom`.
    """
    with np.errstate(all="ignore"):  # what is larger than any double is infinitely far
        return _leverage(mechanism, payload)


def _leverage(mechanism: Mechanism, payload: str | None) -> float:
    states = draw_states(mechanism, STATES, payload=payload)
    reference = Reference(mechanism, FLOAT, payload=payload)
    load = states["payload"].astype(float) if payload is not None else None
    placed = reference.placements(states["q"].astype(float))
    roots = origins(placed, STATES)
    centres = [
        _centre(reference, body, placed[body].turn[0], root) for body, root in enumerate(roots)
    ]
    near, far = np.zeros((2, STATES, len(mechanism.bodies)))
    for mass, place, inertia, bodies in carried(reference, placed, load):
        short, long = np.zeros(STATES), np.zeros(STATES)
        for body in bodies:
            short = np.maximum(short, np.linalg.norm(place - roots[body], axis=-1))
            long = np.maximum(long, np.linalg.norm(place - centres[body], axis=-1))
            near[:, body] += mass * short**2 + inertia
            far[:, body] += mass * np.maximum(short, long) ** 2 + inertia
    ratio = np.divide(far, near, out=np.ones_like(far), where=near != 0)
    return max(1.0, float(f"{np.where(np.isnan(ratio), np.inf, ratio).max():.1e}"))


def _centre(reference: Reference, body: int, turn: Array, origin: Array) -> Array:
    """The mass centre of a link as it is declared, its origin where it has no mass."""
    parts = [part for part in reference.declared if part.body == body]
    mass = sum(float(part.mass) for part in parts)
    if not mass > 0:
        return origin
    centre = sum(float(part.mass) * np.asarray(part.centre, dtype=float) for part in parts) / mass
    return np.asarray(origin + turn @ centre)
