"""Along how many of a loop's rows each of its ends gives way, where the loops are closed."""

from __future__ import annotations

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference import closing
from symgen.reference.assembling import RANK, Assembly
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT


def moves(mechanism: Mechanism, at: Assembly) -> tuple[tuple[int, int], ...]:
    """Of each loop the rank of its kept rows at the assembled pose, by the joints on the way to its first end and to its second
    alone, in floats."""
    A, found, first = closing.jacobian(Motion(mechanism, FLOAT), at.kept, np.array(at.q)), [], 0
    for loop, own in zip(mechanism.loops, at.kept, strict=True):
        ways = [
            {body for body in range(len(mechanism.bodies)) if _carries(mechanism, body, end.body)}
            for end in (loop.first, loop.second)
        ]
        ranks = []
        for way in (ways[0] - ways[1], ways[1] - ways[0]):
            part = A[
                first : first + len(own),
                [k for k, (joint, _) in enumerate(mechanism.dofs) if joint in way],
            ]
            values = np.linalg.svd(part, compute_uv=False)
            ranks.append(int((values > RANK * np.abs(A).max()).sum()))
        found.append((ranks[0], ranks[1]))
        first += len(own)
    return tuple(found)


def _carries(mechanism: Mechanism, body: int, other: int) -> bool:
    while other >= 0 and other != body:
        other = mechanism.joints[other].parent
    return other == body
