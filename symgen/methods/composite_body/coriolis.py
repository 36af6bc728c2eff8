"""Coriolis matrix C from composite bodies and from the motion of each link's descendants relative
to the link.

(C1)-(C7) are the equations of this module. `symgen.methods.composite_body.mass_matrix` explains SA
and its symbols.

Let the velocity of the point x of matter be J(x) v, in axes that do not rotate. Then

    M = Σ_x dm JᵀJ,    C = Σ_x dm Jᵀ J̇.    (C1)

So Ṁ = C + Cᵀ. C v are the joint forces that give all matter the acceleration J̇ v; they are the
bias force c without gravity. If each joint has one coordinate, C consists of the Christoffel
symbols of M, times v. For other joints it is the Levi-Civita connection in their velocities v.

Let r lead from the origin of the link of degree of freedom j to the point x. Column j of J is the
velocity field w × r + u of this link's joint. In the axes of the link, (w, u) = H_j is constant.
The field changes as the link rotates, and as matter moves through it. Let link i have the angular
velocity ω, let its origin have the velocity v, and let its descendants have the velocity ẏ relative
to the link. The descendants and the link form the composite body M̃_i of SA (15a-c), with mass m̃,
first moment h̃ and second moment Σ̃. Let further

    D = Σ_x dm ẏ rᵀ,    d = Σ_x dm ẏ,    E = tr(D) 1 − D.    (C2)

A child k, whose joint rotates it at w and translates it at u, contributes in its own axes and about
its own origin

    D_k + w̃ Σ̃_k + u h̃_kᵀ,    d_k + w × h̃_k + m̃_k u,    (C3)

where w̃ is the matrix of w ×. About an origin at −ℓ, this D becomes Σ_x dm ẏ (r + ℓ)ᵀ = D + d ℓᵀ.

The rate of the field of degree of freedom j requires the wrench γ_j on the composite body:

    moment  s × w + h̃ × (ω × u) + E w,    s = Σ̃ ω,    (C4)
    force   ω × (w × h̃ + m̃ u) + w × d,    (C5)

since r × (ω × (w × r)) = −(r·ω) (w × r). B_kiᵀ of SA (4) carries γ_j inward, and C_kj = p_kᵀ γ_j
for all ancestors k of j.

The entry C_ij of an ancestor j combines the field of i with the rate of the field of j. It needs
the momentum (n, f) = M̃_i p_i, which is carried inward as for M, and a couple κ_i, which is only
rotated:

    κ_i = v × f + Σ̃ (ω × w) + Eᵀ w + (ω × h̃ + d) × u,    (C6)
    C_ij = n·(ω_j × w_j) + f·(ω_j × u_j + v_j × w_j) + κ_i·w_j.    (C7)

Only differences of the links' linear velocities enter, so that of a root is set to zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import (
    Matrix,
    RigidInertia,
    Rotation,
    SplitShift,
    Vector,
    cross_rows,
    plus,
    transposed,
    twist_to_child,
    wrench_to_parent,
)
from symgen.methods.composite_body.mass_matrix import gravity_forces
from symgen.methods.shared.composite import composite_inertias
from symgen.methods.shared.elimination import full_matrix

Rows = list[dict[int, Scalar]]
"""Rows of a matrix: entries by column, without those that are zero in every state."""


@dataclass(frozen=True)
class RelativeMotion:
    """D and d of (C2): motion of the descendants of a link relative to it, in the axes of the link
    about its origin.
    """

    D: Matrix
    d: Vector

    def __add__(self, other: RelativeMotion) -> RelativeMotion:
        return RelativeMotion(plus(self.D, other.D), self.d + other.d)

    def add_joint_motion(self, body: RigidInertia, w: Vector, u: Vector) -> RelativeMotion:
        """Return D and d relative to the parent by (C3): the joint of this link rotates its
        composite body at w and translates it at u.
        """
        return self + RelativeMotion(
            plus(cross_rows(w, body.S.rows), outer_product(u, body.h)), w.cross(body.h) + u * body.m
        )

    def to_parent(self, rotation: Rotation, shift: Vector) -> RelativeMotion:
        """Return D and d in the axes of the parent about its origin."""
        if isinstance(shift, SplitShift):
            return self.to_parent(Rotation([]), shift.inner).to_parent(rotation, shift.outer)
        d = rotation.to_parent(self.d)
        return RelativeMotion(plus(rotation.matrix_to_parent(self.D), outer_product(d, shift)), d)

    def apply_E(self, w: Vector, transpose: bool = False) -> Vector:
        """Return E w, or Eᵀ w."""
        D = transposed(self.D) if transpose else self.D
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = D
        x, y, z = w
        return Vector(
            (
                (yy + zz) * x - xy * y - xz * z,
                (xx + zz) * y - yx * x - yz * z,
                (xx + yy) * z - zx * x - zy * y,
            )
        )


def outer_product(a: Vector, b: Vector) -> Matrix:
    """Return a bᵀ."""
    return (b * a[0], b * a[1], b * a[2])


def link_velocities(linkage: Linkage) -> tuple[list[Vector], list[Vector]]:
    """Return ω and v of each link in its axes, base → tip; v is relative to the root's velocity."""
    rates = linkage.inputs["v"]
    omega: list[Vector] = []
    velocity: list[Vector] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "velocity")
        w, v = linkage.zeros, linkage.zeros
        if link.parent >= 0:
            w, v = twist_to_child(
                link.rotation, link.shift, omega[link.parent], velocity[link.parent]
            )
            v = v + link.sliding(rates)
        omega.append(w + link.turning(rates))
        velocity.append(v)
        linkage.name("omega", i, omega[i])
        linkage.name("v", i, velocity[i])
    return omega, velocity


def relative_motions(linkage: Linkage, composite: Sequence[RigidInertia]) -> list[RelativeMotion]:
    """Return D and d of each link, (C2) and (C3), tip → base."""
    rates, zeros = linkage.inputs["v"], linkage.zeros
    motions = [RelativeMotion((zeros, zeros, zeros), zeros)] * len(linkage)
    for i in reversed(range(len(linkage))):
        linkage.step(i, "momentum of the carried links relative to it")
        for c in linkage.links[i].children:
            child = linkage.links[c]
            motion = motions[c].add_joint_motion(
                composite[c], child.turning(rates), child.sliding(rates)
            )
            motions[i] = motions[i] + motion.to_parent(child.rotation, child.shift)
        linkage.name("d", i, motions[i].d)
        linkage.name("D", i, motions[i].D)
    return motions


def mass_and_coriolis_rows(
    linkage: Linkage, composite: Sequence[RigidInertia]
) -> tuple[Rows, Rows]:
    """Return the lower triangle of M, SA (16), and C.

    Each degree of freedom of link i yields its row of M, and the elements of its row and column of
    C at its ancestors.
    """
    omega, velocity = link_velocities(linkage)
    motions = relative_motions(linkage, composite)
    mass: Rows = []
    coriolis: Rows = [{} for _ in linkage.dofs]
    for i, link in enumerate(linkage.links):
        linkage.step(i, "rows and columns of C")
        body, motion, w_i, v_i = composite[i], motions[i], omega[i], velocity[i]
        s = body.S.apply(w_i)
        for dof in link.dofs:
            w, u = dof.H_angular, dof.H_linear
            n, f = body.momentum(w, u)  # M̃_i p_i
            moment = s.cross(w) + body.h.cross(w_i.cross(u)) + motion.apply_E(w)  # (C4)
            force = w_i.cross(w.cross(body.h) + u * body.m) + w.cross(motion.d)  # (C5)
            mass.append(
                {row_dof.index: row_dof.project(n, f) for row_dof in link.dofs[: dof.column + 1]}
            )
            mass[-1][dof.index] = mass[-1][dof.index] + linkage.drives[dof.index].armature
            for row_dof in link.dofs:
                coriolis[row_dof.index][dof.index] = row_dof.project(moment, force)
            if link.parent < 0:
                continue
            couple = (
                v_i.cross(f) + body.S.apply(w_i.cross(w)) + motion.apply_E(w, transpose=True)
            )  # (C6)
            couple = couple + (w_i.cross(body.h) + motion.d).cross(u)
            inner = link
            for j in linkage.model.ancestors(i):
                n, f = wrench_to_parent(inner.rotation, inner.shift, n, f)  # B_ijᵀ M̃_i p_i
                moment, force = wrench_to_parent(inner.rotation, inner.shift, moment, force)
                couple = inner.rotation.to_parent(couple)
                inner = linkage.links[j]
                for ancestor_dof in inner.dofs:
                    w_j, u_j = ancestor_dof.H_angular, ancestor_dof.H_linear
                    mass[-1][ancestor_dof.index] = ancestor_dof.project(n, f)  # SA (16)
                    coriolis[ancestor_dof.index][dof.index] = ancestor_dof.project(moment, force)
                    linear_rate = omega[j].cross(u_j) + velocity[j].cross(w_j)
                    by_field_rate = n.dot(omega[j].cross(w_j)) + f.dot(linear_rate)
                    coriolis[dof.index][ancestor_dof.index] = by_field_rate + couple.dot(
                        w_j
                    )  # (C7)
    return mass, coriolis


def coriolis_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return C, row-major with its zeros."""
    return (_full(linkage, mass_and_coriolis_rows(linkage, composite_inertias(linkage))[1]),)


def mass_matrix_coriolis_and_bias(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return M, C and c = C v + g − Jᵀ wrench."""
    composite, rates = composite_inertias(linkage), linkage.inputs["v"]
    mass, coriolis = mass_and_coriolis_rows(linkage, composite)
    bias = gravity_forces(linkage, composite)
    for i, load in enumerate(external_forces(linkage)):
        linkage.derivation.step("bias force")
        for j, entry in coriolis[i].items():
            bias[i] = bias[i] + entry * rates[j]
        bias[i] = bias[i] - load
        linkage.name("c", i, bias[i])
    return full_matrix(linkage, mass), _full(linkage, coriolis), bias


def external_forces(linkage: Linkage) -> list[Scalar]:
    """Return the joint forces of the run-time wrenches: the sum of Jᵀ times each wrench."""
    received = list(linkage.loads)
    forces = [linkage.zero] * len(linkage.dofs)
    for i in reversed(range(len(linkage))):
        linkage.step(i, "external wrenches")
        for c in linkage.links[i].children:
            child = linkage.links[c]
            n, f = wrench_to_parent(child.rotation, child.arm, *received[c])
            received[i] = received[i][0] + n, received[i][1] + f
        for dof in linkage.links[i].dofs:
            forces[dof.index] = dof.project(*received[i])
    return forces


def _full(linkage: Linkage, matrix: Rows) -> list[Scalar]:
    """Return all entries of a matrix, row-major with its zeros."""
    return [row.get(j, linkage.zero) for row in matrix for j in range(len(linkage.dofs))]
