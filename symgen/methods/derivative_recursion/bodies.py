"""Motion within a composite body: its Coriolis map (D4), and the wrench that its joints' motion adds, (D8).

Frozen beyond link i, the composite body moves as the link does. What its joints beyond add to that is summed here, tip → base.
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
from symgen.methods.derivative_recursion.motion import Turning, Twist, crossed, twice

Wrench = tuple[Vector, Vector]
"""(moment, force)."""


@dataclass(frozen=True)
class Flow:
    """K = 2 ∫ρ V rᵀ and p = 2 ∫ρ V of matter that moves at V, about the frame's origin."""

    K: Matrix
    p: Vector

    @staticmethod
    def of(body: RigidInertia, omega: Vector, v: Vector) -> Flow:
        """Of a rigid body, by twice its twist: K = v hᵀ + [ω]× Σ, p = m v + ω × h."""
        return Flow(
            plus(outer(v, body.h), cross_rows(omega, body.S.rows)), v * body.m + omega.cross(body.h)
        )

    def __add__(self, other: Flow) -> Flow:
        return Flow(plus(self.K, other.K), self.p + other.p)

    def to_parent(self, rotation: Rotation, shift: Vector) -> Flow:
        """Of the same matter in the parent's frame: R K Rᵀ + (R p) ℓᵀ, R p."""
        if isinstance(shift, SplitShift):
            return Flow(plus(self.K, outer(self.p, shift.inner)), self.p).to_parent(
                rotation, shift.outer
            )
        p = rotation.to_parent(self.p)
        return Flow(plus(rotation.matrix_to_parent(self.K), outer(p, shift)), p)

    def coriolis(self, w: Vector) -> Wrench:
        """B(w) = 2 ∫ρ (r × (w × V), w × V) = ((tr K − K) w, w × p), (D4)."""
        return _less_than_trace(self.K, w), w.cross(self.p)

    def couple(self, z: Vector, s: Vector) -> Vector:
        """Bᵀ (z, s) = (tr K − Kᵀ) z + p × s: a couple, since B(w) hangs on no linear velocity."""
        return _less_than_trace(transposed(self.K), z) + self.p.cross(s)


def outer(a: Vector, b: Vector) -> Matrix:
    """a bᵀ."""
    return b * a[0], b * a[1], b * a[2]


def _less_than_trace(K: Matrix, w: Vector) -> Vector:
    """(tr K − K) w, of which the diagonal of K has two terms in each."""
    return Vector(
        [
            (K[j][j] + K[k][k]) * w[i] - K[i][j] * w[j] - K[i][k] * w[k]
            for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
        ]
    )


def flows_within(linkage: Linkage, composite: Sequence[RigidInertia]) -> list[Flow]:
    """Tip → base: the flow of each composite body against its link, (D5)."""
    v, zeros = [rate + rate for rate in linkage.inputs["v"]], linkage.zeros
    found = [Flow((zeros, zeros, zeros), zeros) for _ in linkage.links]
    for i in reversed(range(len(linkage))):
        linkage.step(i, "what moves within the composite body, (D5)")
        for c in linkage.links[i].children:
            child = linkage.links[c]
            own = Flow.of(composite[c], child.turning(v), child.sliding(v))
            found[i] = found[i] + (found[c] + own).to_parent(child.rotation, child.shift)
        linkage.name("K", i, found[i].K)
        linkage.name("p", i, found[i].p)
    return found


def displaced(body: RigidInertia, z: Vector, s: Vector) -> RigidInertia:
    """How first and second moments change where matter is displaced by (z, s): z × h + m s, and [z]× Σ + s hᵀ with its mirror."""
    half = plus(cross_rows(z, body.S.rows), outer(s, body.h))
    return RigidInertia.of(
        body.m * 0, z.cross(body.h) + s * body.m, Symmetric.of(plus(half, transposed(half)))
    )


def couple_to_parent(
    linkage: Linkage, turning: Sequence[Turning], i: int, t4: Vector, f: Vector
) -> Vector:
    """t4, with the force f of t1, from link i to its parent: (D10)."""
    link = linkage.links[i]
    t4 = t4 - f.cross(twice(link.sliding(linkage.inputs["v"])))
    outer, omega = link.shift, turning[link.parent].omega
    if isinstance(link.shift, SplitShift):
        t4 = t4 - f.cross(twice(turning[i].before).cross(link.shift.inner))
        outer = link.shift.outer
    return link.rotation.to_parent(t4) - link.rotation.to_parent(f).cross(twice(omega).cross(outer))


def of_rate(body: RigidInertia, omega: Vector, z: Vector, s: Vector) -> Wrench:
    """∫ρ (r × c, c) of a rigid body, c = ω × (z × r + s): a moment of Σ ω × z, as r × (ω × (z × r)) = −(r·ω) z × r."""
    return body.S.apply(omega).cross(z) + body.h.cross(omega.cross(s)), omega.cross(
        z.cross(body.h) + s * body.m
    )


def added(a: Wrench, b: Wrench) -> Wrench:
    return a[0] + b[0], a[1] + b[1]


def across(S: Twist, F: Wrench) -> Wrench:
    """S ×* F = (z × n + s × f, z × f): how a wrench that is displaced along changes."""
    (z, s), (n, f) = S, F
    return z.cross(n) + s.cross(f), z.cross(f)


def wrenches_within(
    linkage: Linkage,
    composite: Sequence[RigidInertia],
    turning: Sequence[Turning],
    a: Sequence[Scalar],
) -> list[Wrench]:
    """Tip → base: what the joints beyond link i add to the wrench of its body frozen, less the loads on it: W of (D8)."""
    v = linkage.inputs["v"]
    found = [(-n, -f) for n, f in linkage.loads]
    for i in reversed(range(len(linkage))):
        linkage.step(i, "wrench of what moves within the composite body, (D8)")
        for c in linkage.links[i].children:
            child = linkage.links[c]
            own = added(found[c], _of_joint(linkage, c, composite[c], turning[c].omega, v, a))
            found[i] = added(found[i], wrench_to_parent(child.rotation, child.arm, *own))
        linkage.name("W", i, Vector([*found[i][0], *found[i][1]]))
    return found


def _of_joint(
    linkage: Linkage,
    c: int,
    body: RigidInertia,
    omega: Vector,
    v: Sequence[Scalar],
    a: Sequence[Scalar],
) -> Wrench:
    """What the moving of joint c adds to the wrench of what it carries, frozen beyond it."""
    link = linkage.links[c]
    if len(link.dofs) == 1:  # in what (D7) has too
        z, s, rate = link.dof.H_angular, link.dof.H_linear, v[link.dof.index]
        own, less = of_rate(body, twice(omega), z, s), of_rate(body, z, z, s)
        moment, force = (own[0] - less[0] * rate) * rate, (own[1] - less[1] * rate) * rate
        _, same = of_rate(body, (twice(omega) - z * rate) * rate, z, s)
        force = Vector([x.home.either(x, y) for x, y in zip(force, same, strict=True)])
        n, f = body.momentum(z, s)
        return added((moment, force), (n * a[link.dof.index], f * a[link.dof.index]))
    w, u = link.turning(v), link.sliding(v)
    return added(
        of_rate(body, twice(omega) - w, w, u), body.momentum(link.turning(a), link.sliding(a))
    )


def own_rates(linkage: Linkage, i: int, S: Twist) -> Twist | None:
    """J × S with J the twist across joint i; None where a joint has one degree of freedom, which J is along."""
    link, v = linkage.links[i], linkage.inputs["v"]
    return None if len(link.dofs) == 1 else crossed((link.turning(v), link.sliding(v)), S)
