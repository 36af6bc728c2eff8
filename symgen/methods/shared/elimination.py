"""The reverse Gaussian elimination of a mass matrix entry by entry, SA (17)-(30).

On a tree M_ij vanishes unless one of i, j carries the other, and elimination from the tips keeps it so. Where joints follow
others M is Gᵀ M G of all joints: more of it is not zero, and elimination fills in what it has to.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.shared.factor import Factor, Half


def full(linkage: Linkage, rows: list[dict[int, Scalar]]) -> list[Scalar]:
    """A symmetric matrix, row-major, from its lower triangle."""
    n = len(rows)
    return [rows[max(i, j)].get(min(i, j), linkage.zero) for i in range(n) for j in range(n)]


def eliminate(
    linkage: Linkage, rows: list[dict[int, Scalar]]
) -> tuple[list[dict[int, Scalar]], list[Scalar], list[Scalar]]:
    """Reverse Gaussian elimination, k = n … 2 (SA 30): returns α_ik as alpha[k][i], the pivots m̂_k and their inverses."""
    n = len(rows)
    alpha: list[dict[int, Scalar]] = [{} for _ in range(n)]
    pivots: list[Scalar] = [linkage.zero] * n
    inverses: list[Scalar] = [linkage.zero] * n
    rows = [dict(row) for row in rows]
    for k in reversed(range(n)):
        linkage.step(linkage.own[k].link, "reverse Gaussian elimination, SA (26)-(30)")
        pivots[k] = rows[k][k]
        inverses[k] = linkage.one / pivots[k]
        above = sorted((i for i in rows[k] if i != k), reverse=True)
        linkage.name("D", k, pivots[k])
        for i in above:
            alpha[k][i] = rows[k][i] * inverses[k]
            linkage.home.name(f"alpha_{i + 1}_{k + 1}", alpha[k][i])
        for i in above:
            for j in above:
                if j <= i:
                    rows[i][j] = rows[i].get(j, linkage.zero) - alpha[k][i] * rows[k][j]
    return alpha, pivots, inverses


class Eliminated(Factor):
    """M = U D Uᵀ by elimination of its rows: U⁻¹ = E_2 … E_n and D = diag(m̂_k), SA (17)-(24)."""

    def __init__(self, linkage: Linkage, rows: list[dict[int, Scalar]]) -> None:
        super().__init__(linkage)
        if linkage.coupling.couples:
            linkage.home.step("joints that follow others: G^T M G")
        self.alpha, self.masses, self.inverses = eliminate(linkage, linkage.coupling.triangle(rows))

    @property
    def pivots(self) -> list[Scalar]:
        """det M = Π m̂_k."""
        return self.masses

    def eliminated(self, b: Sequence[Scalar]) -> list[Scalar]:
        """U⁻¹ b = E_2 … E_n b (SA 24)."""
        x = list(b)
        for k in reversed(range(len(x))):
            self.linkage.step(
                self.linkage.own[k].link, "elimination applied to the right-hand side, SA (24)"
            )
            for i, factor in self.alpha[k].items():
                x[i] = x[i] - factor * x[k]
        return x

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """U⁻ᵀ D⁻¹ U⁻¹ b (SA 24)."""
        x = self.eliminated(b)
        for k in range(len(x)):
            self.linkage.step(self.linkage.own[k].link, "back substitution, SA (24)")
            x[k] = x[k] * self.inverses[k]
            for i in sorted(self.alpha[k]):
                x[k] = x[k] - self.alpha[k][i] * x[i]
        return x

    def back(self, half: Sequence[Scalar]) -> list[Scalar]:
        """U⁻ᵀ of D⁻¹ U⁻¹ b (SA 24)."""
        x = list(half)
        for k in range(len(x)):
            self.linkage.step(self.linkage.own[k].link, "back substitution, SA (24)")
            for i in sorted(self.alpha[k]):
                x[k] = x[k] - self.alpha[k][i] * x[i]
        return x

    def halves(self, columns: Sequence[Sequence[Scalar]]) -> list[Half]:
        """(U⁻¹ b, D⁻¹ U⁻¹ b) of every column b."""
        left = [self.eliminated(b) for b in columns]
        return [
            (x, [xk * inverse for xk, inverse in zip(x, self.inverses, strict=True)]) for x in left
        ]

    def inverse(self) -> list[Scalar]:
        """M⁻¹ = U⁻ᵀ D⁻¹ U⁻¹ (SA 17-19); only where it can be nonzero is anything computed."""
        n, linkage, alpha = len(self.alpha), self.linkage, self.alpha
        columns: list[list[Scalar]] = []
        for j in range(n):
            linkage.home.step(f"column {j} of the inverse")
            # The right-hand side e_j touches only what carries j on the way in, or is coupled to what does; entries above row j
            # follow by symmetry.
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
