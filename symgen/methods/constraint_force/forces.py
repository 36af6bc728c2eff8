"""Constraint forces f of H_bb f = 𝓦ᵀ η − H_abᵀ τ, LC (12), and the results that follow:
accelerations, wrenches, M⁻¹, det M.
"""

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
    dot,
    eliminate,
    forward_substitute,
    leaf_first,
    neighbours,
    odd_even,
    solve,
)
from symgen.methods.constraint_force.motion import (
    Axes,
    Omegas,
    axes_by_scan,
    axes_by_sweep,
    eta,
    omega_by_scan,
    omega_by_sweep,
)
from symgen.methods.constraint_force.partition import partition, sparse_dot
from symgen.methods.shared.drives import rotors
from symgen.methods.shared.factor import Factor, Results


class CutJoints(Factor):
    """Factorization of M with all joints cut: M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ, LC (12).

    H_bb is eliminated in the given order.
    """

    def __init__(self, linkage: Linkage, order: Order) -> None:
        super().__init__(linkage)
        self.partition = partition(linkage)
        self.adjacent, self.order = neighbours(self.partition.blocks), order

    @cached_property
    def eliminated(self) -> list[Pivot]:
        """Pivots of H_bb, computed when first needed: forward dynamics computes η before them."""
        H_bb = self.partition.constraint()
        return eliminate(self.linkage, H_bb, self.order(neighbours(H_bb)))[0]

    def rows(self, i: int, j: int) -> Block:
        """Return the rows of [H_aa, H_ab] of joint i in the columns of joint j; both joints are on
        one link.
        """
        block = self.partition.at(i, j)
        assert block is not None
        return self.partition.allowed_part(i, block)

    def forces(
        self, tau: Sequence[Scalar], forbidden: Sequence[Sequence[Scalar]] | None = None
    ) -> dict[int, list[Scalar]]:
        """Return f of H_bb f = 𝓦ᵀ η − H_abᵀ τ, one list per constrained joint.

        `forbidden` is 𝓦ᵀ η, or zero if None.
        """
        linkage, pivots = self.linkage, self.eliminated
        right = {}
        for i in range(len(linkage)):
            linkage.step(
                i, "contribution of the joint forces to the constraint equation: H_ab^T tau"
            )
            right_side = (
                [linkage.zero] * self.partition.forbidden(i)
                if forbidden is None
                else list(forbidden[i])
            )
            for j in sorted({i} | self.adjacent[i]):
                for force, row in zip(tau[linkage.model.links[j].v], self.rows(j, i), strict=True):
                    right_side = [
                        x - a * force
                        for x, a in zip(
                            right_side, self.partition.forbidden_part(i, row), strict=True
                        )
                    ]
            if right_side:
                right[i] = right_side
        return solve(pivots, right, linkage)  # (12)

    def accelerations(
        self,
        tau: Sequence[Scalar],
        forces: Mapping[int, Sequence[Scalar]],
        free: Sequence[Sequence[Scalar]] | None = None,
    ) -> list[Scalar]:
        """Return q̈ = H_aa τ + H_ab f − 𝓦_aᵀ η; `free` is 𝓦_aᵀ η, or zero if None."""
        linkage = self.linkage
        result = []
        for i, link in enumerate(linkage.links):
            linkage.step(i, "acceleration: H_aa tau + H_ab f, LC (12)")
            rates = [linkage.zero] * len(link.dofs) if free is None else [-x for x in free[i]]
            for j in sorted({i} | self.adjacent[i]):
                forces_at_joint = [*tau[linkage.model.links[j].v], *forces.get(j, ())]
                rates = [
                    x + dot(row, forces_at_joint, linkage.zero)
                    for x, row in zip(rates, self.rows(i, j), strict=True)
                ]  # (12)
            for dof, rate in zip(link.dofs, rates, strict=True):
                linkage.name("qddot", dof.index, rate)
            result += rates
        return result

    def wrenches(
        self, tau: Sequence[Scalar], forces: Mapping[int, Sequence[Scalar]]
    ) -> list[list[Scalar]]:
        """Return F_i = W_a τ_i + W f_i, which the parent exerts on link i: moment and force at O_i
        in the axes of link i.
        """
        result = []
        for i, columns in enumerate(self.partition.bases):
            F = [self.linkage.zero] * 6
            for column, x in zip(
                columns, [*tau[self.linkage.model.links[i].v], *forces.get(i, ())], strict=True
            ):
                for r, entry in column:
                    F[r] = F[r] + entry * x
            result.append(F)
        return result

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return (H_aa − H_ab H_bb⁻¹ H_abᵀ) b, LC (12)."""
        return self.accelerations(b, self.forces(b))

    def inverse(self) -> list[Scalar]:
        """Return H_aa − (L⁻¹ H_abᵀ)ᵀ D⁻¹ (L⁻¹ H_abᵀ), LC (12), with H_bb = L D Lᵀ; symmetric
        entries are computed once.
        """
        linkage, split, pivots = self.linkage, self.partition, self.eliminated
        zero, dofs = linkage.zero, linkage.dofs
        columns = []
        for dof in dofs:
            linkage.step(dof.link, "column of L^-1 H_ab^T")
            right = {p.joint: [zero] * split.forbidden(p.joint) for p in pivots}
            for i in ({dof.link} | self.adjacent[dof.link]) & right.keys():
                right[i] = split.forbidden_part(i, self.rows(dof.link, i)[dof.column])
            columns.append(forward_substitute(pivots, right, linkage))
        scaled = [
            {
                p.joint: [
                    y * inverse_pivot
                    for y, inverse_pivot in zip(column[p.joint], p.inverse, strict=True)
                ]
                for p in pivots
            }
            for column in columns
        ]
        entries: dict[tuple[int, int], Scalar] = {}
        for dof in dofs:
            linkage.step(dof.link, "row of the inverse, LC (12)")
            for column_dof in dofs[: dof.index + 1]:
                block = split.at(dof.link, column_dof.link)
                entry = zero if block is None else block[dof.column][column_dof.column]
                for p in pivots:
                    entry = entry - dot(
                        columns[dof.index][p.joint], scaled[column_dof.index][p.joint], zero
                    )  # (12)
                entries[dof.index, column_dof.index] = entries[column_dof.index, dof.index] = entry
        return [entries[i, j] for i in range(len(dofs)) for j in range(len(dofs))]

    @property
    def factors(self) -> dict[int, list[Scalar]]:
        """Factors of det M by joint, LC (8): the pivots of H_bb, the determinant of the link's
        inertia, and armatures.

        The 𝓦_a of the paper has columns of length 1. Here it is H (HᵀH)⁻¹, so det HᵀH multiplies
        the link's determinant. Unconstrained joints have no pivots and come last.
        """
        D = {pivot.joint: pivot.D for pivot in self.eliminated}
        order = [*D, *(i for i in range(len(self.linkage)) if i not in D)]
        weights = {
            i: self.partition.links[i].determinant * self.linkage.joint_gram_determinant(i)
            for i in order
        }
        armatures = {
            i: [self.linkage.drives[dof.index].armature for dof in rotors(self.linkage, i)]
            for i in order
        }
        return {i: [*D.get(i, ()), weights[i], *armatures[i]] for i in order}

    @property
    def pivots(self) -> list[Scalar]:
        """Factors of det 𝓜 · det H_bb, LC (8)."""
        return [x for factors in self.factors.values() for x in factors]

    def determinant(self) -> Scalar:
        """Return det M = det 𝓜 · det H_bb, LC (8)."""
        products = {}
        for i, factors in self.factors.items():
            products[i] = _in_pairs(mul, factors)
            self.linkage.name("det", i, products[i])
        return self.linkage.combine_over_links(mul, products)  # (8)

    def log_determinant(self) -> Scalar:
        """Return ln det M = ln det 𝓜 + ln det H_bb, LC (8)."""
        logarithms = {}
        for i, factors in self.factors.items():
            logarithms[i] = self.linkage.log_product(factors)
            self.linkage.name("logdet", i, logarithms[i])
        return self.linkage.combine_over_links(add, logarithms)  # (8)


def _in_pairs(join: Callable[[Scalar, Scalar], Scalar], terms: Sequence[Scalar]) -> Scalar:
    """Combine terms as a balanced tree."""
    level = list(terms)
    while len(level) > 1:
        level = [
            join(level[n], level[n + 1]) if n + 1 < len(level) else level[n]
            for n in range(0, len(level), 2)
        ]
    return level[0]


def dynamics(
    linkage: Linkage, order: Order, omegas: Omegas
) -> tuple[list[Scalar], list[list[Scalar]]]:
    """Return (q̈, F) of a state, F from the total interbody forces; no bias force is computed."""
    cut, rates, tau = CutJoints(linkage, order), linkage.inputs["v"], linkage.inputs["tau"]
    etas = eta(linkage, cut.partition.links, omegas(linkage, rates), rates)
    split = [
        [sparse_dot(column, e, linkage.zero) for column in columns]
        for columns, e in zip(cut.partition.bases, etas, strict=True)
    ]
    f = cut.forces(tau, [cut.partition.forbidden_part(i, s) for i, s in enumerate(split)])
    wrenches = cut.wrenches(tau, f)
    return cut.accelerations(
        tau, f, [cut.partition.allowed_part(i, s) for i, s in enumerate(split)]
    ), wrenches


def _interbody_forces(linkage: Linkage, order: Order, omegas: Omegas, axes: Axes) -> Results:
    """Return F (NB x 6) in base axes, and q̈ (NV)."""
    rates, wrenches = dynamics(linkage, order, omegas)
    rotations = axes(linkage)
    result: list[Scalar] = []
    for i, F in enumerate(wrenches):
        linkage.step(
            i,
            "interbody force at the origin of the frame that its joint moves, in the axes of the"
            " base",
        )
        R, f = Rotation([rotations[i]]), Vector(F[3:])
        n = Vector(F[:3]) + f.cross(linkage.declared_frame(i)[1])
        result += [*R.to_parent(n), *R.to_parent(f)]
    return result, rates


# -- leaf first ------------------------------------------------------------------------------------


def serial(linkage: Linkage) -> CutJoints:
    """Return the factorization with joints eliminated from the tips to the base."""
    return CutJoints(linkage, leaf_first)


def serial_dynamics(linkage: Linkage) -> Results:
    """Return q̈; angular velocities by an outward sweep."""
    return (dynamics(linkage, leaf_first, omega_by_sweep)[0],)


def serial_forces(linkage: Linkage) -> Results:
    """Return F and q̈; angular velocities and axes by outward sweeps."""
    return _interbody_forces(linkage, leaf_first, omega_by_sweep, axes_by_sweep)


# -- block cyclic reduction: O(log N) deep ---------------------------------------------------------


def parallel(linkage: Linkage) -> CutJoints:
    """Return the factorization by block cyclic reduction: a round eliminates every second joint."""
    return CutJoints(linkage, odd_even)


def parallel_dynamics(linkage: Linkage) -> Results:
    """Return q̈; angular velocities by a prefix scan."""
    return (dynamics(linkage, odd_even, omega_by_scan)[0],)


def parallel_forces(linkage: Linkage) -> Results:
    """Return F and q̈; angular velocities and axes by prefix scans."""
    return _interbody_forces(linkage, odd_even, omega_by_scan, axes_by_scan)
