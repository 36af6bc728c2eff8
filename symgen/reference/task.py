"""The reference's answers for the rows of a task: Λ and J̄ by general linear solves, and which rows a robot can have at all.

Rows of the frame's Jacobian are numbered as `symgen.vocabulary.arrays.TASK_ROWS` names them.
Arrays are as `symgen.reference.mechanics` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.arrays import transposed
from symgen.reference.precision import Array, Scalars, arb
from symgen.reference.states import draw_states

DIGITS, STATES, SEED = 80, 3, 77
NOTHING = 1e-30
"""Of what a row's product with itself was: what the rows before it leave over of it is nothing then."""


def operational_inertia(reference: Any, q: Array, payload: Array | None = None) -> Array:
    """Λ (..., k, k) of the frame, for the reference's task rows."""
    rows = list(reference.task_rows)
    with reference.scalars.working():
        inverse = reference.operational_inertia_inverse(q, payload)[..., rows, :][..., rows]
        unit = np.broadcast_to(reference.scalars.array(np.eye(len(rows))), inverse.shape)
        return np.asarray(reference.scalars.solve(inverse, unit))


def dynamically_consistent_inverse(reference: Any, q: Array, payload: Array | None = None) -> Array:
    """J̄ = M⁻¹ Jᵀ Λ (..., NV, k)."""
    with reference.scalars.working():
        mass, turned = (
            reference.mass_matrix(q, payload),
            transposed(reference.jacobian(q)[..., list(reference.task_rows), :]),
        )
        moved = reference.scalars.solve(
            mass, np.broadcast_to(turned, (*mass.shape[:-1], turned.shape[-1]))
        )
        return np.asarray(
            reference.scalars.product(moved, operational_inertia(reference, q, payload))
        )


def independent(
    reference: Callable[[Scalars], Any], mechanism: Mechanism, rows: Sequence[int]
) -> tuple[int, ...]:
    """Those of `rows` that are independent of the ones before them, at the state of a few where they are most.

    `reference` gives that of the mechanism and frame over scalars.
    """
    made = reference(arb(DIGITS))
    drawn = made.scalars.array(draw_states(mechanism, STATES, SEED)["q"])
    with made.scalars.working():
        found = [_independent(one, rows) for one in made.jacobian(drawn)]
    return max(found, key=len)


def _independent(J: Array, rows: Sequence[int]) -> tuple[int, ...]:
    """By Gram and Schmidt."""
    kept: list[int] = []
    ways: list[Array] = []
    for row in rows:
        way, size = J[row], (J[row] * J[row]).sum()
        for other in ways:
            way = way - other * ((way * other).sum() / (other * other).sum())
        if abs((way * way).sum()) > NOTHING * (abs(size) + NOTHING):
            kept.append(row)
            ways.append(way)
    return tuple(kept)


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "operational_inertia": lambda reference, **given: {
        "Lambda": operational_inertia(reference, **given)
    },
    "dynamically_consistent_inverse": lambda reference, **given: {
        "Jbar": dynamically_consistent_inverse(reference, **given)
    },
}
"""One oracle per function: (reference, arguments by name) → results by name."""
