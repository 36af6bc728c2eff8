"""Acceleration field of a rigid body, and the force and moment that cause its motion: Rodriguez and
Kreutz (RK), equations (2.5)-(2.12).

Let ω and ω̇ be the angular velocity and acceleration of a link, and v̇ the acceleration of its
origin. The point r of the link then has the acceleration v̇ + U r with U = [ω̇]× + ω ωᵀ − |ω|² 1.
So the link with mass m, first moment h = ∫ r dm and second moments S = ∫ r rᵀ dm needs the force

    F = m v̇ + U h

and the moment about its origin

    N = h × v̇ + ∫ r × U r dm.

Component x of the integral is Σ_j (S_yj U_zj − S_zj U_yj); y and z follow by cyclic permutation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Matrix, RigidInertia, SplitShift, Vector, times


@dataclass(frozen=True)
class Motion:
    """Motion of a link in its own axes."""

    omega: Vector
    alpha: Vector
    """Angular acceleration ω̇."""
    accel: Vector
    """Acceleration of the origin minus the acceleration of gravity."""
    U: Matrix
    squares: tuple[Scalar, ...]
    """Squares of the components of ω."""

    @classmethod
    def at_rest(cls, linkage: Linkage) -> Self:
        """Return the motion of the base, at rest and without gravity."""
        zeros = linkage.zeros
        return cls(zeros, zeros, zeros, (zeros, zeros, zeros), ())


def acceleration_field(
    omega: Vector, alpha: Vector
) -> tuple[Matrix, tuple[Scalar, Scalar, Scalar]]:
    """Return U = [ω̇]× + ω ωᵀ − |ω|² 1 and the squares of the components of ω."""
    x, y, z = omega
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    U = (
        Vector((-(yy + zz), xy - alpha[2], xz + alpha[1])),
        Vector((xy + alpha[2], -(xx + zz), yz - alpha[0])),
        Vector((xz - alpha[1], yz + alpha[0], -(xx + yy))),
    )
    return U, (xx, yy, zz)


def origin_acceleration(linkage: Linkage, i: int, parent: Motion, U: Matrix) -> Vector:
    """Return v̇ of the origin of link i in the axes of link i, RK (2.5).

    `U` is the matrix of link i. The caller adds the contribution of a prismatic joint's motion.
    """
    link = linkage.links[i]
    parent_shift, link_shift = link.shift, linkage.zeros
    rotates_only = all(dof.H_linear.is_zero for dof in link.dofs)
    if (
        isinstance(link.shift, SplitShift)
        and rotates_only
        and not any(x.is_zero for x in link.shift)
    ):
        # A point on the joint's axis is fixed to both links. The shift to this point in the axes of
        # the parent, and the shift from it in the axes of the link, have fewer nonzero components.
        parent_shift, link_shift = link.shift.outer, link.shift.inner
    at_parent = parent.accel + times(parent.U, parent_shift)
    return link.rotation.to_child(at_parent) + times(U, link_shift)


def force_and_moment(inertia: RigidInertia, motion: Motion) -> tuple[Vector, Vector]:
    """Return (moment about the origin, force) of a link; see the module.

    These are RK (2.6), (2.9), (2.10), and p × F^c + N^c of (2.12).
    """
    S, U, h = inertia.S, motion.U, inertia.h
    xx, yy, zz = motion.squares
    force = motion.accel * inertia.m + times(U, h)
    # U_zz − U_yy = ω_z² − ω_y², and cyclic permutations
    moment_x = U[2][0] * S.xy - U[1][0] * S.xz + (zz - yy) * S.yz + U[2][1] * S.yy - U[1][2] * S.zz
    moment_y = U[0][1] * S.yz - U[2][1] * S.xy + (xx - zz) * S.xz + U[0][2] * S.zz - U[2][0] * S.xx
    # The terms with S_xx and S_yy have two equal forms. The second form is α_z I_zz if ω_x or ω_y
    # is zero. A later pass chooses the shorter one.
    other_terms = U[1][2] * S.xz - U[0][2] * S.yz + (yy - xx) * S.xy
    moment_z = other_terms + U[1][0] * S.xx - U[0][1] * S.yy
    x, y, _ = motion.omega
    inertia_terms = motion.alpha[2] * inertia.about_z + x * y * (S.xx - S.yy)
    moment_z = moment_z.derivation.either(moment_z, other_terms + inertia_terms)
    moment = Vector((moment_x, moment_y, moment_z))
    return moment + h.cross(motion.accel), force
