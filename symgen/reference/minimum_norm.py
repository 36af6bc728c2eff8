"""Minimum-norm forces of redundant constraints: the limit of a few damped solves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from symgen.reference.precision import Array, Scalars

DAMPING = Fraction(1, 10**6)
"""μ divided by the mean of the diagonal of S."""


def minimum_norm_forces(scalars: Scalars, S: Array, right: Array, solve_count: int) -> Array:
    """Return λ (..., n) after `solve_count` iterations of (S + μ 1) λ = right + μ λ, starting at
    zero.

    S is (..., n, n) and μ is DAMPING times the mean of its diagonal.
    """
    n = S.shape[-1]
    mu = np.asarray(np.trace(S, axis1=-2, axis2=-1) * scalars.constant(DAMPING / n))
    damped_matrix, forces = S + mu[..., None, None] * scalars.array(np.eye(n, dtype=int)), 0 * right
    for _ in range(solve_count):
        forces = scalars.solve(damped_matrix, (right + mu[..., None] * forces)[..., None])[..., 0]
    return np.asarray(forces)
