"""Numbers that a description rounds: the rank of the rows of loops in spite of them, and what they explain.

Closures that say the same as others do so exactly only where their numbers are exact. Written in decimals, their rows contradict
each other by the rounding: a singular value that is zero becomes one of that size, and no pose closes all rows. Lengths count as
parts of the robot's size and angles in rad, so that one number, ROUNDED, tells rounding from a constraint.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from symgen.mechanism.closed_loops import Loop
from symgen.mechanism.closures import Along, Apart
from symgen.mechanism.mechanism import Mechanism
from symgen.reference import assembly_starts, closing
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states

ROUNDED = 1e-5
"""Part of the robot's size, and rad: rows that differ by less where the loops are closed count as the same in rounded numbers."""
STATES, SEED = 4, 41
Kept = tuple[tuple[int, ...], ...]
"""For each loop, the numbers of some of its rows."""


@lru_cache(maxsize=64)
def size(mechanism: Mechanism) -> float:
    """The diagonal of the box (m) round the origins of all bodies and their mass centres; 1 where that is zero."""
    floats = Motion(mechanism, FLOAT)
    placed = floats.placements(assembly_starts.start(mechanism))
    points = [at.shift[0] for at in placed]
    for part in floats.declared:
        at = placed[part.body]
        points.append(at.shift[0] + at.turn[0] @ part.centre)
    box = np.ptp(np.array(points), axis=0)
    return float(np.linalg.norm(box)) or 1.0


def row_scales(
    mechanism: Mechanism, loops: Sequence[Loop], kept: closing.Kept | None = None
) -> Array:
    """Factors of the rows of some loops, or of those that are kept, with which they count in rad or parts of the robot's size."""
    whole = size(mechanism)
    by_kind = {Along: 1 / whole, Apart: 1 / whole**2}
    return np.array(
        [
            by_kind.get(type(row), 1.0)
            for number, loop in enumerate(loops)
            for k, row in enumerate(loop.type.rows)
            if kept is None or k in kept[number]
        ]
    )


def column_scales(mechanism: Mechanism) -> Array:
    """Factors of the columns of Jacobians, with which velocities count in rad/s or in the robot's size a second."""
    units = (mechanism.joints[joint].type.velocities[k].unit for joint, k in mechanism.dofs)
    return np.array([size(mechanism) if unit == "m" else 1.0 for unit in units])


def scaled(mechanism: Mechanism, A: Array) -> Array:
    """All rows of A (..., NL, NV) without units."""
    return np.asarray(
        row_scales(mechanism, mechanism.loops)[:, None] * A * column_scales(mechanism)
    )


def counted(values: Array) -> Array:
    """How many singular values (..., n) of matrices without units rounding does not explain."""
    return np.asarray((values > ROUNDED * np.maximum(1.0, values[..., :1])).sum(axis=-1))


def singular_values(mechanism: Mechanism, A: Array) -> Array:
    """Return the singular values of `scaled` (NL, NV), the largest first."""
    return np.linalg.svd(scaled(mechanism, A), compute_uv=False)


def rank(mechanism: Mechanism, A: Array) -> int:
    """Return the rank of A, by all its rows."""
    return int(counted(singular_values(mechanism, A)))


def listed(mechanism: Mechanism, A: Array) -> str:
    """The singular values that `rank` counts, for a sentence."""
    return ", ".join(
        f"{value:.2g}" for value in singular_values(mechanism, A)[: rank(mechanism, A)]
    )


def independent_rows(mechanism: Mechanism, A: Array) -> Kept:
    """As many rows of A as its rank, by loop, which span the others."""
    chosen, found, first = spanning_columns(scaled(mechanism, A).T, rank(mechanism, A)), [], 0
    for loop in mechanism.loops:
        found.append(tuple(k for k in range(len(loop.type.rows)) if first + k in chosen))
        first += len(loop.type.rows)
    return tuple(found)


def contradiction(mechanism: Mechanism, q: Array, v: Array | None = None) -> float:
    """How far the loops are from being closed at q (..., NQ), or, with v (..., NV) as well, from staying so, the most over all
    rows: in rad and parts of the robot's size, and of the largest velocity where that is above 1."""
    floats, scales = Motion(mechanism, FLOAT), row_scales(mechanism, mechanism.loops)
    if v is None:
        return float(np.abs(scales * closing.residual(floats, None, q)).max())
    opened = closing.rows(floats, None, q, v, 0 * v)
    return float(
        np.abs(scales * np.stack([opened[0], opened[1] / max(1.0, np.abs(v).max())])).max()
    )


def idle(mechanism: Mechanism, loops: Sequence[Loop]) -> dict[str, float]:
    """Return how far open the loops are that no motion of a mechanism opens or closes, in rad and parts of its size.

    `loops` need not be those of the mechanism, and both ends of one may be on one body.
    """
    floats, random = Motion(mechanism, FLOAT), np.random.default_rng(SEED)
    q = draw_states(mechanism, STATES)["q"].astype(float)
    v = random.uniform(0.5, 1, (STATES, mechanism.nv)) * random.choice(
        (-1, 1), (STATES, mechanism.nv)
    )  # all joints at once
    still, moving, _ = (
        np.abs(row_scales(mechanism, loops) * power).max(axis=0)
        for power in closing.rows(floats, None, q, v, 0 * v, loops)
    )
    found, first = {}, 0
    for loop in loops:
        own = slice(first, first + len(loop.type.rows))
        first = own.stop
        if moving[own].max() <= ROUNDED:
            found[loop.name] = float(still[own].max())
    return found


def exact_rank(A: Array, nothing: Any) -> int:
    """In balls, by elimination with the largest entry left as the pivot; what is `nothing` beside the largest entry is zero."""
    rows, found = [list(row) for row in A], 0
    whole = max(
        (abs(x) for row in rows for x in row), key=lambda x: float(x.mid()), default=nothing
    )
    while rows:
        largest, i, j = max(
            (float(abs(x).mid()), i, j) for i, row in enumerate(rows) for j, x in enumerate(row)
        )
        pivot = rows.pop(i)
        if not largest or not abs(pivot[j]) > nothing * whole:
            return found
        rows = [
            [x - p * (row[j] / pivot[j]) for x, p in zip(row, pivot, strict=True)] for row in rows
        ]
        found += 1
    return found


def given_columns(A: Array, count: int, spared: Collection[int] = ()) -> tuple[int, ...]:
    """`count` columns that span the others, from the last on, each with a good part of its length across those behind it. Those
    that are `spared` come after all others."""
    found: list[int] = []
    for turn, part in product((False, True) if spared else (False,), (0.2, 0.02, 1e-6)):
        for k in reversed(range(A.shape[1])):
            if len(found) == count or k in found or (k in spared) is not turn:
                continue
            others = A[:, found]
            left = (
                A[:, k] - others @ np.linalg.lstsq(others, A[:, k], rcond=None)[0]
                if found
                else A[:, k]
            )
            if np.linalg.norm(left) > part * np.linalg.norm(A, axis=0).max():
                found.append(k)
    return tuple(sorted(found))


def spanning_columns(A: Array, count: int) -> tuple[int, ...]:
    """`count` columns that span the others, greedily the largest of what is left; of equal ones the first."""
    left, found = np.array(A, dtype=float), []
    for _ in range(count):
        sizes = [float(f"{length:.5g}") for length in np.linalg.norm(left, axis=0)]
        k = max(range(len(sizes)), key=lambda column: (sizes[column], -column))
        found.append(k)
        way = left[:, k] / np.linalg.norm(left[:, k])
        left = left - np.outer(way, way @ left)
    return tuple(sorted(found))
