"""How much more freely the links on the way to a frame move than the frame itself: what a recursion of mobilities loses.

Λ⁻¹ of a link, carried out to the next one, is what that would move by if it were welded on. The joint between them takes away
what it lets go. Where a light link carries a heavy one, it turns about the joint between them as if nothing were there, and of
this the heavy link feels nothing: large terms leave a small one over.
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
    """Round-offs of Λ⁻¹ that the mobility of a link on the way comes to, the most over links and a few seeded states; 1 or more.

    Both are taken at the frame's origin, turning and moving apart. Λ⁻¹ counts as what it changes by when M or J changes in all
    entries: row r of X = J M⁻¹ brings (Σ_j |x_rj| √M_jj)² + 2 Σ_j |J_rj x_rj|, and what turns moves what is far. Two digits are
    kept, as of `free_bodies.freedom`.
    """
    with np.errstate(all="ignore"):  # what is larger than any double moves without end
        try:
            ratio = _ratios(mechanism, frame, payload)
        except np.linalg.LinAlgError:
            return float("inf")
    return max(1.0, float(f"{np.where(np.isnan(ratio), np.inf, ratio).max(initial=1.0):.1e}"))


def _ratios(mechanism: Mechanism, frame: str | None, payload: str | None) -> Array:
    states = draw_states(mechanism, STATES, payload=payload)
    reference = Reference(mechanism, FLOAT, frame=frame, payload=payload)
    if reference.frame is None or reference.frame.body == BASE:
        return np.ones(1)
    q = states["q"].astype(float)
    placed = reference.placements(q)
    _, origin = reference.frame_placement(placed, q)
    mass = reference.mass_matrix(
        q, states["payload"].astype(float) if payload is not None else None
    )
    roots = np.sqrt(np.diagonal(mass, axis1=-2, axis2=-1))
    scaled = mass / (roots[:, :, None] * roots[:, None, :])
    way = reference.ways[reference.frame.body]
    reach = np.max(
        [np.linalg.norm(origin - placed[body].shift[0], axis=-1) for body in way], axis=0
    )
    moved, left = [], np.zeros((STATES, 2))
    for body in way:
        columns = np.zeros((STATES, 6, mechanism.nv))
        support = reference.supports[body]
        columns[:, :3, support], columns[:, 3:, support] = reference.columns(body, origin, placed)
        columns /= roots[:, None, :]
        levers = np.swapaxes(np.linalg.solve(scaled, np.swapaxes(columns, -1, -2)), -1, -2)
        moved.append((columns * levers).sum(axis=-1).reshape(STATES, 2, 3).sum(axis=-1))
        if body == reference.frame.body:
            terms = np.abs(levers).sum(axis=-1) ** 2 + 2 * np.abs(columns * levers).sum(axis=-1)
            left = terms.reshape(STATES, 2, 3).sum(axis=-1)
            left[:, 1] += reach**2 * left[:, 0]
    return np.divide(moved, left, out=np.ones((len(moved), STATES, 2)), where=left != 0)
