"""Joints that follow others, as the reference has them: q_full = G q + q_0, so that M is Gᵀ M_full G.

Whatever is made of poses and of Jacobians' columns needs none of this: a joint that follows moves by its leader's coordinate, and
its column is added to its leader's (`symgen.reference.motion`). It is for formulas that go along the tree.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.motion import Motion
from symgen.reference.precision import Array


def whole(motion: Motion) -> Motion:
    """The motion of all joints, independent."""
    payload = None if motion.payload is None else motion.payload.name
    return type(motion)(motion.mechanism.uncoupled, motion.scalars, payload=payload)


def every(motion: Motion, q: Array) -> Array:
    """q of all joints (..., NQ of the whole)."""
    return np.concatenate(
        [motion.coordinates(index, q) for index in range(len(motion.mechanism.joints))], axis=-1
    )


def spread(motion: Motion) -> Array:
    """G (NV of the whole, NV)."""
    rows = [pair for pairs in motion.shares for pair in pairs]
    out = motion.scalars.array(np.zeros((len(rows), motion.mechanism.nv), dtype=int))
    for i, (k, rate) in enumerate(rows):
        out[i, k] = motion.scalars.constant(rate)
    return out
