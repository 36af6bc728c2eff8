"""What a robot of any length takes M⁻¹ and det M for, in a time that grows with it: inertias seen through joints that give way.

All is about the origin of the base, in its axes, so that nothing is carried from frame to frame. A joint's velocities give way
one after the other: along a twist s an inertia I resists by D = sᵀ I s, and hands on I − I s sᵀ I / D. ln det M is the sum of all
ln D. Its slope L against the inertia that a link has goes outward, L ← Pᵀ L P + s sᵀ / D with P = 1 − I s sᵀ / D. A velocity of
joint i moves all that it carries as one body: what happens inside that does not change, and what it hands on turns along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.reference.arrays import cross, skewed, times, transposed
from symgen.reference.drives import driven
from symgen.reference.motion import Motion, Placement
from symgen.reference.precision import Array


class _Way(NamedTuple):
    """A velocity, entry `k` of v: its twist (count, 6) with the angular part first, I s and D."""

    k: int
    twist: Array
    momentum: Array
    resistance: Array


class Articulated:
    """A robot without joints that follow others at q (count, NQ); in the working precision of its caller throughout."""

    def __init__(self, motion: Motion, q: Array) -> None:
        self.motion, self.count = motion, len(q)
        self.parents = [joint.parent for joint in motion.mechanism.joints]
        placed = motion.placements(q)
        rotors = {
            one.of: motion.scalars.constant(one.drive.armature) for one in driven(motion.mechanism)
        }
        inertias = self._inertias(placed)
        self.ways: list[list[_Way]] = []
        self.handed: list[Array] = []
        for i in reversed(range(len(placed))):
            own: list[_Way] = []
            inertia = inertias[i]
            for k, twist in reversed(self._twists(i, placed[i])):
                momentum = times(inertia, twist)
                resistance = (twist * momentum).sum(axis=-1) + rotors.get(k, 0 * q[..., 0])
                own.append(_Way(k, twist, momentum, resistance))
                inertia = (
                    inertia
                    - momentum[..., :, None] * (momentum / resistance[..., None])[..., None, :]
                )
            if self.parents[i] != BASE:
                inertias[self.parents[i]] = inertias[self.parents[i]] + inertia
            self.ways.append(own)
            self.handed.append(inertia)
        self.ways.reverse()
        self.handed.reverse()

    def _inertias(self, placed: Sequence[Placement]) -> list[Array]:
        """Of every link's own parts (count, 6, 6)."""
        found = [self.motion.scalars.array(np.zeros((self.count, 6, 6))) for _ in placed]
        for part in self.motion.parts():
            if part.body == BASE:
                continue
            turn, own = placed[part.body].turn[0], found[part.body]
            centre = skewed(placed[part.body].shift[0] + times(turn, part.centre))
            arm = part.mass * centre
            own[..., :3, :3] += turn @ part.inertia @ transposed(turn) - arm @ centre
            own[..., :3, 3:] += arm
            own[..., 3:, :3] -= arm
            for axis in range(3, 6):
                own[..., axis, axis] += part.mass
        return found

    def _twists(self, i: int, placed: Placement) -> list[tuple[int, Array]]:
        """Of each of a joint's velocities its entry of v, and what it does at the origin of the base."""
        found = []
        for (turning, sliding), (k, _) in zip(
            self.motion.twists(i, placed.turn[0]), self.motion.shares[i], strict=True
        ):
            parts = np.broadcast_arrays(turning, sliding + cross(placed.shift[0], turning))
            twist = np.concatenate(parts, axis=-1)
            found.append((k, np.broadcast_to(twist, (self.count, 6))))
        return found

    def _all(self) -> Iterator[_Way]:
        return (way for own in self.ways for way in own)

    def determinant(self) -> Array:
        """det M (count,)."""
        return np.asarray(prod(way.resistance for way in self._all()))

    def log_determinant(self) -> Array:
        """ln det M (count,)."""
        return np.asarray(sum(np.log(way.resistance) for way in self._all()))

    def gradient(self) -> Array:
        """∂ ln det M/∂q (count, NV), along each velocity."""
        nothing = 0 * next(self._all()).resistance
        out = np.stack([nothing] * self.motion.mechanism.nv, axis=-1)
        slopes: list[Array] = []
        for i, parent in enumerate(self.parents):
            slope = (
                slopes[parent]
                if parent != BASE
                else self.motion.scalars.array(np.zeros((self.count, 6, 6)))
            )
            if parent != BASE:
                felt = slope @ self.handed[i]
                for way in self.ways[i]:
                    turning, sliding = skewed(way.twist[..., :3]), skewed(way.twist[..., 3:])
                    moved = (
                        (turning * transposed(felt[..., :3, :3])).sum(axis=(-2, -1))
                        + (sliding * transposed(felt[..., :3, 3:])).sum(axis=(-2, -1))
                        + (turning * transposed(felt[..., 3:, 3:])).sum(axis=(-2, -1))
                    )
                    out[..., way.k] = -2 * moved
            for way in reversed(self.ways[i]):
                s, w = way.twist / way.resistance[..., None], times(slope, way.momentum)
                both = s[..., :, None] * w[..., None, :]
                alpha = (way.momentum * w).sum(axis=-1) + way.resistance
                slope = (
                    slope
                    - both
                    - transposed(both)
                    + (s * alpha[..., None])[..., :, None] * s[..., None, :]
                )
            slopes.append(slope)
        return out

    def solve(self, b: Array) -> Array:
        """M⁻¹ b (count, NV)."""
        forces = [self.motion.scalars.array(np.zeros((self.count, 6))) for _ in self.parents]
        left: dict[int, Array] = {}
        for i in reversed(range(len(self.parents))):
            force = forces[i]
            for way in self.ways[i]:
                left[way.k] = (b[..., way.k] - (way.twist * force).sum(axis=-1)) / way.resistance
                force = force + way.momentum * left[way.k][..., None]
            if self.parents[i] != BASE:
                forces[self.parents[i]] = forces[self.parents[i]] + force
        out, moved = 0 * b, list[Array]()
        for i, parent in enumerate(self.parents):
            rate = moved[parent] if parent != BASE else 0 * forces[i]
            for way in reversed(self.ways[i]):
                out[..., way.k] = left[way.k] - (way.momentum * rate).sum(axis=-1) / way.resistance
                rate = rate + way.twist * out[..., way.k][..., None]
            moved.append(rate)
        return out
