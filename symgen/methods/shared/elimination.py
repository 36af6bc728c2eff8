"""Reverse Gaussian elimination of a mass matrix entry by entry, SA (17)-(30).

On a tree M_ij is zero unless one of the links i and j is an ancestor of the other. Elimination from
the tips preserves these zeros. With mimic joints the eliminated matrix is Gᵀ M G: it has more
nonzero entries, and elimination adds fill-in.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.shared.factor import Factor, Half


def full_matrix(linkage: Linkage, rows: list[dict[int, Scalar]]) -> list[Scalar]:
    """Return a symmetric matrix, row-major, from its lower triangle."""
    n = len(rows)
    return [rows[max(i, j)].get(min(i, j), linkage.zero) for i in range(n) for j in range(n)]


def eliminate(
    linkage: Linkage, rows: list[dict[int, Scalar]]
) -> tuple[list[dict[int, Scalar]], list[Scalar], list[Scalar]]:
    """Eliminate rows k = n … 2, SA (30); return α_ik as alpha[k][i], the pivots m̂_k and their
    inverses.
    """
    n = len(rows)
    alpha: list[dict[int, Scalar]] = [{} for _ in range(n)]
    pivots: list[Scalar] = [linkage.zero] * n
    inverses: list[Scalar] = [linkage.zero] * n
    rows = [dict(row) for row in rows]
    for k in reversed(range(n)):
        linkage.step(linkage.leader_dofs[k].link, "reverse Gaussian elimination, SA (26)-(30)")
        pivots[k] = rows[k][k]
        inverses[k] = linkage.one / pivots[k]
        above = sorted((i for i in rows[k] if i != k), reverse=True)
        linkage.name("D", k, pivots[k])
        for i in above:
            alpha[k][i] = rows[k][i] * inverses[k]
            linkage.derivation.name(f"alpha_{i + 1}_{k + 1}", alpha[k][i])
        for i in above:
            for j in above:
                if j <= i:
                    rows[i][j] = rows[i].get(j, linkage.zero) - alpha[k][i] * rows[k][j]
    return alpha, pivots, inverses


class EliminatedFactor(Factor):
    """M = U D Uᵀ with U⁻¹ = E_2 … E_n and D = diag(m̂_k), SA (17)-(24)."""

    def __init__(self, linkage: Linkage, rows: list[dict[int, Scalar]]) -> None:
        super().__init__(linkage)
        if linkage.coupling.has_mimic_joints:
            linkage.derivation.step("mimic joints: G^T M G")
        self.alpha, self.masses, self.inverses = eliminate(
            linkage, linkage.coupling.reduce_triangle(rows)
        )

    @property
    def pivots(self) -> list[Scalar]:
        """The pivots m̂_k; det M = Π m̂_k."""
        return self.masses

    def apply_inverse_U(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return U⁻¹ b = E_2 … E_n b, SA (24)."""
        x = list(b)
        for k in reversed(range(len(x))):
            self.linkage.step(
                self.linkage.leader_dofs[k].link,
                "elimination applied to the right-hand side, SA (24)",
            )
            for i, factor in self.alpha[k].items():
                x[i] = x[i] - factor * x[k]
        return x

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return U⁻ᵀ D⁻¹ U⁻¹ b, SA (24)."""
        x = self.apply_inverse_U(b)
        for k in range(len(x)):
            self.linkage.step(self.linkage.leader_dofs[k].link, "back substitution, SA (24)")
            x[k] = x[k] * self.inverses[k]
            for i in sorted(self.alpha[k]):
                x[k] = x[k] - self.alpha[k][i] * x[i]
        return x

    def back_substitute(self, half: Sequence[Scalar]) -> list[Scalar]:
        """Return U⁻ᵀ x for x = D⁻¹ U⁻¹ b, SA (24)."""
        x = list(half)
        for k in range(len(x)):
            self.linkage.step(self.linkage.leader_dofs[k].link, "back substitution, SA (24)")
            for i in sorted(self.alpha[k]):
                x[k] = x[k] - self.alpha[k][i] * x[i]
        return x

    def half_solutions(self, columns: Sequence[Sequence[Scalar]]) -> list[Half]:
        """Return (U⁻¹ b, D⁻¹ U⁻¹ b) of each column b."""
        reduced = [self.apply_inverse_U(b) for b in columns]
        return [
            (x, [xk * inverse for xk, inverse in zip(x, self.inverses, strict=True)])
            for x in reduced
        ]

    def inverse(self) -> list[Scalar]:
        """Return M⁻¹ = U⁻ᵀ D⁻¹ U⁻¹, SA (17)-(19), computing only entries that can be nonzero."""
        n, linkage, alpha = len(self.alpha), self.linkage, self.alpha
        columns: list[list[Scalar]] = []
        for j in range(n):
            linkage.derivation.step(f"column {j} of the inverse")
            # The unit vector e_j only reaches ancestors of j, and coordinates coupled to them.
            # Entries above row j follow
            # by symmetry.
            x = [linkage.zero] * n
            x[j] = linkage.one
            touched = {j}
            for k in reversed(range(j + 1)):
                for i, factor in alpha[k].items() if k in touched else ():
                    touched.add(i)
                    x[i] = x[i] - factor * x[k]
            for k in range(j + 1):
                x[k] = x[k] * self.inverses[k]
                for i in sorted(alpha[k]):
                    x[k] = x[k] - alpha[k][i] * x[i]
            columns.append(x)
        return [columns[max(i, j)][min(i, j)] for i in range(n) for j in range(n)]
