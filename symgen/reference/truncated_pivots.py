"""Ratio of pivots with and without the links behind a cut: the precision loss of a chain that is
cut into segments.

A segment that is swept alone has the pivots of its own links only. The links behind it enter as a
wrench on its last link, which cancels most of the motion of the segment alone. If the segment's
links are light compared with the links that they carry, the two nearly cancel. Massless links at
the end have zero pivots.
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
SEEN = 16
"""Number of joints before a cut that are examined: joints farther inward depend less on the tail.
"""
NOTHING = 1e-12
"""A pivot below this fraction of the pivot of the whole chain is rounding."""


class Tails:
    """Pivots of a chain of one-degree-of-freedom joints on a fixed base, at a few seeded states."""

    def __init__(self, mechanism: Mechanism) -> None:
        reference = Reference(mechanism, FLOAT)
        self.q = q = draw_states(mechanism, STATES)["q"].astype(float)
        placed = reference.placements(q)
        identity = np.broadcast_to(np.eye(3), (len(q), 3, 3))
        self.twists, self.transforms = [], [np.broadcast_to(np.eye(6), (len(q), 6, 6))]
        self.rotors = [float(joint.drive.armature) for joint in mechanism.joints]
        for i in range(len(placed)):
            ((angular, linear),) = reference.twists(i, identity)
            self.twists.append(np.concatenate(np.broadcast_arrays(angular, linear), axis=-1))
            if i:
                inverse_rotation = transposed(placed[i - 1].turn[0])
                offset = np.broadcast_to(placed[i].shift[0] - placed[i - 1].shift[0], (len(q), 3))
                self.transforms.append(
                    _wrench_transform(
                        inverse_rotation @ placed[i].turn[0], times(inverse_rotation, offset)
                    )
                )
        self.inertias = [np.zeros((len(q), 6, 6)) for _ in placed]
        for part in reference.parts():
            self.inertias[part.body] = self.inertias[part.body] + _inertia(
                float(part.mass), part.centre, part.inertia
            )
        self.pivots = self._pivots_up_to(len(placed), 0)

    def _pivots_up_to(self, end: int, first: int) -> list[Array]:
        """Return the pivots of joints `first` … `end` − 1 of the chain that ends before link `end`."""
        pivots: list[Array] = []
        outboard = np.zeros_like(self.inertias[0])
        for i in reversed(range(first, end)):
            inertia, twist = self.inertias[i] + outboard, self.twists[i]
            momentum = times(inertia, twist)
            pivot = (twist * momentum).sum(axis=-1) + self.rotors[i]
            pivots.append(pivot)
            with np.errstate(all="ignore"):
                remainder = inertia - np.nan_to_num(
                    momentum[..., :, None] * (momentum / pivot[..., None])[..., None, :]
                )
            outboard = self.transforms[i] @ remainder @ transposed(self.transforms[i])
        return pivots[::-1]

    def freer(self, end: int) -> float:
        """Return the largest ratio of a pivot in the whole chain to the pivot in the chain that
        ends before link `end`.

        It is infinite if a pivot vanishes without the tail. The result has two digits, as that of
        `free_bodies.freedom`.
        """
        first = max(0, end - SEEN)
        most = 1.0
        for truncated, full in zip(
            self._pivots_up_to(end, first), self.pivots[first:end], strict=True
        ):
            with np.errstate(all="ignore"):
                ratio = np.where(truncated > NOTHING * full, full / truncated, np.inf)
            most = max(most, float(ratio.max()))
        return float(f"{most:.1e}")


@lru_cache(maxsize=4)
def tails(mechanism: Mechanism) -> Tails:
    """Return the cached Tails of a chain."""
    return Tails(mechanism)


def _wrench_transform(rotation: Array, shift: Array) -> Array:
    """Return the transform (count, 6, 6) of a wrench on a link to its parent, moments first: n + p
    × f, in the parent's axes.
    """
    transform = np.zeros((len(shift), 6, 6))
    transform[..., :3, :3] = transform[..., 3:, 3:] = rotation
    transform[..., :3, 3:] = skewed(shift) @ rotation
    return transform


def _inertia(mass: float, centre: Array, moments: Array) -> Array:
    """Return the spatial inertia (6, 6) of a part about its link's origin, angular part first."""
    arm = mass * skewed(centre.astype(float))
    return np.block(
        [
            [moments.astype(float) - arm @ skewed(centre.astype(float)), arm],
            [-arm, mass * np.eye(3)],
        ]
    )
