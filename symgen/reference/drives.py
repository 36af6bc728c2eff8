"""What the drives of a mechanism add to the reference: the armature to M, and a force of each joint to the bias.

Read off the declaration joint by joint. Arrays are as `symgen.reference.mechanics` has them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symgen.drives import Drive
from symgen.reference.motion import Motion
from symgen.reference.precision import Array


def _each(motion: Motion, number: str) -> Array:
    """A number of the drive of every entry of v (NV,)."""
    drives = [motion.mechanism.joints[i].drive for i, _ in motion.mechanism.dofs]
    return motion.scalars.array([motion.scalars.constant(getattr(one, number)) for one in drives])


def _has(motion: Motion, wanted: Callable[[Drive], object]) -> bool:
    return any(wanted(joint.drive) for joint in motion.mechanism.joints)


def with_armature(motion: Motion, mass: Array, sign: int = 1) -> Array:
    """M of the bodies (..., NV, NV) with the rotors; or, by the sign −1, M without them."""
    if not _has(motion, lambda drive: drive.armature):
        return mass
    rotors, found = _each(motion, "armature"), mass.copy()
    for k, rotor in enumerate(rotors):
        found[..., k, k] = mass[..., k, k] + sign * rotor
    return found


def with_forces(motion: Motion, tau: Array, q: Array, v: Array, a: Array) -> Array:
    """tau (..., NV) of the bodies with armature · a, damping v, friction v/√(v² + ε²) and stiffness (q − rest), all stacked."""
    if _has(motion, lambda drive: drive.armature):
        tau = tau + _each(motion, "armature") * a
    if _has(motion, lambda drive: drive.damping):
        tau = tau + _each(motion, "damping") * v
    if _has(motion, lambda drive: drive.friction):
        fading = motion.scalars.array(motion.scalars.constant(motion.mechanism.friction_speed ** 2))
        tau = tau + _each(motion, "friction") * v / np.sqrt(v * v + fading)
    if _has(motion, lambda drive: drive.stiffness):
        # of a joint without a spring any coordinate will do
        place = q[..., [motion.mechanism.q_slices[i].start for i, _ in motion.mechanism.dofs]]
        tau = tau + _each(motion, "stiffness") * (place - _each(motion, "rest"))
    return np.asarray(tau)


def with_spin(motion: Motion, energy: Array, v: Array) -> Array:
    """Kinetic energy (...) of the bodies and ½ Σ armature v², in J."""
    if not _has(motion, lambda drive: drive.armature):
        return energy
    return np.asarray(energy + (_each(motion, "armature") * v * v).sum(axis=-1) / 2)
