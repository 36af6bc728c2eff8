"""Bilateral contacts in the reference: A and γ from the contact points' power series in t along q +
v t, without a derivation.

A contact point is at p(t) = p_0 + p_1 t + p_2 t²: its velocity p_1 is A v, and its acceleration 2
p_2, with zero joint accelerations, is γ. A is the point's Jacobian (`Motion.columns`). All vectors
are in base axes. The accelerations and contact forces solve one linear system,

    M a − Aᵀ f = τ − c,   A a = −γ,

in which the rows of an inactive contact are f = 0. The rows and γ of closed loops come before those
of contacts (`symgen.reference.closing`), and they are always active. If some active rows depend on
others, the functions are defined by repeated damped solves: three, or more for closed loops. Each
adds μ to the diagonal of A M⁻¹ Aᵀ and starts from the forces of the solve before. Arrays are as in
`symgen.reference.mechanics`.
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
from symgen.reference.minimum_norm import minimum_norm_forces
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, Array
from symgen.reference.rounding import (
    ROUNDED,
    column_scales,
    count_significant,
    robot_size,
    row_scales,
)
from symgen.reference.states import draw_states

STATES, SEED = 3, 78
SOLVES = 3
"""Number of damped solves if forces are redundant and there are no closed loops."""
AXES = 3


def jacobian(reference: Any, q: Array) -> Array:
    """Return A (..., 3 NT, NV) of the contact points."""
    with reference.scalars.working():
        placements, blocks = reference.placements(q), []
        for frame in reference.contacts:
            at = placements[frame.body]
            point = at.shift[0] + times(at.turn[0], reference.pose(frame.pose)[1])
            _, linear = reference.columns(frame.body, point, placements)
            rows = reference.scalars.array(np.zeros((*q.shape[:-1], AXES, reference.mechanism.nv)))
            rows[..., reference.supports[frame.body]] = linear
            blocks.append(rows)
        return np.concatenate(blocks, axis=-2)


def bias(reference: Any, q: Array, v: Array) -> Array:
    """Return γ (..., 3 NT)."""
    with reference.scalars.working():
        placements, blocks = reference.placements(q, v, 0 * v), []
        for frame in reference.contacts:
            at = placements[frame.body]
            blocks.append(2 * (at.shift[2] + times(at.turn[2], reference.pose(frame.pose)[1])))
        return np.concatenate(blocks, axis=-1)


def velocities(reference: Any, q: Array, v: Array) -> Array:
    """Return A v (..., 3 NT)."""
    with reference.scalars.working():
        placements, blocks = reference.placements(q, v, 0 * v), []
        for frame in reference.contacts:
            at = placements[frame.body]
            blocks.append(at.shift[1] + times(at.turn[1], reference.pose(frame.pose)[1]))
        return np.concatenate(blocks, axis=-1)


def all_rows(reference: Any, q: Array) -> Array:
    """Return A (..., NL + 3 NT, NV): the rows of closed loops, then the rows of contacts."""
    contact_rows = jacobian(reference, q)
    if not reference.mechanism.loops:
        return contact_rows
    return np.concatenate(
        [closing.jacobian(reference, assemble(reference.mechanism).kept, q), contact_rows], axis=-2
    )


def all_rates(reference: Any, q: Array, v: Array, power: int, gains: Array | None = None) -> Array:
    """Return A v (power 1) or γ (power 2), (..., NL + 3 NT), of the rows of `all_rows`.

    With gains (..., 2), K_d A v + K_p C of the closed loops is added.
    """
    contact_rates = velocities(reference, q, v) if power == 1 else bias(reference, q, v)
    if not reference.mechanism.loops:
        return contact_rates
    with reference.scalars.working():
        rows = closing.rows(reference, assemble(reference.mechanism).kept, q, v, 0 * v)
        stabilization = 0 if gains is None else gains[..., 1:] * rows[1] + gains[..., :1] * rows[0]
        return np.concatenate([power * rows[power] + stabilization, contact_rates], axis=-1)


def constrained_motion(
    reference: Any, q: Array, free: Array, gamma: Array, active: Array, payload: Array | None
) -> tuple[Array, Array]:
    """Return (a, f), (..., NV) and (..., 3 NT), caused by the generalized forces `free`.

    They satisfy A a = −γ for closed loops and for active contacts.
    """
    scalars, nv = reference.scalars, reference.mechanism.nv
    with scalars.working():
        mass, A = reference.mass_matrix(q, payload), all_rows(reference, q)
        active_rows = np.repeat(active, AXES, axis=-1)
        loop_rows = A.shape[-2] - active_rows.shape[-1]
        row_is_active = np.concatenate(
            [
                np.broadcast_to(
                    scalars.array([1] * loop_rows), (*active_rows.shape[:-1], loop_rows)
                ),
                active_rows,
            ],
            axis=-1,
        )
        A = row_is_active[..., :, None] * A
        inactive_diagonal = (1 - row_is_active)[..., None] * np.eye(A.shape[-2], dtype=int)
        kind: Callable[..., Any] = type(reference)
        solve_iterations = solve_count(reference.described, reference.contact, kind)
        if solve_iterations == 1:
            system = np.concatenate(
                [
                    np.concatenate([mass, -transposed(A)], axis=-1),
                    np.concatenate([A, inactive_diagonal], axis=-1),
                ],
                axis=-2,
            )
            solution = scalars.solve(
                system, np.concatenate([free, -row_is_active * gamma], axis=-1)[..., None]
            )[..., 0]
            return solution[..., :nv], solution[..., nv + loop_rows :]
        M_inverse_columns = scalars.solve(
            mass, np.concatenate([transposed(A), free[..., None]], axis=-1)
        )
        S = A @ M_inverse_columns[..., :-1] + inactive_diagonal
        right = -(times(A, M_inverse_columns[..., -1]) + row_is_active * gamma)
        f = minimum_norm_forces(scalars, S, right, solve_iterations)
        return M_inverse_columns[..., -1] + times(M_inverse_columns[..., :-1], f), f[
            ..., loop_rows:
        ]


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
    """Return a and the contact forces, under the run-time `payload` and `wrench`."""
    with reference.scalars.working():
        free = tau - reference.bias_force(q, v, **loads)
        gamma = all_rates(reference, q, v, 2, gains)
        a, f = constrained_motion(reference, q, free, gamma, active, loads.get("payload"))
        return {"a": a, "forces": _by_contact(f)}


def contact_impulse(
    reference: Any, /, q: Array, v: Array, active: Array, payload: Array | None = None
) -> dict[str, Array]:
    """Return v_after and the contact impulses."""
    with reference.scalars.working():
        change, f = constrained_motion(
            reference, q, 0 * v, all_rates(reference, q, v, 1), active, payload
        )
        return {"v_after": v + change, "impulses": _by_contact(f)}


@lru_cache(maxsize=64)
def immovable(mechanism: Mechanism, contacts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the contacts that no joint moves by more than rounded numbers explain."""
    reference = Motion(mechanism, FLOAT, contact=contacts)
    J = np.abs(
        jacobian(reference, draw_states(mechanism, STATES, SEED)["q"].astype(float))
        * column_scales(mechanism)
    )
    motions = (J / robot_size(mechanism)).max(axis=(0, 2)).reshape(-1, AXES).max(axis=-1)
    return tuple(
        contact for contact, motion in zip(contacts, motions, strict=True) if motion <= ROUNDED
    )


@lru_cache(maxsize=64)
def redundant(mechanism: Mechanism, contacts: tuple[str, ...]) -> bool:
    """True if the rows of closed loops and of all contacts depend on each other at random (closed)
    states.
    """
    if AXES * len(contacts) > mechanism.nv:
        return True
    A = _dimensionless_rows(mechanism, contacts)
    return bool((_ranks(A) < A.shape[-2]).all())


@lru_cache(maxsize=64)
def solve_count(mechanism: Mechanism, contacts: tuple[str, ...], kind: Callable[..., Any]) -> int:
    """Return the number of damped solves for the contact forces.

    With closed loops it is the number that makes the error of redundant rows negligible
    (`symgen.reference.constrained`), with all contacts active, none, or one. `kind` is the class of
    the reference, which gives M.
    """
    if not redundant(mechanism, contacts):
        return 1
    if not mechanism.loops:
        return SOLVES
    floats, q = kind(mechanism, FLOAT, contact=contacts), _random_positions(mechanism)
    A, drawn = all_rows(floats, q), _dimensionless_rows(mechanism, contacts)
    try:
        M_inverse_A_transposed = np.linalg.solve(floats.mass_matrix(q), transposed(A))
    except np.linalg.LinAlgError:  # M is singular: the function is refused elsewhere
        return SOLVES
    loops, n, counts = A.shape[-2] - AXES * len(contacts), A.shape[-2], []
    for active in {
        (1,) * len(contacts),
        (0,) * len(contacts),
        *map(tuple, np.eye(len(contacts), dtype=int).tolist()),
    }:
        row_is_active = np.array([1] * loops + [flag for flag in active for _ in range(AXES)])
        S = row_is_active[:, None] * (A @ M_inverse_A_transposed) * row_is_active + np.diag(
            1 - row_is_active
        )
        counts.append(
            constrained.solve_count_for(
                S, int(_ranks(drawn[:, row_is_active == 1]).max()) + n - row_is_active.sum()
            )
        )
    return max(counts)


def _random_positions(mechanism: Mechanism) -> Array:
    """Return random positions, closed if the mechanism has closed loops."""
    drawn = (
        closed_states(mechanism, assemble(mechanism), STATES, SEED)
        if mechanism.loops
        else draw_states(mechanism, STATES, SEED)
    )
    return drawn["q"].astype(float)


@lru_cache(maxsize=16)
def _dimensionless_rows(mechanism: Mechanism, contacts: tuple[str, ...]) -> Array:
    """Return A at the random positions, without units."""
    A = all_rows(Motion(mechanism, FLOAT, contact=contacts), _random_positions(mechanism))
    rows = np.full(A.shape[-2], 1 / robot_size(mechanism))
    if mechanism.loops:
        loop_scales = row_scales(mechanism, mechanism.loops, assemble(mechanism).kept)
        rows[: len(loop_scales)] = loop_scales
    return np.asarray(rows[:, None] * A * column_scales(mechanism))


def _ranks(A: Array) -> Array:
    """Return the rank of matrices without units (..., n, NV); zero for no rows."""
    return (
        count_significant(np.linalg.svd(A, compute_uv=False))
        if A.shape[-2]
        else np.zeros(A.shape[:-2], dtype=int)
    )


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "contact_forward_dynamics": contact_forward_dynamics,
    "contact_impulse": contact_impulse,
}
"""One oracle per function: (reference, arguments by name) → results by name."""
