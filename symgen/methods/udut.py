"""The U D Uᵀ decomposition by recursion over articulated bodies, SA (17)-(39), taken at the mass centres as in the paper.

Reference points are the mass centres C_i (the joint's origin for a massless link), so M_i is block diagonal (12) and
links keep the inertia they were declared with; B_ij and p_i are SymPy's (4), derived from the declared geometry.
Quantities of link i stand in its own axes. Sums over "i + 1" run over the links that link i carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.closed_forms import joint_form, joint_vector
from symgen.derivation import DivisionByZero, Scalar, lower
from symgen.linkage import Linkage
from symgen.spatial import ArticulatedInertia, Rotation, Symmetric, Vector, twist_inward, wrench_outward

SOURCE = "Saha 1997, (4), (17)-(39)"
REGROUPED = False   # a moved inertia has no mass centre of its own


@dataclass(frozen=True)
class ArticulatedBody:
    """Of link i: p_i, ψ_i = M̂ p_i, m̂_i, 1/m̂_i and ψ̂_i = ψ_i / m̂_i, twists and wrenches at C_i."""

    p: tuple[Vector, Vector]
    mass: Scalar
    inverse: Scalar
    psi_hat: tuple[Vector, Vector]


@dataclass(frozen=True)
class Centres:
    """Where mass centres are: `d[i]` from joint i to C_i in link axes, `arm[i]` from the parent's C to C_i in the parent's."""

    d: list[Vector]
    arm: list[Vector]


def centres(linkage: Linkage) -> Centres:
    """d_i and −c_ij of Fig. 1."""
    d = [linkage.vector(link.center) for link in linkage.model.links]
    arm = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "from mass centre to mass centre, SA Fig. 1")
        inner = d[link.parent] if link.parent >= 0 else linkage.zeros
        arm.append(link.shift + link.rotation.outward(d[i]) - inner)
        linkage.name("c", i, arm[i])
    return Centres(d, arm)


def joint_twists(linkage: Linkage, at: Centres) -> list[tuple[Vector, Vector]]:
    """p_i = [e_i; e_i × d_i] (4), lowered from the closed form of the joint's type."""
    import sympy as sp

    symbols = sp.symbols("d_x d_y d_z", real=True)
    found = []
    for i, link in enumerate(linkage.model.links):
        form = joint_vector(joint_form(link.kind).motion_subspace, symbols)
        bindings = dict(zip(symbols, at.d[i], strict=True))
        p = [lower(entry, bindings, linkage.home) for entry in form]
        found.append((Vector(p[:3]), Vector(p[3:])))
    return found


def decompose(linkage: Linkage, at: Centres) -> list[ArticulatedBody]:
    """k = n … 1: (32)-(35)."""
    n = len(linkage)
    still = Rotation([])
    twists = joint_twists(linkage, at)
    after: dict[int, ArticulatedInertia] = {}
    found: dict[int, ArticulatedBody] = {}
    for i in reversed(range(n)):
        linkage.step(i, "articulated body, SA (32)-(35)")
        M = linkage.inertia[i].outward(still, -at.d[i]).articulated()                           # (12)
        for c in linkage.links[i].children:
            M = M + after[c].outward(linkage.links[c].rotation, at.arm[c])                      # (35)
        linkage.name("Mhat", i, M.A)
        p_w, p_v = twists[i]
        psi_n, psi_f = M.apply(p_w, p_v)                                                        # (32)
        linkage.name("psi", i, Vector([*psi_n, *psi_f]))
        mass = p_w.dot(psi_n) + p_v.dot(psi_f)                                                  # (32)
        linkage.name("mhat", i, mass)
        inverse = linkage.one / mass
        hat_n, hat_f = psi_n * inverse, psi_f * inverse                                         # (33)
        linkage.name("psihat", i, Vector([*hat_n, *hat_f]))
        after[i] = _without(M, hat_n, hat_f, psi_n, psi_f)                                      # M̂_kk under (35)
        found[i] = ArticulatedBody(twists[i], mass, inverse, (hat_n, hat_f))
    return [found[i] for i in range(n)]


def _without(M: ArticulatedInertia, hat_n: Vector, hat_f: Vector, psi_n: Vector, psi_f: Vector) -> ArticulatedInertia:
    """M̂ − ψ̂ ψᵀ."""
    def outer(a: Vector, b: Vector) -> Symmetric:
        return Symmetric(a[0] * b[0], a[0] * b[1], a[0] * b[2], a[1] * b[1], a[1] * b[2], a[2] * b[2])

    B = tuple(row - psi_f * hat for row, hat in zip(M.B, hat_n, strict=True))
    return ArticulatedInertia(M.A - outer(hat_n, psi_n), (B[0], B[1], B[2]), M.C - outer(hat_f, psi_f))


def substitute(linkage: Linkage, at: Centres, bodies: list[ArticulatedBody], tau: Sequence[Scalar]) -> list[Scalar]:
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


def reduced(linkage: Linkage, at: Centres, bodies: list[ArticulatedBody],
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


def halves(linkage: Linkage, columns: Sequence[Sequence[Scalar]]) -> list[tuple[list[Scalar], list[Scalar]]]:
    """(U⁻¹ b, D⁻¹ U⁻¹ b) of every column b, decomposed once: bᵀ M⁻¹ c is the product of one's left and the other's right."""
    at = centres(linkage)
    bodies = decompose(linkage, at)
    return [reduced(linkage, at, bodies, b) for b in columns]


def solve(linkage: Linkage, b: Sequence[Scalar]) -> list[Scalar]:
    """M⁻¹ b, SA (24)."""
    at = centres(linkage)
    return substitute(linkage, at, decompose(linkage, at), b)


def mass_matrix_solve(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """x = M⁻¹ b."""
    return (solve(linkage, linkage.inputs["b"]),)


def inverse_mass_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """M⁻¹, a unit right-hand side at a time; symmetric entries are taken once."""
    n, at = len(linkage), centres(linkage)
    bodies = decompose(linkage, at)
    columns = []
    for j in range(n):
        unit = [linkage.one if i == j else linkage.zero for i in range(n)]
        columns.append(substitute(linkage, at, bodies, unit))
    return ([columns[max(i, j)][min(i, j)] for i in range(n) for j in range(n)],)


def mass_matrix_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """det M = Π m̂_k, from (21)."""
    try:
        return ([linkage.product([body.mass for body in decompose(linkage, centres(linkage))])],)
    except DivisionByZero:
        return ([linkage.zero],)


def mass_matrix_log_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """ln det M = Σ ln m̂_k, from (21)."""
    return ([linkage.log_product([body.mass for body in decompose(linkage, centres(linkage))])],)


FUNCTIONS = {
    "mass_matrix_solve": mass_matrix_solve,
    "inverse_mass_matrix": inverse_mass_matrix,
    "mass_matrix_determinant": mass_matrix_determinant,
    "mass_matrix_log_determinant": mass_matrix_log_determinant,
}
