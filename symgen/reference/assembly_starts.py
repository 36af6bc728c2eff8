"""Start positions for assembling closed loops: the declared start, and rational positions around it
on the grid of drawn states.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.reference.states import GRID


def start_positions(mechanism: Mechanism) -> Array:
    """Return the declared start in floats; a joint without a declared start is neutral."""
    declared, coordinates = dict(mechanism.start), []
    for joint in mechanism.leading:
        entries = np.array([float(x) for x in declared.get(joint.name, joint.type.neutral)])
        if (first := joint.type.quaternion) is not None:
            entries[first : first + 4] /= np.linalg.norm(entries[first : first + 4])
        coordinates.append(entries)
    return np.concatenate(coordinates)


def position_near_start(mechanism: Mechanism, start: Array, attempt: int) -> Array:
    """Return the start itself at attempt 0, then positions around it, farther with each attempt."""
    if not attempt:
        return start.copy()
    random = Random(f"start/{mechanism.nv}/{attempt}")
    return draw_positions_near(
        mechanism, rational_positions(mechanism, start), Fraction(attempt, 8), random
    ).astype(float)


def rational_positions(mechanism: Mechanism, q: Sequence[float] | Array, grid: int = GRID) -> Array:
    """Return positions rounded to the grid of drawn states; quaternions are rounded in the
    stereographic projection.
    """
    coordinates: list[Fraction] = []
    for joint, q_slice in zip(mechanism.leading, leading_slices(mechanism), strict=True):
        entries = [Fraction(round(float(x) * grid), grid) for x in q[q_slice]]
        if (first := joint.type.quaternion) is not None:
            entries[first : first + 4] = rational_unit_quaternion(
                [float(x) for x in q[q_slice][first : first + 4]], [Fraction(0)] * 3, grid
            )
        coordinates += entries
    return np.array(coordinates, dtype=object)


def draw_positions_near(
    mechanism: Mechanism, centre: Array, reach: Fraction, random: Random
) -> Array:
    """Return random positions on the grid around `centre`, within `reach` of it in every
    coordinate.
    """
    coordinates: list[Fraction] = []
    span = int(reach * GRID)
    for joint, q_slice in zip(mechanism.leading, leading_slices(mechanism), strict=True):
        entries = [x + Fraction(random.randint(-span, span), GRID) for x in centre[q_slice]]
        if (first := joint.type.quaternion) is not None:
            offset = [Fraction(random.randint(-span, span), 2 * GRID) for _ in range(3)]
            entries[first : first + 4] = rational_unit_quaternion(
                [float(x) for x in centre[q_slice][first : first + 4]], offset
            )
        coordinates += entries
    return np.array(coordinates, dtype=object)


def rational_unit_quaternion(
    quaternion: Sequence[float], offset: Sequence[Fraction], grid: int = GRID
) -> list[Fraction]:
    """Return a rational unit quaternion near the given one.

    Its stereographic projection from the pole −1 is rounded to the grid, then moved by `offset`.
    """
    x, y, z, w = quaternion
    sign = -1 if w < 0 else 1
    u = [
        Fraction(round(sign * entry / (1 + abs(w)) * grid), grid) + shift
        for entry, shift in zip((x, y, z), offset, strict=True)
    ]
    square = sum((entry * entry for entry in u), Fraction(0))
    return [*(sign * 2 * entry / (1 + square) for entry in u), sign * (1 - square) / (1 + square)]


def leading_slices(mechanism: Mechanism) -> list[slice]:
    """Return the slices of q of the joints that follow no other joint."""
    return [
        q_slice
        for q_slice, coupling in zip(mechanism.q_slices, mechanism.joint_couplings, strict=True)
        if coupling is None
    ]
