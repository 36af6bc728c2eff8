"""Mass centre, weight and momentum of the whole from composite bodies: link i moves all that it carries as one, SA (15), (16).

A unit velocity of a joint moves its composite body and nothing else. The momentum of that is a column of A_G, its linear part
over the mass of the whole a column of the mass centre's Jacobian.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector, wrench_outward
from symgen.methods._whole import center, matter, shares, stand
from symgen.methods.composite_body.mass_matrix import composite_inertias


def center_of_mass(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """p (3) in the base. Where the first root's base frame stands is added last."""
    stood = stand(linkage)
    c = stood.turn.outward(center(linkage, stood, shares(linkage)))
    return (list(c + stood.reach + stood.place),)


def potential_energy(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """U = −Σ gravity·(h + m p) over the roots, with h in the root's axes."""
    parts = matter(linkage)
    linkage.home.step("potential energy")
    total, level = linkage.zero, linkage.zero
    for i, link in enumerate(linkage.links):
        if link.parent >= 0:
            continue
        own = parts[i]
        total = total + (linkage.against_gravity(i).dot(own.h) - linkage.gravity[i].dot(link.shift) * own.m)
        place = linkage.vector(linkage.model.links[i].base_shift)
        level = level - linkage.vector(linkage.model.gravity).dot(place) * own.m
    return ([total + level],)


def center_of_mass_jacobian(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """J (3 x NV) in base axes: column j is the momentum of what joint j carries, over the mass of the whole."""
    stood, parts = stand(linkage), shares(linkage)
    turns = {root.link: root.turn for root in stood.roots}
    columns: list[Vector] = []
    for i, link in enumerate(linkage.links):
        for dof in link.dofs:
            linkage.step(i, "column of the mass centre's Jacobian")
            column = dof.H_linear * parts[i].m + dof.H_angular.cross(parts[i].h)
            outer = i
            while linkage.links[outer].parent >= 0:
                column = linkage.links[outer].rotation.outward(column)
                outer = linkage.links[outer].parent
            columns.append(stood.turn.outward(turns[outer].outward(column)))
    return ([column[r] for r in range(3) for column in columns],)


def centroidal_momentum_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """A_G (6 x NV): angular rows first, base axes, about the mass centre."""
    stood, composite = stand(linkage), composite_inertias(linkage)
    c = center(linkage, stood, shares(linkage))
    roots = {root.link: root for root in stood.roots}
    columns: list[list[Scalar]] = []
    for i, link in enumerate(linkage.links):
        for dof in link.dofs:
            linkage.step(i, "column of the momentum matrix, SA (16)")
            n, f = composite[i].momentum(dof.H_angular, dof.H_linear)
            outer = i
            while linkage.links[outer].parent >= 0:
                carried = linkage.links[outer]
                n, f = wrench_outward(carried.rotation, carried.shift, n, f)
                outer = carried.parent
            n, f = wrench_outward(roots[outer].turn, roots[outer].at, n, f)
            columns.append([*stood.turn.outward(n - c.cross(f)), *stood.turn.outward(f)])
    return ([column[r] for r in range(6) for column in columns],)
