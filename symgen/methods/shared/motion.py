"""Motion of a link and the wrench that causes it: the acceleration field of a rigid body, RK
(2.5)-(2.12).

The acceleration of a point r of link k is v̇ + U r with U = [ω̇]× + ω ωᵀ − |ω|² 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Matrix, RigidInertia, SplitShift, Vector, times


@dataclass(frozen=True)
class Motion:
    """Motion of a link in its own axes: ω, ω̇, v̇ of the origin (−gravity included), U and the
    squares of ω.
    """

    omega: Vector
    alpha: Vector
    accel: Vector
    U: Matrix
    squares: tuple[Scalar, ...]

    @classmethod
    def at_rest(cls, linkage: Linkage) -> Self:
        """Return the motion of the base, at rest and without gravity."""
        zeros = linkage.zeros
        return cls(zeros, zeros, zeros, (zeros, zeros, zeros), ())


def acceleration_field(
    omega: Vector, alpha: Vector
) -> tuple[Matrix, tuple[Scalar, Scalar, Scalar]]:
    """Return U = [ω̇]× + ω ωᵀ − |ω|² 1 and the squares of ω."""
    x, y, z = omega
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    U = (
        Vector((-(yy + zz), xy - alpha[2], xz + alpha[1])),
        Vector((xy + alpha[2], -(xx + zz), yz - alpha[0])),
        Vector((xz - alpha[1], yz + alpha[0], -(xx + yy))),
    )
    return U, (xx, yy, zz)


def origin_acceleration(linkage: Linkage, i: int, parent: Motion, U: Matrix) -> Vector:
    """Return v̇ of link i's origin in the axes of link i, without its joint's translation, RK
    (2.5).

    U is the acceleration field of link i.
    """
    link = linkage.links[i]
    outer, inner = link.shift, linkage.zeros
    rotates_only = all(dof.H_linear.is_zero for dof in link.dofs)
    if (
        isinstance(link.shift, SplitShift)
        and rotates_only
        and not any(x.is_zero for x in link.shift)
    ):
        outer, inner = (
            link.shift.outer,
            link.shift.inner,
        )  # a point on the joint's axis belongs to both links
    return link.rotation.to_child(parent.accel + times(parent.U, outer)) + times(U, inner)


def force_and_moment(inertia: RigidInertia, motion: Motion) -> tuple[Vector, Vector]:
    """Return the moment and the force that accelerate the link: RK (2.6), (2.9), (2.10), and p ×
    F^c + N^c of (2.12).
    """
    S, U, h = inertia.S, motion.U, inertia.h
    xx, yy, zz = motion.squares
    force = motion.accel * inertia.m + times(U, h)
    about_x = U[2][0] * S.xy - U[1][0] * S.xz + (zz - yy) * S.yz + U[2][1] * S.yy - U[1][2] * S.zz
    about_y = U[0][1] * S.yz - U[2][1] * S.xy + (xx - zz) * S.xz + U[0][2] * S.zz - U[2][0] * S.xx
    outside = U[1][2] * S.xz - U[0][2] * S.yz + (yy - xx) * S.xy
    about_z = outside + U[1][0] * S.xx - U[0][1] * S.yy
    x, y, _ = motion.omega
    in_two = motion.alpha[2] * inertia.about_z + x * y * (S.xx - S.yy)
    about_z = about_z.derivation.either(about_z, outside + in_two)
    moment = Vector((about_x, about_y, about_z))
    return moment + h.cross(motion.accel), force
