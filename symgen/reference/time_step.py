"""Time steps of the dynamics by two schemes: the results of `step` (semi-implicit Euler) and
`step_rk4`.

For a joint without an axis, the bracket of two velocities is the commutator of their twists as 4x4
matrices. The motions of a joint with an axis commute. Arrays are as in
`symgen.reference.mechanics`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symgen.reference.arrays import axial, identity, skewed, stacked
from symgen.reference.integrate import integrate
from symgen.reference.motion import Motion
from symgen.reference.precision import Array

Accelerations = Callable[..., Array]
"""Function that returns a (..., NV) at q, v, tau, and external loads by name."""


def semi_implicit_euler(
    motion: Motion, a: Accelerations, q: Array, v: Array, tau: Array, dt: Array, **loads: Array
) -> dict[str, Array]:
    """Return v⁺ = v + a dt and q ⊕ v⁺ dt."""
    with motion.scalars.working():
        v_next = v + a(q, v, tau, **loads) * dt[..., None]
        return {"q_next": integrate(motion, q, v_next, dt), "v_next": v_next}


def rk4(
    motion: Motion, a: Accelerations, q: Array, v: Array, tau: Array, dt: Array, **loads: Array
) -> dict[str, Array]:
    """Return the step of the classical four stages (v_k, a_k).

    The stages use the coordinates θ of q ⊕ θ, with the two brackets of Munthe-Kaas.
    """
    with motion.scalars.working():
        h = dt[..., None]
        v1, a1 = v, a(q, v, tau, **loads)
        v2 = v + a1 * h / 2
        a2 = a(integrate(motion, q, v1, dt / 2), v2, tau, **loads)
        v3 = v + a2 * h / 2
        a3 = a(integrate(motion, q, v2 + bracket(motion, v1, v2) * h / 4, dt / 2), v3, tau, **loads)
        v4 = v + a3 * h
        a4 = a(integrate(motion, q, v3, dt), v4, tau, **loads)
        mean_velocity = (v1 + 2 * v2 + 2 * v3 + v4) / 6 + bracket(motion, v1, v4) * h / 12
        return {
            "q_next": integrate(motion, q, mean_velocity, dt),
            "v_next": v + (a1 + 2 * a2 + 2 * a3 + a4) * h / 6,
        }


def bracket(motion: Motion, x: Array, y: Array) -> Array:
    """Return [x, y] (..., NV): joint by joint, the velocities of the twist whose matrix is X Y − Y
    X.
    """
    x, y = stacked(x, y)
    velocities = motion.scalars.array(np.zeros(x.shape))
    for index, v_slice in enumerate(motion.mechanism.v_slices):
        if motion.mechanism.joints[index].type.directed:
            continue
        units = [
            np.concatenate(unit, axis=-1) for unit in motion.twists(index, identity(motion.scalars))
        ]
        left, right = (
            _matrix(
                sum(velocity[..., v_slice.start + k, None] * unit for k, unit in enumerate(units))
            )
            for velocity in (x, y)
        )
        twist = left @ right - right @ left
        entries = np.concatenate([axial(twist[..., :3, :3]), twist[..., :3, 3]], axis=-1)
        velocities[..., v_slice] = np.stack(
            [(entries * unit).sum(axis=-1) for unit in units], axis=-1
        )
    return velocities


def _matrix(twist: Array) -> Array:
    """Return the 4x4 matrix (..., 4, 4) of a twist (..., 6), angular part first."""
    matrix = np.zeros((*twist.shape[:-1], 4, 4), dtype=twist.dtype)
    matrix[..., :3, :3], matrix[..., :3, 3] = skewed(twist[..., :3]), twist[..., 3:]
    return matrix
