"""Riccati recursion, RK (4.4)-(4.7), and the two sweeps over its gains: the filter (4.20) and the
smoother (4.22).

The paper numbers links from the tip: link i here is the paper's k = n + 1 − i, "k−1" are the
children of a link and "k+1" is its parent. Each gain is stored on the link's own side of the shift,
G = P Hᵀ D⁻¹ (5.12). The paper's L = φ G and ψ = φ (1 − G H) appear where a wrench is carried to the
parent. (4.5) must run to the base link, k = N. The armature of a drive is added to D of (4.6); the
paper has no armature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation.closed_forms import riccati_form
from symgen.derivation.linkage import Dof, Linkage
from symgen.derivation.scalars import Scalar, lower
from symgen.derivation.spatial import (
    ArticulatedInertia,
    Symmetric,
    Vector,
    twist_to_child,
    wrench_to_parent,
)
from symgen.methods.shared.factor import Factor, Half


@dataclass(frozen=True)
class Filter:
    """Riccati step of one degree of freedom: P of its link, (1 − G H) P, D, 1/D, and G = P Hᵀ D⁻¹
    as a wrench (moment, force).
    """

    P: ArticulatedInertia
    after: ArticulatedInertia
    D: Scalar
    inverse: Scalar
    G: tuple[Vector, Vector]


def riccati_step(linkage: Linkage, dof: Dof, P: ArticulatedInertia) -> Filter:
    """Return the step across one degree of freedom by SymPy's closed form: (4.6), (5.12), and (1 −
    G H) P of (4.5).
    """
    derivation, i = linkage.derivation, dof.index
    armature = linkage.drives[i].armature
    form = riccati_form(linkage.model.links[dof.link].kind, dof.column, not armature.is_zero)
    bindings = {
        **linkage.joint_parameters(dof.link),
        **{form.P[r, c]: P.entry(r, c) for r in range(6) for c in range(r, 6)},
    }
    bindings[form.A] = armature
    D = lower(form.D, bindings, derivation)
    linkage.name("D", i, D)
    inverse = linkage.one / D
    linkage.name("invD", i, inverse)
    bindings[form.d] = inverse
    G = [lower(form.G[r], bindings, derivation) for r in range(6)]
    bindings.update(zip(form.g, G, strict=True))
    entries = [
        [
            lower(form.P_after[r, c], bindings, derivation) if r <= c else linkage.zero
            for c in range(6)
        ]
        for r in range(6)
    ]
    moment, force = Vector(G[:3]), Vector(G[3:])
    linkage.name("G", i, Vector([*moment, *force]))
    A = Symmetric(*(entries[r][c] for r, c in UPPER))
    B = (Vector(entries[0][3:]), Vector(entries[1][3:]), Vector(entries[2][3:]))
    linear = [row[3:] for row in entries[3:]]
    C = Symmetric(*(linear[r][c] for r, c in UPPER))
    return Filter(P, ArticulatedInertia(A, B, C), D, inverse, (moment, force))


UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def riccati_sweep(linkage: Linkage) -> list[Filter]:
    """Return the steps of all degrees of freedom, tip → base: (4.4)-(4.6)."""
    filters: dict[
        int, Filter
    ] = {}  # by degree of freedom; the first one of a joint is processed last
    for i in reversed(range(len(linkage))):
        link = linkage.links[i]
        linkage.step(i, "articulated inertia and gain, RK (4.4)-(4.6), (5.12)")
        P = linkage.inertia[i].articulated()
        for c in link.children:
            child = linkage.links[c]
            child_inertia = filters[child.dofs[0].index].after.to_parent(
                child.rotation, child.shift
            )
            linkage.mark("seen", c, child_inertia.A)
            linkage.mark("seenB", c, child_inertia.B)
            linkage.mark("seenC", c, child_inertia.C)
            P = P + child_inertia  # (4.5)
        linkage.name("P", i, P.A)
        linkage.name("PB", i, P.B)
        linkage.name("PC", i, P.C)
        for dof in reversed(link.dofs):
            filters[dof.index] = riccati_step(linkage, dof, P)  # (4.6)
            P = filters[dof.index].after
    return [filters[k] for k in range(len(filters))]


def filtered(
    linkage: Linkage,
    filters: list[Filter],
    T: Sequence[Scalar],
    loads: Sequence[tuple[Vector, Vector]] | None = None,
) -> tuple[list[Scalar], list[Scalar]]:
    """Return ε and ν = D⁻¹ ε of (4.20); with wrenches `loads` on the links, those of (5.9)."""
    return filtered_wrenches(linkage, filters, T, loads)[:2]


Wrenches = list[tuple[Vector, Vector]]


def filtered_wrenches(
    linkage: Linkage,
    filters: list[Filter],
    T: Sequence[Scalar],
    loads: Sequence[tuple[Vector, Vector]] | None = None,
) -> tuple[list[Scalar], list[Scalar], Wrenches, Wrenches]:
    """Return ε and ν, and for each link the wrench z and the wrench z + G ε that its joint
    transmits.
    """
    z = list(loads) if loads is not None else [(linkage.zeros, linkage.zeros)] * len(linkage)
    link_wrenches = list(z)
    innovations, nu = [linkage.zero] * len(filters), [linkage.zero] * len(filters)
    for i in reversed(range(len(linkage))):
        link = linkage.links[i]
        linkage.step(i, f"filtered joint moments, RK {'(4.20)' if loads is None else '(5.9)'}")
        link_wrenches[i] = z[i]
        for dof in reversed(link.dofs):
            k, gain = dof.index, filters[dof.index]
            epsilon = T[k] - dof.project(*z[i])  # (4.20), T' for T
            if loads is None or not T[k].is_zero:  # −H z alone would name a row of z
                linkage.name("epsilon", k, epsilon)
            innovations[k], nu[k] = epsilon, gain.inverse * epsilon
            linkage.name("nu", k, nu[k])
            if link.parent >= 0 or dof.column > 0:
                # ψ z + L T = φ (z + G ε)
                z[i] = z[i][0] + gain.G[0] * epsilon, z[i][1] + gain.G[1] * epsilon
        if link.parent >= 0:
            n_p, f_p = wrench_to_parent(link.rotation, link.arm, *z[i])
            z[link.parent] = (z[link.parent][0] + n_p, z[link.parent][1] + f_p)
    return innovations, nu, link_wrenches, z


def smoothed(
    linkage: Linkage, filters: list[Filter], nu: Sequence[Scalar]
) -> tuple[list[Scalar], list[tuple[Vector, Vector]]]:
    """Return θ̈ = ν − Gᵀ φᵀ λ and λ = φᵀλ + Hᵀ θ̈.

    This is (4.22), with ψᵀλ + Hᵀν written as (φᵀλ) + Hᵀ(ν − Gᵀ φᵀ λ).
    """
    accelerations: list[tuple[Vector, Vector]] = []
    result = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "smoothed joint accelerations, RK (4.22)")
        w, v = linkage.zeros, linkage.zeros
        if link.parent >= 0:
            w, v = twist_to_child(link.rotation, link.arm, *accelerations[link.parent])
        for dof in link.dofs:
            G_n, G_f = filters[dof.index].G
            rate = nu[dof.index] - (G_n.dot(w) + G_f.dot(v))  # (4.22)
            linkage.name("thetaddot", dof.index, rate)
            w, v = w + dof.H_angular * rate, v + dof.H_linear * rate
            result.append(rate)
        linkage.name("lambda", i, Vector([*w, *v]))
        accelerations.append((w, v))
    return result, accelerations


class RiccatiFactor(Factor):
    """M = (1 + HΦL) D (1 + HΦL)ᵀ (4.11), and its inverse (4.16) by a filter and a smoother."""

    def __init__(self, linkage: Linkage) -> None:
        super().__init__(linkage)
        self.filters = riccati_sweep(linkage)

    @property
    def pivots(self) -> list[Scalar]:
        """The D(k); det M = Π D(k), from (4.11)."""
        return [gain.D for gain in self.filters]

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return (1−HΨL)ᵀ D⁻¹ (1−HΨL) b: filter tip → base (4.20), smoother base → tip (4.22)."""
        _, nu = filtered(self.linkage, self.filters, b)
        return self.back_substitute(nu)  # (4.18)

    def half_solutions(self, columns: Sequence[Sequence[Scalar]]) -> list[Half]:
        """Return (ε, ν) of each column T', (4.20), with M⁻¹ = (1 − HΨL)ᵀ D⁻¹ (1 − HΨL), (4.16)."""
        return [filtered(self.linkage, self.filters, b) for b in columns]

    def back_substitute(self, half: Sequence[Scalar]) -> list[Scalar]:
        """Return (1 − HΨL)ᵀ ν by the smoother (4.22)."""
        return smoothed(self.linkage, self.filters, half)[0]
