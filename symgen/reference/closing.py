"""Constraint rows of closed loops, from the poses of the links as power series in t along q + v t +
a t²/2.

Each row is a number that stays zero (`symgen.mechanism.closures`), a function of the two frames'
poses in the base. C(q) is its value, A v its coefficient of t, and γ twice its coefficient of t²
with zero joint accelerations. The rows use no Jacobian of a twist, and do not assume that the loop
is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from symgen.mechanism.closed_loops import End, Loop
from symgen.mechanism.closures import Across, Along, Apart, Row
from symgen.mechanism.mechanism import BASE
from symgen.reference.arrays import stacked, times, transposed
from symgen.reference.motion import Motion, Placement, at_precision
from symgen.reference.precision import Array

Series = Sequence[Array]
"""Coefficients of a power series, one a power of t: numbers (...) or vectors (..., 3)."""
ALIKE = 0.5
"""Threshold for the cosine between axes that coincide in a closed loop: it is 1 there, and 0 or −1
if the loop is misassembled.
"""
Kept = Sequence[Sequence[int]]
"""Indices of the rows that count, for each closed loop."""


def _dot_series(a: Series, b: Series) -> list[Array]:
    """Return the scalar product of two series of vectors, as a series of numbers."""
    return [
        np.asarray(sum((a[i] * b[k - i]).sum(axis=-1) for i in range(k + 1))) for k in range(len(a))
    ]


class Relative(NamedTuple):
    """Series of one closed loop in base axes: the axes of both frames, and the vector d between
    their origins.
    """

    first: Sequence[Series]
    second: Sequence[Series]
    d: Series


def relative(
    motion: Motion, loop: Loop, placements: Sequence[Placement], shape: tuple[int, ...]
) -> Relative:
    """Return the relative pose of a closed loop's two frames, from the series of all poses."""
    a, b = (_end_series(motion, end, placements, shape) for end in (loop.first, loop.second))
    axes = [[[turn[..., :, k] for turn in frame.turn] for k in range(3)] for frame in (a, b)]
    return Relative(axes[0], axes[1], [q - p for p, q in zip(a.shift, b.shift, strict=True)])


def _end_series(
    motion: Motion, end: End, placements: Sequence[Placement], shape: tuple[int, ...]
) -> Placement:
    """Return the power series of the pose of one end of a closed loop."""
    turn, shift = motion.pose(end.pose)
    order = len(placements[0].turn)
    if end.body == BASE:
        turns, shifts = (turn, *[0 * turn] * (order - 1)), (shift, *[0 * shift] * (order - 1))
    else:
        at = placements[end.body]
        turns = tuple(r @ turn for r in at.turn)
        shifts = tuple(p + times(r, shift) for r, p in zip(at.turn, at.shift, strict=True))
    return Placement(
        tuple(np.broadcast_to(r, (*shape, 3, 3)) for r in turns),
        tuple(np.broadcast_to(p, (*shape, 3)) for p in shifts),
    )


def _row(row: Row, loop: Loop, at: Relative, constant: Callable[[Fraction], object]) -> list[Array]:
    """Return the series of a row's value. For a row that constrains velocities only, return the
    series of its integral from t = 0.
    """
    if isinstance(row, Along):
        return _dot_series(at.first[row.axis], at.d)
    if isinstance(row, Across):
        return [
            row.sign * coefficient
            for coefficient in _dot_series(at.first[row.first], at.second[row.second])
        ]
    if isinstance(row, Apart):
        square = _dot_series(at.d, at.d)
        length = dict(loop.parameters)["distance"]
        return [
            (square[0] - constant(length * length)) / 2,
            *(coefficient / 2 for coefficient in square[1:]),
        ]
    return _spin_integral(row.axis, at)


def _spin_integral(axis: int, at: Relative) -> list[Array]:
    """Return ∫ e · ω dt: ω is half the curl of Ṙ Rᵀ, where R are the second frame's axes in the
    first's.
    """
    zero = 0 * at.d[0][..., 0]
    R = [
        np.stack(
            [
                np.stack(
                    [
                        sum((_dot_series(at.first[i], at.second[j])[k : k + 1]), zero)
                        for j in range(3)
                    ],
                    axis=-1,
                )
                for i in range(3)
            ],
            axis=-2,
        )
        for k in range(len(at.d))
    ]
    if len(R) == 1:
        return [zero]
    up, across = (axis + 1) % 3, (axis + 2) % 3

    def turning(rate: Array) -> Array:
        spin = rate @ transposed(R[0])
        return np.asarray(spin[..., across, up] - spin[..., up, across]) / 2

    # the curl of (Ṙ Rᵀ)˙ = R̈ Rᵀ + Ṙ Ṙᵀ is that of R̈ Rᵀ, as Ṙ Ṙᵀ is symmetric
    return [zero, turning(R[1]), turning(R[2])]


@at_precision
def rows(
    motion: Motion,
    kept_rows: Kept | None,
    q: Array,
    v: Array | None = None,
    a: Array | None = None,
    loops: Sequence[Loop] | None = None,
) -> list[Array]:
    """Return the series of the kept rows of all closed loops (..., NL), one array a power of t;
    without v and a, only C.

    All rows are kept if `kept_rows` is None. `loops` replace the closed loops of the mechanism.
    """
    q, v, a = (q, None, None) if v is None or a is None else stacked(q, v, a)
    placements = motion.placements(q, v, a)
    series = []
    for number, loop in enumerate(motion.mechanism.loops if loops is None else loops):
        at = relative(motion, loop, placements, q.shape[:-1])
        row_indices = range(len(loop.type.rows)) if kept_rows is None else kept_rows[number]
        series += [_row(loop.type.rows[k], loop, at, motion.scalars.constant) for k in row_indices]
    return [np.stack(np.broadcast_arrays(*power), axis=-1) for power in zip(*series, strict=True)]


def is_misassembled(motion: Motion, q: Array) -> Array:
    """True (...) if the rows of some loop are zero although one frame is turned by half a turn, or
    its axes are permuted.
    """
    with motion.scalars.working():
        placements, misassembled = motion.placements(q), np.zeros(q.shape[:-1], dtype=bool)
        for loop in motion.mechanism.loops:
            at = relative(motion, loop, placements, q.shape[:-1])
            for k in loop.type.aligned:
                misassembled = misassembled | np.asarray(
                    _dot_series(at.first[k], at.second[k])[0] < ALIKE, dtype=bool
                )
        return misassembled


def misalignment(motion: Motion, q: Array) -> Array:
    """Return the sum over aligned axes of 1 minus the cosine between the two frames' axes (...):
    zero if the loops are well assembled.
    """
    placements, total = motion.placements(q), 0 * q.sum(axis=-1)
    for loop in motion.mechanism.loops:
        at = relative(motion, loop, placements, q.shape[:-1])
        for k in loop.type.aligned:
            total = total + (1 - _dot_series(at.first[k], at.second[k])[0])
    return np.asarray(total)


def residual(motion: Motion, kept_rows: Kept | None, q: Array) -> Array:
    """Return C (..., NL)."""
    return rows(motion, kept_rows, q)[0]


@at_precision
def jacobian(motion: Motion, kept_rows: Kept | None, q: Array) -> Array:
    """Return A (..., NL, NV), column by column."""
    nv = motion.mechanism.nv
    units = motion.scalars.array(np.eye(nv, dtype=int)).reshape(nv, *[1] * (q.ndim - 1), nv)
    velocities = np.broadcast_to(units, (nv, *q.shape[:-1], nv))
    return np.moveaxis(
        rows(motion, kept_rows, np.broadcast_to(q, (nv, *q.shape)), velocities, 0 * velocities)[1],
        0,
        -1,
    )


@at_precision
def bias(motion: Motion, kept_rows: Kept | None, q: Array, v: Array) -> Array:
    """Return γ (..., NL)."""
    return np.asarray(2 * rows(motion, kept_rows, q, v, 0 * v)[2])
