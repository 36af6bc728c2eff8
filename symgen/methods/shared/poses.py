"""Rotations from link axes to base axes, and the path from the root to a frame."""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.spatial import Rotation, times, transposed


def base_axes(linkage: Linkage) -> list[Rotation]:
    """Return the rotation from each link's axes to base axes, as one matrix per link.

    RK (2.16) is coordinate-free; results in base axes need these rotations.
    """
    unit, zero = linkage.one, linkage.zero
    rotations: list[Rotation] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "axes in the base")
        outer = linkage.base_axes(i) if link.parent < 0 else rotations[link.parent]
        rows = list(outer.matrix(unit, zero))
        for factor in link.rotation.factors:
            rows = [times(transposed(factor), row) for row in rows]
        linkage.name("R", i, (rows[0], rows[1], rows[2]))
        rotations.append(Rotation([(rows[0], rows[1], rows[2])]))
    return rotations


def path_to_frame(linkage: Linkage) -> list[int]:
    """Return the links from the root to the link of the frame."""
    frame = linkage.frame
    assert frame is not None
    return [] if frame.link < 0 else [*reversed(linkage.model.ancestors(frame.link)), frame.link]


def cheapest_base_axes(linkage: Linkage) -> list[Rotation]:
    """Return the rotations to base axes, in the form that is cheapest for rotating one vector per
    degree of freedom.

    On short paths that is factor by factor, else one matrix per link (`base_axes`). Applying a
    factor to a vector takes 6 operations. A link's matrix takes 18, and about 12 per vector.
    """
    turns = sum(len(linkage.model.ancestors(dof.link)) for dof in linkage.dofs)
    if 6 * turns > 18 * len(linkage) + 12 * len(linkage.dofs):
        return base_axes(linkage)
    rotations: list[Rotation] = []
    for i, link in enumerate(linkage.links):
        outer = linkage.base_axes(i) if link.parent < 0 else rotations[link.parent]
        rotations.append(Rotation([*outer.factors, *link.rotation.factors]))
    return rotations
