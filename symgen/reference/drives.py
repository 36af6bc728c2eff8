"""Drive terms of the reference: the armature in M, and a force of each joint in the bias.

The terms are read off the declaration joint by joint. A mimic joint brings its own drive, scaled by
its multiplier. Gravity compensation is a force −κ m g at the centre of each part. Arrays are as in
`symgen.reference.mechanics`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.arrays import times, transposed
from symgen.reference.motion import Motion
from symgen.reference.precision import Array


class DrivenVelocity(NamedTuple):
    """Drive of one velocity: `rate` times entry `velocity` of v.

    The position of a joint of one coordinate is `rate` times entry `position` of q, plus `offset`.
    """

    drive: Drive
    velocity: int
    position: int
    rate: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)


def driven_velocities(mechanism: Mechanism) -> Iterator[DrivenVelocity]:
    """Yield every drive of a mechanism, once for each velocity that it acts on."""
    for joint, v_slice, q_slice, coupling in zip(
        mechanism.joints,
        mechanism.v_slices,
        mechanism.q_slices,
        mechanism.joint_couplings,
        strict=True,
    ):
        if coupling is not None and joint.drive:
            first, position = (
                mechanism.v_slices[coupling.leader].start,
                mechanism.q_slices[coupling.leader].start,
            )
            yield DrivenVelocity(joint.drive, first, position, coupling.multiplier, coupling.offset)
        elif joint.drive:
            yield from (
                DrivenVelocity(joint.drive.at(k - v_slice.start), k, q_slice.start)
                for k in range(v_slice.start, v_slice.stop)
            )


def add_armature(motion: Motion, mass: Array, sign: int = 1) -> Array:
    """Return M (..., NV, NV) with the rotors' armature added; with sign −1, subtracted."""
    total = mass.copy()
    for driven in driven_velocities(motion.mechanism):
        total[..., driven.velocity, driven.velocity] += sign * motion.scalars.constant(
            driven.drive.armature * driven.rate**2
        )
    return total


def add_drive_forces(motion: Motion, tau: Array, q: Array, v: Array, a: Array) -> Array:
    """Return tau (..., NV) of the bodies plus the drive forces minus gravity compensation.

    Drive forces are armature · a, damping v, friction v/√(v² + ε²) and stiffness (q − rest). All
    arguments are stacked.
    """
    number: Any = motion.scalars.constant
    total, squared_speed = tau.copy(), motion.mechanism.friction_speed**2
    for driven in driven_velocities(motion.mechanism):
        drive, rate = driven.drive, number(driven.rate)
        speed = rate * v[..., driven.velocity]
        force = (
            number(drive.armature) * rate * a[..., driven.velocity] + number(drive.damping) * speed
        )
        if drive.friction:
            force = force + number(drive.friction) * speed / np.sqrt(
                speed * speed + number(squared_speed)
            )
        if drive.stiffness:
            force = force + number(drive.stiffness) * (
                rate * q[..., driven.position] + number(driven.offset - drive.rest)
            )
        total[..., driven.velocity] += rate * force
    return total - gravity_compensation(motion, q) if motion.mechanism.compensated_parts else total


def gravity_compensation(motion: Motion, q: Array) -> Array:
    """Return −Σ Jvᵀ κ m gravity (..., NV): the joint forces that gravity compensation replaces."""
    placements = motion.placements(q)
    force = motion.scalars.array(np.zeros((*q.shape[:-1], motion.mechanism.nv)))
    for part in (part for part in motion.declared if part.gravcomp):
        at = placements[part.body]
        _, linear = motion.columns(
            part.body, at.shift[0] + times(at.turn[0], part.centre), placements
        )
        mass = part.mass * motion.scalars.constant(part.gravcomp)
        force[..., motion.supports[part.body]] -= mass * times(transposed(linear), motion.gravity)
    return np.asarray(force)


def add_rotor_energy(motion: Motion, energy: Array, v: Array) -> Array:
    """Return the kinetic energy (...) of the bodies plus ½ Σ armature v², in J."""
    for driven in driven_velocities(motion.mechanism):
        energy = (
            energy
            + motion.scalars.constant(driven.drive.armature * driven.rate**2 / 2)
            * v[..., driven.velocity] ** 2
        )
    return np.asarray(energy)
