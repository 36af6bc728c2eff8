"""Directions that a joint forbids: the orthogonal complement of its axes, in exact numbers."""

from __future__ import annotations

import numpy as np

from symgen.papers.blocks import identity, zeros
from symgen.reference.precision import Array

TARGETS = (2, 5, 1, 4, 0, 3)
"""Coordinates that `complement` exchanges with an axis, in the order of preference."""


def orthonormal(rows: Array) -> bool:
    """True if rows are orthonormal."""
    return bool((rows @ rows.T - identity(len(rows)) == 0).all())


def complement(axes: Array) -> Array:
    """Return W(k), (6−n) x 6: rows orthogonal to the n rows of H(k), a basis with them.

    Orthonormal axes have an orthonormal complement. A reflection exchanges each axis with a
    coordinate, the third for a joint that turns and the sixth for one that slides, so no square
    root is needed. The complement of n coordinates are the other coordinates. The axis of a helical
    joint is no unit vector; the rows of its complement are independent, and not orthonormal.
    """
    return _reflected_coordinates(axes) if orthonormal(axes) else _null_space(axes)


def _reflected_coordinates(axes: Array) -> Array:
    """Return the rows that complete orthonormal rows to an orthonormal basis."""
    basis, free = identity(6), list(range(6))
    for axis in axes:
        image = (
            basis @ axis
        )  # the axis in the coordinates of the basis; zero for basis vectors that are used already
        target = _target(image, free)
        free.remove(target)
        normal = image.copy()
        normal[target] = normal[target] - 1
        square = normal @ normal
        if square != 0:
            basis = basis - np.outer(normal, normal @ basis) * (2 / square)
    return basis[free]


def _target(image: Array, free: list[int]) -> int:
    """Return the free coordinate that an axis is exchanged with: its own, if it is a coordinate."""
    present = [c for c in range(6) if image[c] != 0]
    if len(present) == 1:
        return present[0]
    half = range(3) if any(c < 3 for c in present) else range(3, 6)
    return next(
        (c for c in TARGETS if c in free and c in half), next(c for c in TARGETS if c in free)
    )


def _null_space(axes: Array) -> Array:
    """Return a basis of the rows orthogonal to independent rows, by elimination."""
    rows, pivots = axes.copy(), []
    for r in range(len(rows)):
        pivot = next(c for c in range(6) if rows[r, c] != 0)
        pivots.append(pivot)
        rows[r] = rows[r] / rows[r, pivot]
        for s in range(len(rows)):
            if s != r:
                rows[s] = rows[s] - rows[r] * rows[s, pivot]
    free = [c for c in range(6) if c not in pivots]
    basis = zeros(len(free), 6)
    for b, c in enumerate(free):
        basis[b, c] = basis[b, c] + 1
        for r, pivot in enumerate(pivots):
            basis[b, pivot] = -rows[r, c]
    return basis
