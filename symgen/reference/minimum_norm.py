"""Forces of rows of which some say what others do: those that a damped solve leaves behind some turns of it, the least ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from symgen.reference.precision import Array, Scalars

DAMPING = Fraction(1, 10**6)
"""μ, as a part of the mean of the diagonal."""


def damped(scalars: Scalars, S: Array, right: Array, turns: int) -> Array:
    """λ (..., n) behind `turns` turns of (S + μ 1) λ = right + μ λ, from zero on; S is (..., n, n)."""
    n = S.shape[-1]
    mu = np.asarray(np.trace(S, axis1=-2, axis2=-1) * scalars.constant(DAMPING / n))
    whole, found = S + mu[..., None, None] * scalars.array(np.eye(n, dtype=int)), 0 * right
    for _ in range(turns):
        found = scalars.solve(whole, (right + mu[..., None] * found)[..., None])[..., 0]
    return np.asarray(found)
