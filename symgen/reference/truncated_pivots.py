"""How much less a chain's joints resist where all that is behind a link is taken away: what is lost where a chain is cut there.

A segment that is swept by itself answers for its own links. What stands behind it comes in as a wrench on its last link, which
takes back what these would do alone. Where they are light beside what they carry, the two nearly cancel; links without mass at
the end would not resist at all.
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
"""Joints before a cut that are asked: those farther in feel a tail less."""
NOTHING = 1e-12
"""Of what a joint resists with in the whole chain: less is rounding."""


class Tails:
    """One chain of joints of one degree of freedom on a fixed base, at a few seeded states."""

    def __init__(self, mechanism: Mechanism) -> None:
        reference = Reference(mechanism, FLOAT)
        self.q = q = draw_states(mechanism, STATES)["q"].astype(float)
        placed = reference.placements(q)
        still = np.broadcast_to(np.eye(3), (len(q), 3, 3))
        self.twists, self.moved = [], [np.broadcast_to(np.eye(6), (len(q), 6, 6))]
        self.rotors = [float(joint.drive.armature) for joint in mechanism.joints]
        for i in range(len(placed)):
            ((turning, sliding),) = reference.twists(i, still)
            self.twists.append(np.concatenate(np.broadcast_arrays(turning, sliding), axis=-1))
            if i:
                back = transposed(placed[i - 1].turn[0])
                apart = np.broadcast_to(placed[i].shift[0] - placed[i - 1].shift[0], (len(q), 3))
                self.moved.append(_carried(back @ placed[i].turn[0], times(back, apart)))
        self.inertias = [np.zeros((len(q), 6, 6)) for _ in placed]
        for part in reference.parts():
            self.inertias[part.body] = self.inertias[part.body] + _inertia(
                float(part.mass), part.centre, part.inertia
            )
        self.whole = self._resisting(len(placed), 0)

    def _resisting(self, end: int, first: int) -> list[Array]:
        """What joints `first` … `end` − 1 resist with, where nothing is behind the last of them."""
        found: list[Array] = []
        handed = np.zeros_like(self.inertias[0])
        for i in reversed(range(first, end)):
            inertia, twist = self.inertias[i] + handed, self.twists[i]
            momentum = times(inertia, twist)
            resists = (twist * momentum).sum(axis=-1) + self.rotors[i]
            found.append(resists)
            with np.errstate(all="ignore"):
                left = inertia - np.nan_to_num(
                    momentum[..., :, None] * (momentum / resists[..., None])[..., None, :]
                )
            handed = self.moved[i] @ left @ transposed(self.moved[i])
        return found[::-1]

    def freer(self, end: int) -> float:
        """How many times less a joint before link `end` resists with nothing from that on behind it, the most; infinite where
        one resists with nothing. Two digits are kept, as of `free_bodies.freedom`.
        """
        first = max(0, end - SEEN)
        most = 1.0
        for own, whole in zip(self._resisting(end, first), self.whole[first:end], strict=True):
            with np.errstate(all="ignore"):
                ratio = np.where(own > NOTHING * whole, whole / own, np.inf)
            most = max(most, float(ratio.max()))
        return float(f"{most:.1e}")


@lru_cache(maxsize=4)
def tails(mechanism: Mechanism) -> Tails:
    """Those of a chain, worked out once."""
    return Tails(mechanism)


def _carried(turn: Array, shift: Array) -> Array:
    """What a wrench on a link is on its parent (count, 6, 6), moments first: n + p × f, in the parent's axes."""
    found = np.zeros((len(shift), 6, 6))
    found[..., :3, :3] = found[..., 3:, 3:] = turn
    found[..., :3, 3:] = skewed(shift) @ turn
    return found


def _inertia(mass: float, centre: Array, moments: Array) -> Array:
    """Of a part about its link's origin (6, 6), angular part first."""
    arm = mass * skewed(centre.astype(float))
    return np.block(
        [
            [moments.astype(float) - arm @ skewed(centre.astype(float)), arm],
            [-arm, mass * np.eye(3)],
        ]
    )
