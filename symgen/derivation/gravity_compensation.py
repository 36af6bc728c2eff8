"""Gravity compensation of bodies (MuJoCo's gravcomp): its joint forces and their derivatives.

Let m̂ be the compensated mass of link i and its descendants, ĥ its first moment about the link's
origin, and a = −gravity in the link's axes. In any motion the compensated mass exerts on the link

    the force m̂ a and the moment ĥ × a,                                                         (1)

which a column S = (z, s) of a joint projects to s·m̂ a + z·(ĥ × a). Displace degree of freedom k by
S_k: points move by z_k × x + s_k, and the force on each is constant, so the ancestors of k receive
the couple

    c_k = δ_k × a,    δ_k = z_k × ĥ + m̂ s_k.                                                    (2)

The joint's own axes move along: S_j receives z_k·c_j there, for j and k of one joint. If j is an
ancestor of k, the derivative of j with respect to k is z_j·c_k, and that of k with respect to j is
equal.                                                                                           (3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation import constants as k
from symgen.derivation.geometry import LinkGeometry
from symgen.derivation.model import Model
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import SplitShift, Vector


@dataclass(frozen=True)
class CompensatedMatter:
    """m̂, ĥ and a of (1), for a link and its descendants."""

    m: Scalar
    h: Vector
    a: Vector


def has_gravity_compensation(model: Model) -> bool:
    """True if any link has gravity compensation."""
    return not all(
        k.is_zero(x) for link in model.links for x in (link.compensated.m, *link.compensated.h)
    )


def compensated_matter(
    links: Sequence[LinkGeometry], single: Sequence[tuple[Scalar, Vector]], upward: Sequence[Vector]
) -> list[CompensatedMatter]:
    """Return the compensated matter of each link and its descendants.

    `single` has the (mass, first moment) of each single link, `upward` is −gravity in its axes.
    """
    masses, moments = [m for m, _ in single], [h for _, h in single]
    for i in reversed(range(len(links))):
        link = links[i]
        if link.parent >= 0:
            masses[i].derivation.step(
                f"link {i + 1} ({link.label}): gravity-compensated mass and its first moment"
            )
            masses[link.parent] = masses[link.parent] + masses[i]
            moments[link.parent] = moments[link.parent] + _moment_to_parent(
                link, masses[i], moments[i]
            )
    return [CompensatedMatter(*fields) for fields in zip(masses, moments, upward, strict=True)]


def compensation_forces(
    links: Sequence[LinkGeometry], matters: Sequence[CompensatedMatter]
) -> list[Scalar]:
    """Return (1): the joint forces that compensation supplies, one per degree of freedom, in N·m
    and N.
    """
    forces = []
    for i, (link, matter) in enumerate(zip(links, matters, strict=True)):
        derivation = matter.m.derivation
        derivation.step(f"link {i + 1} ({link.label}): gravity compensation")
        moment, force = matter.h.cross(matter.a), matter.a * matter.m
        for dof in link.dofs:
            forces.append(
                derivation.name(f"compensation_{dof.index + 1}", dof.project(moment, force))
            )
    return forces


def compensation_derivatives(
    links: Sequence[LinkGeometry], matters: Sequence[CompensatedMatter]
) -> list[list[Scalar]]:
    """Return (2), (3): row j has derivatives of force j with respect to each degree of freedom."""
    dofs = [dof for link in links for dof in link.dofs]
    result = [[matters[0].m.derivation.zero for _ in dofs] for _ in dofs]
    for i, (link, matter) in enumerate(zip(links, matters, strict=True)):
        matter.m.derivation.step(
            f"link {i + 1} ({link.label}): gravity compensation of displaced masses"
        )
        couples = [
            (dof.H_angular.cross(matter.h) + dof.H_linear * matter.m).cross(matter.a)
            for dof in link.dofs
        ]
        for dof, couple in zip(link.dofs, couples, strict=True):
            for row_dof in link.dofs:
                result[dof.index][row_dof.index] = row_dof.H_angular.dot(couple)
            inner = link
            while inner.parent >= 0:
                couple, inner = inner.rotation.to_parent(couple), links[inner.parent]
                for outer in inner.dofs:
                    result[outer.index][dof.index] = result[dof.index][outer.index] = (
                        outer.H_angular.dot(couple)
                    )
    return result


def _moment_to_parent(link: LinkGeometry, mass: Scalar, moment: Vector) -> Vector:
    """Return the first moment about the parent's origin."""
    if isinstance(link.shift, SplitShift):
        return link.rotation.to_parent(moment + link.shift.inner * mass) + link.shift.outer * mass
    return link.rotation.to_parent(moment) + link.shift * mass
