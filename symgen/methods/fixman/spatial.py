"""Partition in space, WC (11)-(19), for a chain or a tree of rigid bodies with joints of any type.

The unconstrained bodies have 𝓜⁻¹ = I_1⁻¹ ⊕ … ⊕ I_n⁻¹ (19). The twist across a joint is that of its
link relative to the parent, V_i − X_i V_p, taken at the joint in the link's axes. H maps it to the
soft rates and W to the hard ones; H and W together are orthonormal. So ∂q/∂ξ has two blocks per
row, and H = [∂q/∂ξ] 𝓜⁻¹ [∂q/∂ξ]ᵀ couples a joint with its parent and its siblings only. The
coordinates of the paper, ZXZ angles and Cartesian positions, are singular at sin β = 0:
`symgen/papers/wc.py` has them, and the generated C does not use them.

The rotor of a drive, of armature A, makes a soft rate a compliant hard one as well: its row of H
appears again among those of W, with 1/A added to H^bb, and A is one more factor of det G. By
Woodbury's formula (12) becomes (M + A)⁻¹.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from symgen.derivation.closed_forms import constraint_subspace
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar, lower
from symgen.derivation.spatial import (
    ArticulatedInertia,
    Rotation,
    Symmetric,
    Vector,
    transposed,
    twist_to_child,
)
from symgen.methods.fixman.partition import Block, Partition, block_transpose, product
from symgen.methods.shared.drives import rotors

STILL = Rotation([])


@cache
def directions(kind: str) -> tuple[Any, Any]:
    """Return the (soft, hard) rows of ∂q/∂V across a joint: (HᵀH)⁻¹ Hᵀ, and an orthonormal basis W
    of the constrained directions.
    """
    W_a, W = constraint_subspace(kind)
    return W_a.T, W.T


def mobility(linkage: Linkage, i: int) -> tuple[ArticulatedInertia, Scalar]:
    """Return I_i⁻¹ at link i's origin, and det I_i.

    I_i⁻¹ maps a wrench (f, n) to the twist (v, ω) of a free body, linear part first. So shifting it
    to another point uses the formula of an inertia with the shift reversed.
    """
    body, zero = linkage.inertia[i], linkage.zero
    inverse_mass = linkage.one / body.m
    c = body.h * inverse_mass
    x, y, z = (c[0] * body.h[0], c[1] * body.h[1], c[2] * body.h[2])
    parallel_axis_term = Symmetric(
        y + z, -(c[0] * body.h[1]), -(c[0] * body.h[2]), x + z, -(c[1] * body.h[2]), x + y
    )
    inverse_inertia, determinant = _inverse(linkage, body.moments() - parallel_axis_term)
    centred = ArticulatedInertia(
        Symmetric(inverse_mass, zero, zero, inverse_mass, zero, inverse_mass),
        (linkage.zeros, linkage.zeros, linkage.zeros),
        inverse_inertia,
    )
    return centred.to_parent(STILL, c), body.m * body.m * body.m * determinant


def _inverse(linkage: Linkage, s: Symmetric) -> tuple[Symmetric, Scalar]:
    """Return (S⁻¹, det S) of a symmetric 3×3 matrix."""
    xx, xy, xz = s.yy * s.zz - s.yz * s.yz, s.xz * s.yz - s.xy * s.zz, s.xy * s.yz - s.xz * s.yy
    determinant = s.xx * xx + s.xy * xy + s.xz * xz
    scale = linkage.one / determinant
    yy, yz, zz = s.xx * s.zz - s.xz * s.xz, s.xy * s.xz - s.xx * s.yz, s.xx * s.yy - s.xy * s.xy
    return Symmetric(*(entry * scale for entry in (xx, xy, xz, yy, yz, zz))), determinant


def _across(linkage: Linkage, i: int, P: ArticulatedInertia) -> ArticulatedInertia:
    """Return X_i P X_iᵀ: the mobility of link i's parent at joint i, in the axes of link i."""
    link = linkage.links[i]
    inward = Rotation([transposed(factor) for factor in reversed(link.rotation.factors)])
    return P.to_parent(STILL, -link.shift).to_parent(inward, linkage.zeros)


def _full(P: ArticulatedInertia) -> Block:
    """Return the 6×6 matrix, angular rows first."""
    rows = [[*w, *v] for w, v in zip(P.C.rows, transposed(P.B), strict=True)]
    return rows + [[*v, *w] for w, v in zip(P.A.rows, P.B, strict=True)]


def twists_to_link(linkage: Linkage, i: int, columns: Block) -> Block:
    """Return X_i applied to each column of a 6×m matrix of twists."""
    link = linkage.links[i]
    result = []
    for column in zip(*columns, strict=True):
        w, v = twist_to_child(link.rotation, link.shift, Vector(column[:3]), Vector(column[3:]))
        result.append([*w, *v])
    return block_transpose(result)


def spatial(linkage: Linkage) -> Partition:
    """Return H^aa = H 𝓐 Hᵀ, H^ab = H 𝓐 𝓦, H^bb = 𝓦ᵀ 𝓐 𝓦 with 𝓐 = [∂V/∂ξ] 𝓜⁻¹ [∂V/∂ξ]ᵀ, (19); det G
    = Π det(H_iᵀH_i) det I_i.
    """
    partition = Partition([[dof.index for dof in link.dofs] for link in linkage.links])
    mobilities: list[ArticulatedInertia] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "terms of its inverse inertia in the blocks of H, WC (18)-(19)")
        P, weight = mobility(linkage, i)
        for name, block in (("A", P.A), ("B", P.B), ("C", P.C)):
            linkage.mark(name, i, block)
        mobilities.append(P)
        partition.metric[i] = [
            weight * linkage.joint_gram_determinant(i),
            *(linkage.drives[dof.index].armature for dof in rotors(linkage, i)),
        ]
        if link.parent < 0:
            _split(linkage, partition, i, i, _full(P))
            continue
        parent_mobility = mobilities[link.parent]
        _split(linkage, partition, i, i, _full(P + _across(linkage, i, parent_mobility)))
        _split(
            linkage,
            partition,
            i,
            link.parent,
            [[-x for x in row] for row in twists_to_link(linkage, i, _full(parent_mobility))],
        )
        for j in (c for c in linkage.links[link.parent].children if c < i):
            _split(
                linkage,
                partition,
                i,
                j,
                block_transpose(
                    twists_to_link(
                        linkage,
                        j,
                        block_transpose(twists_to_link(linkage, i, _full(parent_mobility))),
                    )
                ),
            )
    return partition


def _split(linkage: Linkage, partition: Partition, i: int, j: int, A: Block) -> None:
    """Split the block 𝓐_ij, j ≤ i, into soft and hard directions."""
    (a_i, b_i), (a_j, b_j) = (soft_and_hard(linkage, x) for x in (i, j))
    soft, mixed = product(linkage, a_i, A), product(linkage, b_i, A)
    partition.soft[i, j] = product(linkage, soft, block_transpose(a_j))
    partition.hard[i, j] = product(linkage, mixed, block_transpose(b_j))
    if i == j:
        joint_rotors = rotors(linkage, i)
        for r, dof in enumerate(joint_rotors, len(b_i) - len(joint_rotors)):
            partition.hard[i, i][r][r] = (
                partition.hard[i, i][r][r] + linkage.one / linkage.drives[dof.index].armature
            )
    partition.coupling[i, j] = product(linkage, soft, block_transpose(b_j))
    if i != j:
        mixed_block = product(linkage, mixed, block_transpose(a_j))
        partition.coupling[j, i] = [
            [row[c] for row in mixed_block] for c in range(len(a_j))
        ]  # a free joint has no hard columns


def soft_and_hard(linkage: Linkage, i: int) -> tuple[Block, Block]:
    """Return the rows of `directions` as Scalars; each rotor's soft row follows the hard rows."""
    soft, hard = directions(linkage.model.links[i].kind)
    a, b = (
        [
            [lower(m[r, c], linkage.joint_parameters(i), linkage.derivation) for c in range(6)]
            for r in range(m.rows)
        ]
        for m in (soft, hard)
    )
    return a, [*b, *(a[dof.column] for dof in rotors(linkage, i))]
