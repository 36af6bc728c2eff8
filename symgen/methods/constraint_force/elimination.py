"""Block L D Lᵀ factorization of a symmetric matrix with one block row per joint, and its
elimination orders.

H_bb couples a joint with its parent's joint and with its siblings. Every link makes a clique of its
own joint and those of its children, and the cliques form a tree. Leaf-first order causes no
fill-in. Odd-even order (block cyclic reduction) causes fill-in between the neighbours of an
eliminated joint, and has a depth of log₂ N rounds instead of N.
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
Neighbours = dict[int, set[int]]
"""The joints that each joint is coupled with."""
Order = Callable[[Neighbours], list[int]]


class Home(Protocol):
    """Recorder of the rows: a Linkage, or an object with this part of its interface."""

    derivation: Derivation
    zero: Scalar

    def step(self, i: int, text: str) -> None:
        """Start a step of joint i; see `Linkage.step`."""

    def name(self, symbol: str, i: int, quantity: Vector) -> None:
        """Name a quantity of joint i; see `Linkage.name`."""


def name_block(linkage: Home, stem: str, block: Block) -> None:
    """Name every entry of a block.

    Passes keep named rows, so no pass regroups a sum over several steps of an elimination, which
    would increase depth.
    """
    for r, row in enumerate(block, 1):
        for c, entry in enumerate(row, 1):
            linkage.derivation.name(f"{stem}_{r}{c}", entry)


def neighbours(blocks: Mapping[tuple[int, int], Block]) -> Neighbours:
    """Return the neighbours of each joint in a block matrix."""
    adjacent: Neighbours = {i: set() for i, j in blocks if i == j}
    for i, j in blocks:
        if i != j:
            adjacent[i].add(j)
            adjacent[j].add(i)
    return adjacent


def leaf_first(near: Neighbours) -> list[int]:
    """Return the joints from the tips to the base; parents have smaller numbers than children."""
    return sorted(near, reverse=True)


def odd_even(near: Neighbours) -> list[int]:
    """Return an order in rounds; a round takes joints with at most two neighbours, no two of them
    adjacent.

    On a chain that is block cyclic reduction. If every joint has more neighbours (the clique of
    many siblings), the round takes the joints with the fewest.
    """
    neighbours_of = {i: set(joint_neighbours) for i, joint_neighbours in near.items()}
    order: list[int] = []
    while neighbours_of:
        limit = max(2, min(len(joint_neighbours) for joint_neighbours in neighbours_of.values()))
        joints: list[int] = []
        adjacent: set[int] = set()
        for i in sorted(neighbours_of, reverse=True):
            if i not in adjacent and len(neighbours_of[i]) <= limit:
                joints.append(i)
                adjacent |= neighbours_of[i]
        for i in joints:
            joint_neighbours = neighbours_of.pop(i)
            for j in joint_neighbours:
                neighbours_of[j] = (neighbours_of[j] | joint_neighbours) - {i, j}
        order += joints
    return order


@dataclass(frozen=True)
class Pivot:
    """Eliminated block of one joint, L diag(D) Lᵀ; for each later neighbour j, Y_j = L⁻¹ E_j and
    Z_j = D⁻¹ Y_j.
    """

    joint: int
    L: Block
    D: list[Scalar]
    inverse: list[Scalar]
    Y: dict[int, Block]
    Z: dict[int, Block]


def eliminate(linkage: Home, blocks: Blocks, order: Sequence[int]) -> tuple[list[Pivot], Blocks]:
    """Return the pivots of the joints in `order`, and the Schur complement on all other joints."""
    remaining, near = dict(blocks), neighbours(blocks)
    pivots = []
    for i in order:
        linkage.step(i, "block L D L^T of H_bb, LC (12)")
        adjacent_joints = sorted(near.pop(i))
        L, D, inverse = _factor_block(remaining.pop((i, i)), linkage.derivation.one)
        Y: dict[int, Block] = {}
        for j in adjacent_joints:
            E = remaining.pop((i, j)) if i < j else transposed(remaining.pop((j, i)))
            Y[j] = _forward(L, E)
        Z = {
            j: [
                [y * inverse_pivot for y in row]
                for row, inverse_pivot in zip(Y[j], inverse, strict=True)
            ]
            for j in adjacent_joints
        }
        for a, j in enumerate(adjacent_joints):
            near[j] = (near[j] | set(adjacent_joints)) - {i, j}
            for k in adjacent_joints[a:]:
                remaining[j, k] = _schur_update(
                    remaining.get((j, k)), Y[j], Z[k], j == k, linkage.zero
                )
                name_block(linkage, f"H_{j + 1}_{k + 1}_less{i + 1}", remaining[j, k])
        linkage.name("D", i, Vector(D))
        pivots.append(Pivot(i, L, D, inverse, Y, Z))
    return pivots, remaining


def _factor_block(A: Block, unit: Scalar) -> tuple[Block, list[Scalar], list[Scalar]]:
    """Return (L, D, 1/D) of one symmetric block, from its lower triangle."""
    n, schur_complement = len(A), [list(row) for row in A]
    L: Block = [[] for _ in range(n)]
    D, inverse = [], []
    for k in range(n):
        D.append(schur_complement[k][k])
        inverse.append(unit / schur_complement[k][k])
        for i in range(k + 1, n):
            gain = schur_complement[i][k] * inverse[k]
            L[i].append(gain)
            for j in range(k + 1, i + 1):
                schur_complement[i][j] = schur_complement[i][j] - gain * schur_complement[j][k]
    return L, D, inverse


def _forward(L: Block, E: Block) -> Block:
    """Return L⁻¹ E."""
    rows: Block = []
    for gains, row in zip(L, E, strict=True):
        for gain, solved_row in zip(gains, rows, strict=True):
            if not gain.is_zero:
                row = [x - gain * y for x, y in zip(row, solved_row, strict=True)]
        rows.append(row)
    return rows


def _schur_update(block: Block | None, Y: Block, Z: Block, symmetric: bool, zero: Scalar) -> Block:
    """Return block − Yᵀ Z; a symmetric result is computed in one triangle only."""
    columns, z_columns = transposed(Y), transposed(Z)
    result: Block = []
    for r, column in enumerate(columns):
        row: list[Scalar] = []
        for c, z_column in enumerate(z_columns):
            if symmetric and c < r:
                row.append(result[c][r])
            else:
                row.append((zero if block is None else block[r][c]) - dot(column, z_column, zero))
        result.append(row)
    return result


def transposed(block: Block) -> Block:
    return [list(column) for column in zip(*block, strict=True)]


def dot(a: Iterable[Scalar], b: Iterable[Scalar], zero: Scalar) -> Scalar:
    """Return Σ a b, left to right: the order in which terms of an elimination arise."""
    total = zero
    for x, y in zip(a, b, strict=True):
        if not (x.is_zero or y.is_zero):
            total = total + x * y
    return total


def forward_substitute(
    pivots: Sequence[Pivot], right: Mapping[int, Sequence[Scalar]], linkage: Home
) -> dict[int, list[Scalar]]:
    """Return L⁻¹ of a right-hand side, in the order of the elimination."""
    remaining = {i: list(entries) for i, entries in right.items()}
    for pivot in pivots:
        linkage.step(pivot.joint, "L^-1 of a right-hand side of H_bb, LC (12)")
        (y,) = transposed(_forward(pivot.L, [[x] for x in remaining[pivot.joint]]))
        remaining[pivot.joint] = y
        for j, Z in pivot.Z.items():
            remaining[j] = [
                x - dot(column, y, linkage.zero)
                for x, column in zip(remaining[j], transposed(Z), strict=True)
            ]
            linkage.name(f"b_less{pivot.joint + 1}", j, Vector(remaining[j]))  # as in `name_block`
    return remaining


def solve(
    pivots: Sequence[Pivot], right: Mapping[int, Sequence[Scalar]], linkage: Home
) -> dict[int, list[Scalar]]:
    """Return the solution L⁻ᵀ D⁻¹ L⁻¹ of a right-hand side."""
    y = forward_substitute(pivots, right, linkage)
    solution: dict[int, list[Scalar]] = {}
    for pivot in reversed(pivots):
        linkage.step(
            pivot.joint, "constraint force across its joint: H_bb f = W^T eta - H_ab^T tau, LC (12)"
        )
        solution[pivot.joint] = back_substitute(pivot, y[pivot.joint], solution, linkage.zero)
        linkage.name("f", pivot.joint, Vector(solution[pivot.joint]))
    return solution


def back_substitute(
    pivot: Pivot, y: Sequence[Scalar], solution: Mapping[int, Sequence[Scalar]], zero: Scalar
) -> list[Scalar]:
    """Return the solution at one joint.

    `y` is L⁻¹ of the right-hand side at the joint; `solution` has the later neighbours.
    """
    x = [a * inverse_pivot for a, inverse_pivot in zip(y, pivot.inverse, strict=True)]
    for j, Z in pivot.Z.items():
        x = [a - dot(row, solution[j], zero) for a, row in zip(x, Z, strict=True)]
    for k in reversed(range(len(x))):
        for r in range(k):
            x[r] = x[r] - pivot.L[k][r] * x[k]
    return x
