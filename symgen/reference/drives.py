"""What the drives of a mechanism add to the reference: the armature to M, and a force of each joint to the bias.

Read off the declaration joint by joint. What follows another joint brings its own drive, which turns and resists as far as it
goes. The weight that is borne is a force −κ m g at the centre of each part. Arrays are as `symgen.reference.mechanics` has them.
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


class Driven(NamedTuple):
    """A drive at `rate` times entry `of` of v; a joint of one coordinate is at `rate` times entry `place` of q, and `offset`."""

    drive: Drive
    of: int
    place: int
    rate: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)


def driven(mechanism: Mechanism) -> Iterator[Driven]:
    """Every drive of a mechanism, once for each velocity that it is at."""
    for joint, own, q, follows in zip(
        mechanism.joints, mechanism.v_slices, mechanism.q_slices, mechanism.follows, strict=True
    ):
        if follows is not None and joint.drive:
            first, place = (
                mechanism.v_slices[follows.leader].start,
                mechanism.q_slices[follows.leader].start,
            )
            yield Driven(joint.drive, first, place, follows.multiplier, follows.offset)
        elif joint.drive:
            yield from (
                Driven(joint.drive.at(k - own.start), k, q.start)
                for k in range(own.start, own.stop)
            )


def with_armature(motion: Motion, mass: Array, sign: int = 1) -> Array:
    """M of the bodies (..., NV, NV) with the rotors; or, by the sign −1, M without them."""
    found = mass.copy()
    for one in driven(motion.mechanism):
        found[..., one.of, one.of] += sign * motion.scalars.constant(
            one.drive.armature * one.rate**2
        )
    return found


def with_forces(motion: Motion, tau: Array, q: Array, v: Array, a: Array) -> Array:
    """tau (..., NV) of the bodies with armature · a, damping v, friction v/√(v² + ε²) and stiffness (q − rest), all stacked, and
    without what bears their weight."""
    number: Any = motion.scalars.constant
    found, fading = tau.copy(), motion.mechanism.friction_speed**2
    for one in driven(motion.mechanism):
        drive, rate = one.drive, number(one.rate)
        speed = rate * v[..., one.of]
        force = number(drive.armature) * rate * a[..., one.of] + number(drive.damping) * speed
        if drive.friction:
            force = force + number(drive.friction) * speed / np.sqrt(speed * speed + number(fading))
        if drive.stiffness:
            force = force + number(drive.stiffness) * (
                rate * q[..., one.place] + number(one.offset - drive.rest)
            )
        found[..., one.of] += rate * force
    return found - spared(motion, q) if motion.mechanism.borne else found


def spared(motion: Motion, q: Array) -> Array:
    """−Σ Jvᵀ κ m gravity (..., NV): what the joints need not give where a fraction κ of the weight of parts is borne."""
    placed = motion.placements(q)
    out = motion.scalars.array(np.zeros((*q.shape[:-1], motion.mechanism.nv)))
    for part in (one for one in motion.declared if one.borne):
        at = placed[part.body]
        _, linear = motion.columns(part.body, at.shift[0] + times(at.turn[0], part.centre), placed)
        mass = part.mass * motion.scalars.constant(part.borne)
        out[..., motion.supports[part.body]] -= mass * times(transposed(linear), motion.gravity)
    return np.asarray(out)


def with_spin(motion: Motion, energy: Array, v: Array) -> Array:
    """Kinetic energy (...) of the bodies and ½ Σ armature v², in J."""
    for one in driven(motion.mechanism):
        energy = (
            energy
            + motion.scalars.constant(one.drive.armature * one.rate**2 / 2) * v[..., one.of] ** 2
        )
    return np.asarray(energy)
