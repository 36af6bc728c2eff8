"""Sizes of forces, of M and Λ⁻¹, of the frame's motion, and of the links' accelerations.

The size of a result is a sum of the magnitudes of its terms, at each state. Errors of the result
are judged relative to it.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.precision import Array
from symgen.verification.scales._bodies import Bodies


def inverse_dynamics(bodies: Bodies) -> Array:
    """Return the size of tau (count, NV)."""
    return bodies.forces(bodies.exact_results.floats["v"], bodies.exact_results.floats["a"])


def bias_force(bodies: Bodies) -> Array:
    """Return the size of c (count, NV)."""
    v = bodies.exact_results.floats["v"]
    return bodies.forces(v, 0 * v)


def gravity_force(bodies: Bodies) -> Array:
    """Return the size of g (count, NV)."""
    zero = 0 * bodies.exact_results.floats["v"]
    return bodies.forces(zero, zero, wrench=False)


def jacobian(bodies: Bodies) -> Array:
    """Return the size of J (count, 6, NV), in the requested Jacobian convention."""
    return bodies.jacobian(bodies.lever())


def axes(bodies: Bodies) -> Array:
    """Return the size of R (count, 3, 3), whose columns are the axes of the frame: 1."""
    return np.ones((bodies.exact_results.count, 3, 3))


def origin(bodies: Bodies) -> Array:
    """Return the size of p (count, 3), the origin of the frame."""
    return np.repeat(bodies.distance()[:, None], 3, axis=-1)


def interbody_forces(bodies: Bodies) -> dict[str, Array]:
    """Return the sizes of a (count, NV) and F (count, NB, 6). F is computed from a, so its size
    includes the size of a.
    """
    a = bodies.joint_accelerations()
    wrenches = bodies.wrenches(bodies.exact_results.floats["v"], a)
    return {"a": a, "F": np.repeat(wrenches[..., None], 6, axis=-1)}


BY_FUNCTION = {"interbody_forces": interbody_forces}
BY_RESULT = {
    "tau": inverse_dynamics,
    "c": bias_force,
    "g": gravity_force,
    "M": Bodies.mass,
    "J": jacobian,
    "R": axes,
    "p": origin,
    "alpha": Bodies.accelerations,
    "alpha_tip": Bodies.tip_acceleration,
    "Lambda_inv": Bodies.mobility,
}
