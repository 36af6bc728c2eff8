"""Conventions for the twist of a frame, and conversions of the Jacobian J and of d/dt(J v).

A frame has the rotation matrix R (its axes in base axes) and the origin p. Its twist J v consists
of the angular velocity ω and a linear velocity. `Convention.frame` names the axes and the reference
point:

- "aligned": (ω, ṗ), in base axes, at the frame's origin. The other conventions are computed from
  it.
- "local": (Rᵀ ω, Rᵀ ṗ), in the axes of the frame, at its origin.
- "world": (ω, ṗ + p × ω), in base axes. The linear part is the velocity of the point of the body
  that coincides with the base's origin.

`Convention.order` names the part that is first, "angular" or "linear". Leading dimensions (...) of
arrays are states, as in `symgen.reference.mechanics`.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.arrays import axial, cross, skewed, times, transposed
from symgen.reference.forces import frame_acceleration
from symgen.reference.motion import Placement
from symgen.reference.precision import Array
from symgen.vocabulary.arrays import Convention


def convert_jacobian(convention: Convention, turn: Array, origin: Array, jacobian: Array) -> Array:
    """Return the Jacobian (..., 6, NV) in a convention.

    `jacobian` (..., 6, NV) is in the convention "aligned", angular rows first. `turn` (..., 3, 3)
    is R and `origin` (..., 3) is p.
    """
    angular, linear = jacobian[..., :3, :], jacobian[..., 3:, :]
    if convention.frame == "local":
        angular, linear = transposed(turn) @ angular, transposed(turn) @ linear
    elif convention.frame == "world":
        linear = linear + skewed(origin) @ angular
    return np.concatenate(
        [angular, linear] if convention.order == "angular" else [linear, angular], axis=-2
    )


def to_base_axes(convention: Convention, turn: Array, origin: Array, jacobian: Array) -> Array:
    """Return the Jacobian in the convention "aligned", angular rows first.

    This is the inverse of `convert_jacobian`: `jacobian` (..., 6, NV) is in `convention`.
    """
    halves = jacobian[..., :3, :], jacobian[..., 3:, :]
    angular, linear = halves if convention.order == "angular" else halves[::-1]
    if convention.frame == "local":
        angular, linear = turn @ angular, turn @ linear
    elif convention.frame == "world":
        linear = linear - skewed(origin) @ angular
    return np.concatenate([angular, linear], axis=-2)


def twist_rate(convention: Convention, placement: Placement) -> Array:
    """Return the time derivative (..., 6) of a frame's twist in a convention.

    `placement` has the power series in t of the frame's pose along a motion: R = r0 + r1 t + …,
    p = p0 + p1 t + … The derivative is at t = 0.
    """
    (r0, r1, _), (p0, p1, _) = placement
    acceleration = frame_acceleration(placement)
    angular, linear, omega = (
        acceleration[..., :3],
        acceleration[..., 3:],
        axial(r1 @ transposed(r0)),
    )
    if convention.frame == "local":
        # d/dt(Rᵀ ω) = Rᵀ ω̇ and d/dt(Rᵀ ṗ) = Rᵀ (p̈ − ω × ṗ)
        angular, linear = (
            times(transposed(r0), angular),
            times(transposed(r0), linear - cross(omega, p1)),
        )
    elif convention.frame == "world":
        # d/dt(ṗ + p × ω) = p̈ + ṗ × ω + p × ω̇
        linear = linear + cross(p1, omega) + cross(p0, angular)
    return np.concatenate(
        [angular, linear] if convention.order == "angular" else [linear, angular], axis=-1
    )
