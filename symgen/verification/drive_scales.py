"""How large the terms of the drives' forces are, entry by entry at each state. Of a mechanism without drives all is zero."""

from __future__ import annotations

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.drives import driven_velocities
from symgen.reference.precision import Array


def armature(mechanism: Mechanism) -> Array:
    """Of every entry of v (NV,), as floats; what follows counts as far as it goes."""
    found = np.zeros(mechanism.nv)
    for one in driven_velocities(mechanism):
        found[one.velocity] += float(one.drive.armature * one.rate**2)
    return found


def forces(mechanism: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Sizes of the terms of the drives' forces (count, NV); friction counts whole, since what it loses is of that size."""
    found, slowest = np.zeros(v.shape), float(mechanism.friction_speed)
    for one in driven_velocities(mechanism):
        drive, rate = one.drive, abs(float(one.rate))
        speed, place = (
            rate * np.abs(v[:, one.velocity]),
            rate * np.abs(q[:, one.position]) + float(abs(one.offset) + abs(drive.rest)),
        )
        force = (
            float(drive.armature) * rate * np.abs(a[:, one.velocity]) + float(drive.damping) * speed
        )
        rubbing = float(drive.friction) * np.minimum(1, speed / slowest)
        found[:, one.velocity] += rate * (force + rubbing + float(drive.stiffness) * place)
    return found


def slopes(mechanism: Mechanism, v: Array) -> Array:
    """Sizes of how damping and friction change with v (count, NV)."""
    found, slowest = np.zeros(v.shape), float(mechanism.friction_speed)
    for one in driven_velocities(mechanism):
        squares = (float(one.rate) * v[:, one.velocity]) ** 2 + slowest**2
        found[:, one.velocity] += float(one.rate) ** 2 * (
            float(one.drive.damping) + float(one.drive.friction) * slowest**2 / squares**1.5
        )
    return found


def stiffness(mechanism: Mechanism) -> Array:
    """Sizes of how springs change with q (NV,)."""
    found = np.zeros(mechanism.nv)
    for one in driven_velocities(mechanism):
        found[one.velocity] += float(one.drive.stiffness * one.rate**2)
    return found


def bend(mechanism: Mechanism, v: Array) -> Array:
    """How fast friction's slope changes with v, as a part of it (count, NV); 0 where there is no friction."""
    found = np.zeros(v.shape)
    for one in (one for one in driven_velocities(mechanism) if one.drive.friction):
        rate = abs(float(one.rate))
        found[:, one.velocity] = np.maximum(
            found[:, one.velocity],
            rate / np.hypot(rate * v[:, one.velocity], float(mechanism.friction_speed)),
        )
    return found
