"""How large the terms are of what the rows of a task feel: what it changes by when J M⁻¹ Jᵀ, M or J does by its own terms."""

from __future__ import annotations

import numpy as np

from symgen.reference.precision import Array
from symgen.verification.scales._bodies import Bodies


def inertia(bodies: Bodies) -> Array:
    """Size of Λ (count, k, k): |Λ| S |Λ|, S being that of J M⁻¹ Jᵀ."""
    truth, mobility = bodies.truth, bodies.mobility()
    rows = list(truth.reference.task_rows)
    found = np.abs(np.asarray(truth.results("operational_inertia")["Lambda"], dtype=float))
    return np.asarray(found @ mobility[:, rows][:, :, rows] @ found)


def inverse(bodies: Bodies) -> Array:
    """Size of J̄ = X Λ (count, NV, k), X = M⁻¹ Jᵀ: that of X times Λ, and X times that of Λ."""
    truth, jacobian, roots = bodies.truth, bodies.jacobian(), bodies.roots
    rows = list(truth.reference.task_rows)
    with truth.scalars.working():
        J = truth.reference.jacobian(truth.balls["q"])[:, rows]
        moved = truth.results("inverse_mass_matrix")["Minv"] @ np.swapaxes(J, -1, -2)
    X, solved = (
        np.abs(np.asarray(one, dtype=float))
        for one in (moved, truth.results("inverse_mass_matrix")["Minv"])
    )
    weighed = (solved @ roots[..., None]) * (np.swapaxes(X, -1, -2) @ roots[..., None])[..., 0][
        :, None, :
    ]
    off = weighed + solved @ np.swapaxes(jacobian[:, rows], -1, -2)
    found = np.abs(np.asarray(truth.results("operational_inertia")["Lambda"], dtype=float))
    return np.asarray(off @ found + X @ inertia(bodies))


BY_RESULT = {"Lambda": inertia, "Jbar": inverse}
