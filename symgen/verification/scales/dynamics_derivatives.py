"""How large the terms of the derivatives of inverse dynamics are, entry by entry at each state.

A part resists with the force F and the moment N of `symgen.verification.scales`. Joint k turns them, which takes as much of them
as it turns by, and shifts the lever that joint j has: both count whether k carries j or not, since a wrench that goes inward is
made of both. It also shifts the part by its own lever in the field of acceleration. A rate of joint k changes F and N in what is
quadratic in rates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from symgen.reference.precision import Array
from symgen.verification import drive_scales
from symgen.verification.scales._bodies import Bodies, Resisting


def along_q(bodies: Bodies, v: Array, a: Array) -> Array:
    """Of ∂τ/∂q (count, NV, NV) at rates and accelerations (count, NV)."""
    felt = bodies.pushed()  # a run-time wrench goes along with its link
    total = _each(felt, np.array([turning for turning, _ in bodies.rates]) * (felt > 0))
    total = total + np.swapaxes(total, -1, -2)
    for part in bodies.parts:
        (rate, speed), (turning, moving) = part.moving(v), part.moving(a)
        mass = np.abs(np.asarray(part.mass))
        force, bent = (
            mass * (moving + 2 * rate * speed + (1 + part.gravcomp) * bodies.gravity),
            turning + 2 * rate * rate,
        )
        turns = np.broadcast_to(part.turns, part.levers.shape)
        size = _each(part.levers * force[:, None], turns)
        size = (
            size
            + np.swapaxes(size, -1, -2)
            + _each(part.levers * (mass * bent)[:, None], part.levers)
        )
        _put(total, part, size + 4 * _each(turns * (part.inertia * bent)[:, None], turns))
    return np.asarray(total + np.diag(drive_scales.stiffness(bodies.truth.mechanism)))


def along_v(bodies: Bodies, v: Array, a: Array) -> Array:
    """Of ∂τ/∂v (count, NV, NV)."""
    total = np.zeros((*v.shape, v.shape[-1]))
    for part in bodies.parts:
        rate, speed = (each[:, None] for each in part.moving(v))
        mass, inertia = (np.abs(np.asarray(each))[..., None] for each in (part.mass, part.inertia))
        turns = np.broadcast_to(part.turns, part.levers.shape)
        force = 2 * mass * (speed * turns + rate * part.levers)
        _put(total, part, _each(part.levers, force) + _each(turns, 4 * inertia * rate * turns))
    return np.asarray(
        total + drive_scales.slopes(bodies.truth.mechanism, v)[..., None] * np.eye(v.shape[-1])
    )


def _each(a: Array, b: Array) -> Array:
    """a_j b_k (count, n, m) of (count, n) and (count, m)."""
    return np.asarray(a[:, :, None] * b[:, None, :])


def _put(total: Array, part: Resisting, size: Array) -> None:
    total[:, np.array(part.joints)[:, None], part.joints] += size


DERIVATIVES: dict[str, Callable[[Bodies, Array, Array], Array]] = {
    "dtau_dq": along_q,
    "dtau_dv": along_v,
}
"""One size a result, by its name: (bodies, v, a) → (count, NV, NV)."""


def _at_the_states(result: str, bodies: Bodies) -> Array:
    return DERIVATIVES[result](bodies, bodies.truth.floats["v"], bodies.truth.floats["a"])


BY_RESULT = {result: partial(_at_the_states, result) for result in DERIVATIVES}
