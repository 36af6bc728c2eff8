"""Sizes of the terms of the derivatives of inverse dynamics, entry by entry at each state.

A part resists with the force F and the moment N of `symgen.verification.scales`. Joint k rotates F
and N by its rotation, and shifts the lever of joint j. Both terms count whether k moves j or not,
since both are part of a wrench that is transmitted inward. Joint k also shifts the part by its own
lever in the field of acceleration. The rate of joint k changes the terms of F and N that are
quadratic in rates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from symgen.reference.precision import Array
from symgen.verification import drive_scales
from symgen.verification.scales._bodies import Bodies, PartSizes


def along_q(bodies: Bodies, v: Array, a: Array) -> Array:
    """Return the size of ∂τ/∂q (count, NV, NV) at rates and accelerations (count, NV)."""
    wrench_torque = bodies.wrench_torques()  # an external wrench is fixed to its link
    total = _outer(
        wrench_torque,
        np.array([rotation_rate for rotation_rate, _ in bodies.rates]) * (wrench_torque > 0),
    )
    total = total + np.swapaxes(total, -1, -2)
    for part in bodies.parts:
        (rate, speed), (rotation_rate, linear_acceleration) = part.speeds(v), part.speeds(a)
        mass = np.abs(np.asarray(part.mass))
        force, angular_field = (
            mass * (linear_acceleration + 2 * rate * speed + (1 + part.gravcomp) * bodies.gravity),
            rotation_rate + 2 * rate * rate,
        )
        turns = np.broadcast_to(part.turns, part.levers.shape)
        size = _outer(part.levers * force[:, None], turns)
        size = (
            size
            + np.swapaxes(size, -1, -2)
            + _outer(part.levers * (mass * angular_field)[:, None], part.levers)
        )
        _add_block(
            total, part, size + 4 * _outer(turns * (part.inertia * angular_field)[:, None], turns)
        )
    return np.asarray(total + np.diag(drive_scales.stiffness(bodies.truth.mechanism)))


def along_v(bodies: Bodies, v: Array, a: Array) -> Array:
    """Return the size of ∂τ/∂v (count, NV, NV)."""
    total = np.zeros((*v.shape, v.shape[-1]))
    for part in bodies.parts:
        rate, speed = (size[:, None] for size in part.speeds(v))
        mass, inertia = (np.abs(np.asarray(size))[..., None] for size in (part.mass, part.inertia))
        turns = np.broadcast_to(part.turns, part.levers.shape)
        force = 2 * mass * (speed * turns + rate * part.levers)
        _add_block(
            total, part, _outer(part.levers, force) + _outer(turns, 4 * inertia * rate * turns)
        )
    return np.asarray(
        total + drive_scales.slopes(bodies.truth.mechanism, v)[..., None] * np.eye(v.shape[-1])
    )


def _outer(a: Array, b: Array) -> Array:
    """Return a_j b_k (count, n, m) of (count, n) and (count, m)."""
    return np.asarray(a[:, :, None] * b[:, None, :])


def _add_block(total: Array, part: PartSizes, size: Array) -> None:
    """Add a block of a part's joints to the total."""
    total[:, np.array(part.joints)[:, None], part.joints] += size


DERIVATIVES: dict[str, Callable[[Bodies, Array, Array], Array]] = {
    "dtau_dq": along_q,
    "dtau_dv": along_v,
}
"""Size of a result by its name: (bodies, v, a) → (count, NV, NV)."""


def _at_the_states(result: str, bodies: Bodies) -> Array:
    return DERIVATIVES[result](bodies, bodies.truth.floats["v"], bodies.truth.floats["a"])


BY_RESULT = {result: partial(_at_the_states, result) for result in DERIVATIVES}
