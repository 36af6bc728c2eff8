"""Constraint forces λ that enforce A a + γ = 0, for any factorization of M: a = M⁻¹ (τ − c + Aᵀ λ).

With M⁻¹ = Vᵀ D⁻¹ V (a `Factor`), Y = V Aᵀ and z = V (τ − c),

    S = Yᵀ D⁻¹ Y,   S λ = −(Yᵀ D⁻¹ z + γ),   a = Vᵀ D⁻¹ (z + Y λ).

So each row of A costs one forward half of a solve, and the back substitution is done once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from symgen.derivation.scalars import Scalar
from symgen.methods.shared.factor import Factor
from symgen.methods.shared.task import LDLFactor

DAMPING = Fraction(1, 10**6)
"""μ, as a fraction of the mean of the diagonal of S."""


class BorderedFactor:
    """M factored, bordered by the constraint rows A. Each row has one entry per velocity.

    A row may be inactive: `active` has 1 or 0 for each row, or None if all rows are active. An
    inactive row is set to zero and its equation becomes λ = 0. If rows are redundant, S is
    singular. Then (S + μ 1) λ = μ λ + r is iterated `solves` times with one factorization; the
    iteration converges to the minimum-norm λ.
    """

    def __init__(
        self,
        factor: Factor,
        rows: Sequence[Sequence[Scalar]],
        active: Sequence[Scalar] | None = None,
        solves: int = 1,
    ) -> None:
        self.factor, self.linkage, self.active = factor, factor.linkage, active
        self.rows = [list(row) for row in rows]
        if active is not None:
            self.rows = [
                [x * is_active for x in row]
                for row, is_active in zip(self.rows, active, strict=True)
            ]
        self.pairs = factor.half_solutions(self.rows)
        linkage = self.linkage
        linkage.derivation.step("inverse inertia of the constraint rows: A M^-1 A^T")
        lower = [
            [linkage.dot(self.pairs[i][0], self.pairs[j][1]) for j in range(i + 1)]
            for i in range(len(rows))
        ]
        for row, is_active in zip(lower, active or (), strict=active is not None):
            row[-1] = row[-1] + (linkage.one - is_active)
        self.solves = solves
        self.mu = self._damping(lower) if solves > 1 else [linkage.zero] * len(lower)
        for row, mu in zip(lower, self.mu, strict=True):
            row[-1] = row[-1] + mu
        self.S = LDLFactor.of(linkage.derivation, lower)

    def _damping(self, lower: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """Return μ for each row, as distinct scalars with the same value.

        Redundant rows have equal forces. If the passes merged them, their rounding errors would no
        longer cancel in `constrained_accelerations`; distinct μ keep them apart.
        """
        derivation, total = self.linkage.derivation, lower[0][0]
        for row in lower[1:]:
            total = total + row[-1]
        mu = derivation.name("mu", total * derivation.constant(DAMPING / len(lower)))
        return [mu * derivation.opaque_one() for _ in lower]

    def constraint_forces(self, right: Sequence[Scalar]) -> list[Scalar]:
        """Return λ with S λ = right."""
        solution = self.S.solve(right, "lambda")
        for iteration in range(1, self.solves):
            solution = self.S.solve(
                [r + mu * x for r, mu, x in zip(right, self.mu, solution, strict=True)],
                f"lambda_{iteration}",
            )
        return solution

    def constrained_accelerations(
        self, free: Sequence[Scalar], gamma: Sequence[Scalar]
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return (a, λ) with A a = −γ under the forces `free` = τ − c."""
        linkage = self.linkage
        if self.active is not None:
            gamma = [x * is_active for x, is_active in zip(gamma, self.active, strict=True)]
        ((_, scaled),) = self.factor.half_solutions([free])
        linkage.derivation.step("constraint forces")
        right = [
            -(linkage.dot(y, scaled) + rate) for (y, _), rate in zip(self.pairs, gamma, strict=True)
        ]
        multipliers = self.constraint_forces(right)
        return self.factor.back_substitute(
            [x + y for x, y in zip(scaled, self._scaled_forces(multipliers), strict=True)]
        ), multipliers

    def acceleration_change(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return M⁻¹ Aᵀ λ."""
        return self.factor.back_substitute(self._scaled_forces(forces))

    def _scaled_forces(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return D⁻¹ Y λ."""
        self.linkage.derivation.step("joint forces of the constraints")
        columns = zip(*(y for _, y in self.pairs), strict=True)
        return [self.linkage.dot(column, forces) for column in columns]
