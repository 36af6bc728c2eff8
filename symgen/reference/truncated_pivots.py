"""Precision loss of a chain that is cut into segments: the ratio of each joint's pivot with all
links to its pivot without the links beyond a cut.

The pivot of a joint is the force that accelerates the joint by 1 while its parent link is fixed and
the joints farther out are free. It is the scalar D_i of the articulated-body algorithm.

A sweep over one segment computes pivots from the links of this segment only. The tail (the links
beyond the segment) then acts on the last link of the segment as a wrench. The motion that the
segment would have without the tail, and the motion that this wrench causes, partly cancel. If the
segment is much lighter than the tail, the two motions cancel almost completely, and digits are
lost. Massless links at the end of a segment have zero pivots: the segment cannot be swept alone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.arrays import skewed, times, transposed
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states

STATES = 2
EXAMINED_JOINTS = 16
"""Number of joints before a cut that are examined: the pivots of joints closer to the base depend
less on the tail.
"""
ZERO_PIVOT = 1e-12
"""A pivot without the tail is rounding error, and counts as zero, if it is below this fraction of
the same joint's pivot with all links.
"""


class Tails:
    """Pivots of a chain of one-degree-of-freedom joints on a fixed base, at `count` = STATES
    states.

    `q` (count, NQ) are the states, drawn with a fixed seed. The lists have one entry per joint, or
    per link that this joint moves:
    `twists[i]` (count, 6) is the twist of link i for unit velocity of joint i, in link axes.
    `transforms[i]` (count, 6, 6) maps a wrench on link i to a wrench on its parent.
    `transforms[0]` is the identity.
    `rotors[i]` is the armature of joint i.
    `inertias[i]` (count, 6, 6) is the spatial inertia of link i about its origin.
    `pivots[i]` (count,) is the pivot of joint i with all links.
    All six-vectors and matrices have the angular part first.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        reference = Reference(mechanism, FLOAT)
        self.q = q = draw_states(mechanism, STATES)["q"].astype(float)
        placements = reference.placements(q)
        identity = np.broadcast_to(np.eye(3), (len(q), 3, 3))
        self.twists, self.transforms = [], [np.broadcast_to(np.eye(6), (len(q), 6, 6))]
        self.rotors = [float(joint.drive.armature) for joint in mechanism.joints]
        for i in range(len(placements)):
            ((angular, linear),) = reference.twists(i, identity)
            self.twists.append(np.concatenate(np.broadcast_arrays(angular, linear), axis=-1))
            if i:
                to_parent_axes = transposed(placements[i - 1].turn[0])
                offset = np.broadcast_to(
                    placements[i].shift[0] - placements[i - 1].shift[0], (len(q), 3)
                )
                self.transforms.append(
                    _wrench_transform(
                        to_parent_axes @ placements[i].turn[0], times(to_parent_axes, offset)
                    )
                )
        self.inertias = [np.zeros((len(q), 6, 6)) for _ in placements]
        for part in reference.parts():
            self.inertias[part.body] = self.inertias[part.body] + _inertia(
                float(part.mass), part.centre, part.inertia
            )
        self.pivots = self._pivots_up_to(len(placements), 0)

    def _pivots_up_to(self, end: int, first: int) -> list[Array]:
        """Return the pivots (count,) of joints `first` … `end` − 1, in the chain whose last link is
        `end` − 1.
        """
        pivots: list[Array] = []
        outboard = np.zeros_like(self.inertias[0])
        for i in reversed(range(first, end)):
            inertia, twist = self.inertias[i] + outboard, self.twists[i]
            momentum = times(inertia, twist)
            pivot = (twist * momentum).sum(axis=-1) + self.rotors[i]
            pivots.append(pivot)
            with np.errstate(all="ignore"):
                transmitted_inertia = inertia - np.nan_to_num(
                    momentum[..., :, None] * (momentum / pivot[..., None])[..., None, :]
                )
            outboard = self.transforms[i] @ transmitted_inertia @ transposed(self.transforms[i])
        return pivots[::-1]

    def largest_pivot_ratio(self, end: int) -> float:
        """Return the largest ratio of a joint's pivot with all links to its pivot without the tail,
        over all states and the EXAMINED_JOINTS joints before the cut.

        The tail is link `end` and all links beyond. The ratio is infinite if a pivot without the
        tail is zero. The result is rounded to two digits, so that a decision based on it does not
        depend on the last digits of a machine's library.
        """
        first = max(0, end - EXAMINED_JOINTS)
        largest_ratio = 1.0
        for truncated, full in zip(
            self._pivots_up_to(end, first), self.pivots[first:end], strict=True
        ):
            with np.errstate(all="ignore"):
                ratio = np.where(truncated > ZERO_PIVOT * full, full / truncated, np.inf)
            largest_ratio = max(largest_ratio, float(ratio.max()))
        return float(f"{largest_ratio:.1e}")


@lru_cache(maxsize=4)
def tails(mechanism: Mechanism) -> Tails:
    """Return the `Tails` object of a chain, from a cache of the last few chains."""
    return Tails(mechanism)


def _wrench_transform(rotation: Array, shift: Array) -> Array:
    """Return the matrices (count, 6, 6) that map a wrench (n, f) on a link to a wrench on its
    parent: (R n + p × R f, R f).

    R = `rotation` (count, 3, 3) leads from the link's axes to the parent's. p = `shift` (count, 3)
    is the link's origin relative to the parent's origin, in the parent's axes.
    """
    transform = np.zeros((len(shift), 6, 6))
    transform[..., :3, :3] = transform[..., 3:, 3:] = rotation
    transform[..., :3, 3:] = skewed(shift) @ rotation
    return transform


def _inertia(mass: float, centre: Array, moments: Array) -> Array:
    """Return the spatial inertia (6, 6) of a part about the origin of its link, angular part first.

    `centre` (3,) is the part's mass centre in the link's frame; `moments` (3, 3) are the moments of
    inertia about this centre, in the link's axes.
    """
    first_moment = mass * skewed(centre.astype(float))
    return np.block(
        [
            [moments.astype(float) - first_moment @ skewed(centre.astype(float)), first_moment],
            [-first_moment, mass * np.eye(3)],
        ]
    )
