"""Forces that keep A a + γ = 0, of whoever takes M apart: a = M⁻¹ (τ − c + Aᵀ λ).

With M⁻¹ = Vᵀ D⁻¹ V as a `Factor` has it, Y = V Aᵀ and z = V (τ − c),

    S = Yᵀ D⁻¹ Y,   S λ = −(Yᵀ D⁻¹ z + γ),   a = Vᵀ D⁻¹ (z + Y λ),

so that each row of A costs one way inward, and the way back is gone once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from symgen.derivation.scalars import Scalar
from symgen.methods.shared.factor import Factor
from symgen.methods.shared.task import Symmetric

DAMPING = Fraction(1, 10**6)
"""μ, as a part of the mean of the diagonal of S."""


class Held:
    """M taken apart and bordered by the rows A, each as long as v.

    A row may be idle: `active` has 1 or 0 for each, or None where all hold. An idle row is zero and its equation λ = 0.
    Where rows are redundant S has no inverse: (S + μ 1) λ = μ λ + r is then solved `solves` times with one elimination, which
    leaves the least λ.
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
                [x * holds for x in row] for row, holds in zip(self.rows, active, strict=True)
            ]
        self.pairs = factor.halves(self.rows)
        linkage = self.linkage
        linkage.home.step(
            "what the constraints feel: the products of their rows over the inverse of the mass matrix"
        )
        lower = [
            [linkage.dot(self.pairs[i][0], self.pairs[j][1]) for j in range(i + 1)]
            for i in range(len(rows))
        ]
        for row, holds in zip(lower, active or (), strict=active is not None):
            row[-1] = row[-1] + (linkage.one - holds)
        self.solves = solves
        self.mu = self._damping(lower) if solves > 1 else [linkage.zero] * len(lower)
        for row, mu in zip(lower, self.mu, strict=True):
            row[-1] = row[-1] + mu
        self.S = Symmetric.of(linkage.home, lower)

    def _damping(self, lower: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """μ for each row, which the passes take for as many numbers: rows that say the same have equal forces, of which neither
        may stand for the other, since what round-off does to them cancels in `driven` alone.
        """
        home, total = self.linkage.home, lower[0][0]
        for row in lower[1:]:
            total = total + row[-1]
        mu = home.name("mu", total * home.constant(DAMPING / len(lower)))
        return [mu * home.some_one() for _ in lower]

    def forces(self, right: Sequence[Scalar]) -> list[Scalar]:
        """λ with S λ = right."""
        found = self.S.solve(right, "lambda")
        for turn in range(1, self.solves):
            found = self.S.solve(
                [r + mu * x for r, mu, x in zip(right, self.mu, found, strict=True)],
                f"lambda_{turn}",
            )
        return found

    def driven(
        self, free: Sequence[Scalar], gamma: Sequence[Scalar]
    ) -> tuple[list[Scalar], list[Scalar]]:
        """(a, λ) that the forces `free` = τ − c cause, with A a = −γ."""
        linkage = self.linkage
        if self.active is not None:
            gamma = [x * holds for x, holds in zip(gamma, self.active, strict=True)]
        ((_, shared),) = self.factor.halves([free])
        linkage.home.step("forces of the constraints")
        right = [
            -(linkage.dot(y, shared) + own) for (y, _), own in zip(self.pairs, gamma, strict=True)
        ]
        found = self.forces(right)
        return self.factor.back(
            [x + y for x, y in zip(shared, self._pushed(found), strict=True)]
        ), found

    def moved(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """M⁻¹ Aᵀ λ."""
        return self.factor.back(self._pushed(forces))

    def _pushed(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """D⁻¹ Y λ."""
        self.linkage.home.step("what the constraints add to the other forces")
        columns = zip(*(y for _, y in self.pairs), strict=True)
        return [self.linkage.dot(column, forces) for column in columns]
