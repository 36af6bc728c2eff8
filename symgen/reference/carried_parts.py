"""Moving parts of a robot, in floats, with the bodies on the path from each part to the base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Placement
from symgen.reference.precision import Array


class MovingPart(NamedTuple):
    """A part that a joint moves, in floats."""

    mass: Array
    """kg, (count,) or ()."""
    centre: Array
    """Mass centre in base axes, m (count, 3)."""
    inertia: Array
    """Frobenius norm of the inertia about the mass centre, kg·m²."""
    bodies: tuple[int, ...]
    """Indices of the bodies from the part's own body to the base."""


def moving_parts(
    reference: Reference, placements: Sequence[Placement], load: Array | None
) -> Iterator[MovingPart]:
    """Yield every part that a joint moves."""
    for part in reference.parts(load):
        if part.body == BASE:
            continue
        at = placements[part.body]
        centre = (
            at.shift[0] + (at.turn[0] @ np.asarray(part.centre, dtype=float)[..., None])[..., 0]
        )
        inertia = np.linalg.norm(np.asarray(part.inertia, dtype=float), axis=(-2, -1))
        yield MovingPart(
            np.asarray(part.mass, dtype=float),
            centre,
            inertia,
            tuple(reversed(reference.paths[part.body])),
        )


def origins(placements: Sequence[Placement], count: int) -> list[Array]:
    """Return the origins of the bodies' frames in the base, (count, 3) each."""
    return [np.broadcast_to(at.shift[0], (count, 3)) for at in placements]
