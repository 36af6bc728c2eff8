"""Common parts of the readers of Pinocchio's and MuJoCo's models in memory.

Each double of a model is read as the shortest decimal that prints it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

from symgen.description.quantities import Location, number
from symgen.description.snapping import Snapper
from symgen.description.tree import Tree
from symgen.mechanism.mechanism import Note
from symgen.support.lists import shortened_list
from symgen.vocabulary.poses import Pose, Rotate, Shift, Vector3, compose

LARGEST = 1e300
"""Magnitude from which a limit counts as no limit."""


SHOWN = 8
"""Number of names that a message lists before it counts the rest."""
SOFT_LOOPS = "MuJoCo holds the loops of its equalities softly; here they are rigid"


@dataclass(frozen=True)
class ModelInMemory:
    """A model in memory that `load` accepts as a description."""

    label: str
    read: Callable[[Snapper], Tree]

    def tree(self, snapper: Snapper) -> Tree:
        """Return the tree, as a reader of a file does."""
        return self.read(snapper)


def note_inactive_loops(names: Sequence[str]) -> list[Note]:
    """Return a note on loops that are disabled in the model."""
    return (
        [Note("info", f"inactive loops are left out: {shortened_list(names, SHOWN)}")]
        if names
        else []
    )


def note_hidden_sites(names: Sequence[str]) -> list[Note]:
    """Return a note on sites of a MuJoCo model that are no frames, because links have their
    names.
    """
    return (
        [
            Note(
                "info",
                f"sites with the name of a link are left out: {shortened_list(names, SHOWN)};"
                " rename a site to have it as a frame",
            )
        ]
        if names
        else []
    )


def unused_name(name: str, used_names: Container[str]) -> str:
    """Return `name`, with underscores appended until no other element has it."""
    while name in used_names:
        name += "_"
    return name


def exact(value: Any, location: Location) -> Fraction:
    """Return the number of the shortest decimal that prints the double `value`. Raises
    DescriptionError if it is not finite.
    """
    return number(repr(float(value)), location)


def vector(values: Any, location: Location) -> Vector3:
    x, y, z = (exact(value, location) for value in values)
    return x, y, z


def limit(value: Any, location: Location) -> Fraction | None:
    """Return a limit, or None if the value is infinite or huge."""
    return exact(value, location) if abs(value) < LARGEST else None


def pose(origin: Any, quaternion: Iterable[Any], snapper: Snapper, location: Location) -> Pose:
    """Return the displacement by `origin` and by the quaternion w x y z, which counts as a
    quaternion of length one.
    """
    turn = snapper.quaternion([repr(float(entry)) for entry in quaternion], location)
    return compose((Shift(vector(origin, location)), Rotate(turn)))


def quaternion_of_matrix(R: Any) -> tuple[float, float, float, float]:
    """Return w x y z of a rotation matrix (3, 3), from its largest entry (Shepperd 1978), so that
    no divisor is small.
    """
    r = [[float(R[i][j]) for j in range(3)] for i in range(3)]
    squares = [r[0][0] + r[1][1] + r[2][2], r[0][0], r[1][1], r[2][2]]
    largest = squares.index(max(squares))
    if largest == 0:
        root = sqrt(1 + squares[0])
        x, y, z = (r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1])
        return root / 2, x / (2 * root), y / (2 * root), z / (2 * root)
    i, j, k = ((largest - 1 + step) % 3 for step in range(3))
    root = sqrt(1 + r[i][i] - r[j][j] - r[k][k])
    xyz = [0.0] * 3
    xyz[i], xyz[j], xyz[k] = (
        root / 2,
        (r[j][i] + r[i][j]) / (2 * root),
        (r[k][i] + r[i][k]) / (2 * root),
    )
    return (r[k][j] - r[j][k]) / (2 * root), xyz[0], xyz[1], xyz[2]
