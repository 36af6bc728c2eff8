"""What the drives add, as identities of the bodies leave it aside.

All is read off the declaration by `symgen.reference.drives`. Of a mechanism without drives everything here is zero.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.drives import add_armature, add_drive_forces, driven_velocities
from symgen.reference.precision import Array
from symgen.verification.identities._identity import Functions


def resistance(f: Functions, v: Array) -> Array:
    """Damping, friction and spring at the states' q and at v (count, NV)."""
    return add_drive_forces(f.reference, 0 * v, f.states["q"], v, 0 * v)


def taken(f: Functions, a: Array) -> Array:
    """That at the states' v, and armature · a (count, NV)."""
    return add_drive_forces(f.reference, 0 * a, f.states["q"], f.states["v"], a)


def of_bodies(f: Functions, mass: Array) -> Array:
    """M (count, NV, NV) without the armature."""
    return add_armature(f.reference, mass, -1)


def slopes(f: Functions) -> Array:
    """How damping and friction change with v (count, NV, NV), diagonal: damping + friction ε²/(v² + ε²)^(3/2)."""
    reference, v = f.reference, f.states["v"]
    number, found = reference.scalars.constant, 0 * v
    for one in driven_velocities(reference.mechanism):
        squares = (number(one.rate) * v[..., one.velocity]) ** 2 + number(
            reference.mechanism.friction_speed**2
        )
        rubbing = number(one.drive.friction * reference.mechanism.friction_speed**2) / (
            squares * np.sqrt(squares)
        )
        found[..., one.velocity] = found[..., one.velocity] + number(one.rate**2) * (
            number(one.drive.damping) + rubbing
        )
    return np.asarray(found[..., None] * np.eye(found.shape[-1], dtype=int))
