"""[𝓦_a, 𝓦]ᵀ 𝓐 [𝓦_a, 𝓦]: the operator split into the free and the constrained directions of each
joint, LC (12).
"""

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
"""Columns of a 6 x k matrix: the nonzero entries as (row, value)."""
Element = TypeVar("Element")


def basis(linkage: Linkage, i: int) -> Basis:
    """Return [W_a, W] of joint i from the closed form of its type, then W_a of each rotor."""
    linkage.step(i, "free and constrained directions of the joint")
    columns: Basis = []
    for directions in constraint_subspace(linkage.model.links[i].kind):
        for c in range(directions.cols):
            entries = [
                lower(directions[r, c], linkage.joint_parameters(i), linkage.derivation)
                for r in range(6)
            ]
            linkage.mark(f"W{len(columns) + 1}", i, Vector(entries))
            columns.append([(r, x) for r, x in enumerate(entries) if not x.is_zero])
    return [*columns, *(columns[dof.column] for dof in rotors(linkage, i))]


def add_rotor_compliance(linkage: Linkage, i: int, block: Block) -> Block:
    """Add 1/A of each rotor to the diagonal of block (i, i), where the rotor's direction appears a
    second time.
    """
    joint_rotors = rotors(linkage, i)
    for row, dof in enumerate(joint_rotors, len(block) - len(joint_rotors)):
        block[row][row] = block[row][row] + linkage.one / linkage.drives[dof.index].armature
    return block


def project_both(left: Basis, m: Block, right: Basis, zero: Scalar) -> Block:
    """Return leftᵀ m right."""
    rows = [project_left(column, m, zero) for column in left]
    return [[sparse_dot(column, row, zero) for column in right] for row in rows]


def project_left(column: list[tuple[int, Scalar]], m: Block, zero: Scalar) -> list[Scalar]:
    """Return columnᵀ m."""
    row = [zero] * 6
    for r, x in column:
        row = [a + x * b for a, b in zip(row, m[r], strict=True)]
    return row


def sparse_dot(column: list[tuple[int, Scalar]], row: Sequence[Scalar], zero: Scalar) -> Scalar:
    total = zero
    for r, x in column:
        total = total + x * row[r]
    return total


@dataclass(frozen=True)
class Partition:
    """[𝓦_a, 𝓦]ᵀ 𝓐 [𝓦_a, 𝓦] block by block.

    Rows and columns of joint i start with the n_i entries of its τ, followed by the 6 − n_i of its
    f and one for each rotor.
    """

    blocks: dict[tuple[int, int], Block]
    bases: list[Basis]
    links: list[Body]
    allowed: list[int]
    """n_i."""

    def at(self, i: int, j: int) -> Block | None:
        block = self.blocks.get((min(i, j), max(i, j)))
        return block if block is None or i <= j else transposed(block)

    def allowed_part(self, i: int, entries: Sequence[Element]) -> list[Element]:
        """Return the entries of joint i that belong to τ: W_a of [W_a, W]."""
        return list(entries[: self.allowed[i]])

    def forbidden_part(self, i: int, entries: Sequence[Element]) -> list[Element]:
        """Return the entries of joint i that belong to f: W of [W_a, W]."""
        return list(entries[self.allowed[i] :])

    def forbidden(self, i: int) -> int:
        """Return the number of constrained directions of joint i, 6 − n_i plus one per rotor."""
        return len(self.bases[i]) - self.allowed[i]

    def constraint(self) -> Blocks:
        """Return H_bb on the joints that constrain any direction."""
        return {
            (i, j): [self.forbidden_part(j, row) for row in self.forbidden_part(i, block)]
            for (i, j), block in self.blocks.items()
            if self.forbidden(i) and self.forbidden(j)
        }


def partition(linkage: Linkage) -> Partition:
    """Return H_aa, H_ab and H_bb, LC (12)."""
    links = bodies(linkage)
    A = operator(linkage, links)
    bases = [basis(linkage, i) for i in range(len(linkage))]
    blocks = {}
    for (i, j), m in A.items():
        linkage.step(j, "blocks of A, split into free and constrained directions")
        blocks[i, j] = project_both(bases[i], m, bases[j], linkage.zero)
    for i in range(len(linkage)):
        blocks[i, i] = add_rotor_compliance(linkage, i, blocks[i, i])
    for (i, j), block in blocks.items():
        name_block(linkage, f"H_{i + 1}_{j + 1}", block)
    return Partition(blocks, bases, links, [len(link.dofs) for link in linkage.links])
