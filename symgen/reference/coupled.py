"""Mimic joints in the reference: q_full = G q + q_0, so that M is Gᵀ M_full G.

Poses and columns of Jacobians need no G: a mimic joint moves by its leader's coordinate, and its
column is added to its leader's (`symgen.reference.motion`). G is for formulas that recurse along
the tree.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.motion import Motion
from symgen.reference.precision import Array


def uncoupled_motion(motion: Motion) -> Motion:
    """Return the motion with all joints independent."""
    payload = None if motion.payload is None else motion.payload.name
    return type(motion)(motion.mechanism.uncoupled, motion.scalars, payload=payload)


def all_coordinates(motion: Motion, q: Array) -> Array:
    """Return q_full (..., NQ of the uncoupled mechanism) of all joints."""
    return np.concatenate(
        [motion.joint_coordinates(index, q) for index in range(len(motion.mechanism.joints))],
        axis=-1,
    )


def coupling_matrix(motion: Motion) -> Array:
    """Return G (NV of the uncoupled mechanism, NV)."""
    rows = [pair for pairs in motion.shares for pair in pairs]
    G = motion.scalars.array(np.zeros((len(rows), motion.mechanism.nv), dtype=int))
    for i, (k, rate) in enumerate(rows):
        G[i, k] = motion.scalars.constant(rate)
    return G
