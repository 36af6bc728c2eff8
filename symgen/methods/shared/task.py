"""Operational-space inertia Λ = (J M⁻¹ Jᵀ)⁻¹ and J̄ = M⁻¹ Jᵀ Λ of task rows J, for any
factorization of M.

With L D Lᵀ = J M⁻¹ Jᵀ, J̄ takes one solve per joint, and Λ itself is not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation, Scalar
from symgen.methods.shared.factor import Derive, Half, MakeFactor, Results


class LDLFactor(NamedTuple):
    """L D Lᵀ of a positive definite matrix: rows of L below its unit diagonal, and the inverses of
    D.
    """

    derivation: Derivation
    L: list[list[Scalar]]
    inverses: list[Scalar]

    @staticmethod
    def of(derivation: Derivation, lower: Sequence[Sequence[Scalar]]) -> LDLFactor:
        """Factor a matrix given by its lower triangle, row by row with the diagonal, from the first
        row on.
        """
        rows, inverses = [list(row) for row in lower], []
        L: list[list[Scalar]] = [[] for _ in rows]
        for p in range(len(rows)):
            for i in range(p, len(rows)):
                derivation.name(f"S_{i + 1}_{p + 1}", rows[i][p])
            inverses.append(derivation.one / rows[p][p])
            for i in range(p + 1, len(rows)):
                L[i].append(rows[i][p] * inverses[p])
                derivation.name(f"L_{i + 1}_{p + 1}", L[i][p])
                for j in range(p + 1, i + 1):
                    rows[i][j] = rows[i][j] - L[i][p] * rows[j][p]
        return LDLFactor(derivation, L, inverses)

    def solve(self, b: Sequence[Scalar], name: str, first: int = 0) -> list[Scalar]:
        """Return x with L D Lᵀ x = b.

        Entries of b before `first` must be zero; the entries of x before `first` are left zero.
        Intermediate results are named `name` and their number.
        """
        return self.back_substitute(self.forward(b, name, first)[1], name, first)

    def forward(self, b: Sequence[Scalar], name: str, first: int = 0) -> Half:
        """Return (L⁻¹ b, D⁻¹ L⁻¹ b)."""
        x = list(b)
        for i in range(first, len(self.L)):
            for p in range(first, i):
                x[i] = x[i] - self.L[i][p] * x[p]
            self.derivation.name(f"{name}_{i + 1}", x[i])
        return x, [entry * inverse for entry, inverse in zip(x, self.inverses, strict=True)]

    def back_substitute(self, half: Sequence[Scalar], name: str, first: int = 0) -> list[Scalar]:
        """Return L⁻ᵀ x for x = D⁻¹ L⁻¹ b."""
        x, n = list(half), len(self.L)
        for i in reversed(range(first, n)):
            for p in range(i + 1, n):
                x[i] = x[i] - self.L[p][i] * x[p]
            self.derivation.name(f"{name}_{i + 1}_out", x[i])
        return x

    def inverse(self) -> list[Scalar]:
        """Return the inverse, row-major and full; symmetric entries are computed once."""
        n, zero, unit = len(self.L), self.derivation.zero, self.derivation.one
        columns = [
            self.solve([unit if i == j else zero for i in range(n)], f"e_{j + 1}", j)
            for j in range(n)
        ]
        return [columns[min(i, j)][max(i, j)] for i in range(n) for j in range(n)]


def task_functions(factor: MakeFactor, jacobian: Derive) -> dict[str, Derive]:
    """Return the task functions of a method that factors M, given the Jacobian."""

    def rows(linkage: Linkage) -> list[list[Scalar]]:
        n = len(linkage.leader_dofs)
        (J,) = jacobian(linkage)
        return [J[r * n : (r + 1) * n] for r in linkage.task_rows]

    def operational_inertia(linkage: Linkage) -> Results:
        """Return Λ, row-major and full."""
        J = rows(linkage)
        pairs = factor(linkage).half_solutions(J)
        linkage.derivation.step("operational-space inertia of the task")
        lower = [
            [linkage.dot(pairs[i][0], pairs[j][1]) for j in range(i + 1)] for i in range(len(J))
        ]
        return (LDLFactor.of(linkage.derivation, lower).inverse(),)

    def dynamically_consistent_inverse(linkage: Linkage) -> Results:
        """Return J̄, row-major; row j solves with J M⁻¹ Jᵀ for row j of M⁻¹ Jᵀ."""
        J, mass_factor = rows(linkage), factor(linkage)
        X = [mass_factor.solve(row) for row in J]
        linkage.derivation.step("dynamically consistent inverse of the task's Jacobian")
        task_factor = LDLFactor.of(
            linkage.derivation,
            [[linkage.dot(J[i], X[j]) for j in range(i + 1)] for i in range(len(J))],
        )
        return (
            [
                entry
                for j in range(len(linkage.leader_dofs))
                for entry in task_factor.solve([x[j] for x in X], f"x_{j + 1}")
            ],
        )

    return {
        derive.__name__: derive for derive in (operational_inertia, dynamically_consistent_inverse)
    }
