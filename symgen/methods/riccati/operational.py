"""The inverse of the operational-space inertia, Λ⁻¹ = J M⁻¹ Jᵀ, by one more recursion base → tip.

With J = Bᵀ φᵀ Hᵀ (3.13), M⁻¹ of (4.16) and (1 − HΨL) H φ = H ψ (5.4),

    Λ⁻¹ = Bᵀ ψᵀ Hᵀ D⁻¹ H ψ B = Bᵀ Ω B,    Ω(k) = ψᵀ(k+1,k) Ω(k+1) ψ(k+1,k) + Hᵀ(k) D⁻¹(k) H(k),

where only the links between the base and the frame take part.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.closed_forms import mobility_form
from symgen.derivation.linkage import Dof, Linkage
from symgen.derivation.scalars import Scalar, lower
from symgen.derivation.spatial import Mobility, Symmetric, Vector
from symgen.methods.riccati.filter import UPPER, Filter, riccati_sweep
from symgen.methods.shared.poses import base_axes, way_to_frame


def mobility_step(linkage: Linkage, i: int, X: Mobility, filters: Sequence[Filter]) -> Mobility:
    """Ω of link i from X = φᵀ Ω φ of its parent, one degree of freedom after the other from the base outwards."""
    for dof in linkage.links[i].dofs:
        X = _across(linkage, dof, X, filters[dof.index])
    return X


def _across(linkage: Linkage, dof: Dof, X: Mobility, gain: Filter) -> Mobility:
    """One of them, by SymPy's closed form of the joint's type."""
    i, home = dof.link, linkage.home
    armature = linkage.drives[dof.index].armature
    form = mobility_form(linkage.model.links[i].kind, dof.column, not armature.is_zero)
    bindings = {
        **linkage.declared(i),
        **{form.X[r, c]: X.entry(r, c) for r in range(6) for c in range(r, 6)},
    }
    bindings |= {form.A: armature, form.d: gain.inverse}
    bindings.update(zip(form.g, (*gain.G[0], *gain.G[1]), strict=True))
    bindings.update(
        {
            form.w[r, c]: lower(form.W[r, c], bindings, home)
            for r in range(6)
            for c in range(6)
            if form.after.has(form.w[r, c])
        }
    )
    entry = {(r, c): lower(form.after[r, c], bindings, home) for r in range(6) for c in range(r, 6)}
    A = Symmetric(*(entry[at] for at in UPPER))
    B = (
        Vector(entry[0, c] for c in (3, 4, 5)),
        Vector(entry[1, c] for c in (3, 4, 5)),
        Vector(entry[2, c] for c in (3, 4, 5)),
    )
    return Mobility(A, B, Symmetric(*(entry[r + 3, c + 3] for r, c in UPPER)))


def operational_inertia_inverse(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Λ⁻¹ (6 x 6): angular rows first, axes of the base, at the frame's origin."""
    frame, zero, zeros = linkage.frame, linkage.zero, linkage.zeros
    assert frame is not None
    filters = riccati_sweep(linkage)
    still = Symmetric(zero, zero, zero, zero, zero, zero)
    Omega = Mobility(still, (zeros, zeros, zeros), still)
    way = way_to_frame(linkage)
    for i in way:
        link = linkage.links[i]
        linkage.step(i, "what a wrench on the link moves, from RK (3.13), (4.16), (5.4)")
        X = Omega.to_child(link.rotation, link.shift)
        Omega = mobility_step(linkage, i, X, filters)  # ψᵀ Ω ψ + Hᵀ D⁻¹ H
        linkage.name("Omega", i, Omega.A)
        linkage.name("OmegaB", i, Omega.B)
        linkage.name("OmegaC", i, Omega.C)
    rotations = base_axes(linkage) if linkage.in_turn and way else []
    linkage.home.step(f"frame {frame.name}, in the axes of the base")
    Omega = Omega.shifted(linkage.mounted(frame)[1])  # Bᵀ Ω B
    if rotations:
        Omega = Omega.turned(rotations[frame.link])
        return ([Omega.entry(r, c) for r in range(6) for c in range(6)],)
    for i in reversed(way):
        Omega = Omega.turned(linkage.links[i].rotation)
    if way:
        Omega = Omega.turned(linkage.base_axes(way[0]))
    return ([Omega.entry(r, c) for r in range(6) for c in range(6)],)
