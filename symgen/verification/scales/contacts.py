"""Sizes of the results of functions of contacts. The verification derives the allowed error of a
result from its size.

`contact_forward_dynamics` solves two equations for the joint accelerations a and the contact forces
f; A is the Jacobian of the NT contact points, and γ is their acceleration at a = 0:

    M a − Aᵀ f = τ − c   (dynamics),      A a = −γ   (contacts).

For `contact_impulse`, the velocity change takes the place of a, and impulses that of f.

Rounding leaves a residual in both equations. The residual of the dynamics is as large as the terms
of that equation. The residual of the contacts is as large as their terms plus the error of the
elimination of S = A M⁻¹ Aᵀ. Here |S_ij| is at most √(S_ii S_jj).

A small residual may belong to a larger error of a and f. The sizes are therefore the residuals,
multiplied by the inverse of the system of both equations (in floats, from exact results). If
contact forces are redundant, the functions damp their solve, and `_inverse` is damped in the same
way.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from symgen.reference import contacts
from symgen.reference.arrays import times
from symgen.reference.minimum_norm import DAMPING
from symgen.reference.precision import Array
from symgen.verification.reference_results import ReferenceResults
from symgen.verification.scales._bodies import Bodies
from symgen.vocabulary.functions import FUNCTIONS


def _sizes(function: str, bodies: Bodies) -> dict[str, Array]:
    """Return the sizes of the two results of a function of contacts, by name: motion (count, NV)
    and forces (count, NT, 3).

    The motion is the accelerations, or the velocities after an impact. X = M⁻¹ Aᵀ gives the change
    of motion that contact forces cause, and P ≈ S⁻¹.
    """
    exact_results = bodies.exact_results
    (motion, forces), results = FUNCTIONS[function].results, exact_results.results(function)
    motion_value, f = (_floats(results[result.name]) for result in (motion, forces))
    f = f.reshape(exact_results.count, -1)
    v, Minv = (
        exact_results.floats["v"],
        _floats(exact_results.results("inverse_mass_matrix")["Minv"]),
    )
    A = np.asarray(contacts.jacobian(exact_results.rough, exact_results.floats["q"]))
    row_is_active = np.repeat(
        exact_results.arguments(function, exact_results.floats)["active"], contacts.AXES, axis=-1
    )
    A = row_is_active[..., None] * A
    impact = motion.name != "a"
    change = motion_value - v if impact else motion_value
    dynamics_size = (
        bodies.roots * bodies.weighted_sum(change)
        if impact
        else bodies.dynamics_residual(motion_value)
    )
    contact_residual = row_is_active * (
        times(_levers(bodies, A), np.abs(v if impact else motion_value))
        + _bias(bodies, A, v, impact)
    )
    X = Minv @ np.swapaxes(A, -1, -2)
    dynamics_residual = dynamics_size + bodies.contact_forces(A, f)
    S = A @ X
    S_roots = np.sqrt(np.abs(np.diagonal(S, axis1=-2, axis2=-1)))
    change_by_forces = times(X, f)
    change_without_forces = change - change_by_forces
    contact_residual = contact_residual + S_roots * (S_roots * np.abs(f)).sum(
        axis=-1, keepdims=True
    )
    contact_residual = contact_residual + times(np.abs(np.swapaxes(X, -1, -2)), bodies.roots) * (
        bodies.weighted_sum(change_without_forces) + bodies.weighted_sum(change_by_forces)
    )
    P = _inverse(exact_results, S, row_is_active)
    force_size = times(np.abs(P @ np.swapaxes(X, -1, -2)), dynamics_residual) + times(
        np.abs(P), contact_residual
    )
    change_size = times(np.abs(Minv - X @ P @ np.swapaxes(X, -1, -2)), dynamics_residual) + times(
        np.abs(X @ P), contact_residual
    )
    # velocities after an impact are v plus the change
    motion_size = change_size + np.abs(v) * impact
    size_by_contact = force_size.reshape(exact_results.count, -1, contacts.AXES)
    return {motion.name: motion_size, forces.name: _in_any_axes(size_by_contact)}


def _inverse(exact_results: ReferenceResults, S: Array, row_is_active: Array) -> Array:
    """Return the matrix (count, 3 NT, 3 NT) that maps −(A M⁻¹ (τ − c) + γ) to the contact forces f.

    The matrix is the inverse of S. For redundant contact forces it is the combined matrix of three
    damped solves, each of which starts from the forces of the solve before. Rows and columns of
    inactive contacts are zero. `row_is_active` (count, 3 NT) has 1 for each row of an active
    contact and 0 for other rows.
    """
    identity = np.eye(S.shape[-1])
    inactive_diagonal = (1 - row_is_active)[..., None] * identity
    if not contacts.redundant(exact_results.mechanism, exact_results.rough.contact):
        inverse = np.linalg.inv(S + inactive_diagonal)
    else:
        mu = (
            float(DAMPING)
            * np.trace(S + inactive_diagonal, axis1=-2, axis2=-1)[..., None, None]
            / S.shape[-1]
        )
        damped_inverse = np.linalg.inv(S + inactive_diagonal + mu * identity)
        inverse = (
            damped_inverse
            + mu * damped_inverse @ damped_inverse
            + mu * mu * damped_inverse @ damped_inverse @ damped_inverse
        )
    return np.asarray(row_is_active[..., :, None] * inverse * row_is_active[..., None, :])


def _levers(bodies: Bodies, A: Array) -> Array:
    """Return the size of the Jacobian A (count, 3 NT, NV).

    A joint that rotates by 1 rad moves a contact point by at most the robot's length, in any
    direction.
    """
    rotations, translations = np.array(bodies.rates).T
    reach = rotations * bodies.length()[:, None] + translations
    return np.asarray((A != 0).any(axis=-2, keepdims=True) * reach[:, None, :] + np.abs(A))


def _bias(bodies: Bodies, A: Array, v: Array, impact: bool) -> Array:
    """Return the size of γ (count, 3 NT): centripetal accelerations, plus gravity, which the
    outward sweep adds to all accelerations.

    The size is zero for an impact, whose equations have no γ.
    """
    if impact:
        return np.zeros(A.shape[:-1])
    rotations, translations = np.array(bodies.rates).T
    rate, speed = (np.abs(v) @ rates_of_v for rates_of_v in (rotations, translations))
    size = 2 * rate * (speed + rate * bodies.length()) + bodies.gravity
    return np.broadcast_to(size[:, None], A.shape[:-1])


def _in_any_axes(sizes: Array) -> Array:
    """Return the sizes (…, 3) of force vectors in any axes: each component may be as large as the
    norm of the vector.
    """
    return np.broadcast_to(np.linalg.norm(sizes, axis=-1, keepdims=True), sizes.shape)


def _floats(values: Any) -> Array:
    return np.asarray(values, dtype=float)


BY_FUNCTION = {
    name: partial(_sizes, name) for name in ("contact_forward_dynamics", "contact_impulse")
}
"""Functions that return the sizes of all results of the named function, from the bodies."""
