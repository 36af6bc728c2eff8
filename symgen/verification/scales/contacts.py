"""How large what contacts of a tree cause may be off by: what is left of their two equations, taken through the inverse of both.

M a + c − τ − Aᵀ f is as large as its terms, and A a + γ as its own and as what the elimination of A M⁻¹ Aᵀ adds: an entry ij of
that is no larger than the root of the product of ii and jj. A small residual may stand for a larger error: the exact inverse of
both equations, in floats, says how large. Forces that are redundant are damped, and so is that inverse.
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
    """Of the results of a function of contacts, by name."""
    truth = bodies.truth
    (moved, forces), results = FUNCTIONS[function].results, truth.results(function)
    found, f = (_floats(results[one.name]) for one in (moved, forces))
    f = f.reshape(truth.count, -1)
    v, inverse = truth.floats["v"], _floats(truth.results("inverse_mass_matrix")["Minv"])
    A = np.asarray(contacts.jacobian(truth.rough, truth.floats["q"]))
    holds = np.repeat(truth.arguments(function, truth.floats)["active"], contacts.AXES, axis=-1)
    A = holds[..., None] * A
    impact = moved.name != "a"
    change = found - v if impact else found
    own = bodies.roots * bodies.weighed(change) if impact else bodies.driven(found)
    second = holds * (
        times(_levers(bodies, A), np.abs(v if impact else found)) + _bias(bodies, A, v, impact)
    )
    X = inverse @ np.swapaxes(A, -1, -2)
    first = own + bodies.contact_forces(A, f)
    S = A @ X
    ends = np.sqrt(np.abs(np.diagonal(S, axis1=-2, axis2=-1)))
    pushed = times(X, f)
    free = change - pushed
    second = second + ends * (ends * np.abs(f)).sum(axis=-1, keepdims=True)
    second = second + times(np.abs(np.swapaxes(X, -1, -2)), bodies.roots) * (
        bodies.weighed(free) + bodies.weighed(pushed)
    )
    P = _inverse(truth, S, holds)
    on_forces = times(np.abs(P @ np.swapaxes(X, -1, -2)), first) + times(np.abs(P), second)
    on_moved = times(np.abs(inverse - X @ P @ np.swapaxes(X, -1, -2)), first) + times(
        np.abs(X @ P), second
    )
    each = on_forces.reshape(truth.count, -1, contacts.AXES)
    return {moved.name: on_moved + np.abs(v) * impact, forces.name: _in_any_axes(each)}


def _inverse(truth: ExactAnswers, S: Array, holds: Array) -> Array:
    """What takes −(A M⁻¹ (τ − c) + γ) to f: the inverse of S, or of what is damped, three times; zero where nothing holds."""
    unit = np.eye(S.shape[-1])
    idle = (1 - holds)[..., None] * unit
    if not contacts.redundant(truth.mechanism, truth.rough.contact):
        found = np.linalg.inv(S + idle)
    else:
        mu = float(DAMPING) * np.trace(S + idle, axis1=-2, axis2=-1)[..., None, None] / S.shape[-1]
        once = np.linalg.inv(S + idle + mu * unit)
        found = once + mu * once @ once + mu * mu * once @ once @ once
    return np.asarray(holds[..., :, None] * found * holds[..., None, :])


def _levers(bodies: Bodies, A: Array) -> Array:
    """The size of A: what turns a point moves it by a lever as long as the robot, in any direction."""
    turns, slides = np.array(bodies.rates).T
    moved = turns * bodies.length()[:, None] + slides
    return np.asarray((A != 0).any(axis=-2, keepdims=True) * moved[:, None, :] + np.abs(A))


def _bias(bodies: Bodies, A: Array, v: Array, impact: bool) -> Array:
    """Of γ: centripetal accelerations, and the weight that the sweep carries; of an impact, nothing."""
    if impact:
        return np.zeros(A.shape[:-1])
    turns, slides = np.array(bodies.rates).T
    rate, speed = (np.abs(v) @ one for one in (turns, slides))
    size = 2 * rate * (speed + rate * bodies.length()) + bodies.gravity
    return np.broadcast_to(size[:, None], A.shape[:-1])


def _in_any_axes(sizes: Array) -> Array:
    """Of forces that are turned: each entry takes part of all three."""
    return np.broadcast_to(np.linalg.norm(sizes, axis=-1, keepdims=True), sizes.shape)


def _floats(values: Any) -> Array:
    return np.asarray(values, dtype=float)


BY_FUNCTION = {
    name: partial(_sizes, name) for name in ("contact_forward_dynamics", "contact_impulse")
}
