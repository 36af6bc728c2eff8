"""[𝓦_a, 𝓦]ᵀ 𝓐 [𝓦_a, 𝓦]: the operator split into the directions that each joint moves in and those that it forbids, LC (12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation.closed_forms import constraint_subspace
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar, lower
from symgen.methods.constraint_force.elimination import Block, Blocks, name_block, transposed
from symgen.methods.constraint_force.operator import Body, bodies, operator

Basis = list[list[tuple[int, Scalar]]]
"""Columns of a 6 x k matrix: the entries that are not zero, as (row, value)."""


def basis(linkage: Linkage, i: int) -> Basis:
    """[W_a, W] of joint i, lowered from the closed form of its type."""
    columns: Basis = []
    for part in constraint_subspace(linkage.model.links[i].kind):
        for c in range(part.cols):
            entries = [lower(part[r, c], linkage.declared(i), linkage.home) for r in range(6)]
            columns.append([(r, x) for r, x in enumerate(entries) if not x.is_zero])
    return columns


def seen(left: Basis, m: Block, right: Basis, zero: Scalar) -> Block:
    """leftᵀ m right."""
    rows = [combined(column, m, zero) for column in left]
    return [[picked(column, row, zero) for column in right] for row in rows]


def combined(column: list[tuple[int, Scalar]], m: Block, zero: Scalar) -> list[Scalar]:
    """columnᵀ m."""
    row = [zero] * 6
    for r, x in column:
        row = [a + x * b for a, b in zip(row, m[r], strict=True)]
    return row


def picked(column: list[tuple[int, Scalar]], row: Sequence[Scalar], zero: Scalar) -> Scalar:
    total = zero
    for r, x in column:
        total = total + x * row[r]
    return total


@dataclass(frozen=True)
class Partition:
    """[𝓦_a, 𝓦]ᵀ 𝓐 [𝓦_a, 𝓦] block by block: entry 0 of a row or column belongs to τ, the others to f."""

    blocks: dict[tuple[int, int], Block]
    bases: list[Basis]
    links: list[Body]

    def at(self, i: int, j: int) -> Block | None:
        found = self.blocks.get((min(i, j), max(i, j)))
        return found if found is None or i <= j else transposed(found)

    def forbidden(self, i: int) -> int:
        """How many directions joint i forbids: 6 − n_i."""
        return len(self.bases[i]) - 1

    def constraint(self) -> Blocks:
        """H_bb."""
        return {place: [row[1:] for row in block[1:]] for place, block in self.blocks.items()}


def partition(linkage: Linkage) -> Partition:
    """H_aa, H_ab and H_bb, LC (12)."""
    links = bodies(linkage)
    A = operator(linkage, links)
    bases = [basis(linkage, i) for i in range(len(linkage))]
    blocks = {(i, j): seen(bases[i], m, bases[j], linkage.zero) for (i, j), m in A.items()}
    for (i, j), block in blocks.items():
        name_block(linkage, f"H_{i + 1}_{j + 1}", block)
    return Partition(blocks, bases, links)
