"""The Riccati recursion: RK (4.4)-(4.7) for the operator, (4.16) for M⁻¹, and the four algorithms FD1 … FD4.

M = (1 + HΦL) D (1 + HΦL)ᵀ (4.11) and M⁻¹ = (1 − HΨL)ᵀ D⁻¹ (1 − HΨL) (4.16): a filter tip → base, a smoother base → tip.
The recursion stands in `riccati.filter`, the four algorithms in `riccati.dynamics`, Λ⁻¹ in `riccati.operational`,
the slope of ln det M in `riccati.gradient`, FD2's accelerations of links in `riccati.accelerations`. `riccati` alone is FD4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import DivisionByZero, Scalar
from symgen.methods.riccati.accelerations import link_accelerations
from symgen.methods.riccati.dynamics import fd1, fd3, fd4
from symgen.methods.riccati.filter import filtered, riccati_sweep, smoothed
from symgen.methods.riccati.forces import interbody_forces
from symgen.methods.riccati.gradient import mass_matrix_log_determinant_gradient
from symgen.methods.riccati.operational import operational_inertia_inverse

SOURCE = "Rodriguez & Kreutz 1988, (4.4)-(4.7), (4.16)-(4.22), (5.5)-(5.17)"
SWEEPS = True


def solver(linkage: Linkage) -> Callable[[Sequence[Scalar]], list[Scalar]]:
    """b → M⁻¹ b = (1 − HΨL)ᵀ D⁻¹ (1 − HΨL) b: filter tip → base (4.20), smooth base → tip (4.22)."""
    filters = riccati_sweep(linkage)
    return lambda b: smoothed(linkage, filters, filtered(linkage, filters, b)[1])[0]        # (4.18)


def solve(linkage: Linkage, b: Sequence[Scalar]) -> list[Scalar]:
    """M⁻¹ b, (4.18)."""
    return solver(linkage)(b)


def mass_matrix_solve(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """x = M⁻¹ b."""
    return (solve(linkage, linkage.inputs["b"]),)


def inverse_mass_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """M⁻¹, a unit right-hand side at a time (4.16); symmetric entries are taken once."""
    n, apply = len(linkage), solver(linkage)
    columns = [apply([linkage.one if i == j else linkage.zero for i in range(n)]) for j in range(n)]
    return ([columns[max(i, j)][min(i, j)] for i in range(n) for j in range(n)],)


def mass_matrix_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """det M = Π D(k), from (4.11)."""
    try:
        return ([linkage.product([gain.D for gain in riccati_sweep(linkage)])],)
    except DivisionByZero:
        return ([linkage.zero],)


def mass_matrix_log_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """ln det M = Σ ln D(k), from (4.11)."""
    return ([linkage.log_product([gain.D for gain in riccati_sweep(linkage)])],)


FUNCTIONS = {
    "forward_dynamics": fd4,
    "mass_matrix_solve": mass_matrix_solve,
    "inverse_mass_matrix": inverse_mass_matrix,
    "mass_matrix_determinant": mass_matrix_determinant,
    "mass_matrix_log_determinant": mass_matrix_log_determinant,
    "mass_matrix_log_determinant_gradient": mass_matrix_log_determinant_gradient,
    "operational_inertia_inverse": operational_inertia_inverse,
    "link_accelerations": link_accelerations,
    "interbody_forces": interbody_forces,
}

VARIANTS = {
    "fd1": {"forward_dynamics": fd1},
    "fd2": {"forward_dynamics": fd1, "link_accelerations": link_accelerations},
    "fd3": {"forward_dynamics": fd3},
    "fd4": {"forward_dynamics": fd4, "interbody_forces": interbody_forces},
}
