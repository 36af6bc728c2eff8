"""Bias force from composite bodies, which M needs anyway: no wrench of a single link is computed.

Freeze every joint beyond joint i. Link i and its descendants are then one rigid body, M̃_i of SA
(15a-c), with the motion of link i. Now release the joints beyond, one by one from the inside, and
add the change that each of them makes. Joint k moves at (w, u) relative to a parent with angular
velocity ω. Let r = w / 2, p = u / 2, and ω̂ = ω + r, the angular velocity of link k halfway. The
joint changes the field [ω̇]× + [ω]×² to [ω̇ + ω × w]× + [ω + w]×², an increase by 2 [ω]×[w]× +
[w]×² = 4 [ω̂]×[r]×. It increases v̇ of the origin by 2 ω × u + w × u = 4 ω̂ × p. So the
acceleration of a point x of the composite body k, measured from its origin, increases by

    4 (Q x + c),    Q = [ω̂]×[r]×,    c = ω̂ × p                                                (B1)

relative to a frozen joint. For the composite body, of mass m̃, first moment h̃ and second moment
Σ̃, this requires four times the wrench δw_k,

    moment  s × r + h̃ × c,    s = Σ̃ ω̂,                                                       (B2)
    force   Q h̃ + m̃ c,                                                                        (B3)

since x × (ω̂ × (r × x)) = −(x·ω̂) r × x. Wrenches are carried inward by B_kiᵀ of SA (4). Their sum
at link i, less the external wrench on it, is four times Γ_i:

    Γ_i = Σ_k B_kiᵀ (Γ_k + δw_k) − load_i / 4, over the links k on link i.                      (B4)

The composite body itself moves as link i does. So c_i = p_iᵀ (ñ, f̃) + 4 p_iᵀ Γ_i, with p_i of SA
(4) and, as in RK (2.6) to (2.12),

    f̃ = m̃ v̇ + U h̃,                                                                          (B5)
    ñ = skew part of U Σ̃ + h̃ × v̇.                                                            (B6)

A joint that rotates about one axis changes no moment about that axis: s × r of (B2) has no
component along it, and centripetal accelerations r × (r × x) point to the axis. So (B6) along the
axis is equal halfway, where s of (B2) is reused; only v̇ is that of link i:

    ñ = Ĩ α̂ + s × ω̂ + h̃ × v̇,    α̂ = ω̇ + ω̂ × r.                                           (B7)

For a revolute joint about z, with A = r ω̂_x and B = r ω̂_y, the result is

    δw = (r s_y, −r s_x, 0; −r ω̂_z h̃_x, −r ω̂_z h̃_y, A h̃_x + B h̃_y),    α̂ = ω̇ + (B, −A, 0),
    c_i = α̂·(−Σ̃_xz, −Σ̃_yz, Ĩ_zz) + ω̂_y s_x − ω̂_x s_y + (h̃ × v̇)_z + 4 Γ_z.

The factors 1/2 and 4 are powers of two and cause no rounding error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation import constants as k
from symgen.derivation.linkage import Dof, Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Matrix, RigidInertia, Vector, times, wrench_to_parent
from symgen.methods.composite_body.mass_matrix import Elimination, lower_triangle
from symgen.methods.shared.composite import composite_inertias
from symgen.methods.shared.elimination import full_matrix
from symgen.methods.shared.factor import subtract_bias
from symgen.methods.shared.motion import (
    Motion,
    acceleration_field,
    force_and_moment,
    origin_acceleration,
)
from symgen.methods.shared.quantities import Entries, Quantity, column

Wrench = tuple[Vector, Vector]


@dataclass(frozen=True)
class Halfway:
    """Motion of one link halfway between its joint at rest and moving, in its axes.

    The fields are ω̂, α̂ of (B7), r, and c and Q of (B1).
    """

    omega: Vector
    alpha: Vector
    r: Vector
    c: Vector
    Q: Matrix


def outward_sweep(linkage: Linkage) -> tuple[list[Motion], list[Halfway]]:
    """Return the motion of each link at q̈ = 0, and its motion halfway, base → tip."""
    v, half = linkage.inputs["v"], linkage.scalar(k.rational(1) / 2)
    halves = [half * rate for rate in v]
    motions: list[Motion] = []
    between: list[Halfway] = []
    base = Motion.at_rest(linkage)
    for i, link in enumerate(linkage.links):
        parent = base if link.parent < 0 else motions[link.parent]
        linkage.step(i, "velocity and acceleration before, halfway across and after its joint")
        parent_omega = link.rotation.to_child(parent.omega)
        joint_omega, joint_velocity, r = link.turning(v), link.sliding(v), link.turning(halves)
        omega_hat, omega = parent_omega + r, parent_omega + joint_omega
        change = parent_omega.cross(r)  # ω̂ × r
        alpha_hat = link.rotation.to_child(parent.alpha) + change
        alpha = alpha_hat + change
        U, squares = acceleration_field(omega, alpha)
        added = parent_omega.cross(joint_velocity + joint_velocity) + joint_omega.cross(
            joint_velocity
        )  # 4 ω̂ × p
        accel = origin_acceleration(linkage, i, parent, U) + added
        if link.parent < 0:
            accel = linkage.against_gravity(i) + accel
        linkage.name("omega", i, omega)
        linkage.name("omegadot", i, alpha)
        linkage.name("vdot", i, accel)
        motions.append(Motion(omega, alpha, accel, U, squares))
        between.append(
            Halfway(omega_hat, alpha_hat, r, added * (half * half), product(omega_hat, r))
        )
    return motions, between


def product(a: Vector, b: Vector) -> Matrix:
    """Return [a]× [b]× = b aᵀ − (a·b) 1."""
    (x, y, z), (X, Y, Z) = a, b
    xx, yy, zz = x * X, y * Y, z * Z
    return (
        Vector((-(yy + zz), y * X, z * X)),
        Vector((x * Y, -(xx + zz), z * Y)),
        Vector((x * Z, y * Z, -(xx + yy))),
    )


def inward_sweep(
    linkage: Linkage, composite: Sequence[RigidInertia]
) -> tuple[list[Scalar], list[Wrench], list[Wrench]]:
    """Return c, and Γ and δw per link as (moment, force) at its origin in its axes, tip → base."""
    motions, between = outward_sweep(linkage)
    quarter, four = linkage.scalar(k.rational(1) / 4), linkage.scalar(k.rational(4))
    received: list[Wrench] = [(linkage.zeros, linkage.zeros)] * len(linkage)
    changed = list(received)
    bias = [linkage.zero] * len(linkage.dofs)
    for i in reversed(range(len(linkage))):
        link, body, mid = linkage.links[i], composite[i], between[i]
        linkage.step(i, "bias wrench of the composite body, and its change by the joint velocity")
        n, f = linkage.loads[i][0] * -quarter, linkage.loads[i][1] * -quarter
        for child in link.children:
            outer, (n_c, f_c), (n_d, f_d) = linkage.links[child], received[child], changed[child]
            n_c, f_c = wrench_to_parent(outer.rotation, outer.arm, n_c + n_d, f_c + f_d)
            n, f = n + n_c, f + f_c  # (B4)
        linkage.name("Gamma", i, Vector([*n, *f]))
        received[i] = n, f
        s = body.S.apply(mid.omega)
        changed[i] = (
            s.cross(mid.r) + body.h.cross(mid.c),
            times(mid.Q, body.h) + mid.c * body.m,
        )  # (B2), (B3)
        linkage.name("dw", i, Vector([*changed[i][0], *changed[i][1]]))
        one_axis = sum(not x.is_zero for x in mid.r) <= 1
        wrench = None if one_axis else force_and_moment(body, motions[i])  # (B5), (B6)
        for dof in link.dofs:
            rigid_part = (
                dof.project(*wrench) if wrench else project_halfway(dof, body, motions[i], mid, s)
            )
            bias[dof.index] = rigid_part + dof.project(n, f) * four
            linkage.name("c", dof.index, bias[dof.index])
    return bias, received, changed


def project_halfway(
    dof: Dof, body: RigidInertia, motion: Motion, mid: Halfway, s: Vector
) -> Scalar:
    """Return pᵀ (ñ, f̃) of a joint that rotates about one axis e only: (B5), and (B7) along e with
    e·(a × b) = a·(b × e).
    """
    e, direction = dof.H_angular, dof.H_linear
    angular_part = (
        mid.alpha.dot(body.moments().apply(e))
        + s.dot(mid.omega.cross(e))
        + body.h.dot(motion.accel.cross(e))
    )
    if direction.is_zero:
        return angular_part
    return angular_part + direction.dot(motion.accel * body.m + times(motion.U, body.h))


def bias_force(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return c = C(q, v) v + g − Jᵀ wrench."""
    return (inward_sweep(linkage, composite_inertias(linkage))[0],)


def mass_matrix_and_bias(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return M and c from the same composite bodies."""
    composite = composite_inertias(linkage)
    c, _, _ = inward_sweep(linkage, composite)
    return full_matrix(linkage, lower_triangle(linkage, composite)), c


def forward_dynamics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return a = M⁻¹ (tau − c) by elimination of M, SA (24)."""
    composite = composite_inertias(linkage)
    c, _, _ = inward_sweep(linkage, composite)
    factor = Elimination(linkage, composite)
    return (factor.solve(subtract_bias(linkage, linkage.coupling.reduce_forces(c))),)


def _Gamma(linkage: Linkage) -> Entries:
    _, received, _ = inward_sweep(linkage, composite_inertias(linkage))
    return {(i,): column(wrench, i) for i, wrench in enumerate(received)}


def _dw(linkage: Linkage) -> Entries:
    _, _, changed = inward_sweep(linkage, composite_inertias(linkage))
    return {(i,): column(wrench, i) for i, wrench in enumerate(changed)}


QUANTITIES = {
    "dw": Quantity(
        ("k",),
        "6x1",
        "a quarter of the wrench that the velocity of joint k adds to composite "
        "body k, with the joints beyond it locked; symgen's own (B2), (B3)",
        _dw,
        ("q", "v"),
        is_matrix=False,
        variant="bias",
    ),
    "Gamma": Quantity(
        ("k",),
        "6x1",
        "sum of dw over the joints beyond link k; symgen's own (B4)",
        _Gamma,
        ("q", "v"),
        is_matrix=False,
        variant="bias",
    ),
}
"""Quantities of the bias force, without a run-time wrench."""
