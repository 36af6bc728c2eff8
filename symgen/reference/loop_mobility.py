"""Mobility of the two arms of each closed loop: the rank of the loop's rows under the joints of one
arm alone.
"""

from __future__ import annotations

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference import closing
from symgen.reference.assembling import RANK, Assembly
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT


def loop_arm_ranks(mechanism: Mechanism, at: Assembly) -> tuple[tuple[int, int], ...]:
    """Return for each closed loop the ranks of its kept rows, under the joints of its first arm
    alone and of its second arm alone.

    The ranks are computed in floats at the assembled position. An arm is the path from an end to
    the common ancestor.
    """
    A, arm_ranks, first = closing.jacobian(Motion(mechanism, FLOAT), at.kept, np.array(at.q)), [], 0
    for loop, rows in zip(mechanism.loops, at.kept, strict=True):
        supports = [
            {
                body
                for body in range(len(mechanism.bodies))
                if _is_ancestor(mechanism, body, end.body)
            }
            for end in (loop.first, loop.second)
        ]
        ranks = []
        for arm in (supports[0] - supports[1], supports[1] - supports[0]):
            block = A[
                first : first + len(rows),
                [k for k, (joint, _) in enumerate(mechanism.dofs) if joint in arm],
            ]
            values = np.linalg.svd(block, compute_uv=False)
            ranks.append(int((values > RANK * np.abs(A).max()).sum()))
        arm_ranks.append((ranks[0], ranks[1]))
        first += len(rows)
    return tuple(arm_ranks)


def _is_ancestor(mechanism: Mechanism, body: int, descendant: int) -> bool:
    """True if `body` is an ancestor of `descendant` or is it itself."""
    while descendant >= 0 and descendant != body:
        descendant = mechanism.joints[descendant].parent
    return descendant == body
