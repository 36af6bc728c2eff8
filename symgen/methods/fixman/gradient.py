"""∂ ln det M/∂q out of Fixman's theorem: tr((H^bb)⁻¹ ∂H^bb/∂q_k), since no angle enters det G (LC (8)).

∂H^bb/∂q_k has a block or two, so the inverse is needed only where the block tridiagonal H^bb of a chain has blocks itself.
Those follow from its elimination, base → tip, one from the one before. Over a pivot S_i = L Δ Lᵀ, with the g = (L Δ)⁻¹ H^bb_ij,
j = i − 1, of `eliminate` and Z = (H^bb)⁻¹,

    Z_ij = L⁻ᵀ U,   U = −g Z_jj,   Z_ii = L⁻ᵀ (Δ⁻¹ − U gᵀ) L⁻¹.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.fixman.partition import Block, Partition, Pivot, product, turned_over


def gradient(linkage: Linkage, partition: Partition, pivots: list[Pivot]) -> list[Scalar]:
    """∂ ln det H^bb/∂q_k = Σ tr(Z_ji ∂H^bb_ij/∂q_k); a block beside the diagonal counts twice, of one on it the half is given."""
    inverse = selected_inverse(linkage, pivots)
    found = [linkage.zero] * len(linkage.dofs)
    for k in range(len(linkage)):
        linkage.step(k, "slope of ln det M, LC (8)")
        half = linkage.zero
        for place, bend in partition.bend.get(k, {}).items():
            for row, other in zip(inverse[place], bend, strict=True):
                half = half + linkage.dot(row, other)
        (own,) = partition.dofs[k]
        found[own] = half + half
        linkage.name("slope", k, found[own])
    return found


def selected_inverse(linkage: Linkage, pivots: list[Pivot]) -> dict[tuple[int, int], Block]:
    """The blocks (i, i) and (i, i − 1) of (H^bb)⁻¹ of a chain."""
    found: dict[tuple[int, int], Block] = {}
    for i, pivot in enumerate(pivots):
        linkage.step(i, "inverse of the hard block, LC (8)")
        size = range(len(pivot.delta))
        core = [[pivot.inverse[r] if r == c else linkage.zero for c in size] for r in size]
        for j, gain in pivot.gain.items():
            U = [[-x for x in row] for row in product(linkage, gain, found[j, j])]
            found[i, j] = _backward(pivot.lower, U)
            core = [
                [x - linkage.dot(U[r], gain[c]) for c, x in enumerate(row)]
                for r, row in enumerate(core)
            ]
        whole = _backward(pivot.lower, turned_over(_backward(pivot.lower, core)))
        found[i, i] = [[whole[min(r, c)][max(r, c)] for c in size] for r in size]
    return found


def _backward(lower: Block, block: Block) -> Block:
    """L⁻ᵀ block."""
    out = [list(row) for row in block]
    for r in reversed(range(len(out))):
        for s in range(r + 1, len(out)):
            out[r] = [x - lower[s][r] * y for x, y in zip(out[r], out[s], strict=True)]
    return out
