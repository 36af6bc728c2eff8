"""`riccati:segments`: FD4 (5.13)-(5.17) of one chain in segments that are swept in parallel.

Two inputs of a segment come from its neighbours: the wrench f that the links beyond exert on its
last link, and the acceleration A of the link before its first one. FD4 is linear in both. By (5.16)
the wrench on a link is z = z₀ + Z f. The columns of Z are filtered like any load, Z(k+1) = ψ(k+1,k)
Z(k) of (4.7), (5.1), and form a unit matrix at the last link. So ε = ε₀ − E f with E = H Z. By
(5.17) and (4.22) the acceleration of the last link is

    α = Zᵀ A + a₀ − Ω f,    a₀ = Σ Eᵀ ν₀ + Z₊ᵀ a,    Ω = Σ Eᵀ D⁻¹ E,

with Z₊ = (1 − G H) Z and sums over the links of the segment. Ω is that of Λ⁻¹ = Bᵀ Ω B, (4.16),
(5.4), as if the segment's base were the robot's. Without f a segment exerts P A + z, (4.5), on the
link before it, and so the links beyond exert f = P' α + z'. Together,

    f = w + K Zᵀ A,    K = (1 + P' Ω)⁻¹ P',    w = z' + K (a₀ − Ω z'),

since (1 + P' Ω)⁻¹ = 1 − K Ω. Ω f may be much larger than α, so α is not computed as a difference
but solved for together with f:

    α = c + U Zᵀ A,    U = (1 + Ω P')⁻¹,    c = U (a₀ − Ω z').

This segment and all beyond then exert (P + Z K Zᵀ) A + z + Z w. P' is singular along the free
direction of the next joint, and Ω of a planar chain is singular too. An outward pass computes A and
f, and the smoother (5.17) runs with ν₀ − D⁻¹ E f.

The angular velocities follow from those of the segments before. In the axes of the last link ω = ω₀
+ Rᵀ ω', where ω₀ assumes a base at rest. Two columns of Rᵀ are carried; the third is their cross
product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import RigidInertia, Symmetric, Vector
from symgen.methods.riccati.dynamics import (
    angular_velocities,
    biased_filter,
    biased_smoother,
    biases,
)
from symgen.methods.riccati.filter import filtered_wrenches, riccati_sweep
from symgen.methods.shared.factor import Results
from symgen.support.errors import MethodRefusal

SIX = range(6)
UPPER = tuple((r, c) for r in SIX for c in range(r, 6))
CARRY_SIZES = {"P": 21, "z": 6, "Z": 36, "Omega": 21, "a_0": 6}
"""Inward carry of a segment: sizes by name. Symmetric matrices are stored as upper triangles, Z by
columns.
"""
TURNED = ("omega", "axis1", "axis2")
"""First outward carry: three numbers each."""
MOTION = ("alpha", "beyond")
"""Second outward carry: α, and f, six numbers each."""
WIDTHS = {"end": 63, "mark": 90, "axes": 6, "tip": 6}
"""Sizes of the inputs of a sample link: Z, Ω and a₀ at the last one; the marks of results and the
axes at the first; and f.
"""

Rows = list[list[Scalar]]


def forward_dynamics(linkage: Linkage) -> Results:
    """Raise MethodRefusal: the method exists in looped form only, built by
    `symgen.pipeline.loops.riccati_segments`.
    """
    raise MethodRefusal(
        f"riccati:segments exists only in looped form, and '{linkage.model.name}' is requested in "
        "rows; use generate or symgen.compile, or riccati"
    )


def omega_sweep(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Sweep outward ω relative to a base at rest, and two axes of the base.

    The returned value only makes the fold keep the carried quantities; it has no meaning.
    """
    omega = angular_velocities(linkage)
    axes: list[list[Vector]] = [
        [Vector(linkage.inputs["axes"][3 * c : 3 * c + 3]) for c in range(2)]
    ]
    result = [linkage.zero] * len(linkage.dofs)
    for i, link in enumerate(linkage.links):
        linkage.step(i, "axes of the segment's base, RK (2.2), (5.13)")
        if i:
            axes.append([link.rotation.to_child(axis) for axis in axes[link.parent]])
        for c, axis in enumerate(axes[i]):
            linkage.name(f"axis{c + 1}", i, axis)
        for dof in link.dofs:
            result[dof.index] = linkage.derivation.dot(
                [*omega[i][0], *axes[i][0]], [*axes[i][0], *axes[i][1]]
            )
    return (result,)


def segment_sweeps(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return θ̈, and the inward carry of link 0: `CARRY_SIZES`, each number a result."""
    derivation, zero, zeros, n = linkage.derivation, linkage.zero, linkage.zeros, len(linkage)
    zero_matrix = Symmetric(zero, zero, zero, zero, zero, zero)
    linkage.inertia[0] = RigidInertia.of(zero, zeros, zero_matrix)
    filters = riccati_sweep(linkage)
    a, b = biases(linkage, angular_velocities(linkage))
    nu, z = biased_filter(linkage, filters, a, [(zeros, zeros), *b[1:]])
    end = linkage.inputs["end"][-WIDTHS["end"] :]
    columns = []
    for c in SIX:
        loads = [(zeros, zeros)] * (n - 1) + [
            (Vector(end[6 * c : 6 * c + 3]), Vector(end[6 * c + 3 : 6 * c + 6]))
        ]
        columns.append(
            filtered_wrenches(linkage, filters, [zero] * len(filters), loads)
        )  # ψ Z, −E, −D⁻¹ E
    Omega = dict(zip(UPPER, end[36:57], strict=True))
    a_0 = list(end[57:])
    carry: list[Scalar] = []
    for i in reversed(range(n)):
        linkage.step(i, "acceleration per unit wrench on the segment's last link, RK (4.16), (5.4)")
        if i == 0:
            P = filters[linkage.links[0].dofs[-1].index].P
            wrenches = [[*n_c, *f_c] for _, _, index, _ in columns for n_c, f_c in index[:1]]
            carry = (
                [P.entry(r, c) for r, c in UPPER]
                + [*z[0][0], *z[0][1]]
                + [x for column in wrenches for x in column]
            )
            carry += [*(Omega[index] for index in UPPER), *a_0]
            carry = [x + mark for x, mark in zip(carry, linkage.inputs["mark"], strict=False)]
            break
        for r, (_, _, _, transmitted) in enumerate(columns):
            a_0[r] = a_0[r] + derivation.dot(
                [*transmitted[i][0], *transmitted[i][1]], [*a[i][0], *a[i][1]]
            )
        for dof in linkage.links[i].dofs:
            innovations, scaled = (
                [-eps[dof.index] for eps, *_ in columns],
                [-scaled_innovations[dof.index] for _, scaled_innovations, *_ in columns],
            )
            for r, c in UPPER:
                Omega[r, c] = Omega[r, c] + innovations[r] * scaled[c]
            for r in SIX:
                a_0[r] = a_0[r] + innovations[r] * nu[dof.index]
        linkage.name("Omega", i, Vector(Omega[index] for index in UPPER))
        linkage.name("abias", i, Vector(a_0))
    beyond = [
        x + y for x, y in zip(linkage.inputs["tip"][:6], carry[:6], strict=True)
    ]  # made to depend on the complete carry
    driven = list(nu)
    for axis_entry, carry_entry, dof in zip(
        linkage.inputs["axes"], carry, linkage.links[0].dofs, strict=False
    ):  # link 0 has a prescribed motion
        filters[dof.index] = replace(filters[dof.index], G=(zeros, zeros))
        driven[dof.index] = axis_entry + carry_entry  # depends on the complete carry
    for i, link in enumerate(linkage.links):
        linkage.step(i, "the wrench on the segment's last link, RK (5.16)")
        if i:
            beyond = [
                x + y for x, y in zip(beyond, linkage.inputs["tip"][6 * i : 6 * i + 6], strict=True)
            ]
            for dof in link.dofs:
                driven[dof.index] = nu[dof.index] + derivation.dot(
                    [column[1][dof.index] for column in columns], beyond
                )
        linkage.name("beyond", i, Vector(beyond))
    result, motion = biased_smoother(linkage, filters, a, driven)
    for i, (w, v) in enumerate(motion):
        linkage.name("alpha", i, Vector([*w, *v]))
    return (result, *([x] for x in carry))


# -- over the segments -----------------------------------------------------------------------------


def full_matrix(upper: Sequence[Scalar]) -> Rows:
    """Return a symmetric matrix from its upper triangle."""
    entries = dict(zip(UPPER, upper, strict=True))
    return [[entries[min(r, c), max(r, c)] for c in SIX] for r in SIX]


def carry_omega(
    derivation: Derivation, final_carry: Sequence[Scalar], omega: Sequence[Scalar] | None
) -> list[Scalar]:
    """Return ω of a segment's last link.

    `final_carry` has the names of TURNED. `omega` is that of the link before the segment, None if
    the segment starts at the base.
    """
    relative_omega, axis1, axis2 = (Vector(final_carry[start : start + 3]) for start in (0, 3, 6))
    if omega is None:
        return [*relative_omega]
    return [*(relative_omega + axis1 * omega[0] + axis2 * omega[1] + axis1.cross(axis2) * omega[2])]


def across_inward(
    derivation: Derivation, final_carry: Sequence[Scalar], beyond: Sequence[Scalar] | None
) -> tuple[list[Scalar], list[Scalar]]:
    """Return (P, z) of a segment with all beyond, and (K, w, U, c). `beyond` is (P', z') of all
    beyond, None at the tip.
    """
    zero = derivation.zero
    if beyond is None:
        unit = [derivation.one if r == c else zero for r in SIX for c in SIX]
        return [*final_carry[:27]], [*[zero] * 27, *unit, *final_carry[84:]]
    derivation.step("segment: the wrench on its last link")
    z, Z, a = (
        final_carry[21:27],
        [final_carry[27 + 6 * c : 33 + 6 * c] for c in SIX],
        final_carry[84:],
    )
    P, Omega, z_beyond = full_matrix(final_carry[:21]), full_matrix(final_carry[63:84]), beyond[21:]
    K, U, w, c_0 = solve_interface(derivation, full_matrix(beyond[:21]), Omega, z_beyond, a)
    derivation.step(
        "segment: articulated-body inertia and bias force of this and all outer segments"
    )
    rows = [[column[r] for column in Z] for r in SIX]
    Z_K = [[derivation.dot(K[k], row) for k in SIX] for row in rows]  # Z K
    carry = [P[r][c] + derivation.dot(Z_K[r], rows[c]) for r, c in UPPER]
    carry += [z[r] + derivation.dot([Z[c][r] for c in SIX], w) for r in SIX]
    return carry, [*(K[r][c] for r, c in UPPER), *w, *(x for row in U for x in row), *c_0]


def across_outward(
    derivation: Derivation,
    final_carry: Sequence[Scalar],
    saved: Sequence[Scalar],
    A: Sequence[Scalar],
) -> tuple[list[Scalar], list[Scalar]]:
    """Return α of a segment's last link, and f; A is the acceleration of the link before its first
    one.
    """
    derivation.step("segment: acceleration of its last link")
    Z, K, U = (
        [final_carry[27 + 6 * c : 33 + 6 * c] for c in SIX],
        full_matrix(saved[:21]),
        [saved[27 + 6 * r : 33 + 6 * r] for r in SIX],
    )
    Zt_A = [derivation.dot(Z_c, A) for Z_c in Z]
    return (
        [saved[63 + r] + derivation.dot(U[r], Zt_A) for r in SIX],
        [saved[21 + r] + derivation.dot(K[r], Zt_A) for r in SIX],
    )


def solve_interface(
    derivation: Derivation,
    P: Rows,
    Omega: Rows,
    z: Sequence[Scalar],
    a: Sequence[Scalar],
) -> tuple[Rows, Rows, list[Scalar], list[Scalar]]:
    """Return (K, U, w, c) of −P α + f = z, α + Ω f = a + b.

    The solution is f = w + K b and α = c + U b, with K = (1 + P Ω)⁻¹ P and U = (1 + Ω P)⁻¹. P and Ω
    may both be singular. α is not computed as the difference of b and Ω f, which may be much
    larger. The equations are eliminated in pairs, a row of the upper half with the corresponding
    row of the lower half. Up to sign, the determinant of the first k pairs is that of 1 + P Ω with
    the first k rows and columns of both. It is at least 1.
    """
    M = {
        (i, a_, j, b_): (
            -P[i][j],
            derivation.one if i == j else derivation.zero,
            derivation.one if i == j else derivation.zero,
            Omega[i][j],
        )[2 * a_ + b_]
        for i in SIX
        for j in range(i + 1)
        for a_ in (0, 1)
        for b_ in (0, 1)
    }
    T, W = [], {}
    for k in SIX:
        p, q, s = M[k, 0, k, 0], M[k, 1, k, 0], M[k, 1, k, 1]
        inverse = derivation.one / (q * q - p * s)
        t = [[-(s * inverse), q * inverse], [q * inverse, -(p * inverse)]]
        T.append(t)
        for i in range(k + 1, 6):
            for a_ in (0, 1):
                for b_ in (0, 1):
                    W[i, a_, k, b_] = M[i, a_, k, 0] * t[0][b_] + M[i, a_, k, 1] * t[1][b_]
        for i in range(k + 1, 6):
            for j in range(k + 1, i + 1):
                for a_ in (0, 1):
                    for b_ in (0, 1) if j < i else range(a_ + 1):
                        M[i, a_, j, b_] = M[i, a_, j, b_] - (
                            W[i, a_, k, 0] * M[j, b_, k, 0] + W[i, a_, k, 1] * M[j, b_, k, 1]
                        )

    def solve_pairs(pairs: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
        y = [list(pair) for pair in pairs]
        for k in SIX:
            for i in range(k + 1, 6):
                y[i] = [
                    y[i][a_] - (W[i, a_, k, 0] * y[k][0] + W[i, a_, k, 1] * y[k][1])
                    for a_ in (0, 1)
                ]
        x = [
            [t[0][0] * u + t[0][1] * v, t[1][0] * u + t[1][1] * v]
            for t, (u, v) in zip(T, y, strict=True)
        ]
        for k in reversed(SIX):
            for i in range(k + 1, 6):
                x[k] = [
                    x[k][b_] - (W[i, 0, k, b_] * x[i][0] + W[i, 1, k, b_] * x[i][1])
                    for b_ in (0, 1)
                ]
        return x

    columns = [
        solve_pairs([[derivation.zero, derivation.one if i == c else derivation.zero] for i in SIX])
        for c in SIX
    ]
    particular = solve_pairs([[x, y] for x, y in zip(z, a, strict=True)])
    return (
        [[columns[max(r, c)][min(r, c)][1] for c in SIX] for r in SIX],
        [[columns[c][r][0] for c in SIX] for r in SIX],
        [f for _, f in particular],
        [alpha for alpha, _ in particular],
    )
