"""Rank of constraint rows whose numbers are rounded in the description.

Redundant closures duplicate each other exactly only if their numbers are exact. Written in
decimals, their rows contradict each other by the rounding: a zero singular value becomes one of
that size, and no position closes all rows. Lengths count as fractions of the robot's size and
angles in rad, so that one number, ROUNDED, separates rounding from a constraint.
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
"""Fraction of the robot's size, and rad: rows that differ by less on the closed loops count as
equal.
"""
STATES, SEED = 4, 41
Kept = tuple[tuple[int, ...], ...]
"""Indices of some of the rows, for each closed loop."""


@lru_cache(maxsize=64)
def robot_size(mechanism: Mechanism) -> float:
    """Return the diagonal of the box (m) around the origins of all bodies and their mass centres; 1
    if that is zero.
    """
    floats = Motion(mechanism, FLOAT)
    placements = floats.placements(assembly_starts.start_positions(mechanism))
    points = [at.shift[0] for at in placements]
    for part in floats.declared:
        at = placements[part.body]
        points.append(at.shift[0] + at.turn[0] @ part.centre)
    box = np.ptp(np.array(points), axis=0)
    return float(np.linalg.norm(box)) or 1.0


def row_scales(
    mechanism: Mechanism, loops: Sequence[Loop], kept_rows: closing.Kept | None = None
) -> Array:
    """Return factors that convert the (kept) rows of closed loops to rad or to fractions of the
    robot's size.
    """
    length = robot_size(mechanism)
    by_kind = {Along: 1 / length, Apart: 1 / length**2}
    return np.array(
        [
            by_kind.get(type(row), 1.0)
            for number, loop in enumerate(loops)
            for k, row in enumerate(loop.type.rows)
            if kept_rows is None or k in kept_rows[number]
        ]
    )


def column_scales(mechanism: Mechanism) -> Array:
    """Return factors that convert the columns of Jacobians to velocities in rad/s or in robot sizes
    a second.
    """
    units = (mechanism.joints[joint].type.velocities[k].unit for joint, k in mechanism.dofs)
    return np.array([robot_size(mechanism) if unit == "m" else 1.0 for unit in units])


def dimensionless(mechanism: Mechanism, A: Array) -> Array:
    """Return all rows of A (..., NL, NV) without units."""
    return np.asarray(
        row_scales(mechanism, mechanism.loops)[:, None] * A * column_scales(mechanism)
    )


def count_significant(values: Array) -> Array:
    """Return the number of singular values (..., n) of dimensionless matrices that rounding does
    not explain.
    """
    return np.asarray((values > ROUNDED * np.maximum(1.0, values[..., :1])).sum(axis=-1))


def singular_values(mechanism: Mechanism, A: Array) -> Array:
    """Return the singular values of `dimensionless` A (NL, NV), the largest first."""
    return np.linalg.svd(dimensionless(mechanism, A), compute_uv=False)


def rank(mechanism: Mechanism, A: Array) -> int:
    """Return the rank of A, from all its rows."""
    return int(count_significant(singular_values(mechanism, A)))


def format_singular_values(mechanism: Mechanism, A: Array) -> str:
    """Return the significant singular values of A as text for a message."""
    return ", ".join(
        f"{value:.2g}" for value in singular_values(mechanism, A)[: rank(mechanism, A)]
    )


def independent_rows(mechanism: Mechanism, A: Array) -> Kept:
    """Return as many rows of A as its rank, by closed loop, which span the others."""
    chosen, by_loop, first = (
        spanning_columns(dimensionless(mechanism, A).T, rank(mechanism, A)),
        [],
        0,
    )
    for loop in mechanism.loops:
        by_loop.append(tuple(k for k in range(len(loop.type.rows)) if first + k in chosen))
        first += len(loop.type.rows)
    return tuple(by_loop)


def contradiction(mechanism: Mechanism, q: Array, v: Array | None = None) -> float:
    """Return the largest row error of the closed loops at q (..., NQ), in rad and fractions of the
    robot's size.

    With v (..., NV), the row rates count as well, relative to the largest velocity if that is above
    1.
    """
    floats, scales = Motion(mechanism, FLOAT), row_scales(mechanism, mechanism.loops)
    if v is None:
        return float(np.abs(scales * closing.residual(floats, None, q)).max())
    opened = closing.rows(floats, None, q, v, 0 * v)
    return float(
        np.abs(scales * np.stack([opened[0], opened[1] / max(1.0, np.abs(v).max())])).max()
    )


def immobile_loops(mechanism: Mechanism, loops: Sequence[Loop]) -> dict[str, float]:
    """Return how far open the closed loops are that no motion of the mechanism changes, in rad and
    fractions of its size.

    `loops` need not be those of the mechanism, and both ends of a loop may be on one body.
    """
    floats, random = Motion(mechanism, FLOAT), np.random.default_rng(SEED)
    q = draw_states(mechanism, STATES)["q"].astype(float)
    v = random.uniform(0.5, 1, (STATES, mechanism.nv)) * random.choice(
        (-1, 1), (STATES, mechanism.nv)
    )  # all joints move at once
    still, moving, _ = (
        np.abs(row_scales(mechanism, loops) * power).max(axis=0)
        for power in closing.rows(floats, None, q, v, 0 * v, loops)
    )
    openings, first = {}, 0
    for loop in loops:
        row_slice = slice(first, first + len(loop.type.rows))
        first = row_slice.stop
        if moving[row_slice].max() <= ROUNDED:
            openings[loop.name] = float(still[row_slice].max())
    return openings


def exact_rank(A: Array, zero_bound: Any) -> int:
    """Return the rank of A in balls, by elimination with the largest remaining entry as the pivot.

    An entry below `zero_bound` times the largest entry counts as zero.
    """
    rows, count = [list(row) for row in A], 0
    scale = max(
        (abs(x) for row in rows for x in row), key=lambda x: float(x.mid()), default=zero_bound
    )
    while rows:
        largest, i, j = max(
            (float(abs(x).mid()), i, j) for i, row in enumerate(rows) for j, x in enumerate(row)
        )
        pivot = rows.pop(i)
        if not largest or not abs(pivot[j]) > zero_bound * scale:
            return count
        rows = [
            [x - p * (row[j] / pivot[j]) for x, p in zip(row, pivot, strict=True)] for row in rows
        ]
        count += 1
    return count


def trailing_spanning_columns(
    A: Array, count: int, spared: Collection[int] = ()
) -> tuple[int, ...]:
    """Return `count` columns that span the others, searched from the last column on.

    Each has a good part of its length orthogonal to the columns chosen before it. Columns in
    `spared` come after all others.
    """
    chosen: list[int] = []
    for spared_round, fraction in product((False, True) if spared else (False,), (0.2, 0.02, 1e-6)):
        for k in reversed(range(A.shape[1])):
            if len(chosen) == count or k in chosen or (k in spared) is not spared_round:
                continue
            basis = A[:, chosen]
            remainder = (
                A[:, k] - basis @ np.linalg.lstsq(basis, A[:, k], rcond=None)[0]
                if chosen
                else A[:, k]
            )
            if np.linalg.norm(remainder) > fraction * np.linalg.norm(A, axis=0).max():
                chosen.append(k)
    return tuple(sorted(chosen))


def spanning_columns(A: Array, count: int) -> tuple[int, ...]:
    """Return `count` columns that span all columns: greedily the column with the largest remainder,
    and the first of equal ones.
    """
    remainders, chosen = np.array(A, dtype=float), []
    for _ in range(count):
        sizes = [float(f"{length:.5g}") for length in np.linalg.norm(remainders, axis=0)]
        k = max(range(len(sizes)), key=lambda column: (sizes[column], -column))
        chosen.append(k)
        direction = remainders[:, k] / np.linalg.norm(remainders[:, k])
        remainders = remainders - np.outer(direction, direction @ remainders)
    return tuple(sorted(chosen))
