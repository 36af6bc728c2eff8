"""M⁻¹ b and det M of a robot of any length, in linear time, by articulated inertias.

All quantities are about the origin of the base, in its axes, so no transform between frames is
needed. The velocities of a joint are eliminated one after the other: along a twist s an inertia I
resists by D = sᵀ I s, and I − I s sᵀ I / D remains for the parent. ln det M is the sum of all ln D.
Its gradient L with respect to a link's inertia goes outward, L ← Pᵀ L P + s sᵀ / D with P = 1 − I s
sᵀ / D. A velocity of joint i moves all that joint i carries as one rigid body: the inertias inside
stay, and the articulated inertia rotates with the body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.reference.arrays import cross, skewed, times, transposed
from symgen.reference.drives import driven_velocities
from symgen.reference.motion import Motion, Placement
from symgen.reference.precision import Array


class _Pivot(NamedTuple):
    """Elimination of entry `k` of v: its twist s (count, 6), angular part first, momentum I s and
    pivot D.
    """

    k: int
    twist: Array
    momentum: Array
    resistance: Array


class Articulated:
    """Articulated inertias of a robot without mimic joints at q (count, NQ). The caller opens the
    working precision.
    """

    def __init__(self, motion: Motion, q: Array) -> None:
        self.motion, self.count = motion, len(q)
        self.parents = [joint.parent for joint in motion.mechanism.joints]
        placements = motion.placements(q)
        rotors = {
            driven.velocity: motion.scalars.constant(driven.drive.armature)
            for driven in driven_velocities(motion.mechanism)
        }
        inertias = self._inertias(placements)
        self.pivots: list[list[_Pivot]] = []
        self.articulated_inertias: list[Array] = []
        for i in reversed(range(len(placements))):
            joint_pivots: list[_Pivot] = []
            inertia = inertias[i]
            for k, twist in reversed(self._twists(i, placements[i])):
                momentum = times(inertia, twist)
                resistance = (twist * momentum).sum(axis=-1) + rotors.get(k, 0 * q[..., 0])
                joint_pivots.append(_Pivot(k, twist, momentum, resistance))
                inertia = (
                    inertia
                    - momentum[..., :, None] * (momentum / resistance[..., None])[..., None, :]
                )
            if self.parents[i] != BASE:
                inertias[self.parents[i]] = inertias[self.parents[i]] + inertia
            self.pivots.append(joint_pivots)
            self.articulated_inertias.append(inertia)
        self.pivots.reverse()
        self.articulated_inertias.reverse()

    def _inertias(self, placements: Sequence[Placement]) -> list[Array]:
        """Return the spatial inertia (count, 6, 6) of every link's own parts."""
        inertias = [self.motion.scalars.array(np.zeros((self.count, 6, 6))) for _ in placements]
        for part in self.motion.parts():
            if part.body == BASE:
                continue
            rotation, inertia = placements[part.body].turn[0], inertias[part.body]
            centre = skewed(placements[part.body].shift[0] + times(rotation, part.centre))
            moment = part.mass * centre
            inertia[..., :3, :3] += rotation @ part.inertia @ transposed(rotation) - moment @ centre
            inertia[..., :3, 3:] += moment
            inertia[..., 3:, :3] -= moment
            for axis in range(3, 6):
                inertia[..., axis, axis] += part.mass
        return inertias

    def _twists(self, i: int, placement: Placement) -> list[tuple[int, Array]]:
        """Return for each velocity of a joint its entry of v and its twist at the origin of the
        base.
        """
        twists = []
        for (turning, sliding), (k, _) in zip(
            self.motion.twists(i, placement.turn[0]), self.motion.shares[i], strict=True
        ):
            angular_and_linear = np.broadcast_arrays(
                turning, sliding + cross(placement.shift[0], turning)
            )
            twist = np.concatenate(angular_and_linear, axis=-1)
            twists.append((k, np.broadcast_to(twist, (self.count, 6))))
        return twists

    def _all_pivots(self) -> Iterator[_Pivot]:
        """Yield all pivots."""
        return (pivot for joint_pivots in self.pivots for pivot in joint_pivots)

    def determinant(self) -> Array:
        """Return det M (count,)."""
        return np.asarray(prod(pivot.resistance for pivot in self._all_pivots()))

    def log_determinant(self) -> Array:
        """Return ln det M (count,)."""
        return np.asarray(sum(np.log(pivot.resistance) for pivot in self._all_pivots()))

    def gradient(self) -> Array:
        """Return ∂ ln det M/∂q (count, NV), along each velocity."""
        zero = 0 * next(self._all_pivots()).resistance
        gradient = np.stack([zero] * self.motion.mechanism.nv, axis=-1)
        derivatives: list[Array] = []
        for i, parent in enumerate(self.parents):
            slope = (
                derivatives[parent]
                if parent != BASE
                else self.motion.scalars.array(np.zeros((self.count, 6, 6)))
            )
            if parent != BASE:
                weighted = slope @ self.articulated_inertias[i]
                for pivot in self.pivots[i]:
                    turning, sliding = skewed(pivot.twist[..., :3]), skewed(pivot.twist[..., 3:])
                    rate = (
                        (turning * transposed(weighted[..., :3, :3])).sum(axis=(-2, -1))
                        + (sliding * transposed(weighted[..., :3, 3:])).sum(axis=(-2, -1))
                        + (turning * transposed(weighted[..., 3:, 3:])).sum(axis=(-2, -1))
                    )
                    gradient[..., pivot.k] = -2 * rate
            for pivot in reversed(self.pivots[i]):
                s, w = pivot.twist / pivot.resistance[..., None], times(slope, pivot.momentum)
                outer = s[..., :, None] * w[..., None, :]
                alpha = (pivot.momentum * w).sum(axis=-1) + pivot.resistance
                slope = (
                    slope
                    - outer
                    - transposed(outer)
                    + (s * alpha[..., None])[..., :, None] * s[..., None, :]
                )
            derivatives.append(slope)
        return gradient

    def solve(self, b: Array) -> Array:
        """Return M⁻¹ b (count, NV)."""
        forces = [self.motion.scalars.array(np.zeros((self.count, 6))) for _ in self.parents]
        accelerations: dict[int, Array] = {}
        for i in reversed(range(len(self.parents))):
            force = forces[i]
            for pivot in self.pivots[i]:
                accelerations[pivot.k] = (
                    b[..., pivot.k] - (pivot.twist * force).sum(axis=-1)
                ) / pivot.resistance
                force = force + pivot.momentum * accelerations[pivot.k][..., None]
            if self.parents[i] != BASE:
                forces[self.parents[i]] = forces[self.parents[i]] + force
        x, rates = 0 * b, list[Array]()
        for i, parent in enumerate(self.parents):
            rate = rates[parent] if parent != BASE else 0 * forces[i]
            for pivot in reversed(self.pivots[i]):
                x[..., pivot.k] = (
                    accelerations[pivot.k] - (pivot.momentum * rate).sum(axis=-1) / pivot.resistance
                )
                rate = rate + pivot.twist * x[..., pivot.k][..., None]
            rates.append(rate)
        return x
