"""The box of a Program's arguments, cut into smaller ones along the positions that it reads; or states, the points in it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symgen.certificate.intervals import Interval, down, up
from symgen.certificate.ranges import Range, Ranges
from symgen.ir.program import POSITIONS, Program
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.reference.states import draw_states
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.reals import REALS

PIECES = 4096
"""Boxes at most. Sines and cosines of narrow angles cancel as they do in truth; a wide one is anything between -1 and 1."""
VALUES = 6_000_000
"""Rows times boxes, or states, that are held at once."""

LOADS = 64
"""Different run-time loads among the states."""


def boxes(program: Program, ranges: Ranges, pieces: int = PIECES) -> dict[str, list[Interval]]:
    """By argument, one Interval an element: end points per box for the positions that are read, one for all otherwise."""
    of = ranges.for_program(program)
    read = sorted(
        {
            row.value[1]
            for row in program.rows
            if row.op == "input" and program.inputs[row.value[0]].name == "q"
        }
    )
    pieces = min(pieces, VALUES // len(program.rows))
    each = max(1, int(pieces ** (1 / max(1, len(read))) + 1e-9))
    place = (
        dict(zip(read, np.indices((each,) * len(read)).reshape(len(read), -1), strict=True))
        if read and each > 1
        else {}
    )
    return {
        name: [
            _cut(one, each, place.get(i)) if name == "q" else _whole(one)
            for i, one in enumerate(elements)
        ]
        for name, elements in of.items()
    }


def points(states: Mapping[str, Array]) -> dict[str, list[Interval]]:
    """By argument, (count, …) floats each, as Intervals of no width."""
    return {
        name: [
            Interval(column, column)
            for column in np.asarray(values, dtype=float).reshape(len(values), -1).T
        ]
        for name, values in states.items()
    }


def _whole(one: Range) -> Interval:
    return Interval(down(np.array([float(one[0])])), up(np.array([float(one[1])])))


def _cut(one: Range, each: int, place: Array | None) -> Interval:
    whole = _whole(one)
    if place is None:
        return whole
    ends = np.linspace(whole.lo[0], whole.hi[0], each + 1)
    ends[0], ends[-1] = whole.lo[0], whole.hi[0]
    return Interval(ends[place], ends[place + 1])


def drawn(
    mechanism: Mechanism, ranges: Ranges, options: ProgramOptions, count: int, seed: int = 0
) -> dict[str, Array]:
    """`count` states in the box by argument name, numbers of the type `options.real` as float64; one in eight is a corner.

    A run-time load is one that a body can be (`symgen.reference.states`), not any ten numbers of its box. Quaternions are
    normalised, and then rounded to the type.
    """
    random = np.random.default_rng([seed, count, mechanism.nv])
    real = np.dtype(REALS[options.real].numpy).type
    found = {}
    for name, elements in ranges.of.items():
        low, high = (np.array([float(one[end]) for one in elements]) for end in (0, 1))
        share = random.random((count, len(elements)))
        share[::8] = np.round(share[::8])
        inside = (low + share * (high - low)).astype(real)
        inside = np.where(inside < low, np.nextafter(inside, real(np.inf)), inside)
        found[name] = np.where(inside > high, np.nextafter(inside, real(-np.inf)), inside).astype(
            float
        )
    for first in mechanism.quaternions:
        own = slice(first, first + 4)
        for name in POSITIONS:
            found[name][:, own] = _normalised(found[name][:, own]).astype(real).astype(float)
    if options.payload is not None:
        loads = draw_states(mechanism, min(count, LOADS), seed, options.payload)["payload"].astype(
            float
        )
        found["payload"] = loads[np.arange(count) % len(loads)]
    return found


def _normalised(entries: Array) -> Array:
    """(count, 4) scaled to unit length; where they have none, the identity."""
    length = np.sqrt((entries * entries).sum(axis=1, keepdims=True))
    return np.where(
        length > 0, entries / np.where(length > 0, length, 1.0), np.array([0.0, 0.0, 0.0, 1.0])
    )
