"""Sizes of det M, ln det M and its gradient, from the round-off of M: δ ln det M = tr(M⁻¹ δM),
entry by entry.

An entry of M has an error of eps times the size of its terms, s_jk ≤ √(s_j s_k) with the sizes s of
the diagonal entries. Both sums below have absolute values. They depend on no choice of units or
frames.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.precision import Array
from symgen.support.errors import RequestError
from symgen.verification.magnitude import LEAST, largest
from symgen.verification.scales._bodies import Bodies

STEP = 2.0**-17
"""Step of the central difference for a size: accurate to eight digits."""


def log_determinant(bodies: Bodies) -> Array:
    """Return the size of ln det M per state (count,): of the logarithms of its pivots, and Σ
    |M⁻¹|_jk s_jk.

    A pivot D_k lies between 1/(M⁻¹)_kk and M_kk, so |ln D_k| is at most the larger of |ln| of
    these.
    """
    pivot_bounds = [
        np.abs(np.log(np.abs(np.diagonal(_matrix(bodies, function), axis1=-2, axis2=-1))))
        for function in ("mass_matrix", "inverse_mass_matrix")
    ]
    return np.asarray(np.maximum(*pivot_bounds).sum(axis=-1) + bodies.determinant_loss())


def gradient(bodies: Bodies) -> Array:
    """Return the size of d ln det M/dq (count, NV): Σ |M⁻¹|_jk times the size of ∂M_jk, and Σ |M⁻¹
    ∂M M⁻¹|_jk s_jk.

    When a joint rotates, a column of a part's Jacobian changes by at most the lever of the nearer
    of the two joints.
    """
    exact_results, roots = bodies.exact_results, bodies.roots
    inverse = _matrix(bodies, "inverse_mass_matrix")
    terms = np.zeros(roots.shape)
    for support, turns, levers, mass, inertia, _ in bodies.parts:
        solved = np.abs(inverse[:, np.array(support)[:, None], support])
        index = np.arange(len(support))
        column_changes = (
            turns[np.minimum.outer(index, index)] * levers[:, np.maximum.outer(index, index)]
        )
        force = np.asarray(mass)[..., None] * np.einsum("sjk,sk->sj", solved, levers)
        moment = np.asarray(inertia)[..., None] * turns * (turns @ solved @ turns)[:, None]
        terms[:, support] += 2 * (np.einsum("sij,sj->si", column_changes, force) + moment)
    steps = STEP * np.eye(exact_results.mechanism.nv)[:, None, :]
    up, down = (
        exact_results.rough.mass_matrix(
            exact_results.rough.displaced(exact_results.floats["q"], step), exact_results.load
        )
        for step in (steps, -steps)
    )
    rates = np.abs(inverse @ ((up - down) / (2 * STEP)) @ inverse)
    return np.asarray(terms + np.einsum("sj,isjk,sk->si", roots, rates, roots))


def _matrix(bodies: Bodies, function: str) -> Array:
    """Return the single result of a function as floats."""
    (value,) = bodies.exact_results.results(function).values()
    return np.asarray(value, dtype=float)


def determinant(bodies: Bodies) -> Array:
    """Return the size of det M per state (count,): its relative change is tr(M⁻¹ δM). If M is
    singular, it is Hadamard's bound.
    """
    try:
        det = largest(bodies.exact_results.results("mass_matrix_determinant")["det"])
        return np.asarray(det * bodies.determinant_loss())
    except RequestError:
        terms = bodies.diagonal()  # may be zero, for a point mass on its joint's axis
        return np.asarray(
            np.prod(np.maximum(terms, LEAST * terms.max(axis=-1, keepdims=True)), axis=-1)
        )


BY_RESULT = {"logdet": log_determinant, "grad": gradient, "det": determinant}
