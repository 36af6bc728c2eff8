"""Block L D Lᵀ of a symmetric matrix whose blocks sit on the joints: one elimination, and the orders it can follow.

H_bb couples a joint with its parent's joint and with its siblings: every link makes a clique of its own joint and those
it carries, and the cliques hang together as a tree. Leaf first fills nothing in. Odd-even order (block cyclic
reduction) fills the gaps that it jumps over, and has a depth of log₂ N rounds instead of N.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import Vector

Block = list[list[Scalar]]
Blocks = dict[tuple[int, int], Block]
"""Blocks of a symmetric matrix by (row, column), row ≤ column."""
Near = dict[int, set[int]]
"""Which joints a joint is coupled with."""
Order = Callable[[Near], list[int]]


class Home(Protocol):
    """What records the rows: a Linkage, or what has as much of one."""

    home: Derivation
    zero: Scalar
    one: Scalar

    def step(self, i: int, text: str) -> None:
        """As a Linkage's."""

    def name(self, symbol: str, i: int, quantity: Vector) -> None:
        """As a Linkage's."""


def name_block(linkage: Home, stem: str, block: Block) -> None:
    """Name every entry, so that no pass regroups a sum that reaches over several steps of an elimination: that costs depth."""
    for r, row in enumerate(block, 1):
        for c, entry in enumerate(row, 1):
            linkage.home.name(f"{stem}_{r}{c}", entry)


def coupled(blocks: Mapping[tuple[int, int], Block]) -> Near:
    """Who is whose neighbour in a block matrix."""
    near: Near = {i: set() for i, j in blocks if i == j}
    for i, j in blocks:
        if i != j:
            near[i].add(j)
            near[j].add(i)
    return near


def leaf_first(near: Near) -> list[int]:
    """From the tips to the base: parents stand before children."""
    return sorted(near, reverse=True)


def odd_even(near: Near) -> list[int]:
    """Round after round every joint that has at most two neighbours and none of them in the same round.

    On a chain that is block cyclic reduction. Where no joint has so few neighbours (the clique of many siblings), the
    round takes those with the fewest.
    """
    left = {i: set(others) for i, others in near.items()}
    order: list[int] = []
    while left:
        few = max(2, min(len(others) for others in left.values()))
        taken: list[int] = []
        beside: set[int] = set()
        for i in sorted(left, reverse=True):
            if i not in beside and len(left[i]) <= few:
                taken.append(i)
                beside |= left[i]
        for i in taken:
            others = left.pop(i)
            for j in others:
                left[j] = (left[j] | others) - {i, j}
        order += taken
    return order


@dataclass(frozen=True)
class Pivot:
    """Of one joint: its block = L diag(D) Lᵀ, and towards each later neighbour j, Y_j = L⁻¹ E_j and Z_j = D⁻¹ Y_j."""

    joint: int
    L: Block
    D: list[Scalar]
    inverse: list[Scalar]
    Y: dict[int, Block]
    Z: dict[int, Block]


def eliminate(linkage: Home, blocks: Blocks, order: Sequence[int]) -> tuple[list[Pivot], Blocks]:
    """The pivots of the joints in `order`, and what is left of the matrix: the Schur complement on all others."""
    left, near = dict(blocks), coupled(blocks)
    pivots = []
    for i in order:
        linkage.step(i, "block L D L^T of H_bb, LC (12)")
        others = sorted(near.pop(i))
        L, D, inverse = _factored(left.pop((i, i)), linkage.one)
        Y: dict[int, Block] = {}
        for j in others:
            E = left.pop((i, j)) if i < j else transposed(left.pop((j, i)))
            Y[j] = _forward(L, E)
        Z = {
            j: [[y * by for y in row] for row, by in zip(Y[j], inverse, strict=True)]
            for j in others
        }
        for a, j in enumerate(others):
            near[j] = (near[j] | set(others)) - {i, j}
            for k in others[a:]:
                left[j, k] = _less(left.get((j, k)), Y[j], Z[k], j == k, linkage.zero)
                name_block(linkage, f"H_{j + 1}_{k + 1}_less{i + 1}", left[j, k])
        linkage.name("D", i, Vector(D))
        pivots.append(Pivot(i, L, D, inverse, Y, Z))
    return pivots, left


def _factored(A: Block, one: Scalar) -> tuple[Block, list[Scalar], list[Scalar]]:
    """(L, D, 1/D) of one symmetric block, from its lower triangle."""
    n, rest = len(A), [list(row) for row in A]
    L: Block = [[] for _ in range(n)]
    D, inverse = [], []
    for k in range(n):
        D.append(rest[k][k])
        inverse.append(one / rest[k][k])
        for i in range(k + 1, n):
            gain = rest[i][k] * inverse[k]
            L[i].append(gain)
            for j in range(k + 1, i + 1):
                rest[i][j] = rest[i][j] - gain * rest[j][k]
    return L, D, inverse


def _forward(L: Block, E: Block) -> Block:
    """L⁻¹ E."""
    rows: Block = []
    for gains, row in zip(L, E, strict=True):
        for gain, known in zip(gains, rows, strict=True):
            if not gain.is_zero:
                row = [x - gain * y for x, y in zip(row, known, strict=True)]
        rows.append(row)
    return rows


def _less(block: Block | None, Y: Block, Z: Block, symmetric: bool, zero: Scalar) -> Block:
    """block − Yᵀ Z; the upper triangle is mirrored where the result is symmetric."""
    columns, others = transposed(Y), transposed(Z)
    made: Block = []
    for r, column in enumerate(columns):
        row: list[Scalar] = []
        for c, other in enumerate(others):
            if symmetric and c < r:
                row.append(made[c][r])
            else:
                row.append((zero if block is None else block[r][c]) - dot(column, other, zero))
        made.append(row)
    return made


def transposed(block: Block) -> Block:
    return [list(column) for column in zip(*block, strict=True)]


def dot(a: Iterable[Scalar], b: Iterable[Scalar], zero: Scalar) -> Scalar:
    """Σ a b, left to right: the terms of an elimination come in that order."""
    total = zero
    for x, y in zip(a, b, strict=True):
        if not (x.is_zero or y.is_zero):
            total = total + x * y
    return total


def reduced(
    pivots: Sequence[Pivot], right: Mapping[int, Sequence[Scalar]], linkage: Home
) -> dict[int, list[Scalar]]:
    """L⁻¹ of a right-hand side, in the order of the elimination."""
    rest = {i: list(part) for i, part in right.items()}
    for pivot in pivots:
        linkage.step(pivot.joint, "L^-1 of a right-hand side of H_bb, LC (12)")
        (y,) = transposed(_forward(pivot.L, [[x] for x in rest[pivot.joint]]))
        rest[pivot.joint] = y
        for j, Z in pivot.Z.items():
            rest[j] = [
                x - dot(column, y, linkage.zero)
                for x, column in zip(rest[j], transposed(Z), strict=True)
            ]
            linkage.name(f"b_less{pivot.joint + 1}", j, Vector(rest[j]))  # as in `name_block`
    return rest


def solved(
    pivots: Sequence[Pivot], right: Mapping[int, Sequence[Scalar]], linkage: Home
) -> dict[int, list[Scalar]]:
    """The solution for a right-hand side: L⁻ᵀ D⁻¹ L⁻¹."""
    y = reduced(pivots, right, linkage)
    found: dict[int, list[Scalar]] = {}
    for pivot in reversed(pivots):
        linkage.step(
            pivot.joint, "constraint force across its joint: H_bb f = W^T eta - H_ab^T tau, LC (12)"
        )
        found[pivot.joint] = given_back(pivot, y[pivot.joint], found, linkage.zero)
        linkage.name("f", pivot.joint, Vector(found[pivot.joint]))
    return found


def given_back(
    pivot: Pivot, y: Sequence[Scalar], found: Mapping[int, Sequence[Scalar]], zero: Scalar
) -> list[Scalar]:
    """The solution of one joint; y is L⁻¹ of its right-hand side, and `found` the solution of its later neighbours."""
    x = [a * by for a, by in zip(y, pivot.inverse, strict=True)]
    for j, Z in pivot.Z.items():
        x = [a - dot(row, found[j], zero) for a, row in zip(x, Z, strict=True)]
    for k in reversed(range(len(x))):
        for r in range(k):
            x[r] = x[r] - pivot.L[k][r] * x[k]
    return x
