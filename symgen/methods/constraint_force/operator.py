"""𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹ block by block: the contribution of each free link to the accelerations across
its joints.

A wrench at b accelerates a free link at a by X_a diag(J⁻¹, 1/m) X_bᵀ. Both points are measured from
its mass centre, where its inertia is block diagonal. Its own joint is at O_i = −s_i, the joints of
its children at O_j − s_i. φ⁻ᵀ gives the link's own joint the sign + and the others −. So block (i,
j) of 𝓐 involves one or two links, and no sum along the chain.
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
    """Inertia of link i: J_i about its mass centre, s_i from O_i to the mass centre, and the
    inverse of diag(J_i, m_i).
    """

    J: Symmetric
    s: Vector
    inverse_J: Symmetric
    inverse_m: Scalar
    determinant: Scalar


def bodies(linkage: Linkage) -> list[Body]:
    """Return 𝓜_i⁻¹ of each link, block diagonal at the mass centre; constants, except with a
    run-time payload.
    """
    links = []
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
        inverse_det = linkage.one / det
        inverse = Symmetric.of(
            (adjugate[0] * inverse_det, adjugate[1] * inverse_det, adjugate[2] * inverse_det)
        )
        linkage.mark("s", i, s)
        linkage.mark("Jinv", i, inverse)
        linkage.mark("minv", i, inverse_m)
        links.append(Body(J, s, inverse, inverse_m, det * (m * m * m)))
    return links


Spatial = tuple[Matrix, Matrix, Matrix, Matrix]
"""A 6x6 matrix as four 3x3 blocks: angular rows (moment, force columns), then linear rows."""


def mobility(body: Body, a: Vector, b: Vector, zero: Scalar) -> Spatial:
    """Return the acceleration at a of a free link per wrench at b, X_a diag(J⁻¹, 1/m) X_bᵀ.

    Both points are measured from the mass centre.
    """
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
    """Return the nonzero blocks of 𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹, 6x6 by (i, j), i ≤ j."""
    zero = linkage.zero
    blocks: dict[tuple[int, int], Block] = {}
    for i, body in enumerate(links):
        linkage.step(i, "inverse inertia of the link at its own joint: block of A")
        blocks[i, i] = _sum(blocks.get((i, i)), full(mobility(body, -body.s, -body.s, zero)))
        siblings: list[tuple[int, Vector]] = []
        for j in linkage.links[i].children:
            linkage.step(j, "inverse inertia of the parent link at the joint: blocks of A")
            rotation, b = linkage.links[j].rotation, linkage.links[j].shift - body.s
            blocks[j, j] = full(spatial_to_child(rotation, mobility(body, b, b, zero)))
            blocks[i, j] = negated(full(right_to_child(rotation, mobility(body, -body.s, b, zero))))
            for k, a in siblings:
                rotated_mobility = left_to_child(
                    linkage.links[k].rotation, mobility(body, a, b, zero)
                )
                blocks[k, j] = full(right_to_child(rotation, rotated_mobility))
            siblings.append((j, b))
    return blocks


def spatial_to_child(rotation: Rotation, m: Spatial) -> Spatial:
    """Return Rᵀ m R of a symmetric 6x6 matrix."""
    back = rotation.transposed()
    coupling = back.matrix_to_parent(m[1])
    return (
        back.symmetric_to_parent(Symmetric.of(m[0])).rows,
        coupling,
        turned_over(coupling),
        back.symmetric_to_parent(Symmetric.of(m[3])).rows,
    )


def right_to_child(rotation: Rotation, m: Spatial) -> Spatial:
    """Return m R: each row in the axes of the child that `rotation` belongs to."""

    def rotate(x: Matrix) -> Matrix:
        return (rotation.to_child(x[0]), rotation.to_child(x[1]), rotation.to_child(x[2]))

    return rotate(m[0]), rotate(m[1]), rotate(m[2]), rotate(m[3])


def left_to_child(rotation: Rotation, m: Spatial) -> Spatial:
    """Return Rᵀ m."""

    def rotate(x: Matrix) -> Matrix:
        x = turned_over(x)
        return turned_over(
            (rotation.to_child(x[0]), rotation.to_child(x[1]), rotation.to_child(x[2]))
        )

    return rotate(m[0]), rotate(m[1]), rotate(m[2]), rotate(m[3])


def full(m: Spatial) -> Block:
    return [
        [*a, *b]
        for left, right in ((m[0], m[1]), (m[2], m[3]))
        for a, b in zip(left, right, strict=True)
    ]


def _sum(a: Block | None, b: Block) -> Block:
    if a is None:
        return b
    result: Block = []
    for r in range(6):
        result.append([result[c][r] if c < r else a[r][c] + b[r][c] for c in range(6)])  # symmetric
    return result


def negated(m: Block) -> Block:
    return [[-x for x in row] for row in m]


def at_frame(linkage: Linkage, links: Sequence[Body], e: int, shift: Vector) -> dict[int, Block]:
    """Return the blocks of 𝓐 that a fully constrained point of link e adds, in the axes of link e.

    Key j: the 6x6 block from the wrench of joint j to the point (transposed). Key −1: the block of
    the point itself.
    """
    body, zero = links[e], linkage.zero
    linkage.step(e, "inverse inertia of the link at the frame")
    a = shift - body.s
    blocks = {-1: full(mobility(body, a, a, zero)), e: full(mobility(body, -body.s, a, zero))}
    for c in linkage.links[e].children:
        link = linkage.links[c]
        blocks[c] = negated(
            full(left_to_child(link.rotation, mobility(body, link.shift - body.s, a, zero)))
        )
    return blocks
