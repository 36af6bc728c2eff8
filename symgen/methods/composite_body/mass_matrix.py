"""Mass matrix from composite bodies, SA (10)-(16), and its reverse Gaussian elimination entry by
entry, SA (25)-(30).

Reference points are the origins of the link frames instead of the mass centres; (13)-(16) hold for
any choice. On a tree M_ij is zero unless one of the links i and j is an ancestor of the other.
Elimination from the tips preserves these zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import RigidInertia, Vector, wrench_to_parent
from symgen.methods.shared.composite import composite_inertias
from symgen.methods.shared.elimination import EliminatedFactor, full_matrix


def lower_triangle(
    linkage: Linkage, composite: Sequence[RigidInertia] | None = None
) -> list[dict[int, Scalar]]:
    """Return row i of the generalized inertia matrix as {j: i_ij} for j = i and its ancestors, SA
    (16).

    i and j are degrees of freedom.
    """
    composite = composite or composite_inertias(linkage)
    rows: list[dict[int, Scalar]] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "row of the mass matrix, SA (16)")
        for dof in link.dofs:
            n, f = composite[i].momentum(dof.H_angular, dof.H_linear)  # M̃_i p_i
            row = {row_dof.index: row_dof.project(n, f) for row_dof in link.dofs[: dof.column + 1]}
            inner = link
            for j in linkage.model.ancestors(i):
                n, f = wrench_to_parent(inner.rotation, inner.shift, n, f)  # B_ijᵀ M̃_i p_i
                inner = linkage.links[j]
                row |= {outer.index: outer.project(n, f) for outer in inner.dofs}
            for k, entry in row.items():
                linkage.home.name(f"M_{dof.index + 1}_{k + 1}", entry)
            row[dof.index] = row[dof.index] + linkage.drives[dof.index].armature
            rows.append(row)
    return rows


def mass_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return M, row-major and full."""
    return (full_matrix(linkage, lower_triangle(linkage)),)


def gravity_force(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return g: each joint balances the weight of its composite body, g_i = −p_iᵀ M̃_i (0,
    gravity).
    """
    return (gravity_forces(linkage, composite_inertias(linkage)),)


def gravity_forces(linkage: Linkage, composite: Sequence[RigidInertia]) -> list[Scalar]:
    """Return g for given composite bodies."""
    upward: list[Vector] = []
    result = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "gravity on the composite body")
        upward.append(
            linkage.against_gravity(i)
            if link.parent < 0
            else link.rotation.to_child(upward[link.parent])
        )
        linkage.name("g", i, upward[i])
        wrench = composite[i].momentum(linkage.zeros, upward[i])
        result += [dof.project(*wrench) for dof in link.dofs]
    return result


class Elimination(EliminatedFactor):
    """M = U D Uᵀ by elimination of the mass matrix, SA (16)-(24)."""

    def __init__(self, linkage: Linkage, composite: Sequence[RigidInertia] | None = None) -> None:
        super().__init__(linkage, lower_triangle(linkage, composite))
