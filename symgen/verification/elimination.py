"""The elimination of one dense matrix, from its last row to its first: its pivots, and whether they are positive."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgen.reference.precision import Array

ROUNDING = 1e-13
"""Share of the largest entry of M, times its size. M's rounding to double and the computation of its eigenvalues lose less."""
VANISHING = 1e-60
"""Share of the largest term of the diagonal. A pivot whose ball holds zero and is no wider than this is zero."""


def pivots(matrix: Array) -> list[Any]:
    """D of M = U D Uᵀ for one symmetric (n, n) matrix, over any scalar: elimination from the last row to the first.

    D[k] is what joint k feels when every joint after it (its descendants among them) is free. Stops before a division by a pivot
    that may be zero. Then fewer than n entries are returned: the last ones, from the leaves.
    """
    rest = matrix.copy()
    found: list[Any] = []
    for k in range(len(rest) - 1, -1, -1):
        pivot = rest[k, k]
        found.insert(0, pivot)
        if not abs(pivot) > 0:  # for a ball: the radius does not exclude zero
            return found
        column = rest[:k, k]
        near = np.array([i for i in range(k) if not column[i] == 0], dtype=int)  # noqa: SIM201 -- a ball is neither == nor != 0
        if len(near):
            gain = column[near] / pivot
            rest[near[:, None], near[None, :]] -= gain[:, None] * column[near][None, :]
    return found


def determinant(matrix: Array, terms: Array) -> Any:
    """Π D; NaN where a ball does not show whether a pivot is zero. `terms` (n,) are the sizes of the diagonal entries' terms."""
    found = pivots(matrix)
    if len(found) == len(matrix) and abs(found[0]) > 0:
        return np.prod(np.array(found))
    return 0 * matrix[0, 0] if _vanishes(found, terms) else np.nan


def is_positive(matrix: Array, terms: Array) -> bool | None:
    """Whether a symmetric ball matrix is positive definite; None where its balls do not show it. `terms` as of `determinant`."""
    rounded = np.asarray(np.frompyfunc(lambda ball: float(ball.mid()), 1, 1)(matrix), dtype=float)
    widest = max(float(ball.rad()) for ball in matrix.ravel())
    size = float(np.abs(rounded).max())
    if (
        np.isfinite(rounded).all() and widest <= ROUNDING * size
    ):  # Weyl: no eigenvalue moves by more than the norm of a change
        lowest = np.linalg.eigvalsh(rounded)[0]
        if lowest > ROUNDING * len(matrix) * size:
            return True
    found = pivots(matrix)
    if len(found) == len(matrix) and all(pivot > 0 for pivot in found):
        return True
    return False if any(pivot < 0 for pivot in found) or _vanishes(found, terms) else None


def _vanishes(found: list[Any], terms: Array) -> bool:
    """Whether the pivot that an elimination stopped at is zero. Its entry, and all terms of that, may be: a point on its axis."""
    return bool(abs(found[0]) <= VANISHING * terms.max())
