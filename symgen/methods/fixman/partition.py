"""Fixman's partition: H = G⁻¹ by blocks, block L D Lᵀ of H^bb from the leaves to the base, and LC
(12)-(13).

Joint i has n_i soft coordinates a_i and r_i hard coordinates b_i; a free joint has no hard ones.
The coordinates of a joint couple with those of its parent and its siblings only, so elimination
from the leaves to the base causes no fill-in: H^bb of a chain is block tridiagonal; in a tree
siblings couple as well. Only nonzero blocks are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar

Block = list[list[Scalar]]
"""A small matrix as rows."""


def block_transpose(m: Block) -> Block:
    return [list(column) for column in zip(*m, strict=True)]


def product(linkage: Linkage, a: Block, b: Block) -> Block:
    """Return a b for small matrices."""
    out: Block = []
    for row in a:
        entries = []
        for column in zip(*b, strict=True):
            total = linkage.zero
            for x, y in zip(row, column, strict=True):
                total = total + x * y
            entries.append(total)
        out.append(entries)
    return out


@dataclass
class Partition:
    """Blocks of H = G⁻¹, LC (6); a missing block is zero.

    `soft[i, j]` = H^aa_ij for j ≤ i, `coupling[i, j]` = H^ab_ij, `hard[i, j]` = H^bb_ij for j ≤ i.
    `metric`: the factors of det G by link, which are constant. `bend[k][i, j]` = ∂H^bb_ij/∂q_k for
    j < i; for a diagonal block, S with ∂H^bb_ii/∂q_k = S + Sᵀ.
    """

    dofs: list[list[int]]
    """The indices of the soft coordinates, by link."""
    soft: dict[tuple[int, int], Block] = field(default_factory=dict)
    coupling: dict[tuple[int, int], Block] = field(default_factory=dict)
    hard: dict[tuple[int, int], Block] = field(default_factory=dict)
    metric: dict[int, list[Scalar]] = field(default_factory=dict)
    bend: dict[int, dict[tuple[int, int], Block]] = field(default_factory=dict)


@dataclass(frozen=True)
class Pivot:
    """Elimination of one hard block, H^bb_ii = L Δ Lᵀ: L below its unit diagonal, Δ, 1/Δ, and (L
    Δ)⁻¹ H^bb_ij by j.
    """

    lower: Block
    delta: list[Scalar]
    inverse: list[Scalar]
    gain: dict[int, Block]


def eliminate(linkage: Linkage, partition: Partition) -> list[Pivot]:
    """Factor H^bb = L_h U_h, leaves first, and return the pivots."""
    remaining = {index: [list(row) for row in block] for index, block in partition.hard.items()}
    pivots: dict[int, Pivot] = {}
    for i in reversed(range(len(linkage))):
        linkage.step(i, "elimination of the hard block, LC (13)")
        lower, delta, inverse = _decompose(linkage, i, remaining[i, i])
        inner = [j for j in range(i) if (i, j) in remaining]
        half = {j: _forward(lower, remaining[i, j]) for j in inner}
        gain = {j: [[x * inverse[r] for x in row] for r, row in enumerate(half[j])] for j in inner}
        for j in inner:
            for k in (k for k in inner if k <= j):
                remaining[j, k] = _schur_update(remaining[j, k], half[j], gain[k], symmetric=j == k)
        pivots[i] = Pivot(lower, delta, inverse, gain)
    return [pivots[i] for i in range(len(linkage))]


def _decompose(linkage: Linkage, i: int, block: Block) -> tuple[Block, list[Scalar], list[Scalar]]:
    """Return L, Δ and 1/Δ of one symmetric block."""
    size = len(block)
    remaining_rows = [list(row) for row in block]
    lower: Block = [[] for _ in range(size)]
    delta, inverse = [], []
    for c in range(size):
        pivot = linkage.derivation.name(f"D_{i + 1}_{c + 1}", remaining_rows[c][c])
        delta.append(pivot)
        inverse.append(linkage.derivation.name(f"invD_{i + 1}_{c + 1}", linkage.one / pivot))
        for r in range(c + 1, size):
            lower[r].append(remaining_rows[r][c] * inverse[c])
        for r in range(c + 1, size):
            for s in range(c + 1, r + 1):
                remaining_rows[r][s] = remaining_rows[r][s] - lower[r][c] * remaining_rows[s][c]
    return lower, delta, inverse


def _forward(lower: Block, block: Block) -> Block:
    """Return L⁻¹ block."""
    out: Block = []
    for r, row in enumerate(block):
        result_row = list(row)
        for s in range(r):
            result_row = [x - lower[r][s] * y for x, y in zip(result_row, out[s], strict=True)]
        out.append(result_row)
    return out


def _schur_update(block: Block, left: Block, right: Block, symmetric: bool) -> Block:
    """Return the Schur complement block − leftᵀ right; a symmetric result is computed in one
    triangle only.
    """
    out = [list(row) for row in block]
    for r in range(len(block)):
        for c in range(r + 1 if symmetric else len(block[0])):
            for x, y in zip(left, right, strict=True):
                out[r][c] = out[r][c] - x[r] * y[c]
            if symmetric:
                out[c][r] = out[r][c]
    return out


def forward_hard_forces(
    linkage: Linkage, pivots: list[Pivot], d: list[list[Scalar]]
) -> list[list[Scalar]]:
    """Return z with L_h z = d, from the leaves to the base."""
    remaining = [list(entries) for entries in d]
    z: list[list[Scalar]] = [[] for _ in d]
    for i in reversed(range(len(d))):
        linkage.step(i, "forces of the hard coordinates, LC (13)")
        z[i] = [row[0] for row in _forward(pivots[i].lower, [[x] for x in remaining[i]])]
        for j, gain in pivots[i].gain.items():
            for row, x in zip(gain, z[i], strict=True):
                remaining[j] = [y - g * x for y, g in zip(remaining[j], row, strict=True)]
    return z


def hard_forces(linkage: Linkage, pivots: list[Pivot], d: list[list[Scalar]]) -> list[list[Scalar]]:
    """Return e = (H^bb)⁻¹ d: L_h z = d inward, then U_h e = z outward."""
    z = forward_hard_forces(linkage, pivots, d)
    e: list[list[Scalar]] = []
    for i, pivot in enumerate(pivots):
        linkage.step(i, "forces of the hard coordinates, back substitution, LC (13)")
        forces = [x * inverse for x, inverse in zip(z[i], pivot.inverse, strict=True)]
        for j, gain in pivot.gain.items():
            for r, row in enumerate(gain):
                for g, x in zip(row, e[j], strict=True):
                    forces[r] = forces[r] - g * x
        for r in reversed(range(len(forces))):
            for s in range(r + 1, len(forces)):
                forces[r] = forces[r] - pivot.lower[s][r] * forces[s]
            linkage.derivation.name(f"e_{i + 1}_{r + 1}", forces[r])
        e.append(forces)
    return e


def soft_rates(
    linkage: Linkage, partition: Partition, pivots: list[Pivot], b: Sequence[Scalar]
) -> list[Scalar]:
    """Return [H^aa − H^ab (H^bb)⁻¹ (H^ab)ᵀ] b, LC (12)."""
    dofs = partition.dofs
    x = [linkage.zero] * len(b)
    d = [[linkage.zero] * len(partition.hard[i, i]) for i in range(len(linkage))]
    soft_blocks: dict[tuple[int, int], Block] = {}
    for (i, j), block in partition.soft.items():
        soft_blocks |= {(i, j): block} | ({(j, i): block_transpose(block)} if i != j else {})
    for row_joint, column_joint in linkage.block_order(
        soft_blocks, "rates by the soft block, LC (13)"
    ):
        for r, row in zip(dofs[row_joint], soft_blocks[row_joint, column_joint], strict=True):
            for c, entry in zip(dofs[column_joint], row, strict=True):
                x[r] = x[r] + entry * b[c]  # (13) c = H^aa b
    for row_joint, column_joint in linkage.block_order(
        [(j, i) for i, j in partition.coupling], "what soft forces ask of hard coordinates, LC (13)"
    ):
        for r, row in zip(
            dofs[column_joint], partition.coupling[column_joint, row_joint], strict=True
        ):
            d[row_joint] = [
                y + entry * b[r] for y, entry in zip(d[row_joint], row, strict=True)
            ]  # (13) d = (H^ab)ᵀ b
    e = hard_forces(linkage, pivots, d)  # (13) e = (H^bb)⁻¹ d
    for row_joint, column_joint in linkage.block_order(
        partition.coupling, "rates by the hard forces, LC (13)"
    ):
        for r, row in zip(
            dofs[row_joint], partition.coupling[row_joint, column_joint], strict=True
        ):
            for entry, force in zip(row, e[column_joint], strict=True):
                x[r] = x[r] - entry * force  # (13) f = H^ab e, c − f
    return x


def soft_inverse(linkage: Linkage, partition: Partition, pivots: list[Pivot]) -> list[Scalar]:
    """Return H^aa − H^ab (H^bb)⁻¹ (H^ab)ᵀ, LC (12), row-major and full.

    Only L_h Z = (H^ab)ᵀ is solved; then Zᵀ Δ⁻¹ Z is subtracted.
    """
    dofs, n = linkage.dofs, len(linkage.dofs)
    halves, scaled = [], []
    for dof in dofs:
        d = []
        for j, pivot in enumerate(pivots):
            block = partition.coupling.get((dof.link, j))
            d.append([linkage.zero] * len(pivot.delta) if block is None else block[dof.column])
        halves.append([x for vector in forward_hard_forces(linkage, pivots, d) for x in vector])
        scaled.append(
            [
                x * inverse_pivot
                for x, inverse_pivot in zip(
                    halves[-1],
                    (inverse_pivot for pivot in pivots for inverse_pivot in pivot.inverse),
                    strict=True,
                )
            ]
        )
    entries = {}
    for dof in dofs:
        linkage.step(dof.link, "row of the inverse, LC (12)")
        for column_dof in dofs[: dof.index + 1]:
            block = partition.soft.get((dof.link, column_dof.link))
            entry = linkage.zero if block is None else block[dof.column][column_dof.column]
            for x, y in zip(halves[dof.index], scaled[column_dof.index], strict=True):
                entry = entry - x * y
            entries[dof.index, column_dof.index] = entries[column_dof.index, dof.index] = entry
    return [entries[i, j] for i in range(n) for j in range(n)]
