"""Positions from which loops are closed: the declared start, and places round one on the grid that states are drawn on."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.reference.states import GRID


def start(mechanism: Mechanism) -> Array:
    """The declared start, in floats; of what it does not name, where each joint leaves its body in its own frame."""
    declared, found = dict(mechanism.start), []
    for joint in mechanism.leading:
        own = np.array([float(x) for x in declared.get(joint.name, joint.type.neutral)])
        if (first := joint.type.quaternion) is not None:
            own[first : first + 4] /= np.linalg.norm(own[first : first + 4])
        found.append(own)
    return np.concatenate(found)


def near(mechanism: Mechanism, begun: Array, attempt: int) -> Array:
    """The start itself, then poses round it, farther and farther."""
    if not attempt:
        return begun.copy()
    random = Random(f"start/{mechanism.nv}/{attempt}")
    return drawn(mechanism, rational(mechanism, begun), Fraction(attempt, 8), random).astype(float)


def rational(mechanism: Mechanism, q: Sequence[float] | Array, grid: int = GRID) -> Array:
    """A pose on the grid that states are drawn on: quaternions by the point of the sphere that is seen from its pole."""
    found: list[Fraction] = []
    for joint, own in zip(mechanism.leading, places(mechanism), strict=True):
        entries = [Fraction(round(float(x) * grid), grid) for x in q[own]]
        if (first := joint.type.quaternion) is not None:
            entries[first : first + 4] = unit(
                [float(x) for x in q[own][first : first + 4]], [Fraction(0)] * 3, grid
            )
        found += entries
    return np.array(found, dtype=object)


def drawn(mechanism: Mechanism, centre: Array, reach: Fraction, random: Random) -> Array:
    """Round a pose on the grid, within `reach` of it in every coordinate."""
    found: list[Fraction] = []
    span = int(reach * GRID)
    for joint, own in zip(mechanism.leading, places(mechanism), strict=True):
        entries = [x + Fraction(random.randint(-span, span), GRID) for x in centre[own]]
        if (first := joint.type.quaternion) is not None:
            push = [Fraction(random.randint(-span, span), 2 * GRID) for _ in range(3)]
            entries[first : first + 4] = unit(
                [float(x) for x in centre[own][first : first + 4]], push
            )
        found += entries
    return np.array(found, dtype=object)


def unit(quaternion: Sequence[float], push: Sequence[Fraction], grid: int = GRID) -> list[Fraction]:
    """A rational unit quaternion near one that is given, its place on the sphere as seen from the pole −1 moved by `push`."""
    x, y, z, w = quaternion
    sign = -1 if w < 0 else 1
    u = [
        Fraction(round(sign * one / (1 + abs(w)) * grid), grid) + p
        for one, p in zip((x, y, z), push, strict=True)
    ]
    square = sum((one * one for one in u), Fraction(0))
    return [*(sign * 2 * one / (1 + square) for one in u), sign * (1 - square) / (1 + square)]


def places(mechanism: Mechanism) -> list[slice]:
    return [
        own
        for own, follows in zip(mechanism.q_slices, mechanism.follows, strict=True)
        if follows is None
    ]
