"""The U D Uᵀ decomposition by recursion over articulated bodies, SA (17)-(39), taken at the mass centres as in the paper.

Reference points are the mass centres C_i (the joint's origin for a massless link), so M_i is block diagonal (12) and
links keep the inertia they were declared with; B_ij and p_i are SymPy's (4), derived from the declared geometry.
Quantities of link i stand in its own axes. Sums over "i + 1" run over the links that link i carries.

`udut:links` is the same recursion in link frames: (4)-(9) hold for any point of a link, and at its frame's origin, on the
joint's axis, d_i = 0. Then M_i is not block diagonal, but p_i is one unit vector, and M̂ p_i, p_iᵀ ψ_i and what crosses a
joint cost less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import DivisionByZero, Scalar
from symgen.derivation.spatial import Vector, twist_inward, wrench_outward
from symgen.methods.udut.bodies import ArticulatedBody, Place, Points, centres, decompose, origins

SOURCE = "Saha 1997, (4), (17)-(39)"
REGROUPED = False   # a moved inertia has no mass centre of its own


def substitute(linkage: Linkage, at: Points, bodies: list[ArticulatedBody], tau: Sequence[Scalar]) -> list[Scalar]:
    """The three solutions of §B: τ̂ = U⁻¹ τ (36)-(37), τ̃ = D⁻¹ τ̂, θ̈ = U⁻ᵀ τ̃ (38)-(39)."""
    _, tilde = reduced(linkage, at, bodies, tau)
    mu: list[tuple[Vector, Vector]] = []
    result = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "transpose of U, SA (38)-(39)")
        w, v = linkage.zeros, linkage.zeros
        if link.parent >= 0:
            w, v = twist_inward(link.rotation, at.arm[i], *mu[link.parent])                     # (39)
        rate = tilde[i] - (bodies[i].psi_hat[0].dot(w) + bodies[i].psi_hat[1].dot(v))           # (38)
        linkage.name("thetaddot", i, rate)
        mu.append((w + bodies[i].p[0] * rate, v + bodies[i].p[1] * rate))                       # under (39)
        result.append(rate)
    return result


def reduced(linkage: Linkage, at: Points, bodies: list[ArticulatedBody],
            tau: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """τ̂ = U⁻¹ τ and τ̃ = D⁻¹ τ̂."""
    n = len(linkage)
    tauhat = [linkage.zero] * n
    eta = [(linkage.zeros, linkage.zeros) for _ in range(n)]
    tilde = [linkage.zero] * n
    for i in reversed(range(n)):
        link, body = linkage.links[i], bodies[i]
        linkage.step(i, "U and D, SA (36)-(37)")
        eta_n, eta_f = eta[i]
        hat = tau[i] - (body.p[0].dot(eta_n) + body.p[1].dot(eta_f))                            # (36)
        linkage.name("tauhat", i, hat)
        tauhat[i], tilde[i] = hat, hat * body.inverse
        linkage.name("tautilde", i, tilde[i])
        if link.parent >= 0:
            eta_n, eta_f = eta_n + body.psi_hat[0] * hat, eta_f + body.psi_hat[1] * hat         # under (37)
            n_p, f_p = wrench_outward(link.rotation, at.arm[i], eta_n, eta_f)                   # (37)
            eta[link.parent] = (eta[link.parent][0] + n_p, eta[link.parent][1] + f_p)
    return tauhat, tilde


def halves_at(place: Place, linkage: Linkage, columns: Sequence[Sequence[Scalar]]) -> list[tuple[list[Scalar], list[Scalar]]]:
    """(U⁻¹ b, D⁻¹ U⁻¹ b) of every column b, decomposed once: bᵀ M⁻¹ c is the product of one's left and the other's right."""
    at = place(linkage)
    bodies = decompose(linkage, at)
    return [reduced(linkage, at, bodies, b) for b in columns]


def solve_at(place: Place, linkage: Linkage, b: Sequence[Scalar]) -> list[Scalar]:
    """M⁻¹ b, SA (24)."""
    at = place(linkage)
    return substitute(linkage, at, decompose(linkage, at), b)


def _functions(place: Place) -> dict[str, Callable[[Linkage], tuple[list[Scalar], ...]]]:
    def mass_matrix_solve(linkage: Linkage) -> tuple[list[Scalar], ...]:
        """x = M⁻¹ b."""
        return (solve_at(place, linkage, linkage.inputs["b"]),)

    def inverse_mass_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
        """M⁻¹, a unit right-hand side at a time; symmetric entries are taken once."""
        n, at = len(linkage), place(linkage)
        bodies = decompose(linkage, at)
        columns = []
        for j in range(n):
            unit = [linkage.one if i == j else linkage.zero for i in range(n)]
            columns.append(substitute(linkage, at, bodies, unit))
        return ([columns[max(i, j)][min(i, j)] for i in range(n) for j in range(n)],)

    def mass_matrix_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
        """det M = Π m̂_k, from (21)."""
        try:
            return ([linkage.product([body.mass for body in decompose(linkage, place(linkage))])],)
        except DivisionByZero:
            return ([linkage.zero],)

    def mass_matrix_log_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
        """ln det M = Σ ln m̂_k, from (21)."""
        return ([linkage.log_product([body.mass for body in decompose(linkage, place(linkage))])],)

    return {f.__name__: f for f in (mass_matrix_solve, inverse_mass_matrix, mass_matrix_determinant, mass_matrix_log_determinant)}


FUNCTIONS = _functions(centres)
VARIANTS = {"links": _functions(origins)}
SOLVES = {"": partial(solve_at, centres), "links": partial(solve_at, origins)}
HALVES = {"": partial(halves_at, centres), "links": partial(halves_at, origins)}
