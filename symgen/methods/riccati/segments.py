"""`riccati:segments`: FD4 (5.13)-(5.17) of one chain in segments, all of which are swept at the same time.

What a segment does not know is the wrench f that is exerted on its last link by all that is beyond, and the acceleration A of the
link before its first one. Both enter FD4 linearly. By (5.16) the wrench that a link bears is z = z₀ + Z f, where the columns of Z
are filtered like any load, Z(k+1) = ψ(k+1,k) Z(k) of (4.7), (5.1), and are a unit matrix at the last link. So ε = ε₀ − E f with
E = H Z. By (5.17) and (4.22) the acceleration of the last link is

    α = Zᵀ A + a₀ − Ω f,    a₀ = Σ Eᵀ ν₀ + Z₊ᵀ a,    Ω = Σ Eᵀ D⁻¹ E,

with Z₊ = (1 − G H) Z, sums over the links of the segment, and Ω that of Λ⁻¹ = Bᵀ Ω B, (4.16), (5.4), as if the segment's base
were the robot's. Without f a segment hands on P A + z, (4.5), and so what is beyond exerts f = P' α + z'. Both together,

    f = w + K Zᵀ A,    K = (1 + P' Ω)⁻¹ P',    w = z' + K (a₀ − Ω z'),

since (1 + P' Ω)⁻¹ = 1 − K Ω. Ω f may be much larger than α, and so α is no difference of it, but solved for beside f:

    α = c + U Zᵀ A,    U = (1 + Ω P')⁻¹,    c = U (a₀ − Ω z').

What this segment and all beyond exert is then (P + Z K Zᵀ) A + z + Z w. P' is singular, since the
next joint gives way, and Ω may be, in a plane. Outward A and f follow, and the smoother (5.17) runs with ν₀ − D⁻¹ E f.

Angular velocities are known when those of the segments before are: in the axes of the last link ω = ω₀ + Rᵀ ω', where ω₀ is that
over a base at rest and two columns of Rᵀ are carried, the third being their cross product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import RigidInertia, Symmetric, Vector
from symgen.methods.riccati.dynamics import biased_filter, biased_smoother, biases, velocities
from symgen.methods.riccati.filter import carried_inward, riccati_sweep
from symgen.methods.shared.factor import Results
from symgen.support.errors import MethodRefusal

SIX = range(6)
UPPER = tuple((r, c) for r in SIX for c in range(r, 6))
PARTS = {"P": 21, "z": 6, "Z": 36, "Omega": 21, "a_0": 6}
"""What a segment hands on inward, and how many numbers each is: of symmetric matrices the upper triangle, Z by columns."""
TURNED = ("omega", "axis1", "axis2")
"""What it hands on outward at first, three numbers each."""
MOTION = ("alpha", "beyond")
"""What it hands on outward in the end: α, and f as it was given, six numbers each."""
WIDTHS = {"end": 63, "mark": 90, "axes": 6, "tip": 6}
"""Arguments of a link of the short chain: Z, Ω and a₀ at the last one; at the first what marks a result, and the axes; and f."""

Rows = list[list[Scalar]]


def forward_dynamics(linkage: Linkage) -> Results:
    """None in rows: `symgen.pipeline.loops.riccati_segments` folds the sweeps below."""
    raise MethodRefusal(
        f"riccati:segments is loops over the links of one long chain, and '{linkage.model.name}' is asked for in "
        "rows; ask generate or symgen.compile for it, or take riccati"
    )


def turned(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """ω over a base at rest and two axes of the base, outward. The result is one in name only."""
    omega = velocities(linkage)
    found: list[list[Vector]] = [
        [Vector(linkage.inputs["axes"][3 * c : 3 * c + 3]) for c in range(2)]
    ]
    result = [linkage.zero] * len(linkage.dofs)
    for i, link in enumerate(linkage.links):
        linkage.step(i, "axes of the segment's base, RK (2.2), (5.13)")
        if i:
            found.append([link.rotation.to_child(axis) for axis in found[link.parent]])
        for c, axis in enumerate(found[i]):
            linkage.name(f"axis{c + 1}", i, axis)
        for dof in link.dofs:
            result[dof.index] = linkage.home.dot(
                [*omega[i][0], *found[i][0]], [*found[i][0], *found[i][1]]
            )
    return (result,)


def swept(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """θ̈, and what link 0 is handed inward: `PARTS`, each number a result."""
    home, zero, zeros, n = linkage.home, linkage.zero, linkage.zeros, len(linkage)
    still = Symmetric(zero, zero, zero, zero, zero, zero)
    linkage.inertia[0] = RigidInertia.of(zero, zeros, still)
    filters = riccati_sweep(linkage)
    a, b = biases(linkage, velocities(linkage))
    nu, z = biased_filter(linkage, filters, a, [(zeros, zeros), *b[1:]])
    end = linkage.inputs["end"][-WIDTHS["end"] :]
    columns = []
    for c in SIX:
        loads = [(zeros, zeros)] * (n - 1) + [
            (Vector(end[6 * c : 6 * c + 3]), Vector(end[6 * c + 3 : 6 * c + 6]))
        ]
        columns.append(
            carried_inward(linkage, filters, [zero] * len(filters), loads)
        )  # ψ Z, −E, −D⁻¹ E
    Omega = dict(zip(UPPER, end[36:57], strict=True))
    a_0 = list(end[57:])
    handed: list[Scalar] = []
    for i in reversed(range(n)):
        linkage.step(i, "what the wrench on the segment's last link does, RK (4.16), (5.4)")
        if i == 0:
            P = filters[linkage.links[0].dofs[-1].index].P
            borne = [[*n_c, *f_c] for _, _, at, _ in columns for n_c, f_c in at[:1]]
            handed = (
                [P.entry(r, c) for r, c in UPPER]
                + [*z[0][0], *z[0][1]]
                + [x for column in borne for x in column]
            )
            handed += [*(Omega[at] for at in UPPER), *a_0]
            handed = [x + mark for x, mark in zip(handed, linkage.inputs["mark"], strict=False)]
            break
        for r, (_, _, _, left) in enumerate(columns):
            a_0[r] = a_0[r] + home.dot([*left[i][0], *left[i][1]], [*a[i][0], *a[i][1]])
        for dof in linkage.links[i].dofs:
            felt, yielded = (
                [-eps[dof.index] for eps, *_ in columns],
                [-less[dof.index] for _, less, *_ in columns],
            )
            for r, c in UPPER:
                Omega[r, c] = Omega[r, c] + felt[r] * yielded[c]
            for r in SIX:
                a_0[r] = a_0[r] + felt[r] * nu[dof.index]
        linkage.name("Omega", i, Vector(Omega[at] for at in UPPER))
        linkage.name("abias", i, Vector(a_0))
    beyond = [
        x + y for x, y in zip(linkage.inputs["tip"][:6], handed[:6], strict=True)
    ]  # known when all is handed on
    rest = list(nu)
    for own, given, dof in zip(
        linkage.inputs["axes"], handed, linkage.links[0].dofs, strict=False
    ):  # moved as it is told
        filters[dof.index] = replace(filters[dof.index], G=(zeros, zeros))
        rest[dof.index] = own + given  # when all is handed on
    for i, link in enumerate(linkage.links):
        linkage.step(i, "the wrench on the segment's last link, RK (5.16)")
        if i:
            beyond = [
                x + y for x, y in zip(beyond, linkage.inputs["tip"][6 * i : 6 * i + 6], strict=True)
            ]
            for dof in link.dofs:
                rest[dof.index] = nu[dof.index] + home.dot(
                    [column[1][dof.index] for column in columns], beyond
                )
        linkage.name("beyond", i, Vector(beyond))
    result, motion = biased_smoother(linkage, filters, a, rest)
    for i, (w, v) in enumerate(motion):
        linkage.name("alpha", i, Vector([*w, *v]))
    return (result, *([x] for x in handed))


# -- over the segments -----------------------------------------------------------------------------------------------------------


def full(upper: Sequence[Scalar]) -> Rows:
    """A symmetric matrix from its upper triangle."""
    found = dict(zip(UPPER, upper, strict=True))
    return [[found[min(r, c), max(r, c)] for c in SIX] for r in SIX]


def across_turned(
    home: Derivation, ended: Sequence[Scalar], omega: Sequence[Scalar] | None
) -> list[Scalar]:
    """ω of a segment's last link. `ended` is TURNED, `omega` that of the link before its first one, none where it stands on the
    base."""
    own, one, two = (Vector(ended[at : at + 3]) for at in (0, 3, 6))
    if omega is None:
        return [*own]
    return [*(own + one * omega[0] + two * omega[1] + one.cross(two) * omega[2])]


def across_inward(
    home: Derivation, ended: Sequence[Scalar], beyond: Sequence[Scalar] | None
) -> tuple[list[Scalar], list[Scalar]]:
    """(P, z) that a segment and all beyond hand on, and (K, w, U, c). `beyond` is (P', z') of what is beyond, none at the tip."""
    zero = home.zero
    if beyond is None:
        unit = [home.one if r == c else zero for r in SIX for c in SIX]
        return [*ended[:27]], [*[zero] * 27, *unit, *ended[84:]]
    home.step("segment: the wrench on its last link")
    z, Z, a = ended[21:27], [ended[27 + 6 * c : 33 + 6 * c] for c in SIX], ended[84:]
    P, Omega, there = full(ended[:21]), full(ended[63:84]), beyond[21:]
    K, U, w, c_0 = yielding(home, full(beyond[:21]), Omega, there, a)
    home.step("segment: what it and all beyond hand on")
    rows = [[column[r] for column in Z] for r in SIX]
    moved = [[home.dot(K[k], row) for k in SIX] for row in rows]  # Z K
    handed = [P[r][c] + home.dot(moved[r], rows[c]) for r, c in UPPER]
    handed += [z[r] + home.dot([Z[c][r] for c in SIX], w) for r in SIX]
    return handed, [*(K[r][c] for r, c in UPPER), *w, *(x for row in U for x in row), *c_0]


def across_outward(
    home: Derivation, ended: Sequence[Scalar], kept: Sequence[Scalar], A: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """α of a segment's last link, and f; A is that of the link before its first one."""
    home.step("segment: acceleration of its last link")
    Z, K, U = (
        [ended[27 + 6 * c : 33 + 6 * c] for c in SIX],
        full(kept[:21]),
        [kept[27 + 6 * r : 33 + 6 * r] for r in SIX],
    )
    moved = [home.dot(Z_c, A) for Z_c in Z]
    return (
        [kept[63 + r] + home.dot(U[r], moved) for r in SIX],
        [kept[21 + r] + home.dot(K[r], moved) for r in SIX],
    )


def yielding(
    home: Derivation,
    P: Rows,
    Omega: Rows,
    z: Sequence[Scalar],
    a: Sequence[Scalar],
) -> tuple[Rows, Rows, list[Scalar], list[Scalar]]:
    """(K, U, w, c) of -P α + f = z, α + Ω f = a + b: f = w + K b and α = c + U b, with K = (1 + P Ω)⁻¹ P, U = (1 + Ω P)⁻¹.

    P and Ω may both be singular. α is no difference of b and Ω f here, which may be much larger. The equations are eliminated by
    pairs, a row of the upper half with its fellow of the lower one. The determinants of the first k pairs are those of 1 + P Ω
    with the first k rows and columns of both, up to the sign, and so no less than 1.
    """
    M = {
        (i, a_, j, b_): (
            -P[i][j],
            home.one if i == j else home.zero,
            home.one if i == j else home.zero,
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
        inverse = home.one / (q * q - p * s)
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

    def solved(pairs: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
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

    columns = [solved([[home.zero, home.one if i == c else home.zero] for i in SIX]) for c in SIX]
    known = solved([[x, y] for x, y in zip(z, a, strict=True)])
    return (
        [[columns[max(r, c)][min(r, c)][1] for c in SIX] for r in SIX],
        [[columns[c][r][0] for c in SIX] for r in SIX],
        [f for _, f in known],
        [alpha for alpha, _ in known],
    )
