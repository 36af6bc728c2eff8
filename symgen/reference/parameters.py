"""Regressor of the reference, from point masses.

T(r) denotes the joint torques that a mass of one kilogram at the point r of a link needs. By
d'Alembert's principle, T(r) = Jvᵀ (acceleration − gravity), where Jv is the Jacobian of the point.
T is a polynomial of the second degree in r. So the torques of a link are linear in its mass m, its
first moments h = ∫ r dm and its second moments Σ = ∫ r rᵀ dm. With unit vectors e_k, their columns
of the regressor are

    m: T(0),    h_k: (T(e_k) − T(−e_k)) / 2,    Σ_kk: (T(e_k) + T(−e_k)) / 2 − T(0),
    Σ_kl: T(e_k + e_l) − T(e_k) − T(e_l) + T(0).

The moments of inertia are J = tr(Σ) 1 − Σ, so that Σ = ½ tr(J) 1 − J. Their columns follow from
those of Σ:

    J_kk: ½ (Σ_xx + Σ_yy + Σ_zz) − Σ_kk,    J_kl: −Σ_kl.

No formula divides by a mass, so that massless links need no special case. Arrays are as in
`symgen.reference.mechanics`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from symgen.reference.arrays import stacked, times, transposed
from symgen.reference.motion import Motion, Placement, at_precision
from symgen.reference.precision import Array

UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Indices of the upper triangle of a symmetric matrix, in the order of the columns."""


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
    """Return the ten columns of one body, (..., k) each, for the k entries of v that move it."""

    def torque(x: int = 0, y: int = 0, z: int = 0) -> Array:
        """Return T(r) at r = (x, y, z), see the module."""
        # Power series in t, see `Placement`: the acceleration is twice the coefficient of t².
        (rotation, _, rotation_t2), (origin, _, origin_t2) = placements[body]
        r = motion.scalars.array([x, y, z])
        _, linear = motion.columns(body, origin + times(rotation, r), placements)
        acceleration = 2 * (origin_t2 + times(rotation_t2, r))
        return times(transposed(linear), acceleration - motion.gravity)

    at_origin = torque()
    at_units = [torque(1), torque(0, 1), torque(0, 0, 1)]
    at_negative_units = [torque(-1), torque(0, -1), torque(0, 0, -1)]
    first_moments = [
        (plus - minus) / 2 for plus, minus in zip(at_units, at_negative_units, strict=True)
    ]
    second_moments = {
        (k, k): (at_units[k] + at_negative_units[k]) / 2 - at_origin for k in range(3)
    }
    for i, j in ((0, 1), (0, 2), (1, 2)):
        at_sum = torque(*(1 if k in (i, j) else 0 for k in range(3)))
        second_moments[i, j] = at_sum - at_units[i] - at_units[j] + at_origin
    half_trace = (second_moments[0, 0] + second_moments[1, 1] + second_moments[2, 2]) / 2
    inertia_columns = [
        (half_trace if i == j else 0 * half_trace) - second_moments[i, j] for i, j in UPPER
    ]
    return [at_origin, *first_moments, *inertia_columns]


@at_precision
def declared_parameters(motion: Motion) -> Array:
    """Return π (10·NB): the parameters of the description, in the order of the columns of Y,
    without a payload.
    """
    parameters = motion.scalars.array(np.zeros((len(motion.mechanism.bodies), 10), dtype=int))
    for part in motion.declared:
        c = part.centre
        # Parallel-axis theorem: from the mass centre to the origin of the frame
        moments = part.inertia + part.mass * (
            (c * c).sum() * np.eye(3, dtype=int) - c[:, None] * c[None, :]
        )
        parameters[part.body] += np.array(
            [part.mass, *(part.mass * c), *(moments[pair] for pair in UPPER)]
        )
    return parameters.ravel()


def _regressor(motion: Motion, /, q: Array, v: Array, a: Array) -> dict[str, Array]:
    return {"Y": regressor(motion, q, v, a)}


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "regressor": _regressor,
}
"""Reference implementation of each function: (motion, arguments by name) → results by name."""
