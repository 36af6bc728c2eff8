"""Cancellation in a recursion of mobilities Λ⁻¹ along the path to a frame.

Λ⁻¹ of a link, transformed to the next link, is the mobility of the next link if it were welded on.
The joint between them adds its own mobility by a difference. If a light link carries a heavy one,
the light link rotates freely about the joint between them, and the heavy link hardly moves: large
terms leave a small result.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states

STATES = 4


@lru_cache(maxsize=64)
def mobility(mechanism: Mechanism, frame: str | None, payload: str | None = None) -> float:
    """Return the largest mobility of a link on the path, in units of the round-off of Λ⁻¹, over
    links and seeded states; at least 1.

    Both are taken at the frame's origin, with rotation and translation apart. Λ⁻¹ counts as its
    change when M or J changes in all entries: row r of X = J M⁻¹ contributes (Σ_j |x_rj| √M_jj)² +
    2 Σ_j |J_rj x_rj|, and a rotation moves distant points. The result has two digits, as that of
    `free_bodies.freedom`.
    """
    with np.errstate(all="ignore"):  # an overflow counts as infinite mobility
        try:
            ratio = _ratios(mechanism, frame, payload)
        except np.linalg.LinAlgError:
            return float("inf")
    return max(1.0, float(f"{np.where(np.isnan(ratio), np.inf, ratio).max(initial=1.0):.1e}"))


def _ratios(mechanism: Mechanism, frame: str | None, payload: str | None) -> Array:
    """Return the ratios of the links' mobilities to the change of Λ⁻¹, for rotation and
    translation.
    """
    states = draw_states(mechanism, STATES, payload=payload)
    reference = Reference(mechanism, FLOAT, frame=frame, payload=payload)
    if reference.frame is None or reference.frame.body == BASE:
        return np.array(1.0)
    q = states["q"].astype(float)
    placements = reference.placements(q)
    _, origin = reference.frame_placement(placements, q)
    mass = reference.mass_matrix(
        q, states["payload"].astype(float) if payload is not None else None
    )
    roots = np.sqrt(np.diagonal(mass, axis1=-2, axis2=-1))
    scaled = mass / (roots[:, :, None] * roots[:, None, :])
    path = reference.paths[reference.frame.body]
    distance = np.max(
        [np.linalg.norm(origin - placements[body].shift[0], axis=-1) for body in path], axis=0
    )
    mobilities = []
    for body in path:
        columns = np.zeros((STATES, 6, mechanism.nv))
        support = reference.supports[body]
        columns[:, :3, support], columns[:, 3:, support] = reference.columns(
            body, origin, placements
        )
        columns /= roots[:, None, :]
        levers = np.swapaxes(np.linalg.solve(scaled, np.swapaxes(columns, -1, -2)), -1, -2)
        mobilities.append((columns * levers).sum(axis=-1).reshape(STATES, 2, 3).sum(axis=-1))
    # the last link of the path bears the frame
    terms = np.abs(levers).sum(axis=-1) ** 2 + 2 * np.abs(columns * levers).sum(axis=-1)
    changes = terms.reshape(STATES, 2, 3).sum(axis=-1)
    changes[:, 1] += distance**2 * changes[:, 0]
    return np.asarray(
        np.divide(
            mobilities, changes, out=np.ones((len(mobilities), STATES, 2)), where=changes != 0
        )
    )
