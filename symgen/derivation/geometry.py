"""One link and its degrees of freedom as a Linkage lays them out, in Scalars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, Vector


@dataclass(frozen=True)
class Dof:
    """A degree of freedom: entry `index` of v, the link that it moves, its column of the motion subspace in the link's axes."""

    index: int
    link: int
    column: int
    H_angular: Vector
    H_linear: Vector

    def project(self, n: Vector, f: Vector) -> Scalar:
        """Hᵀ · wrench: the generalized force at this degree of freedom."""
        return self.H_angular.dot(n) + self.H_linear.dot(f)


@dataclass(frozen=True)
class LinkGeometry:
    """One link's place in the chain: `rotation` and `shift` lead from its frame to the parent's; `dofs` are its joint's.

    `arm` is the shift as one vector where the link is a limb of a trunk, else as it is. It is for twists and wrenches: limbs are
    alike, and what is common to them is taken out of their sum. An inertia keeps the shift that may be in two.
    """

    parent: int
    children: tuple[int, ...]
    rotation: Rotation
    shift: Vector
    arm: Vector
    dofs: tuple[Dof, ...]
    label: str

    @property
    def dof(self) -> Dof:
        """That of a joint which has one, for papers of joints of one degree."""
        (only,) = self.dofs
        return only

    def turning(self, v: Sequence[Scalar]) -> Vector:
        """Angular part of H v: of the link against its parent, in the link's axes."""
        return _sum([dof.H_angular * v[dof.index] for dof in self.dofs])

    def sliding(self, v: Sequence[Scalar]) -> Vector:
        """Linear part of H v."""
        return _sum([dof.H_linear * v[dof.index] for dof in self.dofs])


def _sum(vectors: Sequence[Vector]) -> Vector:
    total = vectors[0]
    for one in vectors[1:]:
        total = total + one
    return total
