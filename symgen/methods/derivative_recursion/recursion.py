"""Derivatives of inverse dynamics, and of forward dynamics: ∂FD = −M⁻¹ ∂ID at the acceleration that
the forces cause.

The recursion carries four wrenches of each degree of freedom inward to its ancestors, (D6)-(D12).
`symgen.methods.derivative_recursion` derives them. Each wrench is computed once, from the joint's
composite body, and then only rotated and shifted from link to link.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from symgen.derivation import constants
from symgen.derivation.gravity_compensation import (
    compensation_derivatives,
    has_gravity_compensation,
)
from symgen.derivation.linkage import Dof, Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import RigidInertia, Vector, wrench_to_parent
from symgen.methods.derivative_recursion.bodies import (
    Flow,
    Wrench,
    add_wrenches,
    coriolis_wrench,
    couple_to_parent,
    displacement_change,
    flows_within,
    joint_rate_twist,
    wrench_change,
    wrenches_within,
)
from symgen.methods.derivative_recursion.motion import (
    Twist,
    angular_velocities,
    displacement_accelerations,
    displacements,
    twice,
)
from symgen.methods.shared.composite import composite_inertias
from symgen.methods.shared.elimination import EliminatedFactor, full_matrix
from symgen.methods.shared.factor import subtract_bias
from symgen.methods.shared.motion import force_and_moment
from symgen.methods.shared.outward import outward_sweep

Square = list[list[Scalar]]


@dataclass(frozen=True)
class CarriedWrenches:
    """Wrench t1 of (D6) and couple t4 of (D9) of degree of freedom k, carried to an ancestor."""

    t1: Wrench
    t4: Vector


class Recursion:
    """∂τ/∂v and M of one robot, which do not depend on the acceleration, and the intermediate
    values that ∂τ/∂q reuses.
    """

    def __init__(self, linkage: Linkage) -> None:
        self.linkage = linkage
        self.composite = composite_inertias(linkage)
        self.turning = angular_velocities(linkage)
        self.flows = flows_within(linkage, self.composite)
        self.displaced, self.rate_twists = displacements(linkage, self.turning)
        self.mass: list[dict[int, Scalar]] = []
        """Row i of M as {j: M_ij} for j = i and its ancestors."""
        self.by_v = _square(linkage)
        """∂τ/∂v of the bodies, without drives: c has half of it times v, (D13)."""
        self._carried: dict[tuple[int, int], CarriedWrenches] = {}
        """Carried wrenches by degree of freedom and link."""
        for i, link in enumerate(linkage.links):
            for dof in link.dofs:
                self.mass.append(self._add_rate_derivatives(i, dof))

    def _add_rate_derivatives(self, i: int, dof: Dof) -> dict[int, Scalar]:
        """Add (D11) and (D12) of one degree of freedom to M and ∂τ/∂v, and return its row of M."""
        linkage, link, body, k = self.linkage, self.linkage.links[i], self.composite[i], dof.index
        S = z, s = dof.H_angular, dof.H_linear
        linkage.step(i, "wrenches of an acceleration and of a rate, (D6), (D7), (D9)")
        t1 = body.momentum(z, s)  # (D6)
        t3 = add_wrenches(
            coriolis_wrench(body, twice(self.turning[i].omega), z, s), self.flows[i].coriolis(z)
        )  # (D7)
        if (rate_twist := joint_rate_twist(linkage, i, S)) is not None:
            n, f = body.momentum(*rate_twist)
            t3 = t3[0] - n, t3[1] - f
        t4 = self._couple(i, body, S)  # (D9)
        row = {
            row_dof.index: row_dof.project(*t1) for row_dof in link.dofs[: dof.column + 1]
        }  # (D11)
        row[k] = row[k] + linkage.drives[k].armature
        for row_dof in link.dofs:
            self.by_v[row_dof.index][k] = row_dof.project(*t3)  # (D11)
        current = i
        for j in linkage.model.ancestors(i):
            t4 = couple_to_parent(linkage, self.turning, current, t4, t1[1])  # (D10)
            inner, current = linkage.links[current], j
            t1 = wrench_to_parent(inner.rotation, inner.shift, *t1)
            t3 = wrench_to_parent(inner.rotation, inner.shift, *t3)
            self._carried[k, j] = CarriedWrenches(t1, t4)
            for outer in linkage.links[j].dofs:
                row[outer.index] = outer.project(*t1)  # (D11)
                self.by_v[outer.index][k] = outer.project(*t3)  # (D11)
                angular, linear = self.rate_twists[outer.index]
                self.by_v[k][outer.index] = t4.dot(outer.H_angular) + (
                    t1[0].dot(angular) + t1[1].dot(linear)
                )  # (D12)
        for j, entry in row.items():
            linkage.derivation.name(f"M_{k + 1}_{j + 1}", entry)
        return row

    def _couple(self, i: int, body: RigidInertia, S: Twist) -> Vector:
        """Return t4 of (D9)."""
        (z, s), omega = S, twice(self.turning[i].omega)
        return (
            self.flows[i].couple(z, s) + body.S.apply(omega.cross(z)) + omega.cross(body.h).cross(s)
        )

    def by_q(self, a: Sequence[Scalar]) -> Square:
        """Return ∂τ/∂q at an acceleration: (D8), (D11), (D12)."""
        linkage = self.linkage
        derivative = _square(linkage)
        motions = outward_sweep(linkage, linkage.inputs["v"], a)
        within = wrenches_within(linkage, self.composite, self.turning, a)
        acceleration_twists = displacement_accelerations(linkage, self.turning, motions)
        for i, link in enumerate(linkage.links):
            body, flow = self.composite[i], self.flows[i]
            for dof in link.dofs:
                k, S = dof.index, (dof.H_angular, dof.H_linear)
                linkage.step(i, "wrench of a displacement, (D8)")
                if len(link.dofs) == 1:
                    t2 = add_wrenches(
                        force_and_moment(displacement_change(body, *S), motions[i]),
                        flow.coriolis(self.displaced[k][0]),
                    )
                    outside = wrench_change(S, within[i])
                else:
                    total_flow = flow + Flow.of(body, twice(self.turning[i].omega), linkage.zeros)
                    t2 = add_wrenches(
                        body.momentum(*acceleration_twists[k]),
                        total_flow.coriolis(self.displaced[k][0]),
                    )
                    outside = wrench_change(
                        S, add_wrenches(force_and_moment(body, motions[i]), within[i])
                    )
                for row_dof in link.dofs:
                    derivative[row_dof.index][k] = row_dof.project(*t2)  # (D11)
                t2, inner = add_wrenches(t2, outside), link
                for j in linkage.model.ancestors(i):
                    t2 = wrench_to_parent(inner.rotation, inner.shift, *t2)
                    inner = linkage.links[j]
                    for outer in inner.dofs:
                        derivative[outer.index][k] = outer.project(*t2)  # (D11)
                        carried, (angular, linear) = (
                            self._carried[k, j],
                            acceleration_twists[outer.index],
                        )
                        derivative[k][outer.index] = carried.t4.dot(
                            self.displaced[outer.index][0]
                        ) + (carried.t1[0].dot(angular) + carried.t1[1].dot(linear))  # (D12)
        derivative = _add_diagonal(derivative, [drive.stiffness for drive in linkage.drives])
        if not has_gravity_compensation(linkage.model):
            return derivative
        compensation = compensation_derivatives(linkage.links, linkage.compensated_matter)
        return [
            [x - y for x, y in zip(*rows, strict=True)]
            for rows in zip(derivative, compensation, strict=True)
        ]

    @property
    def by_rates(self) -> Square:
        """∂τ/∂v, including damping and friction."""
        return _add_diagonal(
            self.by_v,
            [
                drive.slope(v)
                for drive, v in zip(self.linkage.drives, self.linkage.inputs["v"], strict=True)
            ],
        )


def _add_diagonal(rows: Square, diagonal: Sequence[Scalar]) -> Square:
    """Return the matrix with these values added to its diagonal."""
    return [
        [x + diagonal[i] if i == j else x for j, x in enumerate(row)] for i, row in enumerate(rows)
    ]


def _square(linkage: Linkage) -> Square:
    return [[linkage.zero for _ in linkage.dofs] for _ in linkage.dofs]


def inverse_dynamics_derivatives(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return ∂τ/∂q, ∂τ/∂v and M at (q, v, a)."""
    recursion = Recursion(linkage)
    return (
        _flat(recursion.by_q(linkage.inputs["a"])),
        _flat(recursion.by_rates),
        full_matrix(linkage, recursion.mass),
    )


def forward_dynamics_derivatives(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return ∂a/∂q, ∂a/∂v and M⁻¹ at (q, v, tau), with one solve per column: (D14)."""
    recursion = Recursion(linkage)
    factor = EliminatedFactor(linkage, recursion.mass)
    c = linkage.coupling.reduce_forces(bias_force(linkage, recursion))
    a = factor.solve(subtract_bias(linkage, c))
    for index, ai in enumerate(a):
        linkage.derivation.name(f"a_{index + 1}", ai)
    torque_derivatives = [
        linkage.coupling.reduce_square(derivative)
        for derivative in (recursion.by_q(linkage.coupling.expand_rates(a)), recursion.by_rates)
    ]
    acceleration_derivatives = [
        _columns([factor.solve([-x for x in column]) for column in _columns(derivative)])
        for derivative in torque_derivatives
    ]
    return _flat(acceleration_derivatives[0]), _flat(acceleration_derivatives[1]), factor.inverse()


def bias_force(linkage: Linkage, recursion: Recursion) -> list[Scalar]:
    """Return c = ½ ∂τ/∂v v + g − Jᵀ wrench, (D13); the velocity part of c is quadratic in v."""
    v, half = linkage.inputs["v"], linkage.scalar(constants.rational(1) / 2)
    linkage.derivation.step("bias force, (D13)")
    bias = [linkage.dot(row, v) * half for row in recursion.by_v]
    upward: list[Vector] = []
    loads: list[Wrench] = list(linkage.loads)
    for i in reversed(range(len(linkage))):
        for c in linkage.links[i].children:
            loads[i] = add_wrenches(
                loads[i],
                wrench_to_parent(linkage.links[c].rotation, linkage.links[c].arm, *loads[c]),
            )
    for i, link in enumerate(linkage.links):
        linkage.step(i, "gravity on the composite body, and loads")
        upward.append(
            linkage.against_gravity(i)
            if link.parent < 0
            else link.rotation.to_child(upward[link.parent])
        )
        n, f = recursion.composite[i].momentum(linkage.zeros, upward[i])
        for dof in link.dofs:
            bias[dof.index] = bias[dof.index] + dof.project(n - loads[i][0], f - loads[i][1])
            linkage.name("c", dof.index, bias[dof.index])
    return bias


def _flat(rows: Iterable[Sequence[Scalar]]) -> list[Scalar]:
    return [x for row in rows for x in row]


def _columns(rows: Square) -> Square:
    return [list(column) for column in zip(*rows, strict=True)]
