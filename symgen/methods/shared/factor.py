"""M taken apart once, and all that follows from it: M⁻¹ b, M⁻¹, det M, ln det M, forward dynamics and Λ⁻¹.

A method that solves with M says how it takes M apart and what then applies M⁻¹; the rest stands here, once for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import DivisionByZero, Scalar

Results = tuple[list[Scalar], ...]
"""The results of a function, each a flat row-major list."""
Derive = Callable[[Linkage], Results]
Half = tuple[list[Scalar], list[Scalar]]


class Factor(ABC):
    """What applies M⁻¹ of one robot. `__init__` takes M apart, so that it happens once however often M⁻¹ is applied."""

    def __init__(self, linkage: Linkage) -> None:
        self.linkage = linkage

    @property
    @abstractmethod
    def pivots(self) -> list[Scalar]:
        """Positive scalars, their product det M."""

    @abstractmethod
    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """M⁻¹ b."""

    def halves(self, columns: Sequence[Sequence[Scalar]]) -> list[Half]:
        """A pair for each column, so that bᵀ M⁻¹ c is the first of b's times the second of c's.

        Where M⁻¹ = Vᵀ D⁻¹ V the pair (V b, D⁻¹ V b) saves the way back.
        """
        return [(list(b), self.solve(b)) for b in columns]

    def back(self, half: Sequence[Scalar]) -> list[Scalar]:
        """The way back from the second of a pair to M⁻¹ b; linear, so that a sum of several goes back at once."""
        return list(half)

    def inverse(self) -> list[Scalar]:
        """M⁻¹, a unit right-hand side at a time; symmetric entries are taken once."""
        n, zero, one = len(self.linkage.own), self.linkage.zero, self.linkage.one
        columns = [self.solve([one if i == j else zero for i in range(n)]) for j in range(n)]
        return [columns[max(i, j)][min(i, j)] for i in range(n) for j in range(n)]

    def determinant(self) -> Scalar:
        """det M."""
        return self.linkage.product(self.pivots)

    def log_determinant(self) -> Scalar:
        """ln det M; each pivot has a logarithm of its own, since their product leaves the range of a float."""
        return self.linkage.log_product(self.pivots)


TakeApart = Callable[[Linkage], Factor]


def less_the_bias(linkage: Linkage, bias: Sequence[Scalar]) -> list[Scalar]:
    """Return tau − c, the right-hand side that M⁻¹ is applied to (SA §5), under a heading of its own."""
    linkage.home.step("joint forces less the bias: tau - c")
    return [tau - c for tau, c in zip(linkage.inputs["tau"], bias, strict=True)]


def functions_of(factor: TakeApart, bias_force: Derive, jacobian: Derive) -> dict[str, Derive]:
    """What whoever solves with M computes, given the bias force and the Jacobian."""

    def mass_matrix_solve(linkage: Linkage) -> Results:
        """x = M⁻¹ b."""
        return (factor(linkage).solve(linkage.inputs["b"]),)

    def inverse_mass_matrix(linkage: Linkage) -> Results:
        """M⁻¹, row-major and full."""
        return (factor(linkage).inverse(),)

    def mass_matrix_determinant(linkage: Linkage) -> Results:
        """det M; 0 where a pivot is zero in every state."""
        try:
            return ([factor(linkage).determinant()],)
        except DivisionByZero:
            return ([linkage.zero],)

    def mass_matrix_log_determinant(linkage: Linkage) -> Results:
        """ln det M."""
        return ([factor(linkage).log_determinant()],)

    def forward_dynamics(linkage: Linkage) -> Results:
        """a = M⁻¹ (tau − c)."""
        (c,) = bias_force(linkage)
        rest = less_the_bias(linkage, c)
        for dof, left in zip(linkage.own, rest, strict=True):
            linkage.mark(f"rest{dof.column + 1}", dof.link, left)
        return (factor(linkage).solve(rest),)

    def operational_inertia_inverse(linkage: Linkage) -> Results:
        """Λ⁻¹ = J M⁻¹ Jᵀ out of the rows of J; symmetric entries are taken once."""
        n = len(linkage.own)
        (J,) = jacobian(linkage)
        pairs = factor(linkage).halves([J[r * n : (r + 1) * n] for r in range(6)])
        linkage.home.step(
            "products of the rows of the Jacobian over the inverse of the mass matrix"
        )
        found = {
            (i, j): linkage.dot(pairs[i][0], pairs[j][1]) for i in range(6) for j in range(i, 6)
        }
        return ([found[min(i, j), max(i, j)] for i in range(6) for j in range(6)],)

    return {
        derive.__name__: derive
        for derive in (
            mass_matrix_solve,
            inverse_mass_matrix,
            mass_matrix_determinant,
            mass_matrix_log_determinant,
            forward_dynamics,
            operational_inertia_inverse,
        )
    }


def with_bias(mass_matrix: Derive, bias_force: Derive) -> Derive:
    """mass_matrix_and_bias of whoever computes M, given the bias force."""

    def mass_matrix_and_bias(linkage: Linkage) -> Results:
        """M and c."""
        (c,) = bias_force(linkage)
        (m,) = mass_matrix(linkage)
        return m, c

    return mass_matrix_and_bias
