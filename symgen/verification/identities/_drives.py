"""Drive terms, which identities of the bodies alone must subtract; zero for a mechanism without
drives.

`symgen.reference.drives` reads them off the declaration.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.drives import add_armature, add_drive_forces, driven_velocities
from symgen.reference.precision import Array
from symgen.verification.identities._identity import Functions


def resistance(f: Functions, v: Array) -> Array:
    """Return damping, friction and spring forces at the states' q and at v (count, NV)."""
    return add_drive_forces(f.reference, 0 * v, f.states["q"], v, 0 * v)


def drive_forces(f: Functions, a: Array) -> Array:
    """Return the drive forces at the states' q and v, plus armature · a (count, NV)."""
    return add_drive_forces(f.reference, 0 * a, f.states["q"], f.states["v"], a)


def without_armature(f: Functions, mass: Array) -> Array:
    """Return M (count, NV, NV) without the armature."""
    return add_armature(f.reference, mass, -1)


def velocity_derivatives(f: Functions) -> Array:
    """Return the derivatives of damping and friction by v (count, NV, NV), diagonal: damping +
    friction ε²/(v² + ε²)^(3/2).
    """
    reference, v = f.reference, f.states["v"]
    number, diagonal = reference.scalars.constant, 0 * v
    for driven in driven_velocities(reference.mechanism):
        squares = (number(driven.rate) * v[..., driven.velocity]) ** 2 + number(
            reference.mechanism.friction_speed**2
        )
        friction = number(driven.drive.friction * reference.mechanism.friction_speed**2) / (
            squares * np.sqrt(squares)
        )
        diagonal[..., driven.velocity] = diagonal[..., driven.velocity] + number(driven.rate**2) * (
            number(driven.drive.damping) + friction
        )
    return np.asarray(diagonal[..., None] * np.eye(diagonal.shape[-1], dtype=int))
