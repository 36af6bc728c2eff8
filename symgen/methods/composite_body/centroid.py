"""Mass centre, potential energy and centroidal momentum matrix from composite bodies, SA (15),
(16).

A unit velocity of a joint moves its composite body only. The momentum of that body is a column of
A_G; its linear part divided by the total mass is a column of the mass centre's Jacobian.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, Vector
from symgen.methods.shared.centroidal import (
    Matter,
    composite_matter,
    lever_to_child,
    mass_center,
    mass_fractions,
    place_roots,
    total_mass,
)
from symgen.methods.shared.composite import composite_inertias
from symgen.methods.shared.poses import base_axes, cheapest_base_axes


def center_of_mass(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return the mass centre (3, m) in the base frame.

    The constant position of the heaviest root's base frame is added last, to keep precision.
    """
    roots = place_roots(linkage)
    c = roots.rotation.to_parent(mass_center(linkage, roots, mass_fractions(linkage)))
    return (list(c + roots.origin_offset + roots.base_position),)


def potential_energy(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return U = −Σ gravity·(h + m p) over the roots (J), with h in the axes of the root."""
    composites = composite_matter(linkage)
    linkage.derivation.step("potential energy")
    total, base_term = linkage.zero, linkage.zero
    for i, link in enumerate(linkage.links):
        if link.parent >= 0:
            continue
        body = composites[i]
        total = total + (
            linkage.against_gravity(i).dot(body.h) - linkage.gravity[i].dot(link.shift) * body.m
        )
        base_term = base_term - linkage.base_gravity.dot(linkage.base_position(i)) * body.m
    return ([total + base_term],)


def center_of_mass_jacobian(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return J (3 x NV) in base axes.

    Column j is the linear momentum of composite body j at a unit velocity of joint j, divided by
    the total mass.
    """
    fractions, rotations = mass_fractions(linkage), cheapest_base_axes(linkage)
    columns: list[Vector] = []
    for dof in linkage.dofs:
        linkage.step(dof.link, "column of the Jacobian of the mass centre")
        fraction = fractions[dof.link]
        columns.append(
            rotations[dof.link].to_parent(
                dof.H_linear * fraction.m + dof.H_angular.cross(fraction.h)
            )
        )
    return ([column[r] for r in range(3) for column in columns],)


def centroidal_momentum_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return A_G (6 x NV) in base axes about the mass centre, angular rows first.

    The lever from each link to the mass centre is computed outward in the axes of the link, where a
    column has zeros.
    """
    roots, composite = place_roots(linkage), composite_inertias(linkage)
    inverse = linkage.one / total_mass(linkage)
    c = mass_center(linkage, roots, [Matter(body.m, body.h) * inverse for body in composite])
    levers = {root.link: root.rotation.to_child(c - root.origin) for root in roots.roots}
    rotations = base_axes(linkage)
    columns: list[list[Scalar]] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "columns of the momentum matrix, SA (16)")
        if link.parent >= 0:
            levers[i] = lever_to_child(link.rotation, link.shift, levers[link.parent])
        linkage.name("l", i, levers[i])
        rotation = rotations[i]
        if (
            link.parent >= 0 and not link.children and len(link.dofs) == 1
        ):  # rotating two vectors is cheaper than building the matrix
            rotation = Rotation([*rotations[link.parent].factors, *link.rotation.factors])
        for dof in link.dofs:
            n, f = composite[i].momentum(dof.H_angular, dof.H_linear)
            columns.append([*rotation.to_parent(n - levers[i].cross(f)), *rotation.to_parent(f)])
    return ([column[r] for r in range(6) for column in columns],)
