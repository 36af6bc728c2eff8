"""Rotations from link axes to base axes, and the path of links from the root to a chosen frame."""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.spatial import Rotation, times, transposed


def base_axes(linkage: Linkage) -> list[Rotation]:
    """Return the rotation from each link's axes to base axes, as one 3x3 matrix per link.

    The recursions of RK (Rodriguez & Kreutz, 1988), such as (2.16), do not fix the axes of their
    vectors. symgen expresses the vectors of a link in the axes of that link. These rotations take
    results to base axes.
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
    """Return the indices of the links from the root to the link that carries `linkage.frame`, in
    this order.

    The list is empty if the base carries the frame.
    """
    frame = linkage.frame
    assert frame is not None
    return [] if frame.link < 0 else [*reversed(linkage.model.ancestors(frame.link)), frame.link]


def cheapest_base_axes(linkage: Linkage) -> list[Rotation]:
    """Return the rotation from each link's axes to base axes, in the cheaper of two forms.

    The caller rotates one vector per degree of freedom. The first form is the product of the
    elementary rotations (factors) on the path from the base to the link, which are applied to a
    vector one after the other. The second form is one matrix per link (`base_axes`); it is cheaper
    if the paths are long.

    Costs are estimated in operations, with one factor per ancestor of the link: applying a factor
    to a vector costs 6, computing a matrix 18, and applying a matrix to a vector about 12.
    """
    factor_count = sum(len(linkage.model.ancestors(dof.link)) for dof in linkage.dofs)
    if 6 * factor_count > 18 * len(linkage) + 12 * len(linkage.dofs):
        return base_axes(linkage)
    rotations: list[Rotation] = []
    for i, link in enumerate(linkage.links):
        outer = linkage.base_axes(i) if link.parent < 0 else rotations[link.parent]
        rotations.append(Rotation([*outer.factors, *link.rotation.factors]))
    return rotations
