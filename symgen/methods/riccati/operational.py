"""Inverse operational-space inertia Λ⁻¹ = J M⁻¹ Jᵀ by one more recursion base → tip.

With J = Bᵀ φᵀ Hᵀ (3.13), M⁻¹ of (4.16) and (1 − HΨL) H φ = H ψ (5.4),

    Λ⁻¹ = Bᵀ ψᵀ Hᵀ D⁻¹ H ψ B = Bᵀ Ω B,    Ω(k) = ψᵀ(k+1,k) Ω(k+1) ψ(k+1,k) + Hᵀ(k) D⁻¹(k) H(k),

and only the links between the base and the frame contribute.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.closed_forms import mobility_form
from symgen.derivation.linkage import Dof, Linkage
from symgen.derivation.scalars import Scalar, lower
from symgen.derivation.spatial import Mobility, Symmetric, Vector
from symgen.methods.riccati.filter import UPPER, Filter, riccati_sweep
from symgen.methods.shared.poses import base_axes, path_to_frame


def mobility_step(linkage: Linkage, i: int, X: Mobility, filters: Sequence[Filter]) -> Mobility:
    """Return Ω of link i from X = φᵀ Ω φ of its parent, one degree of freedom after the other from
    the base outward.
    """
    for dof in linkage.links[i].dofs:
        X = _across(linkage, dof, X, filters[dof.index])
    return X


def _across(linkage: Linkage, dof: Dof, X: Mobility, gain: Filter) -> Mobility:
    """Return Ω after one degree of freedom, by SymPy's closed form of the joint's type."""
    i, derivation = dof.link, linkage.derivation
    armature = linkage.drives[dof.index].armature
    form = mobility_form(linkage.model.links[i].kind, dof.column, not armature.is_zero)
    bindings = {
        **linkage.joint_parameters(i),
        **{form.X[r, c]: X.entry(r, c) for r in range(6) for c in range(r, 6)},
    }
    bindings |= {form.A: armature, form.d: gain.inverse}
    bindings.update(zip(form.g, (*gain.G[0], *gain.G[1]), strict=True))
    bindings.update(
        {
            form.w[r, c]: lower(form.W[r, c], bindings, derivation)
            for r in range(6)
            for c in range(6)
            if form.after.has(form.w[r, c])
        }
    )
    entry = {
        (r, c): lower(form.after[r, c], bindings, derivation) for r in range(6) for c in range(r, 6)
    }
    A = Symmetric(*(entry[index] for index in UPPER))
    B = (
        Vector(entry[0, c] for c in (3, 4, 5)),
        Vector(entry[1, c] for c in (3, 4, 5)),
        Vector(entry[2, c] for c in (3, 4, 5)),
    )
    return Mobility(A, B, Symmetric(*(entry[r + 3, c + 3] for r, c in UPPER)))


def operational_inertia_inverse(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return Λ⁻¹ (6 x 6), angular rows first, in base axes at the frame's origin."""
    frame, zero, zeros = linkage.frame, linkage.zero, linkage.zeros
    assert frame is not None
    filters = riccati_sweep(linkage)
    zero_matrix = Symmetric(zero, zero, zero, zero, zero, zero)
    Omega = Mobility(zero_matrix, (zeros, zeros, zeros), zero_matrix)
    path = path_to_frame(linkage)
    for i in path:
        link = linkage.links[i]
        linkage.step(i, "acceleration per unit wrench on the link, from RK (3.13), (4.16), (5.4)")
        X = Omega.to_child(link.rotation, link.shift)
        Omega = mobility_step(linkage, i, X, filters)  # ψᵀ Ω ψ + Hᵀ D⁻¹ H
        linkage.name("Omega", i, Omega.A)
        linkage.name("OmegaB", i, Omega.B)
        linkage.name("OmegaC", i, Omega.C)
    rotations = base_axes(linkage) if linkage.link_by_link and path else []
    linkage.derivation.step(f"frame {frame.name}, in the axes of the base")
    Omega = Omega.shifted(linkage.frame_pose(frame)[1])  # Bᵀ Ω B
    if rotations:
        Omega = Omega.rotated(rotations[frame.link])
        return ([Omega.entry(r, c) for r in range(6) for c in range(6)],)
    for i in reversed(path):
        Omega = Omega.rotated(linkage.links[i].rotation)
    if path:
        Omega = Omega.rotated(linkage.base_axes(path[0]))
    return ([Omega.entry(r, c) for r in range(6) for c in range(6)],)
