"""Every link freed and then held by its hard coordinates: what applies M⁻¹ of LC (12), in a plane and in space, and ∂ ln det M/∂q."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.fixman.applicability import in_a_plane
from symgen.methods.fixman.partition import (
    Block,
    Partition,
    Pivot,
    eliminate,
    product,
    soft_inverse,
    soft_rates,
    turned_over,
)
from symgen.methods.fixman.planar import absolute_forces, joint_rates, planar, rates_in_turn
from symgen.methods.fixman.spatial import spatial
from symgen.methods.shared.factor import Factor, Results
from symgen.support.errors import MethodRefusal


class Held(Factor):
    """H = G⁻¹ and its hard block eliminated; det M = det G · det H^bb, Fixman's theorem, LC (8)."""

    def __init__(self, linkage: Linkage, partition: Partition) -> None:
        super().__init__(linkage)
        self.partition, self.hard = partition, eliminate(linkage, partition)

    @property
    def factors(self) -> dict[int, list[Scalar]]:
        """By link those of det G, which are constants, and the pivots of H^bb."""
        return {i: [*own, *self.hard[i].delta] for i, own in self.partition.metric.items()}

    @property
    def pivots(self) -> list[Scalar]:
        """Those of det G · det H^bb, LC (8)."""
        return [x for own in self.factors.values() for x in own]

    def determinant(self) -> Scalar:
        """det G · det H^bb, LC (8)."""
        return self.linkage.product_of(self.factors)  # (8)

    def log_determinant(self) -> Scalar:
        """ln det G + ln det H^bb, LC (8)."""
        return self.linkage.log_product_of(self.factors)  # (8)

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """[H^aa − H^ab (H^bb)⁻¹ (H^ab)ᵀ] b, LC (12)."""
        return soft_rates(self.linkage, self.partition, self.hard, b)


class HeldInAPlane(Held):
    """M⁻¹ = T⁻¹ M_φ⁻¹ T⁻ᵀ: (12) holds for the directions φ of the links, from which the joint angles follow.

    M⁻¹ is had a unit right-hand side at a time: one that meets a narrow band costs little.
    """

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """T⁻¹ [H^φφ − H^φL (H^LL)⁻¹ (H^φL)ᵀ] T⁻ᵀ b, LC (12)."""
        if self.linkage.in_turn and all(len(pivot.delta) == 1 for pivot in self.hard):
            return rates_in_turn(
                self.linkage, self.partition, self.hard, absolute_forces(self.linkage, b)
            )
        return joint_rates(self.linkage, super().solve(absolute_forces(self.linkage, b)))


class HeldInSpace(Held):
    """The soft coordinates are those of the joints. The way back is what costs, and M⁻¹ is had without it."""

    def inverse(self) -> list[Scalar]:
        return soft_inverse(self.linkage, self.partition, self.hard)


def in_plane(linkage: Linkage) -> Held:
    """Point masses or rigid links about parallel axes."""
    _refuse_what_changes(linkage)
    return HeldInAPlane(linkage, planar(linkage))


def in_space(linkage: Linkage) -> Held:
    """Rigid bodies."""
    _refuse_what_changes(linkage)
    return HeldInSpace(linkage, spatial(linkage))


def _refuse_what_changes(linkage: Linkage) -> None:
    """MethodRefusal where inertia comes at run time: which form suits a robot, and what it divides by, hangs on the numbers."""
    if linkage.at_run_time is not None and linkage.at_run_time.inertia:
        raise MethodRefusal(
            f"fixman takes the inertia of every link of '{linkage.model.name}' as it is described, and some "
            "of it may change at run time; take another method, such as riccati"
        )


def as_it_suits(linkage: Linkage) -> Held:
    """In the plane where that suits the robot."""
    return in_plane(linkage) if linkage.told(in_a_plane) else in_space(linkage)


def mass_matrix_log_determinant_gradient(linkage: Linkage) -> Results:
    """d ln det M / dq of a planar chain."""
    held = in_plane(linkage)
    return (gradient(linkage, held.partition, held.hard),)


def gradient(linkage: Linkage, partition: Partition, pivots: list[Pivot]) -> list[Scalar]:
    """∂ ln det M/∂q out of Fixman's theorem: Σ tr(Z_ji ∂H^bb_ij/∂q_k) with Z = (H^bb)⁻¹, since no angle enters det G (LC (8)).

    A block beside the diagonal counts twice, of one on it the half is given. ∂H^bb/∂q_k has a block or two, so the inverse is
    needed only where the block tridiagonal H^bb of a chain has blocks itself.
    """
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
    """The blocks (i, i) and (i, i − 1) of Z = (H^bb)⁻¹ of a chain, from its elimination, base → tip, one from the one before.

    Over a pivot S_i = L Δ Lᵀ, with the g = (L Δ)⁻¹ H^bb_ij, j = i − 1, of `eliminate`:

        Z_ij = L⁻ᵀ U,   U = −g Z_jj,   Z_ii = L⁻ᵀ (Δ⁻¹ − U gᵀ) L⁻¹.
    """
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
