"""What closes the loops of a mechanism, from the poses of its links as power series in t along q + v t + a t²/2.

Each row is a number that stays zero (`symgen.mechanism.closures`), written out of the two frames' poses in the base: C(q) is its value, A v
its coefficient of t, and γ twice that of t² while no joint accelerates. Nothing of it is a Jacobian of a twist, or assumes that
the loop is closed.
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
"""Of a number (...) or a vector (..., 3): its coefficients, one a power of t."""
ALIKE = 0.5
"""The cosine of axes that are the same is one where a loop is closed; of those that are astray it is none, or minus one."""
Kept = Sequence[Sequence[int]]
"""Of each loop the rows that count."""


def _times(a: Series, b: Series) -> list[Array]:
    """The product of two series of vectors, as a series of numbers."""
    return [
        np.asarray(sum((a[i] * b[k - i]).sum(axis=-1) for i in range(k + 1))) for k in range(len(a))
    ]


class Relative(NamedTuple):
    """Of one loop, series in base axes: the axes of both frames, and the way d between their origins."""

    first: Sequence[Series]
    second: Sequence[Series]
    d: Series


def relative(
    motion: Motion, loop: Loop, placed: Sequence[Placement], shape: tuple[int, ...]
) -> Relative:
    """From the series of all poses."""
    a, b = (_series(motion, end, placed, shape) for end in (loop.first, loop.second))
    axes = [[[turn[..., :, k] for turn in one.turn] for k in range(3)] for one in (a, b)]
    return Relative(axes[0], axes[1], [q - p for p, q in zip(a.shift, b.shift, strict=True)])


def _series(
    motion: Motion, end: End, placed: Sequence[Placement], shape: tuple[int, ...]
) -> Placement:
    turn, shift = motion.pose(end.pose)
    order = len(placed[0].turn)
    if end.body == BASE:
        turns, shifts = (turn, *[0 * turn] * (order - 1)), (shift, *[0 * shift] * (order - 1))
    else:
        at = placed[end.body]
        turns = tuple(r @ turn for r in at.turn)
        shifts = tuple(p + times(r, shift) for r, p in zip(at.turn, at.shift, strict=True))
    return Placement(
        tuple(np.broadcast_to(r, (*shape, 3, 3)) for r in turns),
        tuple(np.broadcast_to(p, (*shape, 3)) for p in shifts),
    )


def _row(row: Row, loop: Loop, at: Relative, constant: Callable[[Fraction], object]) -> list[Array]:
    """The series of what the row keeps at zero. Of one about velocities alone, that of its integral from t = 0 on."""
    if isinstance(row, Along):
        return _times(at.first[row.axis], at.d)
    if isinstance(row, Across):
        return [row.sign * one for one in _times(at.first[row.first], at.second[row.second])]
    if isinstance(row, Apart):
        square = _times(at.d, at.d)
        length = dict(loop.parameters)["distance"]
        return [(square[0] - constant(length * length)) / 2, *(one / 2 for one in square[1:])]
    return _unspun(row.axis, at)


def _unspun(axis: int, at: Relative) -> list[Array]:
    """∫ e · ω dt: ω is half the curl of Ṙ Rᵀ, R being the second's axes in the first's."""
    zero = 0 * at.d[0][..., 0]
    R = [
        np.stack(
            [
                np.stack(
                    [sum((_times(at.first[i], at.second[j])[k : k + 1]), zero) for j in range(3)],
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

    def turning(spin: Array) -> Array:
        return np.asarray(spin[..., across, up] - spin[..., up, across]) / 2

    first = R[1] @ transposed(R[0])
    second = 2 * R[2] @ transposed(R[0]) + R[1] @ transposed(R[1])
    return [zero, turning(first), turning(second) / 2]


@at_precision
def rows(
    motion: Motion,
    kept: Kept | None,
    q: Array,
    v: Array | None = None,
    a: Array | None = None,
    loops: Sequence[Loop] | None = None,
) -> list[Array]:
    """The series of the kept rows of all loops (..., NL), one array a power of t: of C alone without v and a. None keeps all.

    `loops` stand in the place of those of the mechanism."""
    q, v, a = (q, None, None) if v is None or a is None else stacked(q, v, a)
    placed = motion.placements(q, v, a)
    found = []
    for number, loop in enumerate(motion.mechanism.loops if loops is None else loops):
        at = relative(motion, loop, placed, q.shape[:-1])
        own = range(len(loop.type.rows)) if kept is None else kept[number]
        found += [_row(loop.type.rows[k], loop, at, motion.scalars.constant) for k in own]
    return [np.stack(np.broadcast_arrays(*power), axis=-1) for power in zip(*found, strict=True)]


def astray(motion: Motion, q: Array) -> Array:
    """Whether some loop has its rows at zero with one frame turned half round, or with its axes in each other's places, (...)."""
    with motion.scalars.working():
        placed, found = motion.placements(q), np.zeros(q.shape[:-1], dtype=bool)
        for loop in motion.mechanism.loops:
            at = relative(motion, loop, placed, q.shape[:-1])
            for k in loop.type.aligned:
                found = found | np.asarray(_times(at.first[k], at.second[k])[0] < ALIKE, dtype=bool)
        return found


def turned(motion: Motion, q: Array) -> Array:
    """Of the axes that both frames of a loop have alike where it is closed, 1 less the cosine between them, summed (...)."""
    placed, found = motion.placements(q), 0 * q.sum(axis=-1)
    for loop in motion.mechanism.loops:
        at = relative(motion, loop, placed, q.shape[:-1])
        for k in loop.type.aligned:
            found = found + (1 - _times(at.first[k], at.second[k])[0])
    return np.asarray(found)


def residual(motion: Motion, kept: Kept | None, q: Array) -> Array:
    """C (..., NL)."""
    return rows(motion, kept, q)[0]


@at_precision
def jacobian(motion: Motion, kept: Kept | None, q: Array) -> Array:
    """A (..., NL, NV), a velocity at a time."""
    nv = motion.mechanism.nv
    units = motion.scalars.array(np.eye(nv, dtype=int)).reshape(nv, *[1] * (q.ndim - 1), nv)
    each = np.broadcast_to(units, (nv, *q.shape[:-1], nv))
    return np.moveaxis(
        rows(motion, kept, np.broadcast_to(q, (nv, *q.shape)), each, 0 * each)[1], 0, -1
    )


@at_precision
def bias(motion: Motion, kept: Kept | None, q: Array, v: Array) -> Array:
    """γ (..., NL)."""
    return np.asarray(2 * rows(motion, kept, q, v, 0 * v)[2])
