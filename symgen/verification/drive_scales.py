"""Sizes of the drive terms, entry by entry at each state; zero for a mechanism without drives."""

from __future__ import annotations

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.drives import driven_velocities
from symgen.reference.precision import Array


def armature(mechanism: Mechanism) -> Array:
    """Return the armature of every entry of v (NV,), as floats; a mimic joint counts by its squared
    multiplier.
    """
    sizes = np.zeros(mechanism.nv)
    for driven in driven_velocities(mechanism):
        sizes[driven.velocity] += float(driven.drive.armature * driven.rate**2)
    return sizes


def forces(mechanism: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Return the sizes of the terms of the drive forces (count, NV).

    Friction counts with its full size, since a round-off in the speed changes it by that much.
    """
    sizes, slowest = np.zeros(v.shape), float(mechanism.friction_speed)
    for driven in driven_velocities(mechanism):
        drive, rate = driven.drive, abs(float(driven.rate))
        speed, position = (
            rate * np.abs(v[:, driven.velocity]),
            rate * np.abs(q[:, driven.position]) + float(abs(driven.offset) + abs(drive.rest)),
        )
        force = (
            float(drive.armature) * rate * np.abs(a[:, driven.velocity])
            + float(drive.damping) * speed
        )
        friction = float(drive.friction) * np.minimum(1, speed / slowest)
        sizes[:, driven.velocity] += rate * (force + friction + float(drive.stiffness) * position)
    return sizes


def velocity_derivatives(mechanism: Mechanism, v: Array) -> Array:
    """Return the sizes of the derivatives of damping and friction with respect to v (count, NV)."""
    sizes, slowest = np.zeros(v.shape), float(mechanism.friction_speed)
    for driven in driven_velocities(mechanism):
        squares = (float(driven.rate) * v[:, driven.velocity]) ** 2 + slowest**2
        sizes[:, driven.velocity] += float(driven.rate) ** 2 * (
            float(driven.drive.damping) + float(driven.drive.friction) * slowest**2 / squares**1.5
        )
    return sizes


def stiffness(mechanism: Mechanism) -> Array:
    """Return the sizes of the derivatives of the spring forces with respect to q (NV,)."""
    sizes = np.zeros(mechanism.nv)
    for driven in driven_velocities(mechanism):
        sizes[driven.velocity] += float(driven.drive.stiffness * driven.rate**2)
    return sizes


def friction_curvature(mechanism: Mechanism, v: Array) -> Array:
    """Return the relative rate at which friction's slope changes with v (count, NV); 0 without
    friction.
    """
    rates = np.zeros(v.shape)
    for driven in (driven for driven in driven_velocities(mechanism) if driven.drive.friction):
        rate = abs(float(driven.rate))
        rates[:, driven.velocity] = np.maximum(
            rates[:, driven.velocity],
            rate / np.hypot(rate * v[:, driven.velocity], float(mechanism.friction_speed)),
        )
    return rates
