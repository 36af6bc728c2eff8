"""How large the terms are of what is said of all moving links at once, entry by entry at each state.

A place is as large as its root's distance from the base and the way on from there. A momentum is not: about the mass centre it
is the same wherever the robot stands. Its lever leads from the part to its root as a force's does, and from there to the centre.
Both go by where a joint's link is declared, or by where along the joint's axis its frame starts, whichever is farther.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.pipeline.derive import starts
from symgen.reference.centroidal import center_of_mass
from symgen.reference.precision import Array
from symgen.verification.drive_scales import armature
from symgen.verification.scales._bodies import Bodies


class Whole:
    """The parts at the states of `bodies.truth`, as those answers see them that are about all links at once."""

    def __init__(self, bodies: Bodies) -> None:
        self.truth, self.placed = bodies.truth, bodies.placed
        self.parts, self.arms = bodies.parts, bodies.arms
        self.rates = np.array(bodies.rates).T
        """(2, NV): rad and m that each unit of v turns and slides its body by."""
        self.length = bodies.length()
        """Of the longest way along the bodies (count,)."""
        self.lever = bodies.lever()
        """Of a lever of the frame's twist (count,)."""
        self.starts = starts(self.truth.mechanism)
        """Where each link's frame starts, in the declared one (m)."""

    @cached_property
    def total(self) -> Array:
        """Of all masses (count,) or ()."""
        masses = [np.asarray(part.mass, dtype=float) for part in self.parts]
        return np.asarray(np.abs(sum(masses, np.zeros(()))))

    @cached_property
    def heads(self) -> list[Array]:
        """The place of the first body on each part's way, (count, 3) each."""
        reference = self.truth.rough
        return [self._head(part.body) for part in reference.parts(self.truth.load)]

    def _head(self, body: int) -> Array:
        return np.broadcast_to(
            self.placed[self.truth.rough.paths[body][0]].shift[0], (self.truth.count, 3)
        )

    def _start(self, body: int) -> Array:
        at = self.placed[body]
        return np.broadcast_to(
            at.shift[0] + at.turn[0] @ np.array(self.starts[body]), (self.truth.count, 3)
        )

    @cached_property
    def ways(self) -> list[tuple[Array, Array]]:
        """Of each part (count, 3) and (count,): where the first frame on its way starts, and how far it is from the farthest."""
        reference, found = self.truth.rough, []
        for part in reference.parts(self.truth.load):
            at = self.placed[part.body]
            centre, way = (
                at.shift[0] + (at.turn[0] @ part.centre[..., None])[..., 0],
                reference.paths[part.body],
            )
            far = [np.linalg.norm(centre - self._start(body), axis=-1) for body in way]
            found.append((self._start(way[0]), np.max(far, axis=0)))
        return found

    def _moment(self) -> Array:
        """Σ m times the distance of every part's centre from the base (count,)."""
        total = np.zeros(self.truth.count)
        for part, head, arms, (start, far) in zip(
            self.parts, self.heads, self.arms, self.ways, strict=True
        ):
            total += np.abs(part.mass) * np.maximum(
                np.linalg.norm(head, axis=-1) + arms[:, 0], np.linalg.norm(start, axis=-1) + far
            )
        return total

    def center(self) -> Array:
        """Of the mass centre (count, 3)."""
        return np.repeat((self._moment() / self.total)[:, None], 3, axis=-1)

    def potential(self) -> Array:
        """Of the energy of the weight (count,)."""
        return np.asarray(np.linalg.norm(self.truth.rough.gravity) * self._moment())

    def kinetic(self) -> Array:
        """Of the kinetic energy (count,)."""
        moving = ((part, *part.moving(self.truth.floats["v"])) for part in self.parts)
        terms = (
            np.abs(part.mass) * speed**2 + part.inertia * rate**2 for part, rate, speed in moving
        )
        v, rotors = self.truth.floats["v"], armature(self.truth.mechanism)
        return np.asarray(sum(terms, (rotors * v * v).sum(axis=-1)) / 2)

    @cached_property
    def levers(self) -> list[Array]:
        """Of every part (count,): from its root to it, and from the root that is farthest from the mass centre to that."""
        centre = np.asarray(
            center_of_mass(self.truth.rough, self.truth.floats["q"], self.truth.load), dtype=float
        )
        heads = [*self.heads, *(start for start, _ in self.ways)]
        spread = np.max([np.linalg.norm(head - centre, axis=-1) for head in heads], axis=0)
        return [
            np.maximum(arms[:, 0], far) + spread
            for arms, (_, far) in zip(self.arms, self.ways, strict=True)
        ]

    def momentum_matrix(self) -> Array:
        """Of a column's moment and of its linear part (count, 6, NV)."""
        angular, linear = np.zeros((2, *self.truth.floats["v"].shape))
        for part, lever in zip(self.parts, self.levers, strict=True):
            push = np.abs(np.asarray(part.mass))[..., None] * part.levers
            linear[:, part.joints] += push
            angular[:, part.joints] += (
                lever[:, None] * push + np.asarray(part.inertia)[..., None] * part.turns
            )
        return np.stack([angular] * 3 + [linear] * 3, axis=1)

    def center_jacobian(self) -> Array:
        """Of the mass centre's Jacobian (count, 3, NV)."""
        linear = np.zeros(self.truth.floats["v"].shape)
        for part in self.parts:
            linear[:, part.joints] += np.abs(np.asarray(part.mass))[..., None] * part.levers
        return np.repeat((linear / self.total[..., None])[:, None], 3, axis=1)

    def momentum(self) -> Array:
        """Of the momentum (count, 6)."""
        return np.asarray(
            (self.momentum_matrix() @ np.abs(self.truth.floats["v"])[..., None])[..., 0]
        )

    def momentum_rate(self) -> Array:
        """Of its rate (count, 6)."""
        angular, linear = np.zeros((2, self.truth.count))
        for part, lever in zip(self.parts, self.levers, strict=True):
            (rate, speed), (turning, moving) = (
                part.moving(self.truth.floats["v"]),
                part.moving(self.truth.floats["a"]),
            )
            force = np.abs(part.mass) * (moving + 2 * rate * speed)
            linear += force
            angular += lever * force + part.inertia * (turning + 2 * rate * rate)
        return np.stack([angular] * 3 + [linear] * 3, axis=-1)

    def bias_acceleration(self) -> Array:
        """Of J̇ v of the frame (count, 6), angular first: a turn changes what turns and what moves, at its lever."""
        frame = self.truth.rough.frame
        support = (
            [] if frame is None or frame.body == BASE else self.truth.rough.supports[frame.body]
        )
        turns, slides = self.rates[:, support]
        v = np.abs(self.truth.floats["v"])[:, support]
        rate = (v * turns).sum(axis=-1)
        speed = (v * (turns * self.lever[:, None] + slides)).sum(axis=-1)
        return np.stack([rate * rate] * 3 + [2 * rate * speed] * 3, axis=-1)

    def axes(self) -> Array:
        """Of the links' axes (count, NB, 3, 3)."""
        return np.ones((self.truth.count, len(self.placed), 3, 3))

    def origins(self) -> Array:
        """Of their places (count, NB, 3)."""
        heads = (np.linalg.norm(self._head(body), axis=-1) for body in range(len(self.placed)))
        return np.stack(
            [np.repeat((head + self.length)[:, None], 3, axis=-1) for head in heads], axis=1
        )


_WHOLE: dict[str, Callable[[Whole], Array]] = {
    "Jdot_v": Whole.bias_acceleration,
    "R_links": Whole.axes,
    "p_links": Whole.origins,
    "com": Whole.center,
    "Jcom": Whole.center_jacobian,
    "T": Whole.kinetic,
    "U": Whole.potential,
    "h": Whole.momentum,
    "A_G": Whole.momentum_matrix,
    "hdot": Whole.momentum_rate,
}
"""One size a result, by its name: (count, …) as the result."""


def _of_the_whole(result: str, bodies: Bodies) -> Array:
    return _WHOLE[result](Whole(bodies))


BY_RESULT = {result: partial(_of_the_whole, result) for result in _WHOLE}
