"""What contacts do, from the points' own places as power series in t along q + v t: A and γ of no derivation.

A point's place is p(t) = p_0 + p_1 t + p_2 t²: its velocity p_1 is A v, and its acceleration 2 p_2, with no joint accelerating,
is γ. A is a point's Jacobian (`Motion.columns`). All in the axes of the base. What follows is one linear system,

    M a − Aᵀ f = τ − c,   A a = −γ,

in which the rows of a contact that is not active are f = 0. Where some active rows depend on others, it is solved three times
with μ more on the diagonal of what the forces feel, each from the forces before: this is how the functions are defined then.
Arrays are as `symgen.reference.mechanics` has them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from symgen.mechanism import Mechanism
from symgen.reference.arrays import times, transposed
from symgen.reference.damped import damped
from symgen.reference.motion import Motion
from symgen.reference.precision import Array, arb
from symgen.reference.states import draw_states

DIGITS, STATES, SEED = 80, 3, 78
NOTHING = 1e-30
"""Of what a row's product with itself was: what the rows before it leave over of it is nothing then."""
SOLVES = 3
"""Where forces are redundant."""
AXES = 3


def jacobian(reference: Any, q: Array) -> Array:
    """A (..., 3 NT, NV)."""
    with reference.scalars.working():
        placed, found = reference.placements(q), []
        for frame in reference.contacts:
            at = placed[frame.body]
            point = at.shift[0] + times(at.turn[0], reference.pose(frame.pose)[1])
            _, linear = reference.columns(frame.body, point, placed)
            rows = reference.scalars.array(np.zeros((*q.shape[:-1], AXES, reference.mechanism.nv)))
            rows[..., reference.supports[frame.body]] = linear
            found.append(rows)
        return np.concatenate(found, axis=-2)


def bias(reference: Any, q: Array, v: Array) -> Array:
    """γ (..., 3 NT)."""
    with reference.scalars.working():
        placed, found = reference.placements(q, v, 0 * v), []
        for frame in reference.contacts:
            at = placed[frame.body]
            found.append(2 * (at.shift[2] + times(at.turn[2], reference.pose(frame.pose)[1])))
        return np.concatenate(found, axis=-1)


def velocities(reference: Any, q: Array, v: Array) -> Array:
    """A v (..., 3 NT)."""
    with reference.scalars.working():
        placed, found = reference.placements(q, v, 0 * v), []
        for frame in reference.contacts:
            at = placed[frame.body]
            found.append(at.shift[1] + times(at.turn[1], reference.pose(frame.pose)[1]))
        return np.concatenate(found, axis=-1)


def held(reference: Any, q: Array, free: Array, gamma: Array, active: Array, payload: Array | None) -> tuple[Array, Array]:
    """(a, f) (..., NV) and (..., 3 NT) that the forces `free` cause, with A a = −γ where a contact is active."""
    scalars, nv = reference.scalars, reference.mechanism.nv
    with scalars.working():
        mass = reference.mass_matrix(q, payload)
        holds = np.repeat(active, AXES, axis=-1)
        A = holds[..., :, None] * jacobian(reference, q)
        idle = (1 - holds)[..., None] * np.eye(A.shape[-2], dtype=int)
        if not redundant(reference.mechanism, reference.contact):
            whole = np.concatenate([np.concatenate([mass, -transposed(A)], axis=-1), np.concatenate([A, idle], axis=-1)], axis=-2)
            found = scalars.solve(whole, np.concatenate([free, -holds * gamma], axis=-1)[..., None])[..., 0]
            return found[..., :nv], found[..., nv:]
        moved = scalars.solve(mass, np.concatenate([transposed(A), free[..., None]], axis=-1))
        felt = A @ moved[..., :-1] + idle
        right = -(times(A, moved[..., -1]) + holds * gamma)
        f = damped(scalars, felt, right, SOLVES)
        return moved[..., -1] + times(moved[..., :-1], f), f


def _by_contact(f: Array) -> Array:
    return f.reshape(*f.shape[:-1], -1, AXES)


def contact_forward_dynamics(reference: Any, /, q: Array, v: Array, tau: Array, active: Array, payload: Array | None = None,
                             wrench: Array | None = None) -> dict[str, Array]:
    """a and forces."""
    with reference.scalars.working():
        free = tau - reference.bias_force(q, v, payload, wrench)
        a, f = held(reference, q, free, bias(reference, q, v), active, payload)
        return {"a": a, "forces": _by_contact(f)}


def contact_impulse(reference: Any, /, q: Array, v: Array, active: Array, payload: Array | None = None) -> dict[str, Array]:
    """v_after and impulses."""
    with reference.scalars.working():
        change, f = held(reference, q, 0 * v, velocities(reference, q, v), active, payload)
        return {"v_after": v + change, "impulses": _by_contact(f)}


@lru_cache(maxsize=64)
def redundant(mechanism: Mechanism, contacts: tuple[str, ...]) -> bool:
    """Whether the rows of all contacts depend on each other at random states."""
    if AXES * len(contacts) > mechanism.nv:
        return True
    reference = Motion(mechanism, arb(DIGITS), contact=contacts)
    drawn = reference.scalars.array(draw_states(mechanism, STATES, SEED)["q"])
    with reference.scalars.working():
        return all(_dependent(A) for A in jacobian(reference, drawn))


def _dependent(A: Array) -> bool:
    """Whether a row is made of those before it, by Gram and Schmidt."""
    ways: list[Array] = []
    for row in A:
        way, size = row, (row * row).sum()
        for other in ways:
            way = way - other * ((way * other).sum() / (other * other).sum())
        if not abs((way * way).sum()) > NOTHING * (abs(size) + NOTHING):
            return True
        ways.append(way)
    return False


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "contact_forward_dynamics": contact_forward_dynamics,
    "contact_impulse": contact_impulse,
}
"""One oracle per function: (reference, arguments by name) → results by name."""
