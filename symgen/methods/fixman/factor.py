"""Every link freed and then held by its hard coordinates: what applies M⁻¹ of LC (12), in a plane and in space."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.fixman.applicability import in_a_plane
from symgen.methods.fixman.gradient import gradient
from symgen.methods.fixman.partition import Partition, eliminate, soft_inverse, soft_rates
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
