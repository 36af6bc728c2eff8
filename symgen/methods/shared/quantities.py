"""What a method names besides its results: the letters of its paper, each with its blocks, for those who read.

A method gives them as its `quantities`: letter -> `Quantity`. A quantity is laid out in blocks: P has one 6x6 a link, U one
scalar a pair of links. `derive` gives those that are not zero. Rows and columns that are twists or wrenches say of which link,
so that whoever prints them can turn them into the axes that the description declares; rows and columns of coordinates say
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector
from symgen.mechanism.mechanism import Mechanism

Rows = list[list[Scalar]]


@dataclass(frozen=True)
class Block:
    """A small matrix; `left`, `right`: the links (-1: the base) in whose axes its rows and its columns stand, three by three."""

    rows: Rows
    left: int | None = None
    right: int | None = None

    def transposed(self) -> Block:
        return Block(
            [list(column) for column in zip(*self.rows, strict=True)], self.right, self.left
        )


Entries = dict[tuple[int, ...], Block]
"""The blocks of a quantity that are not zero, by their indices."""


@dataclass(frozen=True)
class Quantity:
    """One letter: what selects a block (`indices`), a block's `shape` for a person, and what it means, with its equation.

    `inputs` are the arguments that `derive` reads; `nonzero` says which blocks are not zero, where not all are; `whole` is
    False where the blocks make no matrix together (E_2 … E_n are factors). `point` is where twists and wrenches are taken.
    `variant`: which reading of the method has it, "" for all; `refusal`: which robots have not, where the method's is not enough.
    `of_loops`: whether it is about joints that close some, in rows of theirs.
    """

    indices: tuple[str, ...]
    shape: str
    what: str
    derive: Callable[[Linkage], Entries]
    inputs: tuple[str, ...] = ("q",)
    nonzero: str = ""
    whole: bool = True
    point: str = "at the origin of its declared frame"
    variant: str = ""
    refusal: Callable[[Mechanism], str | None] | None = None
    of_loops: bool = False


def scalar(x: Scalar) -> Block:
    return Block([[x]])


def column(parts: Iterable[Vector], link: int | None) -> Block:
    """A twist, a wrench or a 3-vector in the axes of a link, as a column."""
    return Block([[x] for part in parts for x in part], link)


def named(linkage: Linkage, stem: str, rows: Rows) -> Rows:
    """The rows with every entry named, stem_rc from 1, the row alone in a column; a scalar takes the stem."""
    single = len(rows) == 1 and len(rows[0]) == 1
    for r, row in enumerate(rows, 1):
        for c, entry in enumerate(row, 1):
            place = "" if single else f"_{r}" if len(row) == 1 else f"_{r}{c}"
            linkage.home.name(stem + place, entry)
    return rows


def mirrored(lower: Mapping[tuple[int, int], Block]) -> Entries:
    """A symmetric matrix from the blocks on one side of its diagonal."""
    found: Entries = {}
    for (i, j), block in lower.items():
        found[i, j] = block
        if i != j:
            found[j, i] = block.transposed()
    return found


def spread(columns: Sequence[tuple[Vector, Vector]]) -> Rows:
    """The 6 x m matrix with these columns."""
    return [
        list(row) for row in zip(*([*first, *second] for first, second in columns), strict=True)
    ]


def units(linkage: Linkage) -> list[tuple[Vector, Vector]]:
    """The columns of the 6x6 identity."""
    rows = [[linkage.one if r == c else linkage.zero for r in range(6)] for c in range(6)]
    return [(Vector(row[:3]), Vector(row[3:])) for row in rows]
