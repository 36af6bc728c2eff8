"""q ⊕ v dt, where a constant velocity takes a mechanism, and its inverse goal ⊖ q: by power series, without a closed form.

A joint without an axis moves by exp(ξ), ξ = (w, v) dt. Its series is taken at ξ/2ⁿ, small enough for a few terms, and the
motion is put behind itself n times, as a unit quaternion and a displacement. So the quaternion keeps its sign.

On the way back such a joint has moved by T = exp(ξ). Its turn is told by a quaternion, whose sign is chosen so that it is half a
turn at most. Then T is replaced by its square root HALVINGS times, until it turns little: the root of a quaternion is half way to
1, and that of a displacement p is the p' with p' + R' p' = p. What is left is the series of the arcsine, and that of V in
p = V ρ. Over balls a bound of what the series leave out is added to each number.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from typing import Any

import flint
import numpy as np

from symgen.mechanism.joints import Orienting, Placing
from symgen.reference.arrays import (
    added,
    cross,
    identity,
    quaternion,
    skewed,
    stacked,
    times,
    transposed,
)
from symgen.reference.motion import Motion
from symgen.reference.precision import Array, Scalars

SMALL = Fraction(1, 4)
"""rad: a turn is halved until it is no larger."""
Moved = tuple[Array, Array]
"""A quaternion x y z w (..., 4) and a displacement (..., 3)."""


def integrate(motion: Motion, q: Array, v: Array, dt: Array) -> Array:
    """q (..., NQ) moved for a time dt (...) by the velocity v (..., NV), constant in each body's own axes."""
    with motion.scalars.working():
        step = v * dt[..., None]
        q, step = (x.copy() for x in stacked(q, step))
        for index, (of_q, of_v) in enumerate(
            zip(motion.mechanism.q_slices, motion.mechanism.v_slices, strict=True)
        ):
            own, aside = q[..., of_q], step[..., of_v]  # a view of what is returned
            if motion.mechanism.joints[index].type.directed:
                own += aside
                continue
            turn, spin, shift = motion.stirred(index, own, aside)
            turned, displaced = exponential(spin, shift, motion.scalars)
            for word in motion.motions[index]:
                if isinstance(word, Placing):
                    own[..., word.of : word.of + word.axes] += times(turn, displaced)[
                        ..., : word.axes
                    ]
                elif isinstance(word, Orienting):
                    own[..., word.of : word.of + 4] = product(
                        own[..., word.of : word.of + 4], turned
                    )
                else:
                    own[..., word.of] += (spin * motion.axes[index]).sum(axis=-1)
        return q


def exponential(spin: Array, shift: Array, scalars: Scalars) -> Moved:
    """exp of the twist (spin, shift) (..., 3) each: the turn as a quaternion, and the displacement."""
    size = (
        float(np.sqrt((np.asarray(spin, dtype=float) ** 2).sum(axis=-1)).max(initial=0.0))
        * (1 + 1e-9)
        + 1e-300
    )
    halvings = 0
    while Fraction(size) > SMALL * 2**halvings:
        halvings += 1
    whole = scalars.array(scalars.constant(Fraction(1, 2**halvings)))
    found = _series(spin * whole, shift * whole, scalars)
    for _ in range(halvings):
        found = _twice(found)
    return found


def product(a: Array, b: Array) -> Array:
    """a ∘ b of quaternions (..., 4)."""
    (u, w), (x, c) = ((one[..., :3], one[..., 3, None]) for one in (a, b))
    scalar = w * c - np.asarray((u * x).sum(axis=-1))[..., None]
    return np.concatenate([w * x + c * u + cross(u, x), scalar], axis=-1)


def _twice(moved: Moved) -> Moved:
    turn, shift = moved
    return product(turn, turn), shift + times(quaternion(turn), shift)


def _series(spin: Array, shift: Array, scalars: Scalars) -> Moved:
    """Of a turn φ (rad) of SMALL at most: Σ (φ/2)ᵏ/k! in quaternions and Σ (φ×)ᵏ/(k+1)! of the displacement."""
    aim = left_out(scalars)
    count = next(k for k in range(1, 10**4) if SMALL**k / factorial(k) * 2 < aim)
    half = np.concatenate([spin / 2, 0 * spin[..., :1]], axis=-1)
    one = 0 * half + scalars.array([0, 0, 0, 1])
    turn, power, displaced, bent = one, one, shift, shift
    for k in range(1, count):
        power, bent = product(power, half) / k, cross(spin, bent) / (k + 1)
        turn, displaced = turn + power, displaced + bent
    longest = np.asarray(np.abs(shift).sum(axis=-1))[..., None]
    return turn + around(aim, scalars), displaced + around(aim, scalars) * longest


def left_out(scalars: Scalars) -> Fraction:
    """What a series may leave out: less than the scalars have digits for."""
    return (
        Fraction(1, 2**60)
        if scalars.dtype is not object
        else Fraction(1, 2 ** (flint.ctx.prec + 10))
    )


def around(radius: Fraction, scalars: Scalars) -> Any:
    """Zero within ±radius; of floats, zero."""
    return (
        0.0
        if scalars.dtype is not object
        else flint.arb(0, flint.arb(flint.fmpq(radius.numerator, radius.denominator)))
    )


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
