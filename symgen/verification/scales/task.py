"""Sizes of Λ and J̄ for task rows: their change when J M⁻¹ Jᵀ, M or J changes by its own terms."""

from __future__ import annotations

import numpy as np

from symgen.reference.precision import Array
from symgen.verification.scales._bodies import Bodies


def inertia(bodies: Bodies) -> Array:
    """Return the size of Λ (count, k, k): |Λ| S |Λ|, with S the size of J M⁻¹ Jᵀ."""
    exact_results, mobility = bodies.exact_results, bodies.mobility()
    rows = list(exact_results.reference.task_rows)
    inertia_matrix = np.abs(
        np.asarray(exact_results.results("operational_inertia")["Lambda"], dtype=float)
    )
    return np.asarray(inertia_matrix @ mobility[:, rows][:, :, rows] @ inertia_matrix)


def inverse(bodies: Bodies) -> Array:
    """Return the size of J̄ = X Λ (count, NV, k), X = M⁻¹ Jᵀ: the size of X times |Λ|, plus |X|
    times the size of Λ.
    """
    exact_results, jacobian, roots = bodies.exact_results, bodies.jacobian(), bodies.roots
    rows = list(exact_results.reference.task_rows)
    with exact_results.scalars.working():
        J = exact_results.reference.jacobian(exact_results.balls["q"])[:, rows]
        M_inverse_J_transposed = exact_results.results("inverse_mass_matrix")["Minv"] @ np.swapaxes(
            J, -1, -2
        )
    X, solved = (
        np.abs(np.asarray(matrix, dtype=float))
        for matrix in (M_inverse_J_transposed, exact_results.results("inverse_mass_matrix")["Minv"])
    )
    mass_term = (solved @ roots[..., None]) * (np.swapaxes(X, -1, -2) @ roots[..., None])[..., 0][
        :, None, :
    ]
    X_size = mass_term + solved @ np.swapaxes(jacobian[:, rows], -1, -2)
    inertia_matrix = np.abs(
        np.asarray(exact_results.results("operational_inertia")["Lambda"], dtype=float)
    )
    return np.asarray(X_size @ inertia_matrix + X @ inertia(bodies))


BY_RESULT = {"Lambda": inertia, "Jbar": inverse}
