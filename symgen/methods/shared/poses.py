"""The axes of every link in those of the base, and the links that lead to a frame."""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.spatial import Rotation, times, transposed


def base_axes(linkage: Linkage) -> list[Rotation]:
    """From the axes of each link to those of the base, one matrix a link: (2.16) is coordinate-free, the result is not."""
    one, zero = linkage.one, linkage.zero
    found: list[Rotation] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "axes in the base")
        outer = linkage.base_axes(i) if link.parent < 0 else found[link.parent]
        rows = list(outer.matrix(one, zero))
        for factor in link.rotation.factors:
            rows = [times(transposed(factor), row) for row in rows]
        linkage.name("R", i, (rows[0], rows[1], rows[2]))
        found.append(Rotation([(rows[0], rows[1], rows[2])]))
    return found


def way_to_frame(linkage: Linkage) -> list[int]:
    """The links from the root to the frame's own."""
    frame = linkage.frame
    assert frame is not None
    return [] if frame.link < 0 else [*reversed(linkage.model.ancestors(frame.link)), frame.link]


def few_turns(linkage: Linkage) -> list[Rotation]:
    """The same for one vector a degree of freedom: turn after turn where the ways are short, else as `base_axes`.

    A turn and vector takes 6 operations; a link's matrix takes 18, and 12 or so with a vector.
    """
    turns = sum(len(linkage.model.ancestors(dof.link)) for dof in linkage.dofs)
    if 6 * turns > 18 * len(linkage) + 12 * len(linkage.dofs):
        return base_axes(linkage)
    found: list[Rotation] = []
    for i, link in enumerate(linkage.links):
        outer = linkage.base_axes(i) if link.parent < 0 else found[link.parent]
        found.append(Rotation([*outer.factors, *link.rotation.factors]))
    return found
