"""Inspectable quantities of a method: the letters of its paper, block by block.

A method declares them as `quantities`: letter -> `Quantity`. A quantity is laid out in blocks: P
has one 6x6 block per link, U one scalar per pair of links. `derive` returns the nonzero blocks.
Rows and columns that are twists or wrenches state their link, so that a printer can rotate them
into the declared axes. Rows and columns of coordinates state none.
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
    """A small matrix. `left`, `right`: the links (-1: base) whose axes its rows and columns use,
    three by three.
    """

    rows: Rows
    left: int | None = None
    right: int | None = None

    def transposed(self) -> Block:
        return Block(
            [list(column) for column in zip(*self.rows, strict=True)], self.right, self.left
        )


Entries = dict[tuple[int, ...], Block]
"""The nonzero blocks of a quantity, by their indices."""


@dataclass(frozen=True)
class Quantity:
    """One letter: the `indices` of a block, a readable block `shape`, and its meaning (`what`) with
    the equation.

    `inputs` are the arguments that `derive` reads. `nonzero` says which blocks are not zero, unless
    all are. `is_matrix` is False if the blocks do not form one matrix (E_2 … E_n are factors).
    `point` is the reference point of twists and wrenches. `variant`: the variant that has the
    quantity, "" for all. `refusal`: robots without the quantity, beyond the method's own refusal.
    `of_loops`: True if it concerns closed loops, with their constraint rows as rows.
    """

    indices: tuple[str, ...]
    shape: str
    what: str
    derive: Callable[[Linkage], Entries]
    inputs: tuple[str, ...] = ("q",)
    nonzero: str = ""
    is_matrix: bool = True
    point: str = "at the origin of its declared frame"
    variant: str = ""
    refusal: Callable[[Mechanism], str | None] | None = None
    of_loops: bool = False


def scalar(x: Scalar) -> Block:
    return Block([[x]])


def column(vectors: Iterable[Vector], link: int | None) -> Block:
    """Return a twist, a wrench or a 3-vector, in the axes of a link, as a column block."""
    return Block([[x] for vector in vectors for x in vector], link)


def name_entries(linkage: Linkage, stem: str, rows: Rows) -> Rows:
    """Name each entry stem_rc, counting from 1; a column takes stem_r, a scalar takes the stem.
    Return the rows.
    """
    single = len(rows) == 1 and len(rows[0]) == 1
    for r, row in enumerate(rows, 1):
        for c, entry in enumerate(row, 1):
            suffix = "" if single else f"_{r}" if len(row) == 1 else f"_{r}{c}"
            linkage.derivation.name(stem + suffix, entry)
    return rows


def mirror_blocks(lower: Mapping[tuple[int, int], Block]) -> Entries:
    """Return a symmetric matrix from the blocks on one side of its diagonal."""
    blocks: Entries = {}
    for (i, j), block in lower.items():
        blocks[i, j] = block
        if i != j:
            blocks[j, i] = block.transposed()
    return blocks


def columns_to_rows(columns: Sequence[tuple[Vector, Vector]]) -> Rows:
    """Return the 6 x m matrix with these columns, row by row."""
    return [
        list(row) for row in zip(*([*first, *second] for first, second in columns), strict=True)
    ]


def unit_twists(linkage: Linkage) -> list[tuple[Vector, Vector]]:
    """Return the columns of the 6x6 identity."""
    rows = [[linkage.one if r == c else linkage.zero for r in range(6)] for c in range(6)]
    return [(Vector(row[:3]), Vector(row[3:])) for row in rows]
