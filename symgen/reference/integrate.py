"""q ⊕ v dt: where a constant velocity takes a mechanism, by power series and doubling, without a closed form.

A joint without an axis moves by exp(ξ), ξ = (w, v) dt. Its series is taken at ξ/2ⁿ, small enough for a few terms, and the
motion is put behind itself n times, as a unit quaternion and a displacement. So the quaternion keeps its sign. Over balls a
bound of what the series leaves out is added to each number.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from typing import Any

import flint
import numpy as np

from symgen.mechanism.joints import Orienting, Placing
from symgen.reference.arrays import cross, quaternion, stacked, times
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
