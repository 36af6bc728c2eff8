"""The weight that is borne for links (MuJoCo's gravcomp), as what it spares the joints, and how displacements change that.

Of link i and all that it carries let m̂ be the mass that is held up and ĥ its first moment about the link's origin, and a what the
base would accelerate with in place of gravity, −gravity, in the link's axes. Whatever moves, the held mass takes

    the force m̂ a and the moment ĥ × a,                                                                                    (1)

which a column S = (z, s) of a joint feels as s·m̂ a + z·(ĥ × a). Displace degree of freedom k by S_k: points move by z_k × x + s_k
and the force on each stays, so that all that carries k feels the couple

    c_k = δ_k × a,    δ_k = z_k × ĥ + m̂ s_k.                                                                               (2)

The joint's own axes go along: S_j feels z_k·c_j there, j and k of one joint. Where j carries k, the change of j along k is
z_j·c_k, and that of k along j the same.                                                                                   (3)
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
class Held:
    """Of a link with all that it carries: m̂, ĥ and a of (1)."""

    m: Scalar
    h: Vector
    a: Vector


def bears(model: Model) -> bool:
    """Whether any weight is borne."""
    return not all(k.is_zero(x) for link in model.links for x in (link.borne.m, *link.borne.h))


def held(
    links: Sequence[LinkGeometry], own: Sequence[tuple[Scalar, Vector]], upward: Sequence[Vector]
) -> list[Held]:
    """Of every link, from the (mass, first moment) of its `own` and from a, −gravity in its axes."""
    masses, moments = [m for m, _ in own], [h for _, h in own]
    for i in reversed(range(len(links))):
        link = links[i]
        if link.parent >= 0:
            masses[i].home.step(
                f"link {i + 1} ({link.label}): mass that is held up, and its first moment"
            )
            masses[link.parent] = masses[link.parent] + masses[i]
            moments[link.parent] = moments[link.parent] + _moment_to_parent(
                link, masses[i], moments[i]
            )
    return [Held(*one) for one in zip(masses, moments, upward, strict=True)]


def spared(links: Sequence[LinkGeometry], every: Sequence[Held]) -> list[Scalar]:
    """(1): what every degree of freedom need not give, N·m and N."""
    found = []
    for i, (link, one) in enumerate(zip(links, every, strict=True)):
        home = one.m.home
        home.step(f"link {i + 1} ({link.label}): weight that is borne")
        moment, force = one.h.cross(one.a), one.a * one.m
        for dof in link.dofs:
            found.append(home.name(f"borne_{dof.index + 1}", dof.project(moment, force)))
    return found


def slopes(links: Sequence[LinkGeometry], every: Sequence[Held]) -> list[list[Scalar]]:
    """(2), (3): row j has what the force of j changes by along each degree of freedom."""
    dofs = [dof for link in links for dof in link.dofs]
    found = [[every[0].m.home.zero for _ in dofs] for _ in dofs]
    for i, (link, one) in enumerate(zip(links, every, strict=True)):
        one.m.home.step(f"link {i + 1} ({link.label}): weight that is borne, where it is displaced")
        couples = [
            (dof.H_angular.cross(one.h) + dof.H_linear * one.m).cross(one.a) for dof in link.dofs
        ]
        for dof, couple in zip(link.dofs, couples, strict=True):
            for other in link.dofs:
                found[dof.index][other.index] = other.H_angular.dot(couple)
            inner = link
            while inner.parent >= 0:
                couple, inner = inner.rotation.to_parent(couple), links[inner.parent]
                for outer in inner.dofs:
                    found[outer.index][dof.index] = found[dof.index][outer.index] = (
                        outer.H_angular.dot(couple)
                    )
    return found


def _moment_to_parent(link: LinkGeometry, mass: Scalar, moment: Vector) -> Vector:
    """A first moment about the origin of a link, about that of its parent."""
    if isinstance(link.shift, SplitShift):
        return link.rotation.to_parent(moment + link.shift.inner * mass) + link.shift.outer * mass
    return link.rotation.to_parent(moment) + link.shift * mass
