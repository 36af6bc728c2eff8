"""Motion within a composite body: its Coriolis map (D4), and the wrench that its joints add, (D8).

A composite body that is frozen beyond link i moves as the link does. The contributions of its
joints beyond are summed here, tip → base.
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
    Symmetric,
    Vector,
    cross_rows,
    plus,
    transposed,
    wrench_to_parent,
)
from symgen.methods.derivative_recursion.motion import AngularVelocities, Twist, twice, twist_cross

Wrench = tuple[Vector, Vector]
"""(moment, force)."""


@dataclass(frozen=True)
class Flow:
    """K = 2 ∫ρ V rᵀ and p = 2 ∫ρ V of matter with velocity V, about the frame's origin."""

    K: Matrix
    p: Vector

    @staticmethod
    def of(body: RigidInertia, omega: Vector, v: Vector) -> Flow:
        """Return a rigid body's flow from twice its twist: K = v hᵀ + [ω]× Σ, p = m v + ω × h."""
        return Flow(
            plus(outer(v, body.h), cross_rows(omega, body.S.rows)), v * body.m + omega.cross(body.h)
        )

    def __add__(self, other: Flow) -> Flow:
        return Flow(plus(self.K, other.K), self.p + other.p)

    def to_parent(self, rotation: Rotation, shift: Vector) -> Flow:
        """Return the flow in the parent's frame: R K Rᵀ + (R p) ℓᵀ, R p."""
        if isinstance(shift, SplitShift):
            return Flow(plus(self.K, outer(self.p, shift.inner)), self.p).to_parent(
                rotation, shift.outer
            )
        p = rotation.to_parent(self.p)
        return Flow(plus(rotation.matrix_to_parent(self.K), outer(p, shift)), p)

    def coriolis(self, w: Vector) -> Wrench:
        """Return B(w) = 2 ∫ρ (r × (w × V), w × V) = ((tr K − K) w, w × p), (D4)."""
        return _less_than_trace(self.K, w), w.cross(self.p)

    def couple(self, z: Vector, s: Vector) -> Vector:
        """Return Bᵀ (z, s) = (tr K − Kᵀ) z + p × s; a couple, since B(w) does not depend on a
        linear velocity.
        """
        return _less_than_trace(transposed(self.K), z) + self.p.cross(s)


def outer(a: Vector, b: Vector) -> Matrix:
    """Return a bᵀ."""
    return b * a[0], b * a[1], b * a[2]


def _less_than_trace(K: Matrix, w: Vector) -> Vector:
    """Return (tr K − K) w; each diagonal entry is the sum of two entries of K."""
    return Vector(
        [
            (K[j][j] + K[k][k]) * w[i] - K[i][j] * w[j] - K[i][k] * w[k]
            for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
        ]
    )


def flows_within(linkage: Linkage, composite: Sequence[RigidInertia]) -> list[Flow]:
    """Return the flow of each composite body relative to its link, (D5), tip → base."""
    v, zeros = [rate + rate for rate in linkage.inputs["v"]], linkage.zeros
    flows = [Flow((zeros, zeros, zeros), zeros) for _ in linkage.links]
    for i in reversed(range(len(linkage))):
        linkage.step(i, "velocity terms of the composite body, (D5)")
        for c in linkage.links[i].children:
            child = linkage.links[c]
            rigid_flow = Flow.of(composite[c], child.turning(v), child.sliding(v))
            flows[i] = flows[i] + (flows[c] + rigid_flow).to_parent(child.rotation, child.shift)
        linkage.name("K", i, flows[i].K)
        linkage.name("p", i, flows[i].p)
    return flows


def displacement_change(body: RigidInertia, z: Vector, s: Vector) -> RigidInertia:
    """Return the change of first and second moments under a displacement (z, s): z × h + m s, and
    [z]× Σ + s hᵀ plus its transpose.
    """
    half = plus(cross_rows(z, body.S.rows), outer(s, body.h))
    return RigidInertia.of(
        body.m * 0, z.cross(body.h) + s * body.m, Symmetric.of(plus(half, transposed(half)))
    )


def couple_to_parent(
    linkage: Linkage, turning: Sequence[AngularVelocities], i: int, t4: Vector, f: Vector
) -> Vector:
    """Carry t4 from link i to its parent, (D10); f is the force of t1."""
    link = linkage.links[i]
    t4 = t4 - f.cross(twice(link.sliding(linkage.inputs["v"])))
    outer, omega = link.shift, turning[link.parent].omega
    if isinstance(link.shift, SplitShift):
        t4 = t4 - f.cross(twice(turning[i].before).cross(link.shift.inner))
        outer = link.shift.outer
    return link.rotation.to_parent(t4) - link.rotation.to_parent(f).cross(twice(omega).cross(outer))


def coriolis_wrench(body: RigidInertia, omega: Vector, z: Vector, s: Vector) -> Wrench:
    """Return ∫ρ (r × c, c) of a rigid body with c = ω × (z × r + s).

    The moment of the first term is Σ ω × z, since r × (ω × (z × r)) = −(r·ω) z × r.
    """
    return body.S.apply(omega).cross(z) + body.h.cross(omega.cross(s)), omega.cross(
        z.cross(body.h) + s * body.m
    )


def add_wrenches(a: Wrench, b: Wrench) -> Wrench:
    return a[0] + b[0], a[1] + b[1]


def wrench_change(S: Twist, F: Wrench) -> Wrench:
    """Return S ×* F = (z × n + s × f, z × f): the change of a wrench that is displaced by S."""
    (z, s), (n, f) = S, F
    return z.cross(n) + s.cross(f), z.cross(f)


def wrenches_within(
    linkage: Linkage,
    composite: Sequence[RigidInertia],
    turning: Sequence[AngularVelocities],
    a: Sequence[Scalar],
) -> list[Wrench]:
    """Return W of (D8) of each link, tip → base: the wrench due to the joints beyond, less the
    loads.
    """
    v = linkage.inputs["v"]
    wrenches = [(-n, -f) for n, f in linkage.loads]
    for i in reversed(range(len(linkage))):
        linkage.step(i, "wrench of the velocity terms of the composite body, (D8)")
        for c in linkage.links[i].children:
            child = linkage.links[c]
            child_wrench = add_wrenches(
                wrenches[c], _joint_wrench(linkage, c, composite[c], turning[c].omega, v, a)
            )
            wrenches[i] = add_wrenches(
                wrenches[i], wrench_to_parent(child.rotation, child.arm, *child_wrench)
            )
        linkage.name("W", i, Vector([*wrenches[i][0], *wrenches[i][1]]))
    return wrenches


def _joint_wrench(
    linkage: Linkage,
    c: int,
    body: RigidInertia,
    omega: Vector,
    v: Sequence[Scalar],
    a: Sequence[Scalar],
) -> Wrench:
    """Return the wrench that the motion of joint c adds at its composite body, frozen beyond it."""
    link = linkage.links[c]
    if len(link.dofs) == 1:  # in terms that (D7) computes too
        z, s, rate = link.dof.H_angular, link.dof.H_linear, v[link.dof.index]
        full_rate, own_rate = (
            coriolis_wrench(body, twice(omega), z, s),
            coriolis_wrench(body, z, z, s),
        )
        moment, force = (
            (full_rate[0] - own_rate[0] * rate) * rate,
            (full_rate[1] - own_rate[1] * rate) * rate,
        )
        _, combined_force = coriolis_wrench(body, (twice(omega) - z * rate) * rate, z, s)
        force = Vector(
            [x.derivation.either(x, y) for x, y in zip(force, combined_force, strict=True)]
        )
        n, f = body.momentum(z, s)
        return add_wrenches((moment, force), (n * a[link.dof.index], f * a[link.dof.index]))
    w, u = link.turning(v), link.sliding(v)
    return add_wrenches(
        coriolis_wrench(body, twice(omega) - w, w, u),
        body.momentum(link.turning(a), link.sliding(a)),
    )


def joint_rate_twist(linkage: Linkage, i: int, S: Twist) -> Twist | None:
    """Return J × S with J the twist across joint i; None for one degree of freedom, where J is
    parallel to S.
    """
    link, v = linkage.links[i], linkage.inputs["v"]
    return None if len(link.dofs) == 1 else twist_cross((link.turning(v), link.sliding(v)), S)
