"""Mass centre, weight and momentum of the whole from composite bodies: link i moves all that it carries as one, SA (15), (16).

A unit velocity of a joint moves its composite body and nothing else. The momentum of that is a column of A_G, its linear part
over the mass of the whole a column of the mass centre's Jacobian.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, Vector
from symgen.methods.shared.centroidal import (
    Matter,
    center,
    lever_to_child,
    matter,
    shares,
    stand,
    total_mass,
)
from symgen.methods.shared.composite import composite_inertias
from symgen.methods.shared.poses import base_axes, few_turns


def center_of_mass(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """p (3) in the base. Where the base frame of the heaviest root stands is added last."""
    stood = stand(linkage)
    c = stood.turn.to_parent(center(linkage, stood, shares(linkage)))
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
        total = total + (
            linkage.against_gravity(i).dot(own.h) - linkage.gravity[i].dot(link.shift) * own.m
        )
        level = level - linkage.base_gravity.dot(linkage.base_place(i)) * own.m
    return ([total + level],)


def center_of_mass_jacobian(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """J (3 x NV) in base axes: column j is the momentum of what joint j carries, over the mass of the whole."""
    parts, rotations = shares(linkage), few_turns(linkage)
    columns: list[Vector] = []
    for dof in linkage.dofs:
        linkage.step(dof.link, "column of the mass centre's Jacobian")
        own = parts[dof.link]
        columns.append(
            rotations[dof.link].to_parent(dof.H_linear * own.m + dof.H_angular.cross(own.h))
        )
    return ([column[r] for r in range(3) for column in columns],)


def centroidal_momentum_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """A_G (6 x NV): angular rows first, base axes, about the mass centre.

    The levers from the joints to the mass centre are followed outward in the axes of each link, where a column has zeros.
    """
    stood, composite = stand(linkage), composite_inertias(linkage)
    inverse = linkage.one / total_mass(linkage)
    c = center(linkage, stood, [Matter(one.m, one.h) * inverse for one in composite])
    levers = {root.link: root.turn.to_child(c - root.at) for root in stood.roots}
    rotations = base_axes(linkage)
    columns: list[list[Scalar]] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "columns of the momentum matrix, SA (16)")
        if link.parent >= 0:
            levers[i] = lever_to_child(link.rotation, link.shift, levers[link.parent])
        linkage.name("l", i, levers[i])
        turn = rotations[i]
        if (
            link.parent >= 0 and not link.children and len(link.dofs) == 1
        ):  # two vectors are turned for less than three
            turn = Rotation([*rotations[link.parent].factors, *link.rotation.factors])
        for dof in link.dofs:
            n, f = composite[i].momentum(dof.H_angular, dof.H_linear)
            columns.append([*turn.to_parent(n - levers[i].cross(f)), *turn.to_parent(f)])
    return ([column[r] for r in range(6) for column in columns],)
