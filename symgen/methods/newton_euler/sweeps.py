"""Recursive Newton-Euler, RK (2.1)-(2.13), in link frames; (2.24)-(2.30) is the same recursion on twists and wrenches.

Every acceleration on link k is v̇ + U r with U = [ω̇]× + ω ωᵀ − |ω|² 1, so that (2.6), (2.9), (2.10) and the middle of
(2.12) become: force = m v̇ + U h, moment about O(k) = the skew part of U Σ, plus h × v̇. With the inertia that a joint
cannot feel moved into its parent this needs 13 to 15 multiplications a link for the moment, not 24.
A run-time wrench on a link is −f(0) of (2.28): the paper's f(0) is what the tip exerts on the surroundings.
A sliding joint follows (2.31) and (2.32) as corrected: ω × [ω × ℓ + 2 h θ̇], ℓ with the slide in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Matrix, RigidInertia, SplitShift, Vector, times, wrench_outward
from symgen.methods._quantities import Entries, Quantity, column


@dataclass(frozen=True)
class Motion:
    """Of one link, in its own axes: ω, ω̇, v̇ of the origin (gravity included) and U."""

    omega: Vector
    alpha: Vector
    accel: Vector
    U: Matrix
    squares: tuple[Scalar, ...]


def acceleration_field(omega: Vector, alpha: Vector) -> tuple[Matrix, tuple[Scalar, Scalar, Scalar]]:
    """U = [ω̇]× + ω ωᵀ − |ω|² 1 and the squares of ω."""
    x, y, z = omega
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    U = (Vector((-(yy + zz), xy - alpha[2], xz + alpha[1])),
         Vector((xy + alpha[2], -(xx + zz), yz - alpha[0])),
         Vector((xz - alpha[1], yz + alpha[0], -(xx + yy))))
    return U, (xx, yy, zz)


def force_and_moment(inertia: RigidInertia, motion: Motion) -> tuple[Vector, Vector]:
    """(N, F) that move the link so: (2.6), (2.9), (2.10) and p × F^c + N^c of (2.12)."""
    S, U, h = inertia.S, motion.U, inertia.h
    xx, yy, zz = motion.squares
    force = motion.accel * inertia.m + times(U, h)
    moment = Vector((
        U[2][0] * S.xy - U[1][0] * S.xz + (zz - yy) * S.yz + U[2][1] * S.yy - U[1][2] * S.zz,
        U[0][1] * S.yz - U[2][1] * S.xy + (xx - zz) * S.xz + U[0][2] * S.zz - U[2][0] * S.xx,
        U[1][2] * S.xz - U[0][2] * S.yz + (yy - xx) * S.xy + U[1][0] * S.xx - U[0][1] * S.yy,
    ))
    return moment + h.cross(motion.accel), force


def outward_sweep(linkage: Linkage, v: Sequence[Scalar], a: Sequence[Scalar], gravity: bool = True) -> list[Motion]:
    """Base → tip: (2.1)-(2.5)."""
    zeros = linkage.zeros
    motions: list[Motion] = []
    base = Motion(zeros, zeros, zeros, (zeros, zeros, zeros), ())   # (2.1) without gravity; no moment acts on the base
    for i, link in enumerate(linkage.links):
        parent = base if link.parent < 0 else motions[link.parent]
        linkage.step(i, "velocity and acceleration, RK (2.2)-(2.5)")
        carried = link.rotation.inward(parent.omega)
        turn = link.turning(v)
        omega = carried + turn                                                                      # (2.2)
        alpha = link.rotation.inward(parent.alpha) + link.turning(a) + carried.cross(turn)          # (2.4)
        U, squares = acceleration_field(omega, alpha)
        outer, inner = link.shift, zeros
        still = all(dof.H_linear.is_zero for dof in link.dofs)
        if isinstance(link.shift, SplitShift) and still and not any(x.is_zero for x in link.shift):
            outer, inner = link.shift.outer, link.shift.inner   # a point on the joint's axis moves with either link
        accel = link.rotation.inward(parent.accel + times(parent.U, outer)) + times(U, inner)       # (2.5)
        if link.parent < 0 and gravity:
            accel = linkage.against_gravity(i) + accel                                              # (2.1)
        slide = link.sliding(v)
        # (2.32) corrected; a joint that turns and slides in several directions turns its own slide
        accel = accel + link.sliding(a) + carried.cross(slide + slide) + turn.cross(slide)
        linkage.name("omega", i, omega)
        linkage.name("omegadot", i, alpha)
        linkage.name("vdot", i, accel)
        linkage.name("U", i, U)
        motions.append(Motion(omega, alpha, accel, U, squares))
    return motions


def inward_sweep(linkage: Linkage, motions: Sequence[Motion],
                 loads: Sequence[tuple[Vector, Vector]] = ()) -> tuple[list[Scalar], list[tuple[Vector, Vector]]]:
    """Tip → base: (2.8)-(2.13); `loads`: what the surroundings exert on each link, nothing without.

    tau, and of every link the (moment, force) that moves it with all that it carries, at its origin in its axes.
    """
    n = len(linkage)
    moments: list[Vector] = [linkage.zeros] * n
    forces: list[Vector] = [linkage.zeros] * n
    tau = at_rest(linkage)
    for i in reversed(range(n)):
        link = linkage.links[i]
        linkage.step(i, "force and moment, RK (2.6), (2.9)-(2.13)")
        moment, force = force_and_moment(linkage.inertia[i], motions[i])
        if loads:
            moment, force = moment - loads[i][0], force - loads[i][1]                               # f(0), (2.28), (3.16)
        for c in link.children:
            child = linkage.links[c]
            n_c, f_c = wrench_outward(child.rotation, child.arm, moments[c], forces[c])
            moment, force = moment + n_c, force + f_c                                               # (2.11), (2.12)
        linkage.name("N", i, moment)
        linkage.name("F", i, force)
        moments[i], forces[i] = moment, force
        for dof in link.dofs:
            tau[dof.index] = dof.project(moment, force)                                             # (2.13)
            linkage.name("tau", dof.index, tau[dof.index])
    return tau, list(zip(moments, forces, strict=True))


def at_rest(linkage: Linkage) -> list[Scalar]:
    """Zero for every degree of freedom."""
    return [linkage.zero] * len(linkage.dofs)


def inverse_dynamics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """tau from q, v, a."""
    return (inward_sweep(linkage, outward_sweep(linkage, linkage.inputs["v"], linkage.inputs["a"]), linkage.loads)[0],)


def bias_force(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """c = C(q, v) v + g − Jᵀ wrench: the sweep at q̈ = 0, RK (3.23)."""
    return (inward_sweep(linkage, outward_sweep(linkage, linkage.inputs["v"], at_rest(linkage)), linkage.loads)[0],)


def gravity_force(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """g: the sweep at rest."""
    return (inward_sweep(linkage, outward_sweep(linkage, at_rest(linkage), at_rest(linkage)))[0],)


def mass_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """M, column by column: the torques of a unit acceleration at rest and without gravity, M = H φ 𝓜 φᵀ Hᵀ (3.20)."""
    n = len(linkage.dofs)
    columns = []
    for j in range(n):
        unit = [linkage.one if i == j else linkage.zero for i in range(n)]
        columns.append(inward_sweep(linkage, outward_sweep(linkage, at_rest(linkage), unit, gravity=False))[0])
    return ([columns[max(i, j)][min(i, j)] for i in range(n) for j in range(n)],)


def _of_motion(part: Callable[[Motion], Vector], what: str) -> Quantity:
    def derive(linkage: Linkage) -> Entries:
        motions = outward_sweep(linkage, linkage.inputs["v"], linkage.inputs["a"])
        return {(i,): column((part(motion),), i) for i, motion in enumerate(motions)}
    return Quantity(("k",), "3x1", what, derive, ("q", "v", "a"), whole=False)


QUANTITIES = {
    "omega": _of_motion(lambda motion: motion.omega, "angular velocity of link k, RK (2.2)"),
    "omegadot": _of_motion(lambda motion: motion.alpha, "angular acceleration of link k, RK (2.4)"),
    "vdot": _of_motion(lambda motion: motion.accel, "acceleration of its origin less gravity, RK (2.5)"),
}
