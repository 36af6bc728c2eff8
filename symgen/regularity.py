"""Where a mass matrix cannot be inverted: pivots of the elimination from the leaves to the base."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from symgen.mechanism import Mechanism
from symgen.precision import Array, arb
from symgen.reference import Reference
from symgen.states import draw_states

DIGITS = 120
LEAST_PIVOT = Fraction(1, 10**20)
"""A pivot this small a part of its diagonal entry is no inertia: no real type of the C could resolve it."""


def pivots(matrix: Array) -> list[Any]:
    """D of M = U D Uᵀ for one symmetric (n, n) matrix, over any scalar: elimination from the last row to the first.

    D[k] is what joint k feels when every joint after it (its descendants among them) is free. Stops before a division
    by a zero pivot, so that fewer than n entries (the last ones, from the leaves) say that the matrix is singular.
    """
    rest = matrix.copy()
    found: list[Any] = []
    for k in range(len(rest) - 1, -1, -1):
        pivot = rest[k, k]
        found.insert(0, pivot)
        if not abs(pivot) > 0:   # for a ball: the radius does not exclude zero
            return found
        column = rest[:k, k]
        near = np.array([i for i in range(k) if not column[i] == 0], dtype=int)   # noqa: SIM201 -- a ball is neither == nor != 0
        if len(near):
            gain = column[near] / pivot
            rest[near[:, None], near[None, :]] -= gain[:, None] * column[near][None, :]
    return found


def singular_joint(mechanism: Mechanism, payload: str | None = None) -> str | None:
    """The joint at which the mass matrix loses its rank at every state, or None where it can be inverted.

    Going from the leaves to the base, it is the first joint that feels no inertia once all joints after it are free: a
    massless moving leaf, or a joint whose motion another one undoes. A `payload` (a link's name) counts as a load.
    """
    scalars = arb(DIGITS)
    reference = Reference(mechanism, scalars, payload=payload)
    names: set[str] = set()
    states = draw_states(mechanism, 2, seed=1, payload=payload)
    load = scalars.array(states["payload"]) if payload is not None else None
    with scalars.working():
        least = scalars.constant(LEAST_PIVOT)
        for matrix in reference.mass_matrix(scalars.array(states["q"]), load):
            found = pivots(matrix)
            first = mechanism.nv - len(found)
            lost = [k for k in range(mechanism.nv - 1, first - 1, -1) if not abs(found[k - first]) > least * abs(matrix[k, k])]
            if not lost:
                return None
            names.add(mechanism.joints[lost[0]].name)
    return min(names, key=mechanism.joint_index)
