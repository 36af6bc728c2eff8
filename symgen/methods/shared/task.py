"""The inertia that the rows of a task feel, of whoever takes M apart: Λ = (J M⁻¹ Jᵀ)⁻¹ and J̄ = M⁻¹ Jᵀ Λ, J being those rows.

With L D Lᵀ = J M⁻¹ Jᵀ, J̄ takes one solve with it a joint, and Λ itself is not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation, Scalar
from symgen.methods.shared.factor import Derive, Half, Results, TakeApart


class Symmetric(NamedTuple):
    """L D Lᵀ of a positive definite matrix: the rows of L below its diagonal of ones, and the inverses of D."""

    home: Derivation
    L: list[list[Scalar]]
    inverses: list[Scalar]

    @staticmethod
    def of(home: Derivation, lower: Sequence[Sequence[Scalar]]) -> Symmetric:
        """Of the matrix with this lower triangle, row by row with the diagonal; eliminated from the first row on."""
        rows, inverses = [list(row) for row in lower], []
        L: list[list[Scalar]] = [[] for _ in rows]
        for p in range(len(rows)):
            for i in range(p, len(rows)):
                home.name(f"S_{i + 1}_{p + 1}", rows[i][p])
            inverses.append(home.one / rows[p][p])
            for i in range(p + 1, len(rows)):
                L[i].append(rows[i][p] * inverses[p])
                home.name(f"L_{i + 1}_{p + 1}", L[i][p])
                for j in range(p + 1, i + 1):
                    rows[i][j] = rows[i][j] - L[i][p] * rows[j][p]
        return Symmetric(home, L, inverses)

    def solve(self, b: Sequence[Scalar], name: str, first: int = 0) -> list[Scalar]:
        """x with L D Lᵀ x = b. Entries of b before `first` are zero, and those of x are not asked for and left zero.

        What is had on the way is called `name` and its number.
        """
        return self.back(self.reduced(b, name, first)[1], name, first)

    def reduced(self, b: Sequence[Scalar], name: str, first: int = 0) -> Half:
        """(L⁻¹ b, D⁻¹ L⁻¹ b)."""
        x = list(b)
        for i in range(first, len(self.L)):
            for p in range(first, i):
                x[i] = x[i] - self.L[i][p] * x[p]
            self.home.name(f"{name}_{i + 1}", x[i])
        return x, [entry * inverse for entry, inverse in zip(x, self.inverses, strict=True)]

    def back(self, half: Sequence[Scalar], name: str, first: int = 0) -> list[Scalar]:
        """L⁻ᵀ of D⁻¹ L⁻¹ b."""
        x, n = list(half), len(self.L)
        for i in reversed(range(first, n)):
            for p in range(i + 1, n):
                x[i] = x[i] - self.L[p][i] * x[p]
            self.home.name(f"{name}_{i + 1}_out", x[i])
        return x

    def inverse(self) -> list[Scalar]:
        """Row-major and full; symmetric entries are taken once."""
        n, zero, one = len(self.L), self.home.zero, self.home.one
        columns = [
            self.solve([one if i == j else zero for i in range(n)], f"e_{j + 1}", j)
            for j in range(n)
        ]
        return [columns[min(i, j)][max(i, j)] for i in range(n) for j in range(n)]


def of_task(factor: TakeApart, jacobian: Derive) -> dict[str, Derive]:
    """What whoever solves with M computes of a task, given the Jacobian."""

    def rows(linkage: Linkage) -> list[list[Scalar]]:
        n = len(linkage.own)
        (J,) = jacobian(linkage)
        return [J[r * n : (r + 1) * n] for r in linkage.task_rows]

    def operational_inertia(linkage: Linkage) -> Results:
        """Λ, row-major and full."""
        J = rows(linkage)
        pairs = factor(linkage).halves(J)
        linkage.home.step("inertia that the task feels")
        lower = [
            [linkage.dot(pairs[i][0], pairs[j][1]) for j in range(i + 1)] for i in range(len(J))
        ]
        return (Symmetric.of(linkage.home, lower).inverse(),)

    def dynamically_consistent_inverse(linkage: Linkage) -> Results:
        """J̄, row-major: row j solves with J M⁻¹ Jᵀ for what row j of M⁻¹ Jᵀ is."""
        J, taken = rows(linkage), factor(linkage)
        X = [taken.solve(row) for row in J]
        linkage.home.step("inverse of the task's Jacobian that M weighs")
        within = Symmetric.of(
            linkage.home, [[linkage.dot(J[i], X[j]) for j in range(i + 1)] for i in range(len(J))]
        )
        return (
            [
                entry
                for j in range(len(linkage.own))
                for entry in within.solve([x[j] for x in X], f"x_{j + 1}")
            ],
        )

    return {
        derive.__name__: derive for derive in (operational_inertia, dynamically_consistent_inverse)
    }
