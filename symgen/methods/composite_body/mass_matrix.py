"""Mass matrix and gravity force from composite bodies, and the factorization M = U D Uᵀ by reverse
Gaussian elimination.

SA is S. K. Saha, "The UDUᵀ Decomposition of Manipulator Inertia Matrix": (10)-(16) give the mass
matrix, (25)-(30) the elimination entry by entry, from the last row to the first. The composite body
of link i is link i with all its descendants as one rigid body; M̃_i is its inertia. Here p_i is the
twist of this body for unit velocity of degree of freedom i. B_ij maps twists of link j to twists
at link i, so that its transpose maps wrenches from link i to link j.

SA refers M̃_i and p_i to the mass centre of a link. This module refers them to the origin of the
link's frame, since (13)-(16) hold for any reference point. On a tree M_ij is zero unless i and j
belong to one link, or the link of one is an ancestor of the link of the other. Elimination from the
tips preserves these zeros.
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
    """Return the lower triangle of the mass matrix, SA (16): one dict {j: M_ij} for each row i.

    i and j are indices of degrees of freedom. Row i has entries for i itself, for the degrees of
    freedom before i in the same joint, and for those of all ancestors of its link. `composite` are
    the inertias M̃ of the composite bodies, which are computed if they are not given.
    """
    composite = composite or composite_inertias(linkage)
    rows: list[dict[int, Scalar]] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "row of the mass matrix, SA (16)")
        for dof in link.dofs:
            n, f = composite[i].momentum(dof.H_angular, dof.H_linear)  # M̃_i p_i
            row = {row_dof.index: row_dof.project(n, f) for row_dof in link.dofs[: dof.column + 1]}
            reached = link  # (n, f) is the wrench at the origin of this link, in its axes
            for j in linkage.model.ancestors(i):
                n, f = wrench_to_parent(reached.rotation, reached.shift, n, f)  # B_ijᵀ M̃_i p_i
                reached = linkage.links[j]
                row |= {ancestor.index: ancestor.project(n, f) for ancestor in reached.dofs}
            for k, entry in row.items():
                linkage.derivation.name(f"M_{dof.index + 1}_{k + 1}", entry)
            row[dof.index] = row[dof.index] + linkage.drives[dof.index].armature
            rows.append(row)
    return rows


def mass_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return all NV·NV entries of the mass matrix M, row by row."""
    return (full_matrix(linkage, lower_triangle(linkage)),)


def gravity_force(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return the gravity force g (NV): the joint forces that balance the weight of the links.

    Joint i balances the weight of its composite body: g_i = −p_iᵀ M̃_i (0, gravity). Here
    (0, gravity) is a spatial acceleration with zero angular part.
    """
    return (gravity_forces(linkage, composite_inertias(linkage)),)


def gravity_forces(linkage: Linkage, composite: Sequence[RigidInertia]) -> list[Scalar]:
    """Return the gravity force g (NV) from the inertias M̃ of composite bodies, one per link."""
    upward: list[Vector] = []  # −gravity in the axes of each link
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
    """Factorization M = U D Uᵀ by reverse Gaussian elimination of the mass matrix, SA (16)-(24)."""

    def __init__(self, linkage: Linkage, composite: Sequence[RigidInertia] | None = None) -> None:
        super().__init__(linkage, lower_triangle(linkage, composite))
