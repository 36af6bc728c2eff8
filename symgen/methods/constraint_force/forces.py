"""Constraint forces f of H_bb f = 𝓦ᵀ η − H_abᵀ τ, and what follows from them, LC (12): accelerations, wrenches, M⁻¹, det M."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import add, mul

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, Vector
from symgen.methods._factor import Factor, Results
from symgen.methods.constraint_force.elimination import (
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
from symgen.methods.constraint_force.motion import Axes, Omegas, axes_by_scan, axes_by_sweep, by_scan, by_sweep, eta
from symgen.methods.constraint_force.partition import partition, picked


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

    def forces(self, tau: Sequence[Scalar], forbidden: Sequence[Sequence[Scalar]] | None = None) -> dict[int, list[Scalar]]:
        """f of H_bb f = 𝓦ᵀ η − H_abᵀ τ, a list a joint; `forbidden`: 𝓦ᵀ η, nothing without."""
        linkage, pivots = self.linkage, self.eliminated
        right = {}
        for i in range(len(linkage)):
            linkage.step(i, "what the joint's forces ask of the constraint forces: H_ab^T tau")
            start = [linkage.zero] * self.parts.forbidden(i) if forbidden is None else list(forbidden[i])
            for j in sorted({i} | self.near[i]):
                block = self.parts.at(j, i)
                assert block is not None
                start = [x - a * tau[j] for x, a in zip(start, block[0][1:], strict=True)]
            right[i] = start
        linkage.home.step("interbody constraint forces: H_bb f = W^T eta - H_ab^T tau, LC (12)")
        return solved(pivots, right, linkage)                                               # (12)

    def accelerations(self, tau: Sequence[Scalar], forces: Mapping[int, Sequence[Scalar]],
                      free: Sequence[Scalar] | None = None) -> list[Scalar]:
        """q̈ = H_aa τ + H_ab f − 𝓦_aᵀ η; `free`: 𝓦_aᵀ η, nothing without."""
        linkage = self.linkage
        result = []
        for i in range(len(linkage)):
            linkage.step(i, "acceleration: H_aa tau + H_ab f, LC (12)")
            rate = linkage.zero if free is None else -free[i]
            for j in sorted({i} | self.near[i]):
                block = self.parts.at(i, j)
                assert block is not None
                rate = rate + dot(block[0], [tau[j], *forces[j]], linkage.zero)             # (12)
            linkage.name("qddot", i, rate)
            result.append(rate)
        return result

    def wrenches(self, tau: Sequence[Scalar], forces: Mapping[int, Sequence[Scalar]]) -> list[list[Scalar]]:
        """F_i = W_a τ_i + W f_i, what the parent does to link i: moment and force at O_i in the axes of link i."""
        found = []
        for i, columns in enumerate(self.parts.bases):
            F = [self.linkage.zero] * 6
            for column, x in zip(columns, [tau[i], *forces[i]], strict=True):
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
        n, zero = len(linkage), linkage.zero
        columns = []
        for j in range(n):
            linkage.step(j, "column of L^-1 H_ab^T")
            right = {i: [zero] * parts.forbidden(i) for i in range(n)}
            for i in {j} | self.near[j]:
                block = parts.at(j, i)
                assert block is not None
                right[i] = block[0][1:]
            columns.append(reduced(pivots, right, linkage))
        scaled = [{p.joint: [y * by for y, by in zip(column[p.joint], p.inverse, strict=True)] for p in pivots}
                  for column in columns]
        entries: dict[tuple[int, int], Scalar] = {}
        for i in range(n):
            linkage.step(i, "row of the inverse, LC (12)")
            for j in range(i + 1):
                block = parts.at(i, j)
                entry = zero if block is None else block[0][0]
                for p in pivots:
                    entry = entry - dot(columns[i][p.joint], scaled[j][p.joint], zero)      # (12)
                entries[i, j] = entries[j, i] = entry
        return [entries[i, j] for i in range(n) for j in range(n)]

    @property
    def factors(self) -> dict[int, list[Scalar]]:
        """By joint, in the order of elimination: its pivots of H_bb and the determinant of its link's inertia, LC (8).

        LC's 𝓦_a has columns of length 1; here it is H/|H|², so that |H|² goes with the latter.
        """
        weights = {p.joint: self.parts.links[p.joint].determinant * self.linkage.measure(p.joint) for p in self.eliminated}
        return {pivot.joint: [*pivot.D, weights[pivot.joint]] for pivot in self.eliminated}

    @property
    def pivots(self) -> list[Scalar]:
        """Those of det 𝓜 · det H_bb, LC (8)."""
        return [x for own in self.factors.values() for x in own]

    def determinant(self) -> Scalar:
        """det M = det 𝓜 · det H_bb, LC (8)."""
        found = []
        for i, own in self.factors.items():
            found.append(_in_pairs(mul, own))
            self.linkage.name("det", i, found[-1])
        return _in_pairs(mul, found)                                                        # (8)

    def log_determinant(self) -> Scalar:
        """ln det M = ln det 𝓜 + ln det H_bb, LC (8)."""
        found = []
        for i, own in self.factors.items():
            found.append(self.linkage.log_product(own))
            self.linkage.name("logdet", i, found[-1])
        return _in_pairs(add, found)                                                        # (8)


def _in_pairs(join: Callable[[Scalar, Scalar], Scalar], terms: Sequence[Scalar]) -> Scalar:
    """As a balanced tree."""
    left = list(terms)
    while len(left) > 1:
        left = [join(left[n], left[n + 1]) if n + 1 < len(left) else left[n] for n in range(0, len(left), 2)]
    return left[0]


def dynamics(linkage: Linkage, order: Order, omegas: Omegas) -> tuple[list[Scalar], list[list[Scalar]]]:
    """(q̈, F) of a state, F from the whole interbody forces: no bias force is computed beforehand."""
    cut, rates, tau = Cut(linkage, order), linkage.inputs["v"], linkage.inputs["tau"]
    asked = eta(linkage, cut.parts.links, omegas(linkage, rates), rates)
    split = [[picked(column, e, linkage.zero) for column in columns] for columns, e in zip(cut.parts.bases, asked, strict=True)]
    f = cut.forces(tau, [s[1:] for s in split])
    wrenches = cut.wrenches(tau, f)
    return cut.accelerations(tau, f, [s[0] for s in split]), wrenches


def _interbody_forces(linkage: Linkage, order: Order, omegas: Omegas, axes: Axes) -> Results:
    """F (NV x 6), and q̈ (NV) from it."""
    rates, wrenches = dynamics(linkage, order, omegas)
    turned = axes(linkage)
    result: list[Scalar] = []
    for i, F in enumerate(wrenches):
        linkage.step(i, "interbody force at the origin of the frame that its joint moves, in the axes of the base")
        R, (rotation, origin) = Rotation([turned[i]]), linkage.model.links[i].placement
        f = Vector(F[3:])
        n = Vector(F[:3]) + linkage.constant_rotation(rotation).inward(linkage.vector(origin)).cross(f)
        result += [*R.outward(n), *R.outward(f)]
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
