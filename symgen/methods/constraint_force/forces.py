"""Constraint forces f of H_bb f = 𝓦ᵀ η − H_abᵀ τ, and what follows from them, LC (12): accelerations, wrenches, M⁻¹, det M."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import add, mul

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, Vector
from symgen.methods.constraint_force.elimination import (
    Block,
    Order,
    Pivot,
    coupled,
    dot,
    eliminate,
    leaf_first,
    odd_even,
    reduced,
    solved,
)
from symgen.methods.constraint_force.motion import (
    Axes,
    Omegas,
    axes_by_scan,
    axes_by_sweep,
    by_scan,
    by_sweep,
    eta,
)
from symgen.methods.constraint_force.partition import partition, picked
from symgen.methods.shared.drives import rotors
from symgen.methods.shared.factor import Factor, Results


class Cut(Factor):
    """Every joint cut: M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ, LC (12), H_bb eliminated in the order given."""

    def __init__(self, linkage: Linkage, order: Order) -> None:
        super().__init__(linkage)
        self.parts = partition(linkage)
        self.near, self.order = coupled(self.parts.blocks), order

    @cached_property
    def eliminated(self) -> list[Pivot]:
        """The pivots of H_bb. Forward dynamics asks for them behind η, which has its place in the C before them."""
        H_bb = self.parts.constraint()
        return eliminate(self.linkage, H_bb, self.order(coupled(H_bb)))[0]

    def rows(self, i: int, j: int) -> Block:
        """The rows of [H_aa, H_ab] that belong to joint i, in the columns of joint j, which sits on one link with it."""
        block = self.parts.at(i, j)
        assert block is not None
        return self.parts.allowed_part(i, block)

    def forces(
        self, tau: Sequence[Scalar], forbidden: Sequence[Sequence[Scalar]] | None = None
    ) -> dict[int, list[Scalar]]:
        """f of H_bb f = 𝓦ᵀ η − H_abᵀ τ, a list a joint that forbids anything; `forbidden`: 𝓦ᵀ η, nothing without."""
        linkage, pivots = self.linkage, self.eliminated
        right = {}
        for i in range(len(linkage)):
            linkage.step(i, "what the joint's forces ask of the constraint forces: H_ab^T tau")
            start = (
                [linkage.zero] * self.parts.forbidden(i)
                if forbidden is None
                else list(forbidden[i])
            )
            for j in sorted({i} | self.near[i]):
                for force, row in zip(tau[linkage.model.links[j].v], self.rows(j, i), strict=True):
                    start = [
                        x - a * force
                        for x, a in zip(start, self.parts.forbidden_part(i, row), strict=True)
                    ]
            if start:
                right[i] = start
        return solved(pivots, right, linkage)  # (12)

    def accelerations(
        self,
        tau: Sequence[Scalar],
        forces: Mapping[int, Sequence[Scalar]],
        free: Sequence[Sequence[Scalar]] | None = None,
    ) -> list[Scalar]:
        """q̈ = H_aa τ + H_ab f − 𝓦_aᵀ η; `free`: 𝓦_aᵀ η, nothing without."""
        linkage = self.linkage
        result = []
        for i, link in enumerate(linkage.links):
            linkage.step(i, "acceleration: H_aa tau + H_ab f, LC (12)")
            rates = [linkage.zero] * len(link.dofs) if free is None else [-x for x in free[i]]
            for j in sorted({i} | self.near[i]):
                both = [*tau[linkage.model.links[j].v], *forces.get(j, ())]
                rates = [
                    x + dot(row, both, linkage.zero)
                    for x, row in zip(rates, self.rows(i, j), strict=True)
                ]  # (12)
            for dof, rate in zip(link.dofs, rates, strict=True):
                linkage.name("qddot", dof.index, rate)
            result += rates
        return result

    def wrenches(
        self, tau: Sequence[Scalar], forces: Mapping[int, Sequence[Scalar]]
    ) -> list[list[Scalar]]:
        """F_i = W_a τ_i + W f_i, what the parent does to link i: moment and force at O_i in the axes of link i."""
        found = []
        for i, columns in enumerate(self.parts.bases):
            F = [self.linkage.zero] * 6
            for column, x in zip(
                columns, [*tau[self.linkage.model.links[i].v], *forces.get(i, ())], strict=True
            ):
                for r, entry in column:
                    F[r] = F[r] + entry * x
            found.append(F)
        return found

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """(H_aa − H_ab H_bb⁻¹ H_abᵀ) b, LC (12)."""
        return self.accelerations(b, self.forces(b))

    def inverse(self) -> list[Scalar]:
        """H_aa − (L⁻¹ H_abᵀ)ᵀ D⁻¹ (L⁻¹ H_abᵀ), LC (12), with H_bb = L D Lᵀ; symmetric entries are taken once."""
        linkage, parts, pivots = self.linkage, self.parts, self.eliminated
        zero, dofs = linkage.zero, linkage.dofs
        columns = []
        for dof in dofs:
            linkage.step(dof.link, "column of L^-1 H_ab^T")
            right = {p.joint: [zero] * parts.forbidden(p.joint) for p in pivots}
            for i in ({dof.link} | self.near[dof.link]) & right.keys():
                right[i] = parts.forbidden_part(i, self.rows(dof.link, i)[dof.column])
            columns.append(reduced(pivots, right, linkage))
        scaled = [
            {
                p.joint: [y * by for y, by in zip(column[p.joint], p.inverse, strict=True)]
                for p in pivots
            }
            for column in columns
        ]
        entries: dict[tuple[int, int], Scalar] = {}
        for dof in dofs:
            linkage.step(dof.link, "row of the inverse, LC (12)")
            for other in dofs[: dof.index + 1]:
                block = parts.at(dof.link, other.link)
                entry = zero if block is None else block[dof.column][other.column]
                for p in pivots:
                    entry = entry - dot(
                        columns[dof.index][p.joint], scaled[other.index][p.joint], zero
                    )  # (12)
                entries[dof.index, other.index] = entries[other.index, dof.index] = entry
        return [entries[i, j] for i in range(len(dofs)) for j in range(len(dofs))]

    @property
    def factors(self) -> dict[int, list[Scalar]]:
        """By joint, in the order of elimination: its pivots of H_bb, its link's inertia's determinant, LC (8), and armatures.

        LC's 𝓦_a has columns of length 1; here it is H (HᵀH)⁻¹, so that det HᵀH goes with the latter. Joints that forbid nothing
        have no pivots and come last.
        """
        D = {pivot.joint: pivot.D for pivot in self.eliminated}
        order = [*D, *(i for i in range(len(self.linkage)) if i not in D)]
        weights = {i: self.parts.links[i].determinant * self.linkage.measure(i) for i in order}
        armatures = {
            i: [self.linkage.drives[dof.index].armature for dof in rotors(self.linkage, i)]
            for i in order
        }
        return {i: [*D.get(i, ()), weights[i], *armatures[i]] for i in order}

    @property
    def pivots(self) -> list[Scalar]:
        """Those of det 𝓜 · det H_bb, LC (8)."""
        return [x for own in self.factors.values() for x in own]

    def determinant(self) -> Scalar:
        """det M = det 𝓜 · det H_bb, LC (8)."""
        found = {}
        for i, own in self.factors.items():
            found[i] = _in_pairs(mul, own)
            self.linkage.name("det", i, found[i])
        return self.linkage.joined(mul, found)  # (8)

    def log_determinant(self) -> Scalar:
        """ln det M = ln det 𝓜 + ln det H_bb, LC (8)."""
        found = {}
        for i, own in self.factors.items():
            found[i] = self.linkage.log_product(own)
            self.linkage.name("logdet", i, found[i])
        return self.linkage.joined(add, found)  # (8)


def _in_pairs(join: Callable[[Scalar, Scalar], Scalar], terms: Sequence[Scalar]) -> Scalar:
    """As a balanced tree."""
    left = list(terms)
    while len(left) > 1:
        left = [
            join(left[n], left[n + 1]) if n + 1 < len(left) else left[n]
            for n in range(0, len(left), 2)
        ]
    return left[0]


def dynamics(
    linkage: Linkage, order: Order, omegas: Omegas
) -> tuple[list[Scalar], list[list[Scalar]]]:
    """(q̈, F) of a state, F from the whole interbody forces: no bias force is computed beforehand."""
    cut, rates, tau = Cut(linkage, order), linkage.inputs["v"], linkage.inputs["tau"]
    asked = eta(linkage, cut.parts.links, omegas(linkage, rates), rates)
    split = [
        [picked(column, e, linkage.zero) for column in columns]
        for columns, e in zip(cut.parts.bases, asked, strict=True)
    ]
    f = cut.forces(tau, [cut.parts.forbidden_part(i, s) for i, s in enumerate(split)])
    wrenches = cut.wrenches(tau, f)
    return cut.accelerations(
        tau, f, [cut.parts.allowed_part(i, s) for i, s in enumerate(split)]
    ), wrenches


def _interbody_forces(linkage: Linkage, order: Order, omegas: Omegas, axes: Axes) -> Results:
    """F (NV x 6), and q̈ (NV) from it."""
    rates, wrenches = dynamics(linkage, order, omegas)
    turned = axes(linkage)
    result: list[Scalar] = []
    for i, F in enumerate(wrenches):
        linkage.step(
            i,
            "interbody force at the origin of the frame that its joint moves, in the axes of the base",
        )
        R, f = Rotation([turned[i]]), Vector(F[3:])
        n = Vector(F[:3]) + f.cross(linkage.declared_frame(i)[1])
        result += [*R.to_parent(n), *R.to_parent(f)]
    return result, rates


# -- leaf first ------------------------------------------------------------------------------------------------------------


def serial(linkage: Linkage) -> Cut:
    """From the tips to the base."""
    return Cut(linkage, leaf_first)


def serial_dynamics(linkage: Linkage) -> Results:
    """q̈, angular velocities base → tip."""
    return (dynamics(linkage, leaf_first, by_sweep)[0],)


def serial_forces(linkage: Linkage) -> Results:
    """F and q̈, angular velocities and axes base → tip."""
    return _interbody_forces(linkage, leaf_first, by_sweep, axes_by_sweep)


# -- block cyclic reduction: O(log N) deep -----------------------------------------------------------------------------------


def parallel(linkage: Linkage) -> Cut:
    """Round after round every other joint."""
    return Cut(linkage, odd_even)


def parallel_dynamics(linkage: Linkage) -> Results:
    """q̈, angular velocities by a prefix scan."""
    return (dynamics(linkage, odd_even, by_scan)[0],)


def parallel_forces(linkage: Linkage) -> Results:
    """F and q̈, angular velocities and axes by prefix scans."""
    return _interbody_forces(linkage, odd_even, by_scan, axes_by_scan)
