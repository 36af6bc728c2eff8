"""Where loops are closed only some velocities are free: v = N v_i, with those that the others depend on, A_d v_d = −A_i v_i.

A_d has a column for each velocity that depends, and is as good as square: rows that say what others do are welcome. So with
G = A_dᵀ A_d, N_d = −G⁻¹ A_dᵀ A_i. Forces act on the independent coordinates alone: with f = M a + c the others' equations,
A_dᵀ λ = f_d, give the least λ = A_d G⁻¹ f_d, and tau = f_i − A_iᵀ λ. G⁻¹ squares the condition of A_d.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods._closures import jacobian_rows
from symgen.methods._factor import Derive, Results
from symgen.methods._task import Symmetric


class Split(NamedTuple):
    """The columns of A: of the velocities that depend and of those that do not; and G taken apart."""

    dependent: list[list[Scalar]]
    independent: list[list[Scalar]]
    G: Symmetric

    @staticmethod
    def of(linkage: Linkage) -> Split:
        """As the assembly of the robot says, `linkage.dependent`."""
        rows = [linkage.coupling.felt(row) for row in jacobian_rows(linkage)]
        columns = [[row[k] for row in rows] for k in range(len(linkage.own))]
        dependent = [columns[k] for k in linkage.dependent]
        linkage.home.step("velocities that the loops give: products of their columns")
        lower = [[linkage.dot(one, other) for other in dependent[:i + 1]] for i, one in enumerate(dependent)]
        return Split(dependent, [columns[k] for k in independent(linkage)], Symmetric.of(linkage.home, lower))

    def given(self, column: Sequence[Scalar], name: str) -> list[Scalar]:
        """The velocities that depend, for one independent velocity of 1 whose column of A this is."""
        return self.G.solve([-self.G.home.dot(own, column) for own in self.dependent], name)


def independent(linkage: Linkage) -> list[int]:
    """The entries of v that do not depend on others."""
    return [k for k in range(len(linkage.own)) if k not in linkage.dependent]


def reduced_by(mass_matrix: Derive) -> Derive:
    """reduced_mass_matrix of whoever computes M."""

    def reduced_mass_matrix(linkage: Linkage) -> Results:
        """Nᵀ M N, row-major and full."""
        (M,) = mass_matrix(linkage)
        n, free, split = len(linkage.own), independent(linkage), Split.of(linkage)
        N = []
        for k, column in zip(free, split.independent, strict=True):
            whole = [linkage.zero] * n
            whole[k] = linkage.one
            for place, rate in zip(linkage.dependent, split.given(column, f"n_{k + 1}"), strict=True):
                whole[place] = rate
            N.append(whole)
        linkage.home.step("the mass matrix of the independent velocities")
        moved = [[linkage.dot(M[r * n:(r + 1) * n], one) for r in range(n)] for one in N]
        found = {(i, j): linkage.dot(N[i], moved[j]) for i in range(len(N)) for j in range(i, len(N))}
        return ([found[min(i, j), max(i, j)] for i in range(len(N)) for j in range(len(N))],)

    return reduced_mass_matrix


def held_by(inverse_dynamics: Derive) -> Derive:
    """constrained_inverse_dynamics of whoever computes inverse dynamics."""

    def constrained_inverse_dynamics(linkage: Linkage) -> Results:
        """tau of the independent coordinates, and λ, with M a + c = tau + Aᵀ λ."""
        (f,) = inverse_dynamics(linkage)
        split = Split.of(linkage)
        shares = split.G.solve([f[k] for k in linkage.dependent], "share")
        linkage.home.step("forces of the joints that close loops")
        held = [linkage.dot([column[r] for column in split.dependent], shares) for r in range(len(split.dependent[0]))]
        linkage.home.step("forces of the independent coordinates")
        return [f[k] - linkage.dot(column, held) for k, column in zip(independent(linkage), split.independent, strict=True)], held

    return constrained_inverse_dynamics
