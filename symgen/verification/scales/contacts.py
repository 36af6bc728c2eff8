"""Error bounds of contact accelerations and forces: the residuals of their two equations,
multiplied by the inverse of both.

The residual of M a + c − τ − Aᵀ f is as large as its terms. The residual of A a + γ is as large as
its terms plus the error of the elimination of A M⁻¹ Aᵀ: an entry ij of that is at most the root of
the product of entries ii and jj. A small residual may belong to a larger error; the exact inverse
of both equations, in floats, gives its size. Redundant forces are damped, and so is that inverse.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from symgen.reference import contacts
from symgen.reference.arrays import times
from symgen.reference.minimum_norm import DAMPING
from symgen.reference.precision import Array
from symgen.verification.exact import ExactAnswers
from symgen.verification.scales._bodies import Bodies
from symgen.vocabulary.functions import FUNCTIONS


def _sizes(function: str, bodies: Bodies) -> dict[str, Array]:
    """Return the sizes of the results of a function of contacts, by name."""
    truth = bodies.truth
    (motion, forces), results = FUNCTIONS[function].results, truth.results(function)
    motion_value, f = (_floats(results[result.name]) for result in (motion, forces))
    f = f.reshape(truth.count, -1)
    v, inverse = truth.floats["v"], _floats(truth.results("inverse_mass_matrix")["Minv"])
    A = np.asarray(contacts.jacobian(truth.rough, truth.floats["q"]))
    row_is_active = np.repeat(
        truth.arguments(function, truth.floats)["active"], contacts.AXES, axis=-1
    )
    A = row_is_active[..., None] * A
    impact = motion.name != "a"
    change = motion_value - v if impact else motion_value
    dynamics_size = (
        bodies.roots * bodies.weighted_sum(change)
        if impact
        else bodies.dynamics_residual(motion_value)
    )
    second = row_is_active * (
        times(_levers(bodies, A), np.abs(v if impact else motion_value))
        + _bias(bodies, A, v, impact)
    )
    X = inverse @ np.swapaxes(A, -1, -2)
    first = dynamics_size + bodies.contact_forces(A, f)
    S = A @ X
    roots = np.sqrt(np.abs(np.diagonal(S, axis1=-2, axis2=-1)))
    caused = times(X, f)
    unforced = change - caused
    second = second + roots * (roots * np.abs(f)).sum(axis=-1, keepdims=True)
    second = second + times(np.abs(np.swapaxes(X, -1, -2)), bodies.roots) * (
        bodies.weighted_sum(unforced) + bodies.weighted_sum(caused)
    )
    P = _inverse(truth, S, row_is_active)
    on_forces = times(np.abs(P @ np.swapaxes(X, -1, -2)), first) + times(np.abs(P), second)
    on_motion = times(np.abs(inverse - X @ P @ np.swapaxes(X, -1, -2)), first) + times(
        np.abs(X @ P), second
    )
    by_contact = on_forces.reshape(truth.count, -1, contacts.AXES)
    return {motion.name: on_motion + np.abs(v) * impact, forces.name: _in_any_axes(by_contact)}


def _inverse(truth: ExactAnswers, S: Array, row_is_active: Array) -> Array:
    """Return the matrix that maps −(A M⁻¹ (τ − c) + γ) to f: the inverse of S, or the result of
    three damped solves.

    It is zero for inactive contacts.
    """
    unit = np.eye(S.shape[-1])
    inactive_diagonal = (1 - row_is_active)[..., None] * unit
    if not contacts.redundant(truth.mechanism, truth.rough.contact):
        inverse = np.linalg.inv(S + inactive_diagonal)
    else:
        mu = (
            float(DAMPING)
            * np.trace(S + inactive_diagonal, axis1=-2, axis2=-1)[..., None, None]
            / S.shape[-1]
        )
        damped_inverse = np.linalg.inv(S + inactive_diagonal + mu * unit)
        inverse = (
            damped_inverse
            + mu * damped_inverse @ damped_inverse
            + mu * mu * damped_inverse @ damped_inverse @ damped_inverse
        )
    return np.asarray(row_is_active[..., :, None] * inverse * row_is_active[..., None, :])


def _levers(bodies: Bodies, A: Array) -> Array:
    """Return the size of A: a rotation moves a point by the robot's length, in any direction."""
    turns, slides = np.array(bodies.rates).T
    reach = turns * bodies.length()[:, None] + slides
    return np.asarray((A != 0).any(axis=-2, keepdims=True) * reach[:, None, :] + np.abs(A))


def _bias(bodies: Bodies, A: Array, v: Array, impact: bool) -> Array:
    """Return the size of γ: centripetal accelerations, and gravity, which the sweep includes; zero
    for an impact.
    """
    if impact:
        return np.zeros(A.shape[:-1])
    turns, slides = np.array(bodies.rates).T
    rate, speed = (np.abs(v) @ rates_of_v for rates_of_v in (turns, slides))
    size = 2 * rate * (speed + rate * bodies.length()) + bodies.gravity
    return np.broadcast_to(size[:, None], A.shape[:-1])


def _in_any_axes(sizes: Array) -> Array:
    """Return the sizes of rotated forces: each entry may contain all three."""
    return np.broadcast_to(np.linalg.norm(sizes, axis=-1, keepdims=True), sizes.shape)


def _floats(values: Any) -> Array:
    return np.asarray(values, dtype=float)


BY_FUNCTION = {
    name: partial(_sizes, name) for name in ("contact_forward_dynamics", "contact_impulse")
}
