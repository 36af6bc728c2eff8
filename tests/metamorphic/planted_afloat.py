"""Errors planted in the reference, of what floats and of joints without an axis; as those in `plants.py`."""

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
        found = was(self, index, turn)
        return found[3:] + found[:3]

    patch.setattr(Motion, "twists", swapped)


def along_the_base(patch: Patch) -> None:
    """A linear velocity is read along the axes of the base, and not along those of the body."""
    was = Motion.twists

    def unturned(self: Motion, index: int, turn: Array) -> list[tuple[Array, Array]]:
        found = was(self, index, turn)
        kind = self.mechanism.joints[index].type
        if kind.along is None:
            return found
        still = self.scalars.array(np.eye(3))
        return [
            (
                angular,
                np.broadcast_to(still[along], linear.shape) if velocity.unit == "m" else linear,
            )
            for (angular, linear), along, velocity in zip(
                found, kind.along, kind.velocities, strict=True
            )
        ]

    patch.setattr(Motion, "twists", unturned)


def steps_along_the_base(patch: Patch) -> None:
    """A step puts what it slides beside the place, along the axes of the base."""
    was = mechanics.ORACLES["integrate"]

    def told(reference: Reference, **given: object) -> dict[str, Array]:
        found, q, v, dt = (
            was(reference, **given)["q_next"],
            *(given[name] for name in ("q", "v", "dt")),
        )
        with reference.scalars.working():
            found[..., :3] = q[..., :3] + v[..., :3] * dt[..., None]
        return {"q_next": found}

    patch.setitem(mechanics.ORACLES, "integrate", told)


def weight_on_the_first_root(patch: Patch) -> None:
    """What hangs on another root is not pulled at."""
    was = mechanics.ORACLES["potential_energy"]

    def told(reference: Reference, **given: object) -> dict[str, Array]:
        roots = reference.mechanism.children(BASE)
        if len(roots) < 2:
            return was(reference, **given)
        bodies = tuple(
            replace(body, parts=()) if i in roots[1:] else body
            for i, body in enumerate(reference.mechanism.bodies)
        )
        lighter = replace(reference.mechanism, bodies=bodies)
        return was(
            Reference(
                lighter, reference.scalars, payload=reference.payload and reference.payload.name
            ),
            **given,
        )

    patch.setitem(mechanics.ORACLES, "potential_energy", told)
