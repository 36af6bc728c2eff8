"""𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹ block by block: what each link, cut free, adds to the accelerations across the joints on it.

A free link turns a wrench at b into an acceleration at a by X_a diag(J⁻¹, 1/m) X_bᵀ, both points seen from its mass centre,
where its inertia is block diagonal. Its own joint sits at O_i = −s_i, the joints that it carries at O_j − s_i; φ⁻ᵀ gives its
own joint the sign + and the others −. So block (i, j) of 𝓐 knows one link or two, and no sum runs along the chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Matrix, Rotation, Symmetric, Vector, cross_rows, plus
from symgen.derivation.spatial import transposed as turned_over
from symgen.methods.constraint_force.elimination import Block


@dataclass(frozen=True)
class Body:
    """Of link i: J_i about its mass centre, s_i from O_i to there, and the inverse of diag(J_i, m_i)."""

    J: Symmetric
    s: Vector
    inverse_J: Symmetric
    inverse_m: Scalar
    determinant: Scalar


def bodies(linkage: Linkage) -> list[Body]:
    """𝓜_i⁻¹, block diagonal at the mass centre; constants but for a run-time payload."""
    found = []
    for i, inertia in enumerate(linkage.inertia):
        linkage.step(i, "inverse inertia about the mass centre")
        m, h = inertia.m, inertia.h
        inverse_m = linkage.one / m
        s = h * inverse_m
        S = inertia.S - Symmetric(
            h[0] * s[0], h[0] * s[1], h[0] * s[2], h[1] * s[1], h[1] * s[2], h[2] * s[2]
        )
        J = Symmetric(S.yy + S.zz, -S.xy, -S.xz, S.xx + S.zz, -S.yz, S.xx + S.yy)
        row = J.rows
        adjugate = [row[1].cross(row[2]), row[2].cross(row[0]), row[0].cross(row[1])]
        det = row[0].dot(adjugate[0])
        by = linkage.one / det
        inverse = Symmetric.of((adjugate[0] * by, adjugate[1] * by, adjugate[2] * by))
        linkage.mark("s", i, s)
        linkage.mark("Jinv", i, inverse)
        linkage.mark("minv", i, inverse_m)
        found.append(Body(J, s, inverse, inverse_m, det * (m * m * m)))
    return found


Spatial = tuple[Matrix, Matrix, Matrix, Matrix]
"""A 6x6 as (angular of moment, angular of force, linear of moment, linear of force)."""


def mobility(body: Body, a: Vector, b: Vector, zero: Scalar) -> Spatial:
    """Acceleration at a of a free link per wrench at b, both from the mass centre: X_a diag(J⁻¹, 1/m) X_bᵀ."""
    rows = body.inverse_J.rows
    of_force = (rows[0].cross(b), rows[1].cross(b), rows[2].cross(b))  # J⁻¹ b̃
    of_moment = turned_over(
        (rows[0].cross(a), rows[1].cross(a), rows[2].cross(a))
    )  # (J⁻¹ ã)ᵀ = −ã J⁻¹
    m = body.inverse_m
    linear = cross_rows(-a, of_force)
    return (
        rows,
        of_force,
        of_moment,
        plus(linear, (Vector((m, zero, zero)), Vector((zero, m, zero)), Vector((zero, zero, m)))),
    )


def operator(linkage: Linkage, links: Sequence[Body]) -> dict[tuple[int, int], Block]:
    """The blocks of 𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹ that are not zero, 6x6 by (i, j), i ≤ j."""
    zero = linkage.zero
    found: dict[tuple[int, int], Block] = {}
    for i, body in enumerate(links):
        linkage.step(i, "its mobility at its own joint: block of A")
        found[i, i] = _sum(found.get((i, i)), full(mobility(body, -body.s, -body.s, zero)))
        places: list[tuple[int, Vector]] = []
        for j in linkage.links[i].children:
            linkage.step(j, "mobility of the link that carries it at its joint: blocks of A")
            turning, b = linkage.links[j].rotation, linkage.links[j].shift - body.s
            found[j, j] = full(spatial_to_child(turning, mobility(body, b, b, zero)))
            found[i, j] = negated(full(right_to_child(turning, mobility(body, -body.s, b, zero))))
            for k, a in places:
                both = left_to_child(linkage.links[k].rotation, mobility(body, a, b, zero))
                found[k, j] = full(right_to_child(turning, both))
            places.append((j, b))
    return found


def spatial_to_child(rotation: Rotation, m: Spatial) -> Spatial:
    """Rᵀ m R of a symmetric 6x6."""
    back = rotation.transposed()
    coupling = back.matrix_to_parent(m[1])
    return (
        back.symmetric_to_parent(Symmetric.of(m[0])).rows,
        coupling,
        turned_over(coupling),
        back.symmetric_to_parent(Symmetric.of(m[3])).rows,
    )


def right_to_child(rotation: Rotation, m: Spatial) -> Spatial:
    """m R: each row in the axes of the link that `rotation` leads out of."""

    def turned(x: Matrix) -> Matrix:
        return (rotation.to_child(x[0]), rotation.to_child(x[1]), rotation.to_child(x[2]))

    return turned(m[0]), turned(m[1]), turned(m[2]), turned(m[3])


def left_to_child(rotation: Rotation, m: Spatial) -> Spatial:
    """Rᵀ m."""

    def turned(x: Matrix) -> Matrix:
        x = turned_over(x)
        return turned_over(
            (rotation.to_child(x[0]), rotation.to_child(x[1]), rotation.to_child(x[2]))
        )

    return turned(m[0]), turned(m[1]), turned(m[2]), turned(m[3])


def full(m: Spatial) -> Block:
    return [
        [*a, *b]
        for left, right in ((m[0], m[1]), (m[2], m[3]))
        for a, b in zip(left, right, strict=True)
    ]


def _sum(a: Block | None, b: Block) -> Block:
    if a is None:
        return b
    made: Block = []
    for r in range(6):
        made.append([made[c][r] if c < r else a[r][c] + b[r][c] for c in range(6)])  # symmetric
    return made


def negated(m: Block) -> Block:
    return [[-x for x in row] for row in m]


def at_frame(linkage: Linkage, links: Sequence[Body], e: int, shift: Vector) -> dict[int, Block]:
    """The row of 𝓐 that a point of link e adds, as one more joint that forbids everything, in the axes of link e.

    By joint, each block 6x6 from that joint's wrench to the point (transposed); under −1 the point's own.
    """
    body, zero = links[e], linkage.zero
    linkage.step(e, "its mobility at the frame")
    a = shift - body.s
    found = {-1: full(mobility(body, a, a, zero)), e: full(mobility(body, -body.s, a, zero))}
    for c in linkage.links[e].children:
        link = linkage.links[c]
        found[c] = negated(
            full(left_to_child(link.rotation, mobility(body, link.shift - body.s, a, zero)))
        )
    return found
