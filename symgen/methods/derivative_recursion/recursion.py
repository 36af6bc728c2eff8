"""Inverse dynamics differentiated, and forward dynamics by it: ∂FD = −M⁻¹ ∂ID at the acceleration that the forces cause.

The recursion has four wrenches of every degree of freedom, carried inward to all that carry it, (D6)-(D12).
`symgen.methods.derivative_recursion` derives them. Each is made once for a joint, of its composite body; what crosses the joints
between it and the base is the same wrench, turned and moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from symgen.derivation import constants
from symgen.derivation.gravity_compensation import bears, slopes
from symgen.derivation.linkage import Dof, Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import RigidInertia, Vector, wrench_to_parent
from symgen.methods.derivative_recursion.bodies import (
    Flow,
    Wrench,
    across,
    added,
    couple_to_parent,
    displaced,
    flows_within,
    of_rate,
    own_rates,
    wrenches_within,
)
from symgen.methods.derivative_recursion.motion import (
    Twist,
    accelerations,
    displacements,
    turnings,
    twice,
)
from symgen.methods.shared.composite import composite_inertias
from symgen.methods.shared.elimination import Eliminated, full
from symgen.methods.shared.factor import less_the_bias
from symgen.methods.shared.motion import force_and_moment
from symgen.methods.shared.outward import outward_sweep

Square = list[list[Scalar]]


@dataclass(frozen=True)
class Carried:
    """Wrench t1 of (D6) and couple t4 of (D9) of degree of freedom k, at a link that carries it."""

    t1: Wrench
    t4: Vector


class Recursion:
    """∂τ/∂v and M of one robot, which hang on no acceleration, and what ∂τ/∂q takes from them."""

    def __init__(self, linkage: Linkage) -> None:
        self.linkage = linkage
        self.composite = composite_inertias(linkage)
        self.turning = turnings(linkage)
        self.flows = flows_within(linkage, self.composite)
        self.displaced, self.driven = displacements(linkage, self.turning)
        self.mass: list[dict[int, Scalar]] = []
        """Row i of M as {j: M_ij} for j = i and what carries it."""
        self.by_v = _square(linkage)
        """∂τ/∂v of the bodies alone: c is half of it along v, (D13)."""
        self._carried: dict[tuple[int, int], Carried] = {}
        """By degree of freedom and link."""
        for i, link in enumerate(linkage.links):
            for dof in link.dofs:
                self.mass.append(self._with_rates(i, dof))

    def _with_rates(self, i: int, dof: Dof) -> dict[int, Scalar]:
        """Add (D11) and (D12) for one degree of freedom to M and to ∂τ/∂v, and return its row of M."""
        linkage, link, body, k = self.linkage, self.linkage.links[i], self.composite[i], dof.index
        S = z, s = dof.H_angular, dof.H_linear
        linkage.step(i, "wrenches of an acceleration and of a rate, (D6), (D7), (D9)")
        t1 = body.momentum(z, s)  # (D6)
        t3 = added(
            of_rate(body, twice(self.turning[i].omega), z, s), self.flows[i].coriolis(z)
        )  # (D7)
        if (own := own_rates(linkage, i, S)) is not None:
            n, f = body.momentum(*own)
            t3 = t3[0] - n, t3[1] - f
        t4 = self._couple(i, body, S)  # (D9)
        row = {other.index: other.project(*t1) for other in link.dofs[: dof.column + 1]}  # (D11)
        row[k] = row[k] + linkage.drives[k].armature
        for other in link.dofs:
            self.by_v[other.index][k] = other.project(*t3)  # (D11)
        at = i
        for j in linkage.model.ancestors(i):
            t4 = couple_to_parent(linkage, self.turning, at, t4, t1[1])  # (D10)
            inner, at = linkage.links[at], j
            t1 = wrench_to_parent(inner.rotation, inner.shift, *t1)
            t3 = wrench_to_parent(inner.rotation, inner.shift, *t3)
            self._carried[k, j] = Carried(t1, t4)
            for outer in linkage.links[j].dofs:
                row[outer.index] = outer.project(*t1)  # (D11)
                self.by_v[outer.index][k] = outer.project(*t3)  # (D11)
                angular, linear = self.driven[outer.index]
                self.by_v[k][outer.index] = t4.dot(outer.H_angular) + (
                    t1[0].dot(angular) + t1[1].dot(linear)
                )  # (D12)
        for j, entry in row.items():
            linkage.home.name(f"M_{k + 1}_{j + 1}", entry)
        return row

    def _couple(self, i: int, body: RigidInertia, S: Twist) -> Vector:
        """(D9)."""
        (z, s), omega = S, twice(self.turning[i].omega)
        return (
            self.flows[i].couple(z, s) + body.S.apply(omega.cross(z)) + omega.cross(body.h).cross(s)
        )

    def by_q(self, a: Sequence[Scalar]) -> Square:
        """∂τ/∂q at an acceleration: (D8), (D11), (D12)."""
        linkage = self.linkage
        found = _square(linkage)
        motions = outward_sweep(linkage, linkage.inputs["v"], a)
        within = wrenches_within(linkage, self.composite, self.turning, a)
        bent = accelerations(linkage, self.turning, motions)
        for i, link in enumerate(linkage.links):
            body, flow = self.composite[i], self.flows[i]
            for dof in link.dofs:
                k, S = dof.index, (dof.H_angular, dof.H_linear)
                linkage.step(i, "wrench of a displacement, (D8)")
                if len(link.dofs) == 1:
                    t2 = added(
                        force_and_moment(displaced(body, *S), motions[i]),
                        flow.coriolis(self.displaced[k][0]),
                    )
                    outside = across(S, within[i])
                else:
                    whole = flow + Flow.of(body, twice(self.turning[i].omega), linkage.zeros)
                    t2 = added(body.momentum(*bent[k]), whole.coriolis(self.displaced[k][0]))
                    outside = across(S, added(force_and_moment(body, motions[i]), within[i]))
                for other in link.dofs:
                    found[other.index][k] = other.project(*t2)  # (D11)
                t2, inner = added(t2, outside), link
                for j in linkage.model.ancestors(i):
                    t2 = wrench_to_parent(inner.rotation, inner.shift, *t2)
                    inner = linkage.links[j]
                    for outer in inner.dofs:
                        found[outer.index][k] = outer.project(*t2)  # (D11)
                        at, (angular, linear) = self._carried[k, j], bent[outer.index]
                        found[k][outer.index] = at.t4.dot(self.displaced[outer.index][0]) + (
                            at.t1[0].dot(angular) + at.t1[1].dot(linear)
                        )  # (D12)
        found = _added(found, [one.stiffness for one in linkage.drives])
        if not bears(linkage.model):
            return found
        borne = slopes(linkage.links, linkage.held)
        return [
            [x - y for x, y in zip(*rows, strict=True)] for rows in zip(found, borne, strict=True)
        ]

    @property
    def by_rates(self) -> Square:
        """∂τ/∂v, that of damping and friction included."""
        return _added(
            self.by_v,
            [
                one.slope(v)
                for one, v in zip(self.linkage.drives, self.linkage.inputs["v"], strict=True)
            ],
        )


def _added(rows: Square, diagonal: Sequence[Scalar]) -> Square:
    """The same with these on the diagonal."""
    return [
        [x + diagonal[i] if i == j else x for j, x in enumerate(row)] for i, row in enumerate(rows)
    ]


def _square(linkage: Linkage) -> Square:
    return [[linkage.zero for _ in linkage.dofs] for _ in linkage.dofs]


def inverse_dynamics_derivatives(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """∂τ/∂q, ∂τ/∂v and M at (q, v, a)."""
    found = Recursion(linkage)
    return _flat(found.by_q(linkage.inputs["a"])), _flat(found.by_rates), full(linkage, found.mass)


def forward_dynamics_derivatives(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """∂a/∂q, ∂a/∂v and M⁻¹ at (q, v, tau), a solve a column: (D14)."""
    found = Recursion(linkage)
    apart = Eliminated(linkage, found.mass)
    c = linkage.coupling.felt(bias_force(linkage, found))
    a = apart.solve(less_the_bias(linkage, c))
    for index, ai in enumerate(a):
        linkage.home.name(f"a_{index + 1}", ai)
    slopes = [
        linkage.coupling.felt_both(one)
        for one in (found.by_q(linkage.coupling.followed(a)), found.by_rates)
    ]
    solved = [
        _columns([apart.solve([-x for x in column]) for column in _columns(one)]) for one in slopes
    ]
    return _flat(solved[0]), _flat(solved[1]), apart.inverse()


def bias_force(linkage: Linkage, found: Recursion) -> list[Scalar]:
    """c = ½ ∂τ/∂v v + g − Jᵀ wrench: what of it is due to v is quadratic in v, (D13)."""
    v, half = linkage.inputs["v"], linkage.scalar(constants.rational(1) / 2)
    linkage.home.step("bias force, (D13)")
    moved = [linkage.dot(row, v) * half for row in found.by_v]
    pull: list[Vector] = []
    loads: list[Wrench] = list(linkage.loads)
    for i in reversed(range(len(linkage))):
        for c in linkage.links[i].children:
            loads[i] = added(
                loads[i],
                wrench_to_parent(linkage.links[c].rotation, linkage.links[c].arm, *loads[c]),
            )
    for i, link in enumerate(linkage.links):
        linkage.step(i, "gravity on the composite body, and loads")
        pull.append(
            linkage.against_gravity(i)
            if link.parent < 0
            else link.rotation.to_child(pull[link.parent])
        )
        n, f = found.composite[i].momentum(linkage.zeros, pull[i])
        for dof in link.dofs:
            moved[dof.index] = moved[dof.index] + dof.project(n - loads[i][0], f - loads[i][1])
            linkage.name("c", dof.index, moved[dof.index])
    return moved


def _flat(rows: Iterable[Sequence[Scalar]]) -> list[Scalar]:
    return [x for row in rows for x in row]


def _columns(rows: Square) -> Square:
    return [list(column) for column in zip(*rows, strict=True)]
