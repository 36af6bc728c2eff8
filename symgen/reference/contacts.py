"""What contacts do, from the points' own places as power series in t along q + v t: A and γ of no derivation.

A point's place is p(t) = p_0 + p_1 t + p_2 t²: its velocity p_1 is A v, and its acceleration 2 p_2, with no joint accelerating,
is γ. A is a point's Jacobian (`Motion.columns`). All in the axes of the base. What follows is one linear system,

    M a − Aᵀ f = τ − c,   A a = −γ,

in which the rows of a contact that is not active are f = 0. Joints that close loops have their rows, and γ, before those of
contacts (`symgen.reference.closing`), and they always hold. Where some active rows depend on others, it is solved three times,
or more often where loops ask for it, with μ more on the diagonal of what the forces feel, each from the forces before: this is
how the functions are defined then. Arrays are as `symgen.reference.mechanics` has them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference import closing, constrained
from symgen.reference.arrays import times, transposed
from symgen.reference.assembling import assemble, closed_states
from symgen.reference.minimum_norm import damped
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, Array
from symgen.reference.rounding import ROUNDED, column_scales, counted, row_scales, size
from symgen.reference.states import draw_states

STATES, SEED = 3, 78
SOLVES = 3
"""Where forces are redundant, and no loops are."""
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


def all_rows(reference: Any, q: Array) -> Array:
    """A (..., NL + 3 NT, NV): the rows of loops, then those of contacts."""
    own = jacobian(reference, q)
    if not reference.mechanism.loops:
        return own
    return np.concatenate(
        [closing.jacobian(reference, assemble(reference.mechanism).kept, q), own], axis=-2
    )


def all_rates(reference: Any, q: Array, v: Array, power: int, gains: Array | None = None) -> Array:
    """A v (1) or γ (2) (..., NL + 3 NT) of the same rows; with gains (..., 2) K_d A v + K_p C of loops besides."""
    own = velocities(reference, q, v) if power == 1 else bias(reference, q, v)
    if not reference.mechanism.loops:
        return own
    with reference.scalars.working():
        rows = closing.rows(reference, assemble(reference.mechanism).kept, q, v, 0 * v)
        pulled = 0 if gains is None else gains[..., 1:] * rows[1] + gains[..., :1] * rows[0]
        return np.concatenate([power * rows[power] + pulled, own], axis=-1)


def held(
    reference: Any, q: Array, free: Array, gamma: Array, active: Array, payload: Array | None
) -> tuple[Array, Array]:
    """(a, f) (..., NV) and (..., 3 NT) that the forces `free` cause, with A a = −γ of loops, and where a contact is active."""
    scalars, nv = reference.scalars, reference.mechanism.nv
    with scalars.working():
        mass, A = reference.mass_matrix(q, payload), all_rows(reference, q)
        own = np.repeat(active, AXES, axis=-1)
        loops = A.shape[-2] - own.shape[-1]
        holds = np.concatenate(
            [np.broadcast_to(scalars.array([1] * loops), (*own.shape[:-1], loops)), own], axis=-1
        )
        A = holds[..., :, None] * A
        idle = (1 - holds)[..., None] * np.eye(A.shape[-2], dtype=int)
        kind: Callable[..., Any] = type(reference)
        turns = solves(reference.described, reference.contact, kind)
        if turns == 1:
            whole = np.concatenate(
                [
                    np.concatenate([mass, -transposed(A)], axis=-1),
                    np.concatenate([A, idle], axis=-1),
                ],
                axis=-2,
            )
            found = scalars.solve(
                whole, np.concatenate([free, -holds * gamma], axis=-1)[..., None]
            )[..., 0]
            return found[..., :nv], found[..., nv + loops :]
        moved = scalars.solve(mass, np.concatenate([transposed(A), free[..., None]], axis=-1))
        felt = A @ moved[..., :-1] + idle
        right = -(times(A, moved[..., -1]) + holds * gamma)
        f = damped(scalars, felt, right, turns)
        return moved[..., -1] + times(moved[..., :-1], f), f[..., loops:]


def _by_contact(f: Array) -> Array:
    return f.reshape(*f.shape[:-1], -1, AXES)


def contact_forward_dynamics(
    reference: Any,
    /,
    q: Array,
    v: Array,
    tau: Array,
    active: Array,
    gains: Array | None = None,
    **loads: Array,
) -> dict[str, Array]:
    """a and forces, under the run-time `payload` and `wrench`."""
    with reference.scalars.working():
        free = tau - reference.bias_force(q, v, **loads)
        gamma = all_rates(reference, q, v, 2, gains)
        a, f = held(reference, q, free, gamma, active, loads.get("payload"))
        return {"a": a, "forces": _by_contact(f)}


def contact_impulse(
    reference: Any, /, q: Array, v: Array, active: Array, payload: Array | None = None
) -> dict[str, Array]:
    """v_after and impulses."""
    with reference.scalars.working():
        change, f = held(reference, q, 0 * v, all_rates(reference, q, v, 1), active, payload)
        return {"v_after": v + change, "impulses": _by_contact(f)}


@lru_cache(maxsize=64)
def immovable(mechanism: Mechanism, contacts: tuple[str, ...]) -> tuple[str, ...]:
    """The contacts that no joint moves, by more than rounded numbers explain."""
    reference = Motion(mechanism, FLOAT, contact=contacts)
    J = np.abs(
        jacobian(reference, draw_states(mechanism, STATES, SEED)["q"].astype(float))
        * column_scales(mechanism)
    )
    moved = (J / size(mechanism)).max(axis=(0, 2)).reshape(-1, AXES).max(axis=-1)
    return tuple(contact for contact, by in zip(contacts, moved, strict=True) if by <= ROUNDED)


@lru_cache(maxsize=64)
def redundant(mechanism: Mechanism, contacts: tuple[str, ...]) -> bool:
    """Whether the rows of loops and of all contacts depend on each other at random states, on the loops where there are some."""
    if AXES * len(contacts) > mechanism.nv:
        return True
    A = _drawn(mechanism, contacts)
    return bool((_ranks(A) < A.shape[-2]).all())


@lru_cache(maxsize=64)
def solves(mechanism: Mechanism, contacts: tuple[str, ...], kind: Callable[..., Any]) -> int:
    """How often forces are solved for. With loops as often as it takes to leave nothing (`symgen.reference.constrained`), where
    all contacts hold, or none, or one; `kind` is the class of the reference, from which M comes."""
    if not redundant(mechanism, contacts):
        return 1
    if not mechanism.loops:
        return SOLVES
    floats, q = kind(mechanism, FLOAT, contact=contacts), _places(mechanism)
    A, drawn = all_rows(floats, q), _drawn(mechanism, contacts)
    try:
        moved = np.linalg.solve(floats.mass_matrix(q), transposed(A))
    except np.linalg.LinAlgError:  # nobody divides by such an M
        return SOLVES
    loops, n, found = A.shape[-2] - AXES * len(contacts), A.shape[-2], []
    for active in {
        (1,) * len(contacts),
        (0,) * len(contacts),
        *map(tuple, np.eye(len(contacts), dtype=int).tolist()),
    }:
        holds = np.array([1] * loops + [one for one in active for _ in range(AXES)])
        S = holds[:, None] * (A @ moved) * holds + np.diag(1 - holds)
        found.append(
            constrained.turns(S, int(_ranks(drawn[:, holds == 1]).max()) + n - holds.sum())
        )
    return max(found)


def _places(mechanism: Mechanism) -> Array:
    """Random positions, on the loops where there are some."""
    drawn = (
        closed_states(mechanism, assemble(mechanism), STATES, SEED)
        if mechanism.loops
        else draw_states(mechanism, STATES, SEED)
    )
    return drawn["q"].astype(float)


@lru_cache(maxsize=16)
def _drawn(mechanism: Mechanism, contacts: tuple[str, ...]) -> Array:
    """A at them, without units."""
    A = all_rows(Motion(mechanism, FLOAT, contact=contacts), _places(mechanism))
    rows = np.full(A.shape[-2], 1 / size(mechanism))
    if mechanism.loops:
        own = row_scales(mechanism, mechanism.loops, assemble(mechanism).kept)
        rows[: len(own)] = own
    return np.asarray(rows[:, None] * A * column_scales(mechanism))


def _ranks(A: Array) -> Array:
    """Return the rank of matrices without units (..., n, NV); zero for no rows."""
    return (
        counted(np.linalg.svd(A, compute_uv=False))
        if A.shape[-2]
        else np.zeros(A.shape[:-2], dtype=int)
    )


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "contact_forward_dynamics": contact_forward_dynamics,
    "contact_impulse": contact_impulse,
}
"""One oracle per function: (reference, arguments by name) → results by name."""
