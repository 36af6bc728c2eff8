"""One step of the dynamics in time, by two schemes: the answers of `step` and `step_rk4`.

The bracket of two velocities of a joint without an axis is the commutator of their motions as 4x4 matrices. Where a joint has an
axis, its motions commute. Arrays are as `symgen.reference.mechanics` has them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symgen.reference.arrays import axial, identity, skewed, stacked
from symgen.reference.integrate import integrate
from symgen.reference.motion import Motion
from symgen.reference.precision import Array

Accelerations = Callable[..., Array]
"""a (..., NV) at q, v, tau, and at what is felt, by name."""


def semi_implicit_euler(
    motion: Motion, a: Accelerations, q: Array, v: Array, tau: Array, dt: Array, **felt: Array
) -> dict[str, Array]:
    """v⁺ = v + a dt, and q ⊕ v⁺ dt."""
    with motion.scalars.working():
        later = v + a(q, v, tau, **felt) * dt[..., None]
        return {"q_next": integrate(motion, q, later, dt), "v_next": later}


def rk4(
    motion: Motion, a: Accelerations, q: Array, v: Array, tau: Array, dt: Array, **felt: Array
) -> dict[str, Array]:
    """The classical four stages (v_k, a_k), in the coordinates θ of q ⊕ θ, with Munthe-Kaas's two brackets."""
    with motion.scalars.working():
        h = dt[..., None]
        v1, a1 = v, a(q, v, tau, **felt)
        v2 = v + a1 * h / 2
        a2 = a(integrate(motion, q, v1, dt / 2), v2, tau, **felt)
        v3 = v + a2 * h / 2
        a3 = a(integrate(motion, q, v2 + bracket(motion, v1, v2) * h / 4, dt / 2), v3, tau, **felt)
        v4 = v + a3 * h
        a4 = a(integrate(motion, q, v3, dt), v4, tau, **felt)
        through = (v1 + 2 * v2 + 2 * v3 + v4) / 6 + bracket(motion, v1, v4) * h / 12
        return {
            "q_next": integrate(motion, q, through, dt),
            "v_next": v + (a1 + 2 * a2 + 2 * a3 + a4) * h / 6,
        }


def bracket(motion: Motion, x: Array, y: Array) -> Array:
    """[x, y] (..., NV): joint by joint the velocities of the twist whose matrix is X Y − Y X."""
    x, y = stacked(x, y)
    found = motion.scalars.array(np.zeros(x.shape))
    for index, own in enumerate(motion.mechanism.v_slices):
        if motion.mechanism.joints[index].type.directed:
            continue
        units = [
            np.concatenate(unit, axis=-1) for unit in motion.twists(index, identity(motion.scalars))
        ]
        left, right = (
            _matrix(sum(one[..., own.start + k, None] * unit for k, unit in enumerate(units)))
            for one in (x, y)
        )
        twist = left @ right - right @ left
        numbers = np.concatenate([axial(twist[..., :3, :3]), twist[..., :3, 3]], axis=-1)
        found[..., own] = np.stack([(numbers * unit).sum(axis=-1) for unit in units], axis=-1)
    return found


def _matrix(twist: Array) -> Array:
    """(..., 4, 4) of a twist (..., 6), angular first."""
    out = np.zeros((*twist.shape[:-1], 4, 4), dtype=twist.dtype)
    out[..., :3, :3], out[..., :3, 3] = skewed(twist[..., :3]), twist[..., 3:]
    return out
