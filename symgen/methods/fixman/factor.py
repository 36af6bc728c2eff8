"""Factorization by Fixman's partition: all links freed, then constrained by the hard coordinates,
LC (12), and ∂ ln det M/∂q.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.fixman.applicability import is_planar
from symgen.methods.fixman.partition import (
    Block,
    Partition,
    Pivot,
    block_transpose,
    eliminate,
    product,
    soft_inverse,
    soft_rates,
)
from symgen.methods.fixman.planar import absolute_forces, joint_rates, planar, point_mass_rates
from symgen.methods.fixman.spatial import spatial
from symgen.methods.shared.factor import Factor, Results
from symgen.support.errors import MethodRefusal


class PartitionFactor(Factor):
    """H = G⁻¹, its hard block eliminated; det M = det G · det H^bb, Fixman's theorem, LC (8)."""

    def __init__(self, linkage: Linkage, partition: Partition) -> None:
        super().__init__(linkage)
        self.partition, self.hard = partition, eliminate(linkage, partition)

    @property
    def factors(self) -> dict[int, list[Scalar]]:
        """Factors of det M by link: those of det G, which are constants, and the pivots of H^bb."""
        return {
            i: [*metric_factors, *self.hard[i].delta]
            for i, metric_factors in self.partition.metric.items()
        }

    @property
    def pivots(self) -> list[Scalar]:
        """Factors of det G · det H^bb, LC (8)."""
        return [x for factors in self.factors.values() for x in factors]

    def determinant(self) -> Scalar:
        """Return det G · det H^bb, LC (8)."""
        return self.linkage.product_over_links(self.factors)  # (8)

    def log_determinant(self) -> Scalar:
        """Return ln det G + ln det H^bb, LC (8)."""
        return self.linkage.log_product_over_links(self.factors)  # (8)

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return [H^aa − H^ab (H^bb)⁻¹ (H^ab)ᵀ] b, LC (12)."""
        return soft_rates(self.linkage, self.partition, self.hard, b)


class PlanarFactor(PartitionFactor):
    """M⁻¹ = T⁻¹ M_φ⁻¹ T⁻ᵀ: (12) holds for the link directions φ, and T⁻¹ maps their rates to joint
    rates.

    M⁻¹ is computed from unit right-hand sides, which are cheap because the band is narrow.
    """

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return T⁻¹ [H^φφ − H^φL (H^LL)⁻¹ (H^φL)ᵀ] T⁻ᵀ b, LC (12)."""
        if self.linkage.link_by_link and all(len(pivot.delta) == 1 for pivot in self.hard):
            return point_mass_rates(
                self.linkage, self.partition, self.hard, absolute_forces(self.linkage, b)
            )
        return joint_rates(self.linkage, super().solve(absolute_forces(self.linkage, b)))


class SpatialFactor(PartitionFactor):
    """Factorization whose soft coordinates are the joint coordinates.

    The back substitution is the expensive part; M⁻¹ is computed without it.
    """

    def inverse(self) -> list[Scalar]:
        return soft_inverse(self.linkage, self.partition, self.hard)


def planar_factor(linkage: Linkage) -> PartitionFactor:
    """Return the factorization of point masses or rigid links about parallel axes."""
    _refuse_runtime_inertia(linkage)
    return PlanarFactor(linkage, planar(linkage))


def spatial_factor(linkage: Linkage) -> PartitionFactor:
    """Return the factorization of rigid bodies in space."""
    _refuse_runtime_inertia(linkage)
    return SpatialFactor(linkage, spatial(linkage))


def _refuse_runtime_inertia(linkage: Linkage) -> None:
    """Raise MethodRefusal if inertia comes at run time: the form of a robot and its divisors depend
    on the numbers.
    """
    if linkage.at_run_time is not None and linkage.at_run_time.inertia:
        raise MethodRefusal(
            f"fixman needs constant inertias, and some inertia of '{linkage.model.name}' is a"
            " run-time parameter; use another method, such as riccati"
        )


def applicable_factor(linkage: Linkage) -> PartitionFactor:
    """Return the planar factorization if the robot is planar, else the spatial one."""
    return planar_factor(linkage) if linkage.ask_model(is_planar) else spatial_factor(linkage)


def mass_matrix_log_determinant_gradient(linkage: Linkage) -> Results:
    """Return ∂ ln det M / ∂q of a planar chain."""
    factor = planar_factor(linkage)
    return (gradient(linkage, factor.partition, factor.hard),)


def gradient(linkage: Linkage, partition: Partition, pivots: list[Pivot]) -> list[Scalar]:
    """Return ∂ ln det M/∂q by Fixman's theorem: Σ tr(Z_ji ∂H^bb_ij/∂q_k) with Z = (H^bb)⁻¹.

    det G is constant (LC (8)). An off-diagonal block counts twice, so half of each diagonal block
    is stored. ∂H^bb/∂q_k has one or two blocks, so Z is needed only at the nonzero blocks of the
    block tridiagonal H^bb of a chain.
    """
    inverse = selected_inverse(linkage, pivots)
    result = [linkage.zero] * len(linkage.dofs)
    for k in range(len(linkage)):
        linkage.step(k, "derivative of ln det M, LC (8)")
        half = linkage.zero
        for index, bend in partition.bend.get(k, {}).items():
            for row, bend_row in zip(inverse[index], bend, strict=True):
                half = half + linkage.dot(row, bend_row)
        (entry,) = partition.dofs[k]
        result[entry] = half + half
        linkage.name("slope", k, result[entry])
    return result


def selected_inverse(linkage: Linkage, pivots: list[Pivot]) -> dict[tuple[int, int], Block]:
    """Return the blocks (i, i) and (i, i − 1) of Z = (H^bb)⁻¹ of a chain, base → tip, each from the
    previous one.

    With a pivot S_i = L Δ Lᵀ and g = (L Δ)⁻¹ H^bb_ij, j = i − 1, of `eliminate`:

        Z_ij = L⁻ᵀ U,   U = −g Z_jj,   Z_ii = L⁻ᵀ (Δ⁻¹ − U gᵀ) L⁻¹.
    """
    blocks: dict[tuple[int, int], Block] = {}
    for i, pivot in enumerate(pivots):
        linkage.step(i, "inverse of the hard block, LC (8)")
        size = range(len(pivot.delta))
        core = [[pivot.inverse[r] if r == c else linkage.zero for c in size] for r in size]
        for j, gain in pivot.gain.items():
            U = [[-x for x in row] for row in product(linkage, gain, blocks[j, j])]
            blocks[i, j] = _backward(pivot.lower, U)
            core = [
                [x - linkage.dot(U[r], gain[c]) for c, x in enumerate(row)]
                for r, row in enumerate(core)
            ]
        block = _backward(pivot.lower, block_transpose(_backward(pivot.lower, core)))
        blocks[i, i] = [[block[min(r, c)][max(r, c)] for c in size] for r in size]
    return blocks


def _backward(lower: Block, block: Block) -> Block:
    """Return L⁻ᵀ block."""
    out = [list(row) for row in block]
    for r in reversed(range(len(out))):
        for s in range(r + 1, len(out)):
            out[r] = [x - lower[s][r] * y for x, y in zip(out[r], out[s], strict=True)]
    return out
