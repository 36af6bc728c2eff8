"""Integration q ⊕ v dt at constant velocity, and its inverse goal ⊖ q, by power series without a
closed form.

A joint without an axis moves by exp(ξ), ξ = (w, v) dt. The series is evaluated at ξ/2ⁿ, small
enough for a few terms, and the motion is squared n times, as a unit quaternion and a displacement.
So the quaternion keeps its sign.

For the inverse, such a joint has moved by T = exp(ξ). The sign of its quaternion is chosen so that
the rotation is half a turn at most. Then T is replaced by its square root HALVINGS times, until its
rotation is small. The square root of a quaternion is the normalized mean of it and 1. The root p'
of a displacement p solves p' + R' p' = p. The rest is the series of the arcsine and that of V in p
= V ρ. Over balls, a bound of the truncation error is added to each number.
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
"""rad: a rotation is halved until it is no larger."""
RigidMotion = tuple[Array, Array]
"""A quaternion x y z w (..., 4) and a displacement (..., 3)."""


def integrate(motion: Motion, q: Array, v: Array, dt: Array) -> Array:
    """Return q (..., NQ) after a time dt (...) at the velocity v (..., NV), which is constant in
    each body's own axes.
    """
    with motion.scalars.working():
        step = v * dt[..., None]
        q, step = (x.copy() for x in stacked(q, step))
        for index, (q_slice, v_slice) in enumerate(
            zip(motion.mechanism.q_slices, motion.mechanism.v_slices, strict=True)
        ):
            coordinates = q[..., q_slice]  # a view of the result
            displacement = step[..., v_slice]
            if motion.mechanism.joints[index].type.directed:
                coordinates += displacement
                continue
            rotation, spin, shift = motion.joint_displacement(index, coordinates, displacement)
            step_rotation, step_shift = exponential(spin, shift, motion.scalars)
            for word in motion.motions[index]:
                if isinstance(word, Placing):
                    coordinates[..., word.of : word.of + word.axes] += times(rotation, step_shift)[
                        ..., : word.axes
                    ]
                elif isinstance(word, Orienting):
                    coordinates[..., word.of : word.of + 4] = quaternion_product(
                        coordinates[..., word.of : word.of + 4], step_rotation
                    )
                else:
                    coordinates[..., word.of] += (spin * motion.axes[index]).sum(axis=-1)
        return q


def exponential(spin: Array, shift: Array, scalars: Scalars) -> RigidMotion:
    """Return exp of the twist (spin, shift), (..., 3) each: the rotation as a quaternion, and the
    displacement.
    """
    size = (
        float(np.sqrt((np.asarray(spin, dtype=float) ** 2).sum(axis=-1)).max(initial=0.0))
        * (1 + 1e-9)
        + 1e-300
    )
    halvings = 0
    while Fraction(size) > SMALL * 2**halvings:
        halvings += 1
    scale = scalars.array(scalars.constant(Fraction(1, 2**halvings)))
    motion = _exponential_series(spin * scale, shift * scale, scalars)
    for _ in range(halvings):
        motion = _squared_motion(motion)
    return motion


def quaternion_product(a: Array, b: Array) -> Array:
    """Return the quaternion product a ∘ b (..., 4)."""
    (u, w), (x, c) = ((factor[..., :3], factor[..., 3, None]) for factor in (a, b))
    scalar = w * c - np.asarray((u * x).sum(axis=-1))[..., None]
    return np.concatenate([w * x + c * u + cross(u, x), scalar], axis=-1)


def _squared_motion(motion: RigidMotion) -> RigidMotion:
    """Return the composition of a rigid motion with itself."""
    rotation, shift = motion
    return quaternion_product(rotation, rotation), shift + times(quaternion(rotation), shift)


def _exponential_series(spin: Array, shift: Array, scalars: Scalars) -> RigidMotion:
    """Return the exponential of a twist whose angle φ is at most SMALL.

    The series are Σ (φ/2)ᵏ/k! in quaternions, and Σ (φ×)ᵏ/(k+1)! for the displacement.
    """
    tolerance = truncation_bound(scalars)
    count = next(k for k in range(1, 10**4) if SMALL**k / factorial(k) * 2 < tolerance)
    half = np.concatenate([spin / 2, 0 * spin[..., :1]], axis=-1)
    unit_quaternion = 0 * half + scalars.array([0, 0, 0, 1])
    rotation, power, displaced, term = unit_quaternion, unit_quaternion, shift, shift
    for k in range(1, count):
        power, term = quaternion_product(power, half) / k, cross(spin, term) / (k + 1)
        rotation, displaced = rotation + power, displaced + term
    longest = np.asarray(np.abs(shift).sum(axis=-1))[..., None]
    return rotation + ball_around_zero(tolerance, scalars), displaced + ball_around_zero(
        tolerance, scalars
    ) * longest


def truncation_bound(scalars: Scalars) -> Fraction:
    """Return the tolerated truncation error of a series, below the resolution of the scalars."""
    return (
        Fraction(1, 2**60)
        if scalars.dtype is not object
        else Fraction(1, 2 ** (flint.ctx.prec + 10))
    )


def ball_around_zero(radius: Fraction, scalars: Scalars) -> Any:
    """Return zero within ±radius as a ball; zero for floats."""
    return (
        0.0
        if scalars.dtype is not object
        else flint.arb(0, flint.arb(flint.fmpq(radius.numerator, radius.denominator)))
    )


HALVINGS = 4
"""Number of square roots: they reduce half a turn below SMALL."""


def difference(motion: Motion, q: Array, goal: Array) -> Array:
    """Return δ (..., NV) from q (..., NQ) to `goal` (..., NQ), in each body's own axes at q."""
    scalars = motion.scalars
    with scalars.working():
        q, goal = stacked(q, goal)
        steps = []
        for index, q_slice in enumerate(motion.mechanism.q_slices):
            if motion.mechanism.joints[index].type.directed:
                steps.append(goal[..., q_slice] - q[..., q_slice])
                continue
            (rotation, origin), (goal_rotation, goal_origin) = (
                _joint_motion(motion, index, x[..., q_slice]) for x in (q, goal)
            )
            displacement = times(transposed(quaternion(rotation)), goal_origin - origin)
            spin, shift = logarithm(
                quaternion_product(_conjugate(rotation), goal_rotation), displacement, scalars
            )
            units = motion.twists(index, identity(scalars))
            steps.append(
                np.stack(
                    [
                        np.asarray((spin * w).sum(axis=-1) + (shift * u).sum(axis=-1))
                        for w, u in units
                    ],
                    axis=-1,
                )
            )
        return np.concatenate(steps, axis=-1) if steps else q[..., :0]


def _joint_motion(motion: Motion, index: int, q: Array) -> RigidMotion:
    """Return the rigid motion of a joint without an axis at q (..., n), as a quaternion and a
    displacement.
    """
    zero = 0 * q[..., :1]
    rotation = np.concatenate([zero, zero, zero, 1 + zero], axis=-1)
    shift = rotation[..., :3]
    for word in motion.motions[index]:
        if isinstance(word, Placing):
            shift = shift + times(
                quaternion(rotation)[..., : word.axes], q[..., word.of : word.of + word.axes]
            )
        elif isinstance(word, Orienting):
            rotation = quaternion_product(rotation, q[..., word.of : word.of + 4])
        else:
            half = q[..., word.of, None] / 2
            rotation = quaternion_product(
                rotation, np.concatenate([np.sin(half) * motion.axes[index], np.cos(half)], axis=-1)
            )
    return rotation, shift


def _conjugate(rotation: Array) -> Array:
    """Return the conjugate quaternion."""
    return np.concatenate([-rotation[..., :3], rotation[..., 3:]], axis=-1)


def logarithm(turn: Array, shift: Array, scalars: Scalars) -> tuple[Array, Array]:
    """Return the twist (spin, shift), (..., 3) each, of a motion: `turn` is its rotation as a unit
    quaternion.
    """
    turn = np.where(np.asarray(turn[..., 3:], dtype=float) < 0, -turn, turn)
    for _ in range(HALVINGS):
        turn = turn + scalars.array([0, 0, 0, 1])
        turn = turn / np.sqrt(np.asarray((turn * turn).sum(axis=-1)))[..., None]
        shift = _solve_vector(identity(scalars) + quaternion(turn), shift, scalars)
    bound = truncation_bound(scalars)
    u = turn[..., :3]
    square, term, total = (
        np.asarray((u * u).sum(axis=-1))[..., None],
        0 * u[..., :1] + 1,
        0 * u[..., :1],
    )
    for k in range(
        next(k for k in range(1, 10**4) if Fraction(1, 64**k) * 2 < bound)
    ):  # |u| is less than 1/8
        total = total + term / (2 * k + 1)
        term = term * square * (2 * k + 1) / (2 * k + 2)
    spin = 2 * u * (total + ball_around_zero(bound, scalars))
    spin_matrix = skewed(spin)
    power, terms = identity(scalars) + 0 * spin_matrix, []
    for k in range(1, next(k for k in range(1, 10**4) if SMALL**k / factorial(k) * 2 < bound)):
        terms.append(power / factorial(k))
        power = power @ spin_matrix
    linear = _solve_vector(added(terms) + ball_around_zero(bound, scalars), shift, scalars)
    return spin * 2**HALVINGS, linear * 2**HALVINGS


def _solve_vector(matrix: Array, vector: Array, scalars: Scalars) -> Array:
    return scalars.solve(matrix, vector[..., None])[..., 0]
