"""The Coriolis matrix from composite bodies: what M needs anyway, and how what a link carries moves against it.

With J(x) the velocity of a point x of matter for a unit of each v, in axes that do not turn,

    M = Σ_x dm JᵀJ,    C = Σ_x dm Jᵀ J̇.                                                                                (C1)

So Ṁ = C + Cᵀ, and C v is what gives all matter the acceleration J̇ v: c without gravity. Of joints with one coordinate each, that
is the matrix of Christoffel's symbols; of others it is the same connection, Levi-Civita's, in their velocities v.

The column that degree of freedom j has in J is a field w × r + u that its link carries along: in its axes (w, u) = H_j is
constant. It changes as that link turns, and as matter moves through it. Let link i turn at ω, its origin move at v, and what it
carries move at ẏ against it, were it one body. Over all that it carries stand the composite body M̃_i of SA (15a-c), with its mass
m̃, first moment h̃ and second moment Σ̃, and

    D = Σ_x dm ẏ rᵀ,    d = Σ_x dm ẏ,    E = tr(D) 1 − D.                                                              (C2)

A child k, which its joint turns at w and slides at u, adds in its own axes and about its own origin

    D_k + w̃ Σ̃_k + u h̃_kᵀ,    d_k + w × h̃_k + m̃_k u,                                                                   (C3)

and Σ_x dm ẏ (r + ℓ)ᵀ = D + d ℓᵀ moves it to an origin that is away by −ℓ. The rate of the field of degree of freedom j of link i
takes the wrench γ_j, which goes inward as any wrench, by B_kiᵀ of SA (4), and gives C_kj = p_kᵀ γ_j for all k that carry j:

    moment  s × w + h̃ × (ω × u) + E w,    s = Σ̃ ω,                                                                     (C4)
    force   ω × (w × h̃ + m̃ u) + w × d,                                                                                 (C5)

since r × (ω × (w × r)) = −(r·ω) (w × r). The other way round the field of i meets the rate of a field of j, a link nearer to the
base: with the momentum (n, f) = M̃_i p_i, that goes inward as it does for M, and a couple that only turns,

    κ_i = v × f + Σ̃ (ω × w) + Eᵀ w + (ω × h̃ + d) × u,                                                                  (C6)
    C_ij = n·(ω_j × w_j) + f·(ω_j × u_j + v_j × w_j) + κ_i·w_j.                                                         (C7)

Only differences of the v enter, so that those of a root are zero here.
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
from symgen.methods.composite_body.mass_matrix import weights
from symgen.methods.shared.composite import composite_inertias
from symgen.methods.shared.elimination import full

Rows = list[dict[int, Scalar]]
"""A matrix row by row, without what is zero in every state."""


@dataclass(frozen=True)
class Carried:
    """D and d of (C2), in the axes of a link about its origin."""

    D: Matrix
    d: Vector

    def __add__(self, other: Carried) -> Carried:
        return Carried(plus(self.D, other.D), self.d + other.d)

    def stirred(self, body: RigidInertia, w: Vector, u: Vector) -> Carried:
        """(C3): as its parent sees it, whose joint turns and slides it."""
        return self + Carried(
            plus(cross_rows(w, body.S.rows), outer(u, body.h)), w.cross(body.h) + u * body.m
        )

    def to_parent(self, rotation: Rotation, shift: Vector) -> Carried:
        """In the axes of the parent about its origin."""
        if isinstance(shift, SplitShift):
            return self.to_parent(Rotation([]), shift.inner).to_parent(rotation, shift.outer)
        d = rotation.to_parent(self.d)
        return Carried(plus(rotation.matrix_to_parent(self.D), outer(d, shift)), d)

    def applied(self, w: Vector, transpose: bool = False) -> Vector:
        """E w, or Eᵀ w."""
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


def outer(a: Vector, b: Vector) -> Matrix:
    """a bᵀ."""
    return (b * a[0], b * a[1], b * a[2])


def velocities(linkage: Linkage) -> tuple[list[Vector], list[Vector]]:
    """Base → tip: ω and v of every link, in its axes; v less that of its root."""
    rates = linkage.inputs["v"]
    omega: list[Vector] = []
    speed: list[Vector] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "velocity")
        w, v = linkage.zeros, linkage.zeros
        if link.parent >= 0:
            w, v = twist_to_child(link.rotation, link.shift, omega[link.parent], speed[link.parent])
            v = v + link.sliding(rates)
        omega.append(w + link.turning(rates))
        speed.append(v)
        linkage.name("omega", i, omega[i])
        linkage.name("v", i, speed[i])
    return omega, speed


def carried(linkage: Linkage, composite: Sequence[RigidInertia]) -> list[Carried]:
    """Tip → base: D and d of every link, (C2) and (C3)."""
    rates, nothing = linkage.inputs["v"], linkage.zeros
    found = [Carried((nothing, nothing, nothing), nothing)] * len(linkage)
    for i in reversed(range(len(linkage))):
        linkage.step(i, "what it carries moves against it")
        for c in linkage.links[i].children:
            child = linkage.links[c]
            moving = found[c].stirred(composite[c], child.turning(rates), child.sliding(rates))
            found[i] = found[i] + moving.to_parent(child.rotation, child.shift)
        linkage.name("d", i, found[i].d)
        linkage.name("D", i, found[i].D)
    return found


def rows(linkage: Linkage, composite: Sequence[RigidInertia]) -> tuple[Rows, Rows]:
    """M by its lower triangle, SA (16), and C."""
    omega, speed = velocities(linkage)
    within = carried(linkage, composite)
    mass: Rows = []
    found: Rows = [{} for _ in linkage.dofs]
    for i, link in enumerate(linkage.links):
        linkage.step(i, "rows and columns of C")
        body, own, w_i, v_i = composite[i], within[i], omega[i], speed[i]
        s = body.S.apply(w_i)
        for dof in link.dofs:
            w, u = dof.H_angular, dof.H_linear
            n, f = body.momentum(w, u)  # M̃_i p_i
            moment = s.cross(w) + body.h.cross(w_i.cross(u)) + own.applied(w)  # (C4)
            force = w_i.cross(w.cross(body.h) + u * body.m) + w.cross(own.d)  # (C5)
            mass.append({one.index: one.project(n, f) for one in link.dofs[: dof.column + 1]})
            mass[-1][dof.index] = mass[-1][dof.index] + linkage.drives[dof.index].armature
            for one in link.dofs:
                found[one.index][dof.index] = one.project(moment, force)
            if link.parent < 0:
                continue
            couple = (
                v_i.cross(f) + body.S.apply(w_i.cross(w)) + own.applied(w, transpose=True)
            )  # (C6)
            couple = couple + (w_i.cross(body.h) + own.d).cross(u)
            inner = link
            for j in linkage.model.ancestors(i):
                n, f = wrench_to_parent(inner.rotation, inner.shift, n, f)  # B_ijᵀ M̃_i p_i
                moment, force = wrench_to_parent(inner.rotation, inner.shift, moment, force)
                couple = inner.rotation.to_parent(couple)
                inner = linkage.links[j]
                for outer in inner.dofs:
                    a, b = outer.H_angular, outer.H_linear
                    mass[-1][outer.index] = outer.project(n, f)  # SA (16)
                    found[outer.index][dof.index] = outer.project(moment, force)
                    rate = n.dot(omega[j].cross(a)) + f.dot(omega[j].cross(b) + speed[j].cross(a))
                    found[dof.index][outer.index] = rate + couple.dot(a)  # (C7)
    return mass, found


def coriolis_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """C, row-major and full."""
    return (_full(linkage, rows(linkage, composite_inertias(linkage))[1]),)


def mass_matrix_coriolis_and_bias(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """M, C and c = C v + g − Jᵀ wrench."""
    composite, rates = composite_inertias(linkage), linkage.inputs["v"]
    mass, found = rows(linkage, composite)
    bias = weights(linkage, composite)
    for i, push in enumerate(pushed(linkage)):
        linkage.home.step("bias force")
        for j, entry in found[i].items():
            bias[i] = bias[i] + entry * rates[j]
        bias[i] = bias[i] - push
        linkage.name("c", i, bias[i])
    return full(linkage, mass), _full(linkage, found), bias


def pushed(linkage: Linkage) -> list[Scalar]:
    """Jᵀ wrench: what the run-time wrenches spare the joints."""
    received = list(linkage.loads)
    found = [linkage.zero] * len(linkage.dofs)
    for i in reversed(range(len(linkage))):
        linkage.step(i, "wrenches from outside")
        for c in linkage.links[i].children:
            child = linkage.links[c]
            n, f = wrench_to_parent(child.rotation, child.arm, *received[c])
            received[i] = received[i][0] + n, received[i][1] + f
        for dof in linkage.links[i].dofs:
            found[dof.index] = dof.project(*received[i])
    return found


def _full(linkage: Linkage, matrix: Rows) -> list[Scalar]:
    return [row.get(j, linkage.zero) for row in matrix for j in range(len(linkage.dofs))]
