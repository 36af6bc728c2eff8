"""Cells of the box of a Program's arguments, cut along the positions that it reads, and random
states in the box.
"""

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
"""Most cells. Sines and cosines of narrow angle ranges cancel as they do exactly; that of a wide
range is anything in [-1, 1].
"""
VALUES = 6_000_000
"""Most values in memory: rows times cells or states."""

LOADS = 64
"""Number of different run-time loads among the states."""


def subdivide(
    program: Program, ranges: Ranges, cell_count: int = PIECES
) -> dict[str, list[Interval]]:
    """Return one Interval per element, by argument: end points per cell for the positions that are
    read, one interval otherwise.
    """
    ranges_of = ranges.for_program(program)
    positions = sorted(
        {
            row.value[1]
            for row in program.rows
            if row.op == "input" and program.inputs[row.value[0]].name == "q"
        }
    )
    cell_count = min(cell_count, VALUES // len(program.rows))
    per_position = max(1, int(cell_count ** (1 / max(1, len(positions))) + 1e-9))
    cells = (
        dict(
            zip(
                positions,
                np.indices((per_position,) * len(positions)).reshape(len(positions), -1),
                strict=True,
            )
        )
        if positions and per_position > 1
        else {}
    )
    return {
        name: [
            _cut(element_range, per_position, cells.get(i))
            if name == "q"
            else _enclose(element_range)
            for i, element_range in enumerate(elements)
        ]
        for name, elements in ranges_of.items()
    }


def points(states: Mapping[str, Array]) -> dict[str, list[Interval]]:
    """Return states, given as (count, …) floats by argument, as Intervals of width zero."""
    return {
        name: [
            Interval(column, column)
            for column in np.asarray(values, dtype=float).reshape(len(values), -1).T
        ]
        for name, values in states.items()
    }


def _enclose(element_range: Range) -> Interval:
    return Interval(
        down(np.array([float(element_range[0])])), up(np.array([float(element_range[1])]))
    )


def _cut(element_range: Range, count: int, cell: Array | None) -> Interval:
    enclosure = _enclose(element_range)
    if cell is None:
        return enclosure
    bounds = np.linspace(enclosure.lo[0], enclosure.hi[0], count + 1)
    return Interval(bounds[cell], bounds[cell + 1])


def random_states(
    mechanism: Mechanism, ranges: Ranges, options: ProgramOptions, count: int, seed: int = 0
) -> dict[str, Array]:
    """Return `count` random states in the box by argument name, as float64 with values of the type
    `options.real`; one in eight is a corner.

    A run-time load is a possible body (`symgen.reference.states`), not ten independent numbers.
    Quaternions are normalised, and then rounded to the type.
    """
    random = np.random.default_rng([seed, count, mechanism.nv])
    real = np.dtype(REALS[options.real].numpy).type
    states = {}
    for name, elements in ranges.of.items():
        low, high = (np.array([float(element[end]) for element in elements]) for end in (0, 1))
        share = random.random((count, len(elements)))
        share[::8] = np.round(share[::8])
        inside = (low + share * (high - low)).astype(real)
        inside = np.where(inside < low, np.nextafter(inside, real(np.inf)), inside)
        states[name] = np.where(inside > high, np.nextafter(inside, real(-np.inf)), inside).astype(
            float
        )
    for first in mechanism.quaternions:
        entries = slice(first, first + 4)
        for name in POSITIONS:
            states[name][:, entries] = (
                _normalised(states[name][:, entries]).astype(real).astype(float)
            )
    if options.payload is not None:
        loads = draw_states(mechanism, min(count, LOADS), seed, options.payload)["payload"].astype(
            float
        )
        states["payload"] = loads[np.arange(count) % len(loads)]
    return states


def _normalised(entries: Array) -> Array:
    """Return (count, 4) quaternions of unit length; the identity for zero."""
    length = np.sqrt((entries * entries).sum(axis=1, keepdims=True))
    return np.where(
        length > 0, entries / np.where(length > 0, length, 1.0), np.array([0.0, 0.0, 0.0, 1.0])
    )
