"""Λ⁻¹ = J M⁻¹ Jᵀ: the link's own inverse inertia at the frame, less what the constraint forces take from it.

The frame is one more joint, which forbids everything: Λ⁻¹ is the Schur complement of 𝓐 on it.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.spatial import Rotation, Symmetric, Vector
from symgen.methods.constraint_force.elimination import (
    Near,
    Order,
    coupled,
    eliminate,
    leaf_first,
    odd_even,
)
from symgen.methods.constraint_force.motion import Turned, turned_by_scan, turned_by_sweep
from symgen.methods.constraint_force.operator import at_frame
from symgen.methods.constraint_force.partition import combined, partition
from symgen.methods.shared.factor import Results


def _operational_inertia_inverse(linkage: Linkage, order: Order, turned: Turned) -> Results:
    frame, n, zero = linkage.frame, len(linkage), linkage.zero
    assert frame is not None
    e = frame.link
    if e < 0:
        return ([zero] * 36,)
    parts = partition(linkage)
    H_bb = parts.constraint()
    joints = order(coupled(H_bb))
    for j, block in at_frame(linkage, parts.links, e, linkage.mounted(frame)[1]).items():
        if j < 0:
            H_bb[n, n] = block
        elif parts.forbidden(j):
            H_bb[j, n] = [
                combined(column, block, zero) for column in parts.forbidden_part(j, parts.bases[j])
            ]
    _, left = eliminate(linkage, H_bb, joints)
    linkage.step(e, "its inverse inertia at the frame, in the axes of the base")
    R = Rotation([turned(linkage, e)])
    rows = left[n, n]
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
    """Joints are eliminated towards the frame's link, so that the frame meets the last ones only."""

    def towards(near: Near) -> list[int]:
        e = linkage.frame.link if linkage.frame is not None else -1
        way = [i for i in (*reversed(linkage.model.ancestors(e)), e) if i in near]
        return [i for i in leaf_first(near) if i not in way] + way

    return _operational_inertia_inverse(linkage, towards, turned_by_sweep)


def parallel_mobility(linkage: Linkage) -> Results:
    """By block cyclic reduction, the axes of the link by a product in pairs: O(log N) deep."""
    return _operational_inertia_inverse(linkage, odd_even, turned_by_scan)
