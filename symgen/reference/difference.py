"""goal ⊖ q: the step that takes a mechanism from one position to another, by square roots and power series.

A joint without an axis has moved by T = exp(ξ). Its turn is told by a quaternion, whose sign is chosen so that it is half a turn
at most. Then T is replaced by its square root HALVINGS times, until it turns little: the root of a quaternion is half way to 1,
and that of a displacement p is the p' with p' + R' p' = p. What is left is the series of the arcsine, and that of V in p = V ρ.
Over balls a bound of what the series leave out is added to each number.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import numpy as np

from symgen.mechanism.joints import Orienting, Placing
from symgen.reference.arrays import added, identity, quaternion, skewed, stacked, times, transposed
from symgen.reference.integrate import SMALL, Moved, around, left_out, product
from symgen.reference.motion import Motion
from symgen.reference.precision import Array, Scalars

HALVINGS = 4
"""Of half a turn: what is left is less than SMALL."""


def difference(motion: Motion, q: Array, goal: Array) -> Array:
    """δ (..., NV) from q (..., NQ) to `goal` (..., NQ), in each body's own axes at q."""
    scalars = motion.scalars
    with scalars.working():
        q, goal = stacked(q, goal)
        found = []
        for index, own in enumerate(motion.mechanism.q_slices):
            if motion.mechanism.joints[index].type.directed:
                found.append(goal[..., own] - q[..., own])
                continue
            (turn, here), (reached, there) = (
                _placed(motion, index, x[..., own]) for x in (q, goal)
            )
            behind = times(transposed(quaternion(turn)), there - here)
            spin, shift = logarithm(product(_opposite(turn), reached), behind, scalars)
            units = motion.twists(index, identity(scalars))
            found.append(
                np.stack(
                    [
                        np.asarray((spin * w).sum(axis=-1) + (shift * u).sum(axis=-1))
                        for w, u in units
                    ],
                    axis=-1,
                )
            )
        return np.concatenate(found, axis=-1) if found else q[..., :0]


def _placed(motion: Motion, index: int, q: Array) -> Moved:
    """What a joint without an axis does at q (..., n): a quaternion and a displacement."""
    nothing = 0 * q[..., :1]
    turn = np.concatenate([nothing, nothing, nothing, 1 + nothing], axis=-1)
    shift = turn[..., :3]
    for word in motion.motions[index]:
        if isinstance(word, Placing):
            shift = shift + times(
                quaternion(turn)[..., : word.axes], q[..., word.of : word.of + word.axes]
            )
        elif isinstance(word, Orienting):
            turn = product(turn, q[..., word.of : word.of + 4])
        else:
            half = q[..., word.of, None] / 2
            turn = product(
                turn, np.concatenate([np.sin(half) * motion.axes[index], np.cos(half)], axis=-1)
            )
    return turn, shift


def _opposite(turn: Array) -> Array:
    return np.concatenate([-turn[..., :3], turn[..., 3:]], axis=-1)


def logarithm(turn: Array, shift: Array, scalars: Scalars) -> tuple[Array, Array]:
    """The twist (spin, shift) (..., 3) each of a motion: the turn as a unit quaternion, and the displacement."""
    turn = np.where(np.asarray(turn[..., 3:], dtype=float) < 0, -turn, turn)
    for _ in range(HALVINGS):
        turn = turn + scalars.array([0, 0, 0, 1])
        turn = turn / np.sqrt(np.asarray((turn * turn).sum(axis=-1)))[..., None]
        shift = _solved(identity(scalars) + quaternion(turn), shift, scalars)
    left = left_out(scalars)
    u = turn[..., :3]
    square, term, total = (
        np.asarray((u * u).sum(axis=-1))[..., None],
        0 * u[..., :1] + 1,
        0 * u[..., :1],
    )
    for k in range(
        next(k for k in range(1, 10**4) if Fraction(1, 64**k) * 2 < left)
    ):  # |u| is less than 1/8
        total = total + term / (2 * k + 1)
        term = term * square * (2 * k + 1) / (2 * k + 2)
    spin = 2 * u * (total + around(left, scalars))
    bent = skewed(spin)
    power, terms = identity(scalars) + 0 * bent, []
    for k in range(1, next(k for k in range(1, 10**4) if SMALL**k / factorial(k) * 2 < left)):
        terms.append(power / factorial(k))
        power = power @ bent
    slid = _solved(added(terms) + around(left, scalars), shift, scalars)
    return spin * 2**HALVINGS, slid * 2**HALVINGS


def _solved(matrix: Array, vector: Array, scalars: Scalars) -> Array:
    return scalars.solve(matrix, vector[..., None])[..., 0]
