"""Fixman's partition: free every link, then hold the hard coordinates, M⁻¹ = H^aa − H^ab (H^bb)⁻¹ (H^ab)ᵀ, LC (12).

In a plane it is LC's own chain of point masses, or rigid links about parallel axes (`fixman:planar`); in space it is
WC's chain of rigid bodies, and a tree of them (`fixman:spatial`). `fixman` itself is the planar form where that
suits. Forms differ in how H is laid out (`fixman.planar`, `fixman.spatial`); what follows is one (`fixman.partition`),
and in a plane the slope of ln det M besides (`fixman.gradient`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import DivisionByZero, Scalar
from symgen.mechanism import Mechanism
from symgen.methods.fixman.gradient import gradient
from symgen.methods.fixman.partition import Partition, determinant, eliminate, log_determinant, soft_inverse, soft_rates
from symgen.methods.fixman.planar import absolute_forces, joint_rates, planar
from symgen.methods.fixman.reach import in_a_plane, only_points, planar_refusal, refusal, spatial_refusal
from symgen.methods.fixman.spatial import spatial

SOURCE = "Lee & Chirikjian 2005, (3)-(25), and Wang & Chirikjian, (11)-(19)"
REGROUPED = False   # H needs inertias that links have, one by one
SWEEPS = True
REFUSALS = {"": refusal, "planar": planar_refusal, "spatial": spatial_refusal}


def stands_for(mechanism: Mechanism) -> str:
    """`fixman` alone is the planar form where that suits, else the spatial one."""
    return "planar" if planar_refusal(mechanism) is None else "spatial"


def _differs_in_a_plane(mechanism: Mechanism) -> bool:
    """Not for point masses, whose H is that of the chain's own directions."""
    return not only_points(mechanism)


def _differs(mechanism: Mechanism) -> bool:
    return stands_for(mechanism) == "spatial" or _differs_in_a_plane(mechanism)


DIFFERS = {"": _differs, "planar": _differs_in_a_plane, "spatial": lambda _: True}
"""A light link far from its joint is freer by itself than in the chain by orders of magnitude."""

Form = Callable[[Linkage], Partition]
Function = Callable[[Linkage], tuple[list[Scalar], ...]]


def _form(linkage: Linkage) -> Form:
    return planar if in_a_plane(linkage.model) else spatial


def solve_by(form: Form, linkage: Linkage, *sides: Sequence[Scalar]) -> list[list[Scalar]]:
    """M⁻¹ b for each right-hand side b, LC (12)."""
    partition = form(linkage)
    pivots = eliminate(linkage, partition)
    if form is planar:
        return [joint_rates(linkage, soft_rates(linkage, partition, pivots, absolute_forces(linkage, b))) for b in sides]
    return [soft_rates(linkage, partition, pivots, b) for b in sides]


def solve(linkage: Linkage, b: Sequence[Scalar]) -> list[Scalar]:
    """M⁻¹ b by the form that suits the robot."""
    return solve_by(_form(linkage), linkage, b)[0]


def planar_solve(linkage: Linkage, b: Sequence[Scalar]) -> list[Scalar]:
    """M⁻¹ b in a plane."""
    return solve_by(planar, linkage, b)[0]


def spatial_solve(linkage: Linkage, b: Sequence[Scalar]) -> list[Scalar]:
    """M⁻¹ b in space."""
    return solve_by(spatial, linkage, b)[0]


SOLVES = {"planar": planar_solve, "spatial": spatial_solve}


def _inverse(linkage: Linkage, form: Form) -> dict[tuple[int, int], Scalar]:
    """M⁻¹ for j ≤ i. In a plane a unit right-hand side at a time, as one that meets a narrow band costs little; in space
    the way back is what costs, and is spared."""
    n = len(linkage)
    if form is planar:
        units = [[linkage.one if i == j else linkage.zero for i in range(n)] for j in range(n)]
        columns = solve_by(planar, linkage, *units)
        return {(i, j): columns[i][j] for i in range(n) for j in range(i + 1)}
    partition = form(linkage)
    return soft_inverse(linkage, partition, eliminate(linkage, partition))


def _functions(choose: Callable[[Linkage], Form]) -> dict[str, Function]:
    def mass_matrix_solve(linkage: Linkage) -> tuple[list[Scalar], ...]:
        """x = M⁻¹ b."""
        return (solve_by(choose(linkage), linkage, linkage.inputs["b"])[0],)

    def inverse_mass_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
        """M⁻¹, LC (12); symmetric entries are taken once."""
        n, entries = len(linkage), _inverse(linkage, choose(linkage))
        return ([entries[max(i, j), min(i, j)] for i in range(n) for j in range(n)],)

    def mass_matrix_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
        """det M = det G · det H^bb, Fixman's theorem, LC (8)."""
        try:
            partition = choose(linkage)(linkage)
            return ([determinant(linkage, partition, eliminate(linkage, partition))],)
        except DivisionByZero:
            return ([linkage.zero],)

    def mass_matrix_log_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
        """ln det M = ln det G + ln det H^bb, LC (8)."""
        partition = choose(linkage)(linkage)
        return ([log_determinant(linkage, partition, eliminate(linkage, partition))],)

    return {f.__name__: f for f in (mass_matrix_solve, inverse_mass_matrix, mass_matrix_determinant, mass_matrix_log_determinant)}


def mass_matrix_log_determinant_gradient(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """d ln det M / dq of a planar chain."""
    partition = planar(linkage)
    return (gradient(linkage, partition, eliminate(linkage, partition)),)


FUNCTIONS = _functions(_form)
VARIANTS = {
    "planar": {**_functions(lambda _: planar), "mass_matrix_log_determinant_gradient": mass_matrix_log_determinant_gradient},
    "spatial": _functions(lambda _: spatial),
}
