"""Sizes of the derivatives ∂τ/∂q and ∂τ/∂v of inverse dynamics, entry by entry at each state.

The size of a sum is the sum of the absolute values of its terms; round-off is measured relative to
it (`symgen.verification.scales`). A part is a rigid body with mass. Its motion requires the
inertial force F and moment N, and the torque of joint j is τ_j = Σ_parts (lever_j F + rotation_j
N).

Entry (j, k) of ∂τ/∂q has three terms for each part:

- Joint k rotates the vectors F and N.
- Joint k moves the part, which changes its lever to joint j. By symmetry in j and k this term is
  the transpose of the first one.
- Joint k displaces the part in the field of acceleration: points at other places have other
  accelerations, so F and N change.

The first two terms count for every pair of joints j and k that move the part, even where joint k
does not move joint j. An algorithm passes a wrench inward link by link, and this wrench contains
them.

∂τ/∂v has one term for each part: the terms of F and N that are quadratic in the joint rates change
with the rate of joint k.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from symgen.reference.precision import Array
from symgen.verification import drive_scales
from symgen.verification.scales._bodies import Bodies, PartSizes


def along_q(bodies: Bodies, v: Array, a: Array) -> Array:
    """Return the size of ∂τ/∂q (count, NV, NV) at joint rates v and accelerations a (count, NV)."""
    # An external wrench is constant in the axes of its link, so every joint before the link rotates
    # it.
    wrench_torque = bodies.wrench_torques()
    rotations = np.array([rotation for rotation, _ in bodies.rates])  # per unit of v, (NV,)
    total = _outer(wrench_torque, rotations * (wrench_torque > 0))
    total = total + np.swapaxes(total, -1, -2)
    for part in bodies.parts:
        angular_speed, speed = part.speeds(v)  # sizes for the part and its mass centre, (count,)
        angular_acceleration, linear_acceleration = part.speeds(a)
        mass = np.abs(np.asarray(part.mass))
        gravity = (1 + part.gravcomp) * bodies.gravity
        force = mass * (linear_acceleration + 2 * angular_speed * speed + gravity)
        # size of the change of acceleration per metre of distance in the part
        acceleration_gradient = angular_acceleration + 2 * angular_speed * angular_speed
        turns = np.broadcast_to(part.turns, part.levers.shape)
        size = _outer(part.levers * force[:, None], turns)
        size = (
            size
            + np.swapaxes(size, -1, -2)
            + _outer(part.levers * (mass * acceleration_gradient)[:, None], part.levers)
        )
        # ∂N/∂q: joint k rotates the inertia and changes the part's rotation, which gives several
        # such terms.
        size += 4 * _outer(turns * (part.inertia * acceleration_gradient)[:, None], turns)
        _add_block(total, part, size)
    return np.asarray(total + np.diag(drive_scales.stiffness(bodies.exact_results.mechanism)))


def along_v(bodies: Bodies, v: Array, a: Array) -> Array:
    """Return the size of ∂τ/∂v (count, NV, NV) at joint rates v (count, NV), for any a."""
    total = np.zeros((*v.shape, v.shape[-1]))
    for part in bodies.parts:
        angular_speed, speed = (size[:, None] for size in part.speeds(v))
        mass, inertia = (np.abs(np.asarray(size))[..., None] for size in (part.mass, part.inertia))
        turns = np.broadcast_to(part.turns, part.levers.shape)
        force = 2 * mass * (speed * turns + angular_speed * part.levers)  # ∂F/∂v_k
        moment = 4 * inertia * angular_speed * turns  # ∂N/∂v_k
        _add_block(total, part, _outer(part.levers, force) + _outer(turns, moment))
    return np.asarray(
        total
        + drive_scales.velocity_derivatives(bodies.exact_results.mechanism, v)[..., None]
        * np.eye(v.shape[-1])
    )


def _outer(a: Array, b: Array) -> Array:
    """Return products a_j b_k (count, n, m) at each state, from a (count, n) and b (count, m)."""
    return np.asarray(a[:, :, None] * b[:, None, :])


def _add_block(total: Array, part: PartSizes, size: Array) -> None:
    """Add `size` (count, k, k) of a part to the rows and columns of its k joints in `total`."""
    total[:, np.array(part.joints)[:, None], part.joints] += size


DERIVATIVES: dict[str, Callable[[Bodies, Array, Array], Array]] = {
    "dtau_dq": along_q,
    "dtau_dv": along_v,
}
"""Function that computes the size of a result, by the result's name: (bodies, v, a) → (count, NV,
NV).
"""


def _at_the_states(result: str, bodies: Bodies) -> Array:
    """Return the size of a result at the states (q, v, a) of the bodies."""
    return DERIVATIVES[result](
        bodies, bodies.exact_results.floats["v"], bodies.exact_results.floats["a"]
    )


BY_RESULT = {result: partial(_at_the_states, result) for result in DERIVATIVES}
