"""Conventions of a frame's Jacobian and of J̇ v: its axes, its reference point and the order of its
parts.

The starting form is in base axes at the frame's origin, where the twist is (ω, ṗ). "local" is Rᵀ(ω,
ṗ). "world" is (ω, ṗ + p × ω), the velocity of the point that passes the base's origin. Arrays are
as in `symgen.reference.mechanics`.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.arrays import axial, cross, skewed, times, transposed
from symgen.reference.forces import frame_acceleration
from symgen.reference.motion import Placement
from symgen.reference.precision import Array
from symgen.vocabulary.arrays import Convention


def convert_jacobian(convention: Convention, turn: Array, origin: Array, jacobian: Array) -> Array:
    """Return J (..., 6, NV) in a convention, from `jacobian` in base axes at the frame's origin.

    The frame has its origin at `origin` (..., 3) and the axes `turn` (..., 3, 3).
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
    """Return J in base axes at the frame's origin, angular part first: the inverse of
    `convert_jacobian`.
    """
    halves = jacobian[..., :3, :], jacobian[..., 3:, :]
    angular, linear = halves if convention.order == "angular" else halves[::-1]
    if convention.frame == "local":
        angular, linear = turn @ angular, turn @ linear
    elif convention.frame == "world":
        linear = linear - skewed(origin) @ angular
    return np.concatenate([angular, linear], axis=-2)


def twist_rate(convention: Convention, placed: Placement) -> Array:
    """Return d/dt (..., 6) of a frame's twist in a convention, from the power series of its pose
    along a motion.
    """
    (r0, r1, _), (p0, p1, _) = placed
    acceleration = frame_acceleration(placed)
    angular, linear, omega = (
        acceleration[..., :3],
        acceleration[..., 3:],
        axial(r1 @ transposed(r0)),
    )
    if convention.frame == "local":
        angular, linear = (
            times(transposed(r0), angular),
            times(transposed(r0), linear - cross(omega, p1)),
        )
    elif convention.frame == "world":
        linear = linear + cross(p1, omega) + cross(p0, angular)
    return np.concatenate(
        [angular, linear] if convention.order == "angular" else [linear, angular], axis=-1
    )
