"""Sizes of the terms of quantities of all moving links together, entry by entry at each state.

The size of a position is its root's distance from the base plus the length of the path from there.
The size of a momentum about the mass centre does not depend on the position of the base. Its lever
leads from the part to its root, as for a force, and from there to the mass centre. Both distances
are measured to the declared frame of a link or to the start of its frame along the joint's axis,
whichever is farther.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.pipeline.derive import frame_starts
from symgen.reference.centroidal import center_of_mass
from symgen.reference.precision import Array
from symgen.verification.drive_scales import armature
from symgen.verification.scales._bodies import Bodies


class CentroidalSizes:
    """Sizes of the parts at the states of `bodies.exact_results`, for quantities of all links
    together.
    """

    def __init__(self, bodies: Bodies) -> None:
        self.exact_results, self.placements = bodies.exact_results, bodies.placements
        self.parts, self.arms = bodies.parts, bodies.arms
        self.rates = np.array(bodies.rates).T
        """(2, NV): rotation (rad) and translation (m) of the bodies for each unit of v."""
        self.length = bodies.length()
        """Length of the longest path along the bodies (count,)."""
        self.lever = bodies.lever()
        """Size of the lever of the frame's twist (count,)."""
        self.starts = frame_starts(self.exact_results.mechanism)
        """Start of each link's frame, in the declared frame (m)."""

    @cached_property
    def total(self) -> Array:
        """Return the total mass (count,) or ()."""
        masses = [np.asarray(part.mass, dtype=float) for part in self.parts]
        return np.asarray(np.abs(sum(masses, np.zeros(()))))

    @cached_property
    def heads(self) -> list[Array]:
        """Return the position of the first body on each part's path, (count, 3) each."""
        reference = self.exact_results.rough
        return [self._head(part.body) for part in reference.parts(self.exact_results.load)]

    def _head(self, body: int) -> Array:
        return np.broadcast_to(
            self.placements[self.exact_results.rough.paths[body][0]].shift[0],
            (self.exact_results.count, 3),
        )

    def _start(self, body: int) -> Array:
        at = self.placements[body]
        return np.broadcast_to(
            at.shift[0] + at.turn[0] @ np.array(self.starts[body]), (self.exact_results.count, 3)
        )

    @cached_property
    def path_starts(self) -> list[tuple[Array, Array]]:
        """Return for each part the start of the first frame on its path (count, 3), and its largest
        distance from a frame (count,).
        """
        reference, starts = self.exact_results.rough, []
        for part in reference.parts(self.exact_results.load):
            at = self.placements[part.body]
            centre, path = (
                at.shift[0] + (at.turn[0] @ part.centre[..., None])[..., 0],
                reference.paths[part.body],
            )
            distances = [np.linalg.norm(centre - self._start(body), axis=-1) for body in path]
            starts.append((self._start(path[0]), np.max(distances, axis=0)))
        return starts

    def _moment(self) -> Array:
        """Return Σ m times the distance of every part's centre from the base (count,)."""
        total = np.zeros(self.exact_results.count)
        for part, head, arms, (start, reach) in zip(
            self.parts, self.heads, self.arms, self.path_starts, strict=True
        ):
            total += np.abs(part.mass) * np.maximum(
                np.linalg.norm(head, axis=-1) + arms[:, 0], np.linalg.norm(start, axis=-1) + reach
            )
        return total

    def center(self) -> Array:
        """Return the size of the mass centre (count, 3)."""
        return np.repeat((self._moment() / self.total)[:, None], 3, axis=-1)

    def potential(self) -> Array:
        """Return the size of the potential energy (count,)."""
        return np.asarray(np.linalg.norm(self.exact_results.rough.gravity) * self._moment())

    def kinetic(self) -> Array:
        """Return the size of the kinetic energy (count,)."""
        moving = ((part, *part.speeds(self.exact_results.floats["v"])) for part in self.parts)
        terms = (
            np.abs(part.mass) * speed**2 + part.inertia * rate**2 for part, rate, speed in moving
        )
        v, rotors = self.exact_results.floats["v"], armature(self.exact_results.mechanism)
        return np.asarray(sum(terms, (rotors * v * v).sum(axis=-1)) / 2)

    @cached_property
    def levers(self) -> list[Array]:
        """Return for every part (count,) its distance from its root, plus the largest distance of a
        root from the mass centre.
        """
        centre = np.asarray(
            center_of_mass(
                self.exact_results.rough, self.exact_results.floats["q"], self.exact_results.load
            ),
            dtype=float,
        )
        heads = [*self.heads, *(start for start, _ in self.path_starts)]
        spread = np.max([np.linalg.norm(head - centre, axis=-1) for head in heads], axis=0)
        return [
            np.maximum(arms[:, 0], reach) + spread
            for arms, (_, reach) in zip(self.arms, self.path_starts, strict=True)
        ]

    def momentum_matrix(self) -> Array:
        """Return the size of the angular and of the linear part of each column (count, 6, NV)."""
        angular, linear = np.zeros((2, *self.exact_results.floats["v"].shape))
        for part, lever in zip(self.parts, self.levers, strict=True):
            momentum = np.abs(np.asarray(part.mass))[..., None] * part.levers
            linear[:, part.joints] += momentum
            angular[:, part.joints] += (
                lever[:, None] * momentum + np.asarray(part.inertia)[..., None] * part.turns
            )
        return np.stack([angular] * 3 + [linear] * 3, axis=1)

    def center_jacobian(self) -> Array:
        """Return the size of the mass centre's Jacobian (count, 3, NV)."""
        linear = np.zeros(self.exact_results.floats["v"].shape)
        for part in self.parts:
            linear[:, part.joints] += np.abs(np.asarray(part.mass))[..., None] * part.levers
        return np.repeat((linear / self.total[..., None])[:, None], 3, axis=1)

    def momentum(self) -> Array:
        """Return the size of the momentum (count, 6)."""
        return np.asarray(
            (self.momentum_matrix() @ np.abs(self.exact_results.floats["v"])[..., None])[..., 0]
        )

    def momentum_rate(self) -> Array:
        """Return the size of the momentum's rate (count, 6)."""
        angular, linear = np.zeros((2, self.exact_results.count))
        for part, lever in zip(self.parts, self.levers, strict=True):
            (rate, speed), (turning, moving) = (
                part.speeds(self.exact_results.floats["v"]),
                part.speeds(self.exact_results.floats["a"]),
            )
            force = np.abs(part.mass) * (moving + 2 * rate * speed)
            linear += force
            angular += lever * force + part.inertia * (turning + 2 * rate * rate)
        return np.stack([angular] * 3 + [linear] * 3, axis=-1)

    def bias_acceleration(self) -> Array:
        """Return the size of J̇ v of the frame (count, 6), angular part first."""
        frame = self.exact_results.rough.frame
        support = (
            []
            if frame is None or frame.body == BASE
            else self.exact_results.rough.supports[frame.body]
        )
        turns, slides = self.rates[:, support]
        v = np.abs(self.exact_results.floats["v"])[:, support]
        rate = (v * turns).sum(axis=-1)
        speed = (v * (turns * self.lever[:, None] + slides)).sum(axis=-1)
        return np.stack([rate * rate] * 3 + [2 * rate * speed] * 3, axis=-1)

    def axes(self) -> Array:
        """Return the size of the links' axes (count, NB, 3, 3)."""
        return np.ones((self.exact_results.count, len(self.placements), 3, 3))

    def origins(self) -> Array:
        """Return the size of the links' positions (count, NB, 3)."""
        heads = (np.linalg.norm(self._head(body), axis=-1) for body in range(len(self.placements)))
        return np.stack(
            [np.repeat((head + self.length)[:, None], 3, axis=-1) for head in heads], axis=1
        )


_BY_RESULT: dict[str, Callable[[CentroidalSizes], Array]] = {
    "Jdot_v": CentroidalSizes.bias_acceleration,
    "R_links": CentroidalSizes.axes,
    "p_links": CentroidalSizes.origins,
    "com": CentroidalSizes.center,
    "Jcom": CentroidalSizes.center_jacobian,
    "T": CentroidalSizes.kinetic,
    "U": CentroidalSizes.potential,
    "h": CentroidalSizes.momentum,
    "A_G": CentroidalSizes.momentum_matrix,
    "hdot": CentroidalSizes.momentum_rate,
}
"""Size of a result by its name: (count, …) like the result."""


def _size(result: str, bodies: Bodies) -> Array:
    return _BY_RESULT[result](CentroidalSizes(bodies))


BY_RESULT = {result: partial(_size, result) for result in _BY_RESULT}
