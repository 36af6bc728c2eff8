"""Errors planted in the reference, about floating bases and joints without an axis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from symgen.mechanism.mechanism import BASE
from symgen.reference import mechanics, motion
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Motion
from symgen.reference.precision import Array

Patch = pytest.MonkeyPatch


def rotation_transposed(patch: Patch) -> None:
    """A quaternion turns the other way."""
    was = motion.quaternion
    patch.setattr(motion, "quaternion", lambda q: np.swapaxes(was(q), -1, -2))


def real_part_first(patch: Patch) -> None:
    """A quaternion is read as w x y z."""
    was = motion.quaternion
    patch.setattr(motion, "quaternion", lambda q: was(q[..., [1, 2, 3, 0]]))


def angular_first(patch: Patch) -> None:
    """The velocities of a free joint are read as angular, then linear."""
    was = Motion.twists

    def swapped(self: Motion, index: int, turn: Array) -> list[tuple[Array, Array]]:
        twist = was(self, index, turn)
        return twist[3:] + twist[:3]

    patch.setattr(Motion, "twists", swapped)


def along_the_base(patch: Patch) -> None:
    """A linear velocity is read along the axes of the base, and not along those of the body."""
    was = Motion.twists

    def unturned(self: Motion, index: int, turn: Array) -> list[tuple[Array, Array]]:
        twist = was(self, index, turn)
        kind = self.mechanism.joints[index].type
        if kind.along is None:
            return twist
        still = self.scalars.array(np.eye(3))
        return [
            (
                angular,
                np.broadcast_to(still[along], linear.shape) if velocity.unit == "m" else linear,
            )
            for (angular, linear), along, velocity in zip(
                twist, kind.along, kind.velocities, strict=True
            )
        ]

    patch.setattr(Motion, "twists", unturned)


def steps_along_the_base(patch: Patch) -> None:
    """A step adds translations along the axes of the base."""
    was = mechanics.ORACLES["integrate"]

    def changed(reference: Reference, **arguments: object) -> dict[str, Array]:
        q_next, q, v, dt = (
            was(reference, **arguments)["q_next"],
            *(arguments[name] for name in ("q", "v", "dt")),
        )
        with reference.scalars.working():
            q_next[..., :3] = q[..., :3] + v[..., :3] * dt[..., None]
        return {"q_next": q_next}

    patch.setitem(mechanics.ORACLES, "integrate", changed)


def weight_on_the_first_root(patch: Patch) -> None:
    """Gravity acts on the tree of the first root only."""
    was = mechanics.ORACLES["potential_energy"]

    def changed(reference: Reference, **arguments: object) -> dict[str, Array]:
        roots = reference.mechanism.children(BASE)
        if len(roots) < 2:
            return was(reference, **arguments)
        bodies = tuple(
            replace(body, parts=()) if i in roots[1:] else body
            for i, body in enumerate(reference.mechanism.bodies)
        )
        lighter = replace(reference.mechanism, bodies=bodies)
        return was(
            Reference(
                lighter, reference.scalars, payload=reference.payload and reference.payload.name
            ),
            **arguments,
        )

    patch.setitem(mechanics.ORACLES, "potential_energy", changed)
