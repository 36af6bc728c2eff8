"""Geometry of one link and its degrees of freedom, in Scalars, as a Linkage lays them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, Vector


@dataclass(frozen=True)
class Dof:
    """A degree of freedom: its index in v, the link that it moves, and its column of the motion
    subspace in the link's axes.
    """

    index: int
    link: int
    column: int
    H_angular: Vector
    H_linear: Vector

    def project(self, n: Vector, f: Vector) -> Scalar:
        """Return Hᵀ · wrench: the generalized force at this degree of freedom."""
        return self.H_angular.dot(n) + self.H_linear.dot(f)


@dataclass(frozen=True)
class LinkGeometry:
    """Geometry of one link: `rotation` and `shift` lead from its frame to the parent's; `dofs` are
    its joint's.

    `arm` is the shift for twists and wrenches. For a child of a trunk (a link without joint axis)
    it is one vector. Factors that are common to similar children can then be taken out of their
    sum. For other links it equals `shift`. Inertias use `shift`, which may be split in two.
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
        """The only degree of freedom of a joint that has one."""
        (only,) = self.dofs
        return only

    def turning(self, v: Sequence[Scalar]) -> Vector:
        """Return the angular part of H v: the angular velocity of the link relative to its parent,
        in the link's axes.
        """
        return _sum([dof.H_angular * v[dof.index] for dof in self.dofs])

    def sliding(self, v: Sequence[Scalar]) -> Vector:
        """Return the linear part of H v."""
        return _sum([dof.H_linear * v[dof.index] for dof in self.dofs])


def _sum(vectors: Sequence[Vector]) -> Vector:
    total = vectors[0]
    for vector in vectors[1:]:
        total = total + vector
    return total
