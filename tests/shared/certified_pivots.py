"""Pivots of a certificate and states to compare them at."""

from __future__ import annotations

import numpy as np

from symgen.certificate.ranges import declared_ranges
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array


def states(mechanism: Mechanism, count: int, seed: int = 0) -> dict[str, Array]:
    """Float32 states anywhere in the declared box, its corners among them."""
    random = np.random.default_rng(seed)
    arguments = {}
    for name, ranges in declared_ranges(mechanism).of.items():
        low, high = (np.array([float(r[k]) for r in ranges]) for k in (0, 1))
        share = random.random((count, len(ranges)))
        share[: count // 4] = np.round(share[: count // 4])
        arguments[name] = np.clip(
            (low + share * (high - low)).astype(np.float32),
            np.nextafter(low.astype(np.float32), np.inf),
            np.nextafter(high.astype(np.float32), -np.inf),
        ).astype(float)
    return arguments


def pivots(mechanism: Mechanism, q: Array) -> Array:
    """D_k (count, NV) of M = U D Uᵀ, by Schur complements of the reference's M."""
    M = Reference(mechanism, FLOAT).mass_matrix(q)
    n, pivots_in_turn = M.shape[-1], []
    for k in range(n):
        block = M[:, k, k]
        if k + 1 < n:
            side = M[:, k, k + 1 :, None]
            block = block - (side * np.linalg.solve(M[:, k + 1 :, k + 1 :], side))[..., 0].sum(
                axis=-1
            )
        pivots_in_turn.append(block)
    return np.stack(pivots_in_turn, axis=-1)
