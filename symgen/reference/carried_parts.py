"""What the joints of a robot carry: every part with its place, and the bodies on its way in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Placement
from symgen.reference.precision import Array


class Carried(NamedTuple):
    """A moving part in floats: its mass (count,) or (), the place of its centre in the base (count, 3), a norm of its inertia
    about it, and the bodies that carry it, its own first."""

    mass: Array
    place: Array
    inertia: Array
    bodies: tuple[int, ...]


def carried(
    reference: Reference, placed: Sequence[Placement], load: Array | None
) -> Iterator[Carried]:
    """Every part that a joint moves."""
    for part in reference.parts(load):
        if part.body == BASE:
            continue
        at = placed[part.body]
        place = at.shift[0] + (at.turn[0] @ np.asarray(part.centre, dtype=float)[..., None])[..., 0]
        inertia = np.linalg.norm(np.asarray(part.inertia, dtype=float), axis=(-2, -1))
        yield Carried(
            np.asarray(part.mass, dtype=float),
            place,
            inertia,
            tuple(reversed(reference.ways[part.body])),
        )


def origins(placed: Sequence[Placement], count: int) -> list[Array]:
    """Of the bodies' frames in the base, (count, 3) each."""
    return [np.broadcast_to(at.shift[0], (count, 3)) for at in placed]
