"""The running error of A/r, where A = atan2(2 r w, w² − r²) and r = √S: what a turn is divided by its own sine.

Row by row A and r are both lost where nothing turns: r is as small as its error. But what is computed is A/r of the r that was
computed, which stands in both, and A/r is smooth in S and w while w keeps its sign. With A = 2θ and S + w² = ρ²,

    |∂(A/r)/∂S| = (θ − sin θ cos θ)/(r³) ≤ (π/2)/ρ³,    |∂(A/r)/∂w| = 2/ρ²,    |A/r| = 2θ/(ρ sin θ) ≤ π/ρ.

The roundings behind S and w are relative ones. Of 2 r w two, and the two of w² − r² are of ρ² at most, which turn A by |sin A| as
much; then that of atan2, and r's own with a division, or a reciprocal and a product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from symgen.certificate.intervals import HALF_TURN, Interval, down, summed, times, up
from symgen.certificate.sum_of_squares import least
from symgen.ir.program import Program, Row
from symgen.reference.precision import Array

_SLOPE = 1.5707963267948970
"""π/2, rounded up."""
_ROUNDINGS = 12
"""Nine at most besides that of atan2; and room for their products, in any type of ten digits or more."""


class Rate(NamedTuple):
    """The rows of S and w, and the least that r is computed as."""

    square: int
    other: int
    least: float


def rates(program: Program) -> dict[int, Rate]:
    """{row: what it is made of} of every A/r."""
    if all(row.op != "atan2" for row in program.rows):
        return {}
    found = {}
    for index, row in enumerate(program.rows):
        parts = _parts(program.rows, row)
        if parts is not None:
            root, square, other = parts
            floor = least(program, [root]).get(root)
            if floor is not None:
                found[index] = Rate(square, other, float(down(float(floor))))
    return found


def _parts(rows: Sequence[Row], row: Row) -> tuple[int, int, int] | None:
    """The rows of r, S and w of a row that is A/r, or A·(1/r)."""
    angle, root = (rows[row.args[0]], row.args[1]) if row.op == "div" else _reciprocal(rows, row)
    if angle is None or angle.op != "atan2" or rows[root].op != "sqrt":
        return None
    (square,), (sine, cosine) = rows[root].args, (rows[a] for a in angle.args)
    twice = [a for a in sine.args if rows[a].value == 2] if sine.op == "mul" else []
    if len(twice) != 1 or cosine.op != "sub" or cosine.args[1] != square:
        return None
    (product,), squared = (rows[a] for a in sine.args if a not in twice), rows[cosine.args[0]]
    if squared.op != "mul" or squared.args[0] != squared.args[1] or product.op != "mul":
        return None
    other = squared.args[0]
    return (root, square, other) if sorted(product.args) == sorted((root, other)) else None


def _reciprocal(rows: Sequence[Row], row: Row) -> tuple[Row | None, int]:
    """(x, r) of x·(1/r)."""
    for x, by in (row.args, row.args[::-1]) if row.op == "mul" else ():
        if rows[by].op == "div" and rows[rows[by].args[0]].value == 1:
            return rows[x], rows[by].args[1]
    return None, 0


def bounded(
    rate: Rate,
    square: tuple[Interval, Array],
    other: tuple[Interval, Array],
    unit: float,
    angle: float,
    underflow: float,
) -> tuple[Array, Array]:
    """(size of A/r, its error), both infinite where w may change its sign; `square` and `other` are each an enclosure and an
    error, `angle` that of atan2 in units in the last place."""
    (s, s_off), (w, w_off) = square, other
    low, away = np.maximum(down(s.lo - s_off), 0.0), down(w.least - w_off)
    known = (away > 0) & (down(away * rate.least) > 4 * underflow)
    away = np.where(known, away, 1.0)
    reach = down(low + down(away * away))  # ρ²
    far = down(np.sqrt(reach))
    size = up(HALF_TURN / far)
    moved = summed(up(times(2.0, w_off) / reach), up(times(_SLOPE, s_off) / down(reach * far)))
    own = times((_ROUNDINGS + 2 * angle) * unit, summed(size, moved))
    flushed = summed(up(summed(up(3 * underflow / reach), underflow) / rate.least), underflow)
    return np.where(known, size, np.inf), np.where(known, summed(moved, own, flushed), np.inf)
