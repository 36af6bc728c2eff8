"""∂ ln det M/∂q by one more recursion base → tip; the torque of Fixman's potential is −kT/2 times
it. O(n) operations.

ln det M = Σ ln D(k) (4.11) depends on the spatial inertia 𝓜(k) of a link by ∂ ln det M/∂𝓜(k) =
Ω(k), the block of J M⁻¹ Jᵀ in `riccati.operational`. The articulated body of joint i reaches its
parent as φ P⁺ φᵀ with P⁺ = (1 − G H) P (4.5), and only φ depends on q_i:

    ∂ ln det M/∂q_i = tr(Ω(parent) d(φ P⁺ φᵀ)/dq_i) = 2 tr(X (φ⁻¹ dφ/dq_i) P⁺),  X = φᵀ Ω(parent) φ,

with φ⁻¹ dφ/dq_i = [[ω×, v×], [0, ω×]] of the joint's motion subspace (ω, v). For a joint on the
base the gradient is 0.
"""

from __future__ import annotations

from symgen.derivation.closed_forms import trace_form
from symgen.derivation.linkage import Dof, Linkage
from symgen.derivation.scalars import Scalar, lower
from symgen.derivation.spatial import Mobility, Symmetric
from symgen.methods.riccati.filter import Filter, riccati_sweep
from symgen.methods.riccati.operational import mobility_step


def slope(linkage: Linkage, dof: Dof, X: Mobility, gain: Filter) -> Scalar:
    """Return 2 tr(X (φ⁻¹ dφ/dq_i) P⁺) by SymPy's closed form of the joint's type."""
    i = dof.link
    form = trace_form(linkage.model.links[i].kind, dof.column)
    indices = [(r, c) for r in range(6) for c in range(r, 6)]
    bindings = {form.X[index]: X.entry(*index) for index in indices} | {
        form.P[index]: gain.after.entry(*index) for index in indices
    }
    half = lower(form.trace, {**linkage.joint_parameters(i), **bindings}, linkage.derivation)
    return half + half


def mass_matrix_log_determinant_gradient(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return ∂ ln det M / ∂q, in 1/rad and 1/m."""
    zero, zeros = linkage.zero, linkage.zeros
    filters = riccati_sweep(linkage)
    zero_matrix = Symmetric(zero, zero, zero, zero, zero, zero)
    Omega: list[Mobility] = []
    result = []
    for i, link in enumerate(linkage.links):
        linkage.step(
            i,
            "acceleration per unit wrench on the link, and derivative of ln det M, from RK (4.5),"
            " (4.11), (4.16), (5.4)",
        )
        X = Mobility(zero_matrix, (zeros, zeros, zeros), zero_matrix)
        if link.parent >= 0:
            X = Omega[link.parent].to_child(link.rotation, link.shift)
        for dof in link.dofs:
            result.append(slope(linkage, dof, X, filters[link.dofs[0].index]))
            linkage.name("slope", dof.index, result[-1])
        Omega.append(
            mobility_step(linkage, i, X, filters) if link.children else X
        )  # ψᵀ Ω ψ + Hᵀ D⁻¹ H
        if link.children:
            linkage.name("Omega", i, Omega[-1].A)
            linkage.name("OmegaB", i, Omega[-1].B)
            linkage.name("OmegaC", i, Omega[-1].C)
    return (result,)
