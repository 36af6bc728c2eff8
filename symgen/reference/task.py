"""Reference results for task rows: Λ and J̄ by general linear solves, and the rows that are
independent.

Rows of the frame's Jacobian are numbered as in `symgen.vocabulary.arrays.TASK_ROWS`. Arrays are as
in `symgen.reference.mechanics`.
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
ZERO_SHARE = 1e-30
"""A row depends on the rows before it if the remainder's square is below this fraction of the row's
square.
"""


def operational_inertia(reference: Any, q: Array, payload: Array | None = None) -> Array:
    """Return Λ (..., k, k) of the frame, for the reference's task rows."""
    rows = list(reference.task_rows)
    with reference.scalars.working():
        inverse = reference.operational_inertia_inverse(q, payload)[..., rows, :][..., rows]
        unit = np.broadcast_to(reference.scalars.array(np.eye(len(rows))), inverse.shape)
        return np.asarray(reference.scalars.solve(inverse, unit))


def dynamically_consistent_inverse(reference: Any, q: Array, payload: Array | None = None) -> Array:
    """Return J̄ = M⁻¹ Jᵀ Λ (..., NV, k)."""
    with reference.scalars.working():
        mass, J_transposed = (
            reference.mass_matrix(q, payload),
            transposed(reference.jacobian(q)[..., list(reference.task_rows), :]),
        )
        M_inverse_J_transposed = reference.scalars.solve(
            mass, np.broadcast_to(J_transposed, (*mass.shape[:-1], J_transposed.shape[-1]))
        )
        return np.asarray(
            reference.scalars.product(
                M_inverse_J_transposed, operational_inertia(reference, q, payload)
            )
        )


def independent_rows(
    reference: Callable[[Scalars], Any], mechanism: Mechanism, rows: Sequence[int]
) -> tuple[int, ...]:
    """Return the `rows` that are independent of the rows before them, at the random state with the
    highest rank.

    `reference` builds the Reference of the mechanism and frame over the scalars that it is called
    with.
    """
    exact = reference(arb(DIGITS))
    q = exact.scalars.array(draw_states(mechanism, STATES, SEED)["q"])
    with exact.scalars.working():
        candidates = [_gram_schmidt_rows(J, rows) for J in exact.jacobian(q)]
    return max(candidates, key=len)


def _gram_schmidt_rows(J: Array, rows: Sequence[int]) -> tuple[int, ...]:
    """Return the independent rows of one Jacobian by Gram-Schmidt orthogonalization."""
    independent_rows: list[int] = []
    basis: list[Array] = []
    for row in rows:
        remainder, square = J[row], (J[row] * J[row]).sum()
        for direction in basis:
            remainder = remainder - direction * (
                (remainder * direction).sum() / (direction * direction).sum()
            )
        if abs((remainder * remainder).sum()) > ZERO_SHARE * (abs(square) + ZERO_SHARE):
            independent_rows.append(row)
            basis.append(remainder)
    return tuple(independent_rows)


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "operational_inertia": lambda reference, **arguments: {
        "Lambda": operational_inertia(reference, **arguments)
    },
    "dynamically_consistent_inverse": lambda reference, **arguments: {
        "Jbar": dynamically_consistent_inverse(reference, **arguments)
    },
}
"""One oracle per function: (reference, arguments by name) → results by name."""
