"""Independent velocities of closed chains: v = N v_i, where the dependent velocities satisfy A_d
v_d = −A_i v_i.

A_d has one column per dependent velocity. Its rows may be redundant. With G = A_dᵀ A_d, N_d = −G⁻¹
A_dᵀ A_i. Forces act on the independent coordinates alone. With f = M a + c, the dependent equations
A_dᵀ λ = f_d have the minimum-norm solution λ = A_d G⁻¹ f_d, and tau = f_i − A_iᵀ λ. G⁻¹ squares the
condition number of A_d.

The actuated joints need not be the independent ones. As many of them as there are degrees of
freedom take the place of i, and d are all other joints. Further actuated joints e are among d, and
share the load of λ. With Y = A_d G⁻¹ 1_e, the λ of a unit force on each of them, and N_e = −Yᵀ A_i,
any tau_e is a solution, with λ − Y tau_e and tau_i = f_i − A_iᵀ (λ − Y tau_e) = tau + N_eᵀ
(−tau_e). The minimum-norm forces have (1 + N_e N_eᵀ) tau_e = N_e tau. They equal N_a (N_aᵀ N_a)⁻¹
Nᵀ f for the rows N_a of N of the actuated joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.shared.closures import jacobian_rows
from symgen.methods.shared.factor import Derive, Results
from symgen.methods.shared.task import LDLFactor


class VelocitySplit(NamedTuple):
    """Independent entries of v, the columns of A of the dependent and the independent entries, and
    the factors of G.
    """

    independent: list[int]
    dependent_columns: list[list[Scalar]]
    independent_columns: list[list[Scalar]]
    G: LDLFactor

    @staticmethod
    def of(linkage: Linkage, dependent_entries: Sequence[int]) -> VelocitySplit:
        """Split the velocities of a linkage, given the dependent entries of v."""
        rows = [linkage.coupling.reduce_forces(row) for row in jacobian_rows(linkage)]
        columns = [[row[k] for row in rows] for k in range(len(linkage.leader_dofs))]
        dependent_columns, independent = (
            [columns[k] for k in dependent_entries],
            [k for k in range(len(columns)) if k not in dependent_entries],
        )
        linkage.derivation.step("dependent velocities: products of the columns of A")
        lower = [
            [linkage.dot(column, second) for second in dependent_columns[: i + 1]]
            for i, column in enumerate(dependent_columns)
        ]
        return VelocitySplit(
            independent,
            dependent_columns,
            [columns[k] for k in independent],
            LDLFactor.of(linkage.derivation, lower),
        )

    def dependent_rates(self, column: Sequence[Scalar], name: str) -> list[Scalar]:
        """Return the dependent velocities at a unit independent velocity, whose column of A is
        given.
        """
        return self.G.solve(
            [
                -self.G.derivation.dot(dependent_column, column)
                for dependent_column in self.dependent_columns
            ],
            name,
        )

    def closure_forces(self, loads: Sequence[Scalar], name: str) -> list[Scalar]:
        """Return the minimum-norm λ that balances these loads on the dependent velocities."""
        shares = self.G.solve(loads, name)
        self.G.derivation.step("forces of the loop closures")
        return [
            self.G.derivation.dot([column[r] for column in self.dependent_columns], shares)
            for r in range(len(self.dependent_columns[0]))
        ]

    def remaining_forces(self, f: Sequence[Scalar], multipliers: Sequence[Scalar]) -> list[Scalar]:
        """Return f_i − A_iᵀ λ: the forces on the independent velocities that λ does not balance."""
        return [
            f[k] - self.G.derivation.dot(column, multipliers)
            for k, column in zip(self.independent, self.independent_columns, strict=True)
        ]


def reduced_mass_matrix_from(mass_matrix: Derive) -> Derive:
    """Return the derivation of reduced_mass_matrix, given that of M."""

    def reduced_mass_matrix(linkage: Linkage) -> Results:
        """Return Nᵀ M N, row-major and full."""
        (M,) = mass_matrix(linkage)
        n, split = len(linkage.leader_dofs), VelocitySplit.of(linkage, linkage.dependent)
        N = []
        for k, column in zip(split.independent, split.independent_columns, strict=True):
            velocities = [linkage.zero] * n
            velocities[k] = linkage.one
            for entry, rate in zip(
                linkage.dependent, split.dependent_rates(column, f"n_{k + 1}"), strict=True
            ):
                velocities[entry] = rate
            N.append(velocities)
        linkage.derivation.step("mass matrix of the independent coordinates")
        momenta = [
            [linkage.dot(M[r * n : (r + 1) * n], column_of_N) for r in range(n)]
            for column_of_N in N
        ]
        entries = {
            (i, j): linkage.dot(N[i], momenta[j]) for i in range(len(N)) for j in range(i, len(N))
        }
        return ([entries[min(i, j), max(i, j)] for i in range(len(N)) for j in range(len(N))],)

    return reduced_mass_matrix


def constrained_inverse_dynamics_from(inverse_dynamics: Derive) -> Derive:
    """Return the derivation of constrained_inverse_dynamics, given that of inverse dynamics."""

    def constrained_inverse_dynamics(linkage: Linkage) -> Results:
        """Return tau of the actuated joints and λ with M a + c = tau + Aᵀ λ."""
        (f,) = inverse_dynamics(linkage)
        split = VelocitySplit.of(linkage, linkage.passive)
        multipliers = split.closure_forces([f[k] for k in linkage.passive], "share")
        redundant_drives = [k for k in linkage.passive if k in linkage.actuated]
        redundant_forces: list[Scalar] = []
        if redundant_drives:
            redundant_forces, multipliers = _share_with_redundant_drives(
                linkage, split, redundant_drives, f, multipliers
            )
        linkage.derivation.step("forces of the independent coordinates")
        forces = dict(
            zip(split.independent, split.remaining_forces(f, multipliers), strict=True)
        ) | dict(zip(redundant_drives, redundant_forces, strict=True))
        return [forces[k] for k in linkage.actuated], multipliers

    return constrained_inverse_dynamics


def _share_with_redundant_drives(
    linkage: Linkage,
    split: VelocitySplit,
    redundant_drives: Sequence[int],
    f: Sequence[Scalar],
    multipliers: Sequence[Scalar],
) -> tuple[list[Scalar], list[Scalar]]:
    """Return tau_e of the actuated joints beyond the independent ones, and λ that goes with it."""
    zero, unit = linkage.zero, linkage.one
    Y = [
        split.closure_forces(
            [unit if k == drive else zero for k in linkage.passive], f"share_{drive + 1}"
        )
        for drive in redundant_drives
    ]
    linkage.derivation.step("minimum-norm forces of redundant actuated joints")
    tau = split.remaining_forces(f, multipliers)
    N = [[-linkage.dot(column, row) for column in split.independent_columns] for row in Y]
    lower = [[linkage.dot(row, second) for second in N[: i + 1]] for i, row in enumerate(N)]
    for row in lower:
        row[-1] = row[-1] + unit
    shares = LDLFactor.of(linkage.derivation, lower).solve(
        [linkage.dot(row, tau) for row in N], "tau_e"
    )
    linkage.derivation.step("forces of the loop closures")
    return shares, [
        x - linkage.dot([row[r] for row in Y], shares) for r, x in enumerate(multipliers)
    ]
