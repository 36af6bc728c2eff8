"""Regressor of the reference, from point masses: the torques of one kilogram at a point of a link.

By d'Alembert they are T(r) = Jvᵀ (acceleration − gravity), with Jv the Jacobian of the point r of
the link. T is a polynomial of the second degree in r, so that with unit vectors e_k

    m: T(0),    h_k: (T(e_k) − T(−e_k)) / 2,    Σ_kk: (T(e_k) + T(−e_k)) / 2 − T(0),
    Σ_kl: T(e_k + e_l) − T(e_k) − T(e_l) + T(0),

and by J = tr(Σ) 1 − Σ the columns of moments are J_kk: ½ tr Σ − Σ_kk, J_kl: −Σ_kl. No formula
divides by a mass. Arrays are as in `symgen.reference.mechanics`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from symgen.reference.arrays import stacked, times, transposed
from symgen.reference.motion import Motion, Placement, at_precision
from symgen.reference.precision import Array

UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


@at_precision
def regressor(motion: Motion, q: Array, v: Array, a: Array) -> Array:
    """Return Y (..., NV, 10·NB): columns m, m·c, xx xy xz yy yz zz of every body about the origin
    of its frame, in its axes.
    """
    q, v, a = stacked(q, v, a)
    placements = motion.placements(q, v, a)
    columns = motion.scalars.array(
        np.zeros((*q.shape[:-1], motion.mechanism.nv, 10 * len(placements)), dtype=int)
    )
    for body in range(len(placements)):
        columns[..., motion.supports[body], 10 * body : 10 * body + 10] = np.stack(
            _body_columns(motion, body, placements), axis=-1
        )
    return columns


def _body_columns(motion: Motion, body: int, placements: Sequence[Placement]) -> list[Array]:
    """Return the ten columns of one body, (..., k) each, for the entries of v that move it."""

    def torque(x: int = 0, y: int = 0, z: int = 0) -> Array:
        (r0, _, r2), (p0, _, p2) = placements[body]
        r = motion.scalars.array([x, y, z])
        _, linear = motion.columns(body, p0 + times(r0, r), placements)
        return times(transposed(linear), 2 * (p2 + times(r2, r)) - motion.gravity)

    at_centre, one_ahead, one_behind = (
        torque(),
        [torque(1), torque(0, 1), torque(0, 0, 1)],
        [torque(-1), torque(0, -1), torque(0, 0, -1)],
    )
    second = {(k, k): (one_ahead[k] + one_behind[k]) / 2 - at_centre for k in range(3)}
    for i, j in ((0, 1), (0, 2), (1, 2)):
        second[i, j] = (
            torque(*(1 if k in (i, j) else 0 for k in range(3)))
            - one_ahead[i]
            - one_ahead[j]
            + at_centre
        )
    half = (second[0, 0] + second[1, 1] + second[2, 2]) / 2
    first = [(plus - minus) / 2 for plus, minus in zip(one_ahead, one_behind, strict=True)]
    return [at_centre, *first, *((half if i == j else 0 * half) - second[i, j] for i, j in UPPER)]


@at_precision
def declared_parameters(motion: Motion) -> Array:
    """Return π (10·NB): the declared parameters, without a payload."""
    parameters = motion.scalars.array(np.zeros((len(motion.mechanism.bodies), 10), dtype=int))
    for part in motion.declared:
        c = part.centre
        moments = part.inertia + part.mass * (
            (c * c).sum() * np.eye(3, dtype=int) - c[:, None] * c[None, :]
        )  # Steiner
        parameters[part.body] += np.array(
            [part.mass, *(part.mass * c), *(moments[pair] for pair in UPPER)]
        )
    return parameters.ravel()


def _regressor(motion: Motion, /, q: Array, v: Array, a: Array) -> dict[str, Array]:
    return {"Y": regressor(motion, q, v, a)}


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "regressor": _regressor,
}
"""One oracle per function: (motion, arguments by name) → results by name."""
