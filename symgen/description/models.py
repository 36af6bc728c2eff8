"""What Pinocchio's and MuJoCo's models in memory have in common: doubles, each taken as the shortest decimal that prints it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, sqrt
from typing import Any

from symgen.description.quantities import Place, number
from symgen.description.snapping import Snapper
from symgen.description.tree import Tree
from symgen.mechanism.mechanism import Note
from symgen.vocabulary.poses import Pose, Rotate, Shift, Vector3, compose

LARGEST = 1e300
"""Of a limit; beyond it there is none."""


SHOWN = 8
"""Names in one sentence before the rest is counted."""
SOFT = "MuJoCo holds the loops of its equalities softly; here they are rigid"


@dataclass(frozen=True)
class Given:
    """A model that `load` takes for a description."""

    label: str
    read: Callable[[Snapper], Tree]

    def tree(self, snapper: Snapper) -> Tree:
        """What a reader of a file hands over."""
        return self.read(snapper)


def inactive(names: Sequence[str]) -> list[Note]:
    """What is said of loops that are switched off."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (
        [Note("info", f"loops that are not active are left out: {', '.join(names[:SHOWN])}{more}")]
        if names
        else []
    )


def fresh(wanted: str, taken: Container[str]) -> str:
    """`wanted`, or with as many strokes behind it as make it new."""
    while wanted in taken:
        wanted += "_"
    return wanted


def exact(value: Any, place: Place) -> Fraction:
    """The number of the shortest decimal that is the double `value`. DescriptionError where it is not finite."""
    return number(repr(float(value)), place)


def vector(values: Any, place: Place) -> Vector3:
    x, y, z = (exact(one, place) for one in values)
    return x, y, z


def limit(value: Any, place: Place) -> Fraction | None:
    """A limit, or None where there is none."""
    return exact(value, place) if isfinite(value) and abs(value) < LARGEST else None


def pose(origin: Any, quaternion: Iterable[Any], snapper: Snapper, place: Place) -> Pose:
    """A displacement by `origin` and a turn by the quaternion w x y z, of length one exactly whatever its doubles make."""
    turn = snapper.quaternion([repr(float(entry)) for entry in quaternion], place)
    return compose((Shift(vector(origin, place)), Rotate(turn)))


def of_matrix(R: Any) -> tuple[float, float, float, float]:
    """w x y z of a rotation matrix (3, 3), by its largest entry (Shepperd 1978), so that no small number is divided by."""
    r = [[float(R[i][j]) for j in range(3)] for i in range(3)]
    squares = [r[0][0] + r[1][1] + r[2][2], r[0][0], r[1][1], r[2][2]]
    largest = squares.index(max(squares))
    if largest == 0:
        root = sqrt(1 + squares[0])
        x, y, z = (r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1])
        return root / 2, x / (2 * root), y / (2 * root), z / (2 * root)
    i, j, k = ((largest - 1 + step) % 3 for step in range(3))
    root = sqrt(1 + r[i][i] - r[j][j] - r[k][k])
    found = [0.0] * 3
    found[i], found[j], found[k] = (
        root / 2,
        (r[j][i] + r[i][j]) / (2 * root),
        (r[k][i] + r[i][k]) / (2 * root),
    )
    return (r[k][j] - r[j][k]) / (2 * root), found[0], found[1], found[2]
