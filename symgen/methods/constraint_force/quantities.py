"""Fijany & Featherstone's factorization block by block: I_i⁻¹, W_i, 𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹, and its parts
H_aa, H_ab, H_bb, LC (12).

Twists and wrenches of link i are taken at O_i, the origin of its declared frame, in its axes. Rows
and columns of H_ab and H_bb are coordinates with respect to the columns of W_i.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.methods.constraint_force.elimination import transposed
from symgen.methods.constraint_force.operator import bodies, mobility, operator
from symgen.methods.constraint_force.partition import partition
from symgen.methods.shared.quantities import (
    Block,
    Entries,
    Quantity,
    Rows,
    mirror_blocks,
    name_entries,
)

NEAR = "joints i and j are on the same link"


def _A(linkage: Linkage) -> Entries:
    blocks = operator(linkage, bodies(linkage))
    return mirror_blocks(
        {
            (i, j): Block(name_entries(linkage, f"A_{i + 1}_{j + 1}", rows), i, j)
            for (i, j), rows in blocks.items()
        }
    )


def _inverse_inertia(linkage: Linkage) -> Entries:
    blocks: Entries = {}
    for i, body in enumerate(bodies(linkage)):
        a, b, c, d = mobility(body, -body.s, -body.s, linkage.zero)
        rows = [
            [*left, *right] for left, right in (*zip(a, b, strict=True), *zip(c, d, strict=True))
        ]
        blocks[i,] = Block(name_entries(linkage, f"Iinv_{i + 1}", rows), i, i)
    return blocks


def _directions(linkage: Linkage, allowed: bool) -> Entries:
    blocks: Entries = {}
    split = partition(linkage)
    for i, columns_of_joint in enumerate(split.bases):
        columns = (
            split.allowed_part(i, columns_of_joint)
            if allowed
            else split.forbidden_part(i, columns_of_joint)[: 6 - split.allowed[i]]
        )
        rows: Rows = [[linkage.zero] * len(columns) for _ in range(6)]
        for c, entries in enumerate(columns):
            for r, x in entries:
                rows[r][c] = x
        blocks[i,] = Block(rows, i)
    return blocks


def _forbidden(linkage: Linkage) -> Entries:
    return _directions(linkage, allowed=False)


def _allowed(linkage: Linkage) -> Entries:
    return _directions(linkage, allowed=True)


def _H_aa(linkage: Linkage) -> Entries:
    split = partition(linkage)
    return mirror_blocks(
        {
            (i, j): Block([split.allowed_part(j, row) for row in split.allowed_part(i, block)])
            for (i, j), block in split.blocks.items()
        }
    )


def _H_ab(linkage: Linkage) -> Entries:
    split = partition(linkage)
    mirrored = {(j, i): transposed(block) for (i, j), block in split.blocks.items()}
    return {
        (i, j): Block([split.forbidden_part(j, row) for row in split.allowed_part(i, block)])
        for (i, j), block in sorted((mirrored | split.blocks).items(), key=lambda item: item[0])
    }


def _H_bb(linkage: Linkage) -> Entries:
    empty = {(i, i): Block([]) for i in range(len(linkage))}  # of a free joint
    return empty | mirror_blocks(
        {index: Block(rows) for index, rows in partition(linkage).constraint().items()}
    )


QUANTITIES = {
    "I_inv": Quantity(
        ("i",),
        "6x6",
        "inverse inertia of link i at O_i: acceleration of the free link per unit wrench, FF (I_i)",
        _inverse_inertia,
    ),
    "W": Quantity(
        ("i",),
        "6x5",
        "orthonormal basis of the constraint wrenches of joint i, "
        "FF (W_i); 6 - n columns for n degrees of freedom",
        _forbidden,
    ),
    "W_a": Quantity(
        ("i",), "6x1", "wrenches of unit forces of joint i, W_a^T H = 1, FF (W_i)", _allowed
    ),
    "A": Quantity(
        ("i", "j"),
        "6x6",
        "phi^-T diag(I_i)^-1 phi^-1: acceleration across joint i per unit wrench across joint j",
        _A,
        nonzero=NEAR,
    ),
    "H_aa": Quantity(("i", "j"), "scalar", "W_a^T A W_a, LC (7), (12)", _H_aa, nonzero=NEAR),
    "H_ab": Quantity(("i", "j"), "1x5", "W_a^T A W, LC (7), (12)", _H_ab, nonzero=NEAR),
    "H_bb": Quantity(
        ("i", "j"),
        "5x5",
        "W^T A W, LC (7), (12); M^-1 = H_aa - H_ab H_bb^-1 H_ab^T",
        _H_bb,
        nonzero=NEAR,
    ),
}
