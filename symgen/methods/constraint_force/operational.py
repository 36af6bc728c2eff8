"""Λ⁻¹ = J M⁻¹ Jᵀ: the inverse inertia of the free link at the frame, less the effect of the
constraint forces.

The frame acts as one more joint, which constrains all six directions: Λ⁻¹ is the Schur complement
of 𝓐 on it.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.spatial import Rotation, Symmetric, Vector
from symgen.methods.constraint_force.elimination import (
    Neighbours,
    Order,
    eliminate,
    leaf_first,
    neighbours,
    odd_even,
)
from symgen.methods.constraint_force.motion import LinkAxes, link_axes_by_scan, link_axes_by_sweep
from symgen.methods.constraint_force.operator import at_frame
from symgen.methods.constraint_force.partition import partition, project_left
from symgen.methods.shared.factor import Results


def _operational_inertia_inverse(linkage: Linkage, order: Order, link_axes: LinkAxes) -> Results:
    frame, n, zero = linkage.frame, len(linkage), linkage.zero
    assert frame is not None
    e = frame.link
    if e < 0:
        return ([zero] * 36,)
    split = partition(linkage)
    H_bb = split.constraint()
    joints = order(neighbours(H_bb))
    for j, block in at_frame(linkage, split.links, e, linkage.frame_pose(frame)[1]).items():
        if j < 0:
            H_bb[n, n] = block
        elif split.forbidden(j):
            H_bb[j, n] = [
                project_left(column, block, zero)
                for column in split.forbidden_part(j, split.bases[j])
            ]
    _, remaining = eliminate(linkage, H_bb, joints)
    linkage.step(e, "inverse operational-space inertia at the frame, in the axes of the base")
    R = Rotation([link_axes(linkage, e)])
    rows = remaining[n, n]
    angular, coupling, linear = (
        tuple(Vector(row[c : c + 3]) for row in rows[r : r + 3])
        for r, c in ((0, 0), (0, 3), (3, 3))
    )
    ww = R.symmetric_to_parent(Symmetric.of((angular[0], angular[1], angular[2]))).rows
    wv = R.matrix_to_parent((coupling[0], coupling[1], coupling[2]))
    vv = R.symmetric_to_parent(Symmetric.of((linear[0], linear[1], linear[2]))).rows
    upper = [x for r in range(3) for x in (*ww[r], *wv[r])]
    return ([*upper, *(x for r in range(3) for x in (wv[0][r], wv[1][r], wv[2][r], *vv[r]))],)


def serial_mobility(linkage: Linkage) -> Results:
    """Return Λ⁻¹; joints are eliminated towards the link of the frame, so that only the last ones
    couple with the frame.
    """

    frame = linkage.frame
    assert frame is not None

    def order_towards_frame(adjacent: Neighbours) -> list[int]:
        ancestors = linkage.model.ancestors(frame.link)
        path = [i for i in (*reversed(ancestors), frame.link) if i in adjacent]
        return [i for i in leaf_first(adjacent) if i not in path] + path

    return _operational_inertia_inverse(linkage, order_towards_frame, link_axes_by_sweep)


def parallel_mobility(linkage: Linkage) -> Results:
    """Return Λ⁻¹ by block cyclic reduction, and the link's axes by pairwise products: O(log N)
    depth.
    """
    return _operational_inertia_inverse(linkage, odd_even, link_axes_by_scan)
