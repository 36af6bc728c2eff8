"""[𝓦_a, 𝓦]ᵀ 𝓐 [𝓦_a, 𝓦]: the operator split into the directions that each joint moves in and those that it forbids, LC (12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from symgen.derivation.closed_forms import constraint_subspace
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar, lower
from symgen.derivation.spatial import Vector
from symgen.methods.constraint_force.elimination import Block, Blocks, name_block, transposed
from symgen.methods.constraint_force.operator import Body, bodies, operator
from symgen.methods.shared.drives import rotors

Basis = list[list[tuple[int, Scalar]]]
"""Columns of a 6 x k matrix: the entries that are not zero, as (row, value)."""
Part = TypeVar("Part")


def basis(linkage: Linkage, i: int) -> Basis:
    """[W_a, W] of joint i, lowered from the closed form of its type, and behind them W_a of each rotor."""
    linkage.step(i, "directions that the joint moves in, and forbids")
    columns: Basis = []
    for part in constraint_subspace(linkage.model.links[i].kind):
        for c in range(part.cols):
            entries = [lower(part[r, c], linkage.declared(i), linkage.home) for r in range(6)]
            linkage.mark(f"W{len(columns) + 1}", i, Vector(entries))
            columns.append([(r, x) for r, x in enumerate(entries) if not x.is_zero])
    return [*columns, *(columns[dof.column] for dof in rotors(linkage, i))]


def yielding(linkage: Linkage, i: int, block: Block) -> Block:
    """The block (i, i) with 1/A of each rotor on the diagonal, where its direction stands a second time."""
    own = rotors(linkage, i)
    for row, dof in enumerate(own, len(block) - len(own)):
        block[row][row] = block[row][row] + linkage.one / linkage.drives[dof.index].armature
    return block


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
    """[𝓦_a, 𝓦]ᵀ 𝓐 [𝓦_a, 𝓦] block by block: in rows and columns the n_i of joint i's τ come first, then the 6 − n_i of its f, and
    behind these one for each rotor.
    """

    blocks: dict[tuple[int, int], Block]
    bases: list[Basis]
    links: list[Body]
    allowed: list[int]
    """n_i."""

    def at(self, i: int, j: int) -> Block | None:
        found = self.blocks.get((min(i, j), max(i, j)))
        return found if found is None or i <= j else transposed(found)

    def allowed_part(self, i: int, of: Sequence[Part]) -> list[Part]:
        """What belongs to the τ of joint i among its six: W_a of [W_a, W]."""
        return list(of[: self.allowed[i]])

    def forbidden_part(self, i: int, of: Sequence[Part]) -> list[Part]:
        """What belongs to its f: W of [W_a, W]."""
        return list(of[self.allowed[i] :])

    def forbidden(self, i: int) -> int:
        """How many directions joint i forbids, 6 − n_i, or lets give way to a rotor."""
        return len(self.bases[i]) - self.allowed[i]

    def constraint(self) -> Blocks:
        """H_bb, on the joints that forbid anything."""
        return {
            (i, j): [self.forbidden_part(j, row) for row in self.forbidden_part(i, block)]
            for (i, j), block in self.blocks.items()
            if self.forbidden(i) and self.forbidden(j)
        }


def partition(linkage: Linkage) -> Partition:
    """H_aa, H_ab and H_bb, LC (12)."""
    links = bodies(linkage)
    A = operator(linkage, links)
    bases = [basis(linkage, i) for i in range(len(linkage))]
    blocks = {}
    for (i, j), m in A.items():
        linkage.step(j, "its blocks of A, split into directions")
        blocks[i, j] = seen(bases[i], m, bases[j], linkage.zero)
    for i in range(len(linkage)):
        blocks[i, i] = yielding(linkage, i, blocks[i, i])
    for (i, j), block in blocks.items():
        name_block(linkage, f"H_{i + 1}_{j + 1}", block)
    return Partition(blocks, bases, links, [len(link.dofs) for link in linkage.links])
