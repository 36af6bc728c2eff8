"""Factorization of M, and the functions that follow from it: M⁻¹ b, M⁻¹, det M, ln det M, forward
dynamics and Λ⁻¹.

A method supplies the factorization and the application of M⁻¹. The functions here serve all such
methods.
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
    """Factorization of the mass matrix of one robot, able to apply M⁻¹.

    `__init__` factors M, so that M is factored once however often M⁻¹ is applied.
    """

    def __init__(self, linkage: Linkage) -> None:
        self.linkage = linkage

    @property
    @abstractmethod
    def pivots(self) -> list[Scalar]:
        """Positive scalars whose product is det M."""

    @abstractmethod
    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return M⁻¹ b."""

    def half_solutions(self, columns: Sequence[Sequence[Scalar]]) -> list[Half]:
        """Return a pair for each column, such that bᵀ M⁻¹ c is the first of b's pair times the
        second of c's.

        Where M⁻¹ = Vᵀ D⁻¹ V, the pair (V b, D⁻¹ V b) saves the back substitution.
        """
        return [(list(b), self.solve(b)) for b in columns]

    def back_substitute(self, half: Sequence[Scalar]) -> list[Scalar]:
        """Return M⁻¹ b from the second of b's pair.

        The map is linear, so a sum of several seconds needs one back substitution.
        """
        return list(half)

    def inverse(self) -> list[Scalar]:
        """Return M⁻¹, one unit right-hand side at a time; the lower triangle is a mirror image of
        the upper one.
        """
        n, zero, unit = len(self.linkage.leader_dofs), self.linkage.zero, self.linkage.one
        columns = [self.solve([unit if i == j else zero for i in range(n)]) for j in range(n)]
        return [columns[max(i, j)][min(i, j)] for i in range(n) for j in range(n)]

    def determinant(self) -> Scalar:
        """Return det M."""
        return self.linkage.product(self.pivots)

    def log_determinant(self) -> Scalar:
        """Return ln det M as a sum of logarithms, since the product of the pivots may leave the
        range of a float.
        """
        return self.linkage.log_product(self.pivots)


MakeFactor = Callable[[Linkage], Factor]


def subtract_bias(linkage: Linkage, bias: Sequence[Scalar]) -> list[Scalar]:
    """Return tau − c, the right-hand side to which M⁻¹ is applied (SA §5)."""
    linkage.derivation.step("joint forces minus the bias force: tau - c")
    return [tau - c for tau, c in zip(linkage.inputs["tau"], bias, strict=True)]


def factor_functions(factor: MakeFactor, bias_force: Derive, jacobian: Derive) -> dict[str, Derive]:
    """Return the functions of a method that factors M, given the bias force and the Jacobian."""

    def mass_matrix_solve(linkage: Linkage) -> Results:
        """Return x = M⁻¹ b."""
        return (factor(linkage).solve(linkage.inputs["b"]),)

    def inverse_mass_matrix(linkage: Linkage) -> Results:
        """Return M⁻¹, row-major and full."""
        return (factor(linkage).inverse(),)

    def mass_matrix_determinant(linkage: Linkage) -> Results:
        """Return det M, and 0 if a pivot is zero in every state."""
        try:
            return ([factor(linkage).determinant()],)
        except DivisionByZero:
            return ([linkage.zero],)

    def mass_matrix_log_determinant(linkage: Linkage) -> Results:
        """Return ln det M."""
        return ([factor(linkage).log_determinant()],)

    def forward_dynamics(linkage: Linkage) -> Results:
        """Return a = M⁻¹ (tau − c)."""
        (c,) = bias_force(linkage)
        net_forces = subtract_bias(linkage, c)
        for dof, net_force in zip(linkage.leader_dofs, net_forces, strict=True):
            linkage.mark(f"rest{dof.column + 1}", dof.link, net_force)
        return (factor(linkage).solve(net_forces),)

    def operational_inertia_inverse(linkage: Linkage) -> Results:
        """Return Λ⁻¹ = J M⁻¹ Jᵀ from the rows of J; symmetric entries are computed once."""
        n = len(linkage.leader_dofs)
        (J,) = jacobian(linkage)
        pairs = factor(linkage).half_solutions([J[r * n : (r + 1) * n] for r in range(6)])
        linkage.derivation.step("J M^-1 J^T")
        entries = {
            (i, j): linkage.dot(pairs[i][0], pairs[j][1]) for i in range(6) for j in range(i, 6)
        }
        return ([entries[min(i, j), max(i, j)] for i in range(6) for j in range(6)],)

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


def mass_matrix_with_bias(mass_matrix: Derive, bias_force: Derive) -> Derive:
    """Return the derivation of mass_matrix_and_bias, given those of M and of the bias force."""

    def mass_matrix_and_bias(linkage: Linkage) -> Results:
        """Return M and c."""
        (c,) = bias_force(linkage)
        (m,) = mass_matrix(linkage)
        return m, c

    return mass_matrix_and_bias
