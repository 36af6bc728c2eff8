"""Where loops are closed only some velocities are free: v = N v_i, with those that the others depend on, A_d v_d = −A_i v_i.

A_d has a column for each velocity that depends, and is as good as square: rows that say what others do are welcome. So with
G = A_dᵀ A_d, N_d = −G⁻¹ A_dᵀ A_i. Forces act on the independent coordinates alone: with f = M a + c the others' equations,
A_dᵀ λ = f_d, give the least λ = A_d G⁻¹ f_d, and tau = f_i − A_iᵀ λ. G⁻¹ squares the condition of A_d.

What is driven need not be independent. As many joints as the loops leave free take the place of i, and d are all others. Of more
joints some, e, are among d, and bear what λ need not. With Y = A_d G⁻¹ 1_e, λ for a force of 1 on each of them, and
N_e = −Yᵀ A_i any tau_e is right, with λ − Y tau_e and tau_i = f_i − A_iᵀ (λ − Y tau_e) = tau + N_eᵀ (−tau_e). The least of all
forces is that with (1 + N_e N_eᵀ) tau_e = N_e tau, which is N_a (N_aᵀ N_a)⁻¹ Nᵀ f for the rows N_a of N that are driven.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.shared.closures import jacobian_rows
from symgen.methods.shared.factor import Derive, Results
from symgen.methods.shared.task import Symmetric


class Split(NamedTuple):
    """The entries of v that do not depend on the others; the columns of A of those that do and of those; G taken apart."""

    free: list[int]
    dependent: list[list[Scalar]]
    independent: list[list[Scalar]]
    G: Symmetric

    @staticmethod
    def of(linkage: Linkage, given: Sequence[int]) -> Split:
        """Where these entries of v depend on the others."""
        rows = [linkage.coupling.felt(row) for row in jacobian_rows(linkage)]
        columns = [[row[k] for row in rows] for k in range(len(linkage.own))]
        dependent, free = (
            [columns[k] for k in given],
            [k for k in range(len(columns)) if k not in given],
        )
        linkage.home.step("velocities that the loops give: products of their columns")
        lower = [
            [linkage.dot(one, other) for other in dependent[: i + 1]]
            for i, one in enumerate(dependent)
        ]
        return Split(free, dependent, [columns[k] for k in free], Symmetric.of(linkage.home, lower))

    def given(self, column: Sequence[Scalar], name: str) -> list[Scalar]:
        """The velocities that depend, for one independent velocity of 1 whose column of A this is."""
        return self.G.solve([-self.G.home.dot(own, column) for own in self.dependent], name)

    def held(self, loads: Sequence[Scalar], name: str) -> list[Scalar]:
        """The least λ that bears these forces on the velocities that depend."""
        shares = self.G.solve(loads, name)
        self.G.home.step("forces of the joints that close loops")
        return [
            self.G.home.dot([column[r] for column in self.dependent], shares)
            for r in range(len(self.dependent[0]))
        ]

    def left(self, f: Sequence[Scalar], held: Sequence[Scalar]) -> list[Scalar]:
        """What of the forces f is left for the independent velocities beside λ: f_i − A_iᵀ λ."""
        return [
            f[k] - self.G.home.dot(column, held)
            for k, column in zip(self.free, self.independent, strict=True)
        ]


def reduced_by(mass_matrix: Derive) -> Derive:
    """reduced_mass_matrix of whoever computes M."""

    def reduced_mass_matrix(linkage: Linkage) -> Results:
        """Nᵀ M N, row-major and full."""
        (M,) = mass_matrix(linkage)
        n, split = len(linkage.own), Split.of(linkage, linkage.dependent)
        N = []
        for k, column in zip(split.free, split.independent, strict=True):
            whole = [linkage.zero] * n
            whole[k] = linkage.one
            for place, rate in zip(
                linkage.dependent, split.given(column, f"n_{k + 1}"), strict=True
            ):
                whole[place] = rate
            N.append(whole)
        linkage.home.step("the mass matrix of the independent velocities")
        moved = [[linkage.dot(M[r * n : (r + 1) * n], one) for r in range(n)] for one in N]
        found = {
            (i, j): linkage.dot(N[i], moved[j]) for i in range(len(N)) for j in range(i, len(N))
        }
        return ([found[min(i, j), max(i, j)] for i in range(len(N)) for j in range(len(N))],)

    return reduced_mass_matrix


def held_by(inverse_dynamics: Derive) -> Derive:
    """constrained_inverse_dynamics of whoever computes inverse dynamics."""

    def constrained_inverse_dynamics(linkage: Linkage) -> Results:
        """tau of the actuated joints, and λ, with M a + c = tau + Aᵀ λ."""
        (f,) = inverse_dynamics(linkage)
        split = Split.of(linkage, linkage.passive)
        held = split.held([f[k] for k in linkage.passive], "share")
        more = [k for k in linkage.passive if k in linkage.actuated]
        shares: list[Scalar] = []
        if more:
            shares, held = _shared(linkage, split, more, f, held)
        linkage.home.step("forces of the independent coordinates")
        driven = dict(zip(split.free, split.left(f, held), strict=True)) | dict(
            zip(more, shares, strict=True)
        )
        return [driven[k] for k in linkage.actuated], held

    return constrained_inverse_dynamics


def _shared(
    linkage: Linkage, split: Split, more: Sequence[int], f: Sequence[Scalar], held: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """tau_e of joints that are driven besides the independent ones, and what λ is with them."""
    zero, one = linkage.zero, linkage.one
    Y = [
        split.held([one if k == place else zero for k in linkage.passive], f"share_{place + 1}")
        for place in more
    ]
    linkage.home.step("forces of more joints than are needed")
    tau = split.left(f, held)
    N = [[-linkage.dot(column, own) for column in split.independent] for own in Y]
    lower = [[linkage.dot(row, other) for other in N[: i + 1]] for i, row in enumerate(N)]
    for row in lower:
        row[-1] = row[-1] + one
    shares = Symmetric.of(linkage.home, lower).solve([linkage.dot(row, tau) for row in N], "tau_e")
    linkage.home.step("forces of the joints that close loops")
    return shares, [x - linkage.dot([own[r] for own in Y], shares) for r, x in enumerate(held)]
