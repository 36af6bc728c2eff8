"""A frame's Jacobian and J̇ v by another convention: in its own axes, at the base's origin, the linear part first.

From the axes of the base at the frame's origin, where the twist is (ω, ṗ), to Rᵀ(ω, ṗ) ("local"), and to (ω, ṗ + p × ω), the
velocity of what passes the base's origin ("world"). Arrays are as `symgen.reference.mechanics` has them.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.arrays import axial, cross, skewed, times, transposed
from symgen.reference.forces import acceleration
from symgen.reference.motion import Placement
from symgen.reference.precision import Array
from symgen.vocabulary.arrays import Convention


def stated(convention: Convention, turn: Array, origin: Array, jacobian: Array) -> Array:
    """J (..., 6, NV), given in the axes of the base at the origin (..., 3) of a frame whose axes are `turn` (..., 3, 3)."""
    angular, linear = jacobian[..., :3, :], jacobian[..., 3:, :]
    if convention.frame == "local":
        angular, linear = transposed(turn) @ angular, transposed(turn) @ linear
    elif convention.frame == "world":
        linear = linear + skewed(origin) @ angular
    return np.concatenate(
        [angular, linear] if convention.order == "angular" else [linear, angular], axis=-2
    )


def aligned(convention: Convention, turn: Array, origin: Array, jacobian: Array) -> Array:
    """Back from what `stated` gives to the axes of the base at the frame's origin, the angular part first."""
    halves = jacobian[..., :3, :], jacobian[..., 3:, :]
    angular, linear = halves if convention.order == "angular" else halves[::-1]
    if convention.frame == "local":
        angular, linear = turn @ angular, turn @ linear
    elif convention.frame == "world":
        linear = linear - skewed(origin) @ angular
    return np.concatenate([angular, linear], axis=-2)


def stated_rate(convention: Convention, placed: Placement) -> Array:
    """d/dt of the twist (..., 6) of a frame, whose pose is a power series along a motion."""
    (r0, r1, _), (p0, p1, _) = placed
    both = acceleration(placed)
    angular, linear, omega = both[..., :3], both[..., 3:], axial(r1 @ transposed(r0))
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
