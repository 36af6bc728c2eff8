"""Identities of Λ and J̄ for task rows with Λ⁻¹, the Jacobian and M."""

from __future__ import annotations

import numpy as np

from symgen.reference.precision import Array
from symgen.verification.identities._identity import Distance, Functions, Identity


def _jacobian(f: Functions) -> Array:
    return f.jacobian()[:, list(f.exact_results.reference.task_rows)]


def _unit(f: Functions) -> Array:
    return np.eye(len(f.exact_results.reference.task_rows), dtype=int)


def _inertia_times_its_inverse(f: Functions) -> Distance:
    rows, sizes = list(f.exact_results.reference.task_rows), f.exact_results.scales
    inertia, mobility = (
        f("operational_inertia")["Lambda"],
        f("operational_inertia_inverse")["Lambda_inv"][:, rows][:, :, rows],
    )
    size = sizes.of("operational_inertia", "Lambda") @ np.abs(np.asarray(mobility, dtype=float))
    size = size + np.abs(np.asarray(inertia, dtype=float)) @ sizes.mobility()[:, rows][:, :, rows]
    return inertia @ mobility - _unit(f), size


def _jacobian_times_its_inverse(f: Functions) -> Distance:
    rows, sizes = list(f.exact_results.reference.task_rows), f.exact_results.scales
    J, J_bar = _jacobian(f), f("dynamically_consistent_inverse")["Jbar"]
    size = np.abs(np.asarray(J, dtype=float)) @ sizes.of("dynamically_consistent_inverse", "Jbar")
    size = size + sizes.jacobian(sizes.lever())[:, rows] @ np.abs(np.asarray(J_bar, dtype=float))
    return J @ J_bar - _unit(f), size


def _task_force_moves_only_the_task(f: Functions) -> Distance:
    """Return the distance M J̄ − Jᵀ Λ: a task force moves only the task."""
    J_transposed_inertia = np.swapaxes(_jacobian(f), -1, -2) @ f("operational_inertia")["Lambda"]
    mass_J_bar, sizes = (
        f("mass_matrix")["M"] @ f("dynamically_consistent_inverse")["Jbar"],
        f.exact_results.scales,
    )
    return mass_J_bar - J_transposed_inertia, sizes.mass() @ sizes.of(
        "dynamically_consistent_inverse", "Jbar"
    )


RANK = 7
IDENTITIES = (
    Identity(
        "Λ Λ⁻¹ = 1",
        ("operational_inertia", "operational_inertia_inverse"),
        _inertia_times_its_inverse,
    ),
    Identity(
        "J J̄ = 1", ("dynamically_consistent_inverse", "jacobian"), _jacobian_times_its_inverse
    ),
    Identity(
        "M J̄ = Jᵀ Λ",
        ("dynamically_consistent_inverse", "operational_inertia", "jacobian", "mass_matrix"),
        _task_force_moves_only_the_task,
        exact_only=True,
    ),
)
