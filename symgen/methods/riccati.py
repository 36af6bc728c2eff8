"""The Riccati recursion: RK (4.4)-(4.7) for the operator, FD4 (5.13)-(5.17) for forward dynamics, (4.19)-(4.22) for M⁻¹b.

RK number links from the tip; here link i is RK's k = n + 1 − i, "k−1" are the children of a link and "k+1" its
parent. Each gain is kept on the link's own side of the shift, G = P Hᵀ D⁻¹ (5.12); RK's L = φ G and
ψ = φ (1 − G H) appear where a wrench is carried to the parent. (4.5) must run to the base link, k = N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.closed_forms import riccati_form
from symgen.derivation import DivisionByZero, Scalar, lower
from symgen.linkage import Linkage
from symgen.spatial import ArticulatedInertia, RigidInertia, Symmetric, Vector, twist_inward, wrench_outward

SOURCE = "Rodriguez & Kreutz 1988, (4.4)-(4.7), (4.16), (4.19)-(4.22), (5.13)-(5.17)"


@dataclass(frozen=True)
class Filter:
    """Of one joint: P of its link, 1/D, D, and G = P Hᵀ D⁻¹ as a wrench (moment, force)."""

    P: ArticulatedInertia
    after: ArticulatedInertia
    D: Scalar
    inverse: Scalar
    G: tuple[Vector, Vector]


def riccati_step(linkage: Linkage, i: int, P: ArticulatedInertia) -> Filter:
    """One step across joint i by SymPy's closed form of its type: (4.6), (5.12), and (1 − G H) P of (4.5)."""
    form, home = riccati_form(linkage.model.links[i].kind), linkage.home
    bindings = {form.P[r, c]: P.entry(r, c) for r in range(6) for c in range(r, 6)}
    D = lower(form.D, bindings, home)
    linkage.name("D", i, D)
    inverse = linkage.one / D
    linkage.name("invD", i, inverse)
    bindings[form.d] = inverse
    G = [lower(form.G[r], bindings, home) for r in range(6)]
    bindings.update(zip(form.g, G, strict=True))
    entries = [[lower(form.P_after[r, c], bindings, home) if r <= c else linkage.zero for c in range(6)] for r in range(6)]
    moment, force = Vector(G[:3]), Vector(G[3:])
    linkage.name("G", i, Vector([*moment, *force]))
    A = Symmetric(*(entries[r][c] for r, c in _UPPER))
    B = (Vector(entries[0][3:]), Vector(entries[1][3:]), Vector(entries[2][3:]))
    C = Symmetric(*(entries[r + 3][c + 3] for r, c in _UPPER))
    return Filter(P, ArticulatedInertia(A, B, C), D, inverse, (moment, force))


_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def riccati_sweep(linkage: Linkage) -> list[Filter]:
    """Tip → base: (4.4)-(4.6)."""
    filters: dict[int, Filter] = {}
    for i in reversed(range(len(linkage))):
        link = linkage.links[i]
        linkage.step(i, "articulated inertia and gain, RK (4.4)-(4.6), (5.12)")
        P = linkage.inertia[i].articulated()
        for c in link.children:
            child = linkage.links[c]
            P = P + filters[c].after.outward(child.rotation, child.shift)                   # (4.5)
        linkage.name("P", i, P.A)
        linkage.name("PB", i, P.B)
        linkage.name("PC", i, P.C)
        filters[i] = riccati_step(linkage, i, P)                                            # (4.6)
    return [filters[i] for i in range(len(linkage))]


def solve(linkage: Linkage, b: Sequence[Scalar]) -> list[Scalar]:
    """M⁻¹ b = (1 − HΨL)ᵀ D⁻¹ (1 − HΨL) b: filter tip → base (4.20), smooth base → tip (4.22)."""
    filters = riccati_sweep(linkage)
    return smooth(linkage, filters, filtered(linkage, filters, b))


def filtered(linkage: Linkage, filters: list[Filter], b: Sequence[Scalar]) -> list[Scalar]:
    """ν = D⁻¹ ε of (4.20)."""
    n = len(linkage)
    z: list[tuple[Vector, Vector]] = [(linkage.zeros, linkage.zeros)] * n
    nu = [linkage.zero] * n
    for i in reversed(range(n)):
        link, gain = linkage.links[i], filters[i]
        linkage.step(i, "filtered joint moments, RK (4.20)")
        epsilon = b[i] - link.project(*z[i])                                                # (4.20)
        linkage.name("epsilon", i, epsilon)
        nu[i] = gain.inverse * epsilon
        linkage.name("nu", i, nu[i])
        if link.parent >= 0:
            moment, force = z[i][0] + gain.G[0] * epsilon, z[i][1] + gain.G[1] * epsilon
            n_p, f_p = wrench_outward(link.rotation, link.shift, moment, force)
            z[link.parent] = (z[link.parent][0] + n_p, z[link.parent][1] + f_p)
    return nu


def smooth(linkage: Linkage, filters: list[Filter], nu: Sequence[Scalar]) -> list[Scalar]:
    """θ̈ = ν − Gᵀ φᵀ λ and λ = φᵀλ + Hᵀ θ̈: (4.22) with ψᵀλ + Hᵀν written as (φᵀλ) + Hᵀ(ν − Gᵀ φᵀ λ)."""
    accelerations: list[tuple[Vector, Vector]] = []
    result = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "smoothed joint accelerations, RK (4.22)")
        w, v = linkage.zeros, linkage.zeros
        if link.parent >= 0:
            w, v = twist_inward(link.rotation, link.shift, *accelerations[link.parent])
        G_n, G_f = filters[i].G
        rate = nu[i] - (G_n.dot(w) + G_f.dot(v))                                            # (4.22)
        linkage.name("thetaddot", i, rate)
        w, v = w + link.H_angular * rate, v + link.H_linear * rate
        linkage.name("lambda", i, Vector([*w, *v]))
        accelerations.append((w, v))
        result.append(rate)
    return result


def velocities(linkage: Linkage, rates: Sequence[Scalar]) -> list[tuple[Vector, Vector]]:
    """(ω of the link, ω of its parent in the link's axes), base → tip: (5.13) as V = φᵀHᵀθ̇."""
    found: list[tuple[Vector, Vector]] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "angular velocity, RK (2.2), (5.13)")
        carried = link.rotation.inward(found[link.parent][0]) if link.parent >= 0 else linkage.zeros
        omega = carried + link.H_angular * rates[i]
        linkage.name("omega", i, omega)
        found.append((omega, carried))
    return found


def bias_acceleration(linkage: Linkage, i: int, omega_parent: Vector, carried: Vector, rate: Scalar) -> tuple[Vector, Vector]:
    """a(k) of (2.19), or of (2.32) corrected for a sliding joint, in the link's axes; the base adds gravity (3.21)."""
    link = linkage.links[i]
    angular = carried.cross(link.H_angular * rate)
    if link.parent < 0:
        linear = link.rotation.inward(-linkage.gravity[i])                                  # (3.21)
    else:
        linear = link.rotation.inward(omega_parent.cross(omega_parent.cross(link.shift)))   # (2.19)
    slide = link.H_linear * rate
    return angular, linear + carried.cross(slide + slide)                                   # (2.32) corrected


def bias_wrench(inertia: RigidInertia, omega: Vector) -> tuple[Vector, Vector]:
    """b(k) = (ω × I ω, ω × (ω × h)), (2.23)."""
    return omega.cross(inertia.moments().apply(omega)), omega.cross(omega.cross(inertia.h))


def forward_dynamics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """FD4: three sweeps, no bias computed beforehand."""
    n = len(linkage)
    rates, tau = linkage.inputs["v"], linkage.inputs["tau"]
    omega = velocities(linkage, rates)                                                      # (5.13)
    filters = riccati_sweep(linkage)
    bias = []
    z: list[tuple[Vector, Vector]] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "bias acceleration and bias force, RK (2.19), (2.23), (3.21)")
        outer = omega[link.parent][0] if link.parent >= 0 else linkage.zeros
        bias.append(bias_acceleration(linkage, i, outer, omega[i][1], rates[i]))
        linkage.name("a", i, Vector([*bias[i][0], *bias[i][1]]))
        z.append(bias_wrench(linkage.inertia[i], omega[i][0]))
    nu = [linkage.zero] * n
    for i in reversed(range(n)):
        link, gain = linkage.links[i], filters[i]
        linkage.step(i, "filter, RK (5.16)")
        linkage.name("z", i, Vector([*z[i][0], *z[i][1]]))
        epsilon = tau[i] - link.project(*z[i])                                              # (5.16)
        linkage.name("epsilon", i, epsilon)
        nu[i] = gain.inverse * epsilon
        linkage.name("nu", i, nu[i])
        if link.parent >= 0:
            # ψ z + L T + ψ P a = φ (z + G ε + (1 − G H) P a)
            rest_n, rest_f = gain.after.apply(*bias[i])
            moment, force = z[i][0] + gain.G[0] * epsilon + rest_n, z[i][1] + gain.G[1] * epsilon + rest_f
            n_p, f_p = wrench_outward(link.rotation, link.shift, moment, force)
            z[link.parent] = (z[link.parent][0] + n_p, z[link.parent][1] + f_p)
    result: list[Scalar] = []
    motion: list[tuple[Vector, Vector]] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "smoother, RK (5.17)")
        w, v = bias[i]
        if link.parent >= 0:
            w_c, v_c = twist_inward(link.rotation, link.shift, *motion[link.parent])
            w, v = w + w_c, v + v_c
        G_n, G_f = filters[i].G
        rate = nu[i] - (G_n.dot(w) + G_f.dot(v))                                            # (5.17)
        linkage.name("thetaddot", i, rate)
        motion.append((w + link.H_angular * rate, v + link.H_linear * rate))
        result.append(rate)
    return (result,)


def mass_matrix_solve(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """x = M⁻¹ b."""
    return (solve(linkage, linkage.inputs["b"]),)


def inverse_mass_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """M⁻¹, a unit right-hand side at a time (4.16); symmetric entries are taken once."""
    n, filters = len(linkage), riccati_sweep(linkage)
    columns = []
    for j in range(n):
        unit = [linkage.one if i == j else linkage.zero for i in range(n)]
        columns.append(smooth(linkage, filters, filtered(linkage, filters, unit)))
    return ([columns[max(i, j)][min(i, j)] for i in range(n) for j in range(n)],)


def mass_matrix_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """det M = Π D(k), from (4.11)."""
    try:
        return ([linkage.product([gain.D for gain in riccati_sweep(linkage)])],)
    except DivisionByZero:
        return ([linkage.zero],)


FUNCTIONS = {
    "forward_dynamics": forward_dynamics,
    "mass_matrix_solve": mass_matrix_solve,
    "inverse_mass_matrix": inverse_mass_matrix,
    "mass_matrix_determinant": mass_matrix_determinant,
}
