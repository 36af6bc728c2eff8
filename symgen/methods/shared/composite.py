"""Composite rigid bodies: each link and its descendants, frozen together, SA (15a-c)."""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.spatial import RigidInertia


def composite_inertias(linkage: Linkage) -> list[RigidInertia]:
    """Return M̃_i: the inertia of link i and its descendants as one rigid body, SA (15a-c)."""
    composite = list(linkage.inertia)
    for i in reversed(range(len(linkage))):
        linkage.step(i, "composite body, SA (15a-c)")
        for c in linkage.links[i].children:
            child = linkage.links[c]
            composite[i] = composite[i] + composite[c].to_parent(
                child.rotation, child.shift
            )  # (15a), (15c)
        linkage.name("h", i, composite[i].h)
        linkage.name("Sigma", i, composite[i].S)
    return composite
