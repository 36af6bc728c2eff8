"""The partition in space, WC (11)-(19), for a chain or a tree of rigid bodies with joints of any sort.

The unconstrained bodies have 𝓜⁻¹ = I_1⁻¹ ⊕ … ⊕ I_n⁻¹ (19). What a joint sees is the twist of its link against its
parent, V_i − X_i V_p, taken at the joint in the link's axes; H splits it into the soft rates and W into the hard ones,
H and W together being orthonormal. So ∂q/∂ξ has two blocks a row, and H = [∂q/∂ξ] 𝓜⁻¹ [∂q/∂ξ]ᵀ couples a joint with
its parent and its siblings only. WC's own coordinates, ZXZ angles and Cartesian places, are singular at sin β = 0: the
proofs derive them (`tests/proofs/rotations.py`), and no C has them.

The rotor of a drive, of armature A, is a soft rate that is held as well, though it gives way: its row of H stands among those
of W again, with 1/A beside H^bb, and A is one more factor of det G. So (12) is (M + A)⁻¹, by Woodbury's formula.
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
from symgen.methods.fixman.partition import Block, Partition, product, turned_over
from symgen.methods.shared.drives import rotors

STILL = Rotation([])


@cache
def directions(kind: str) -> tuple[Any, Any]:
    """(soft, hard) rows of ∂q/∂V across a joint: (HᵀH)⁻¹ Hᵀ, and an orthonormal basis W of what the joint forbids."""
    W_a, W = constraint_subspace(kind)
    return W_a.T, W.T


def mobility(linkage: Linkage, i: int) -> tuple[ArticulatedInertia, Scalar]:
    """(I_i⁻¹ at link i's origin, det I_i): twist (v, ω) of a free body by wrench (f, n), linear part first, so that moving
    it to another point reads as for an inertia, with the shift reversed."""
    body, zero = linkage.inertia[i], linkage.zero
    lighter = linkage.one / body.m
    c = body.h * lighter
    x, y, z = (c[0] * body.h[0], c[1] * body.h[1], c[2] * body.h[2])
    off = Symmetric(
        y + z, -(c[0] * body.h[1]), -(c[0] * body.h[2]), x + z, -(c[1] * body.h[2]), x + y
    )
    easier, about = _inverse(linkage, body.moments() - off)
    centred = ArticulatedInertia(
        Symmetric(lighter, zero, zero, lighter, zero, lighter),
        (linkage.zeros, linkage.zeros, linkage.zeros),
        easier,
    )
    return centred.to_parent(STILL, c), body.m * body.m * body.m * about


def _inverse(linkage: Linkage, s: Symmetric) -> tuple[Symmetric, Scalar]:
    """(S⁻¹, det S) of a 3×3."""
    xx, xy, xz = s.yy * s.zz - s.yz * s.yz, s.xz * s.yz - s.xy * s.zz, s.xy * s.yz - s.xz * s.yy
    determinant = s.xx * xx + s.xy * xy + s.xz * xz
    scale = linkage.one / determinant
    yy, yz, zz = s.xx * s.zz - s.xz * s.xz, s.xy * s.xz - s.xx * s.yz, s.xx * s.yy - s.xy * s.xy
    return Symmetric(*(entry * scale for entry in (xx, xy, xz, yy, yz, zz))), determinant


def _across(linkage: Linkage, i: int, P: ArticulatedInertia) -> ArticulatedInertia:
    """X_i P X_iᵀ: the mobility of link i's parent taken at joint i, turned into the axes of link i."""
    link = linkage.links[i]
    inward = Rotation([transposed(factor) for factor in reversed(link.rotation.factors)])
    return P.to_parent(STILL, -link.shift).to_parent(inward, linkage.zeros)


def _full(P: ArticulatedInertia) -> Block:
    """6×6, angular rows first."""
    rows = [[*w, *v] for w, v in zip(P.C.rows, transposed(P.B), strict=True)]
    return rows + [[*v, *w] for w, v in zip(P.A.rows, P.B, strict=True)]


def carried(linkage: Linkage, i: int, columns: Block) -> Block:
    """X_i applied to each column of a 6×m matrix of twists."""
    link = linkage.links[i]
    found = []
    for column in zip(*columns, strict=True):
        w, v = twist_to_child(link.rotation, link.shift, Vector(column[:3]), Vector(column[3:]))
        found.append([*w, *v])
    return turned_over(found)


def spatial(linkage: Linkage) -> Partition:
    """H^aa = H 𝓐 Hᵀ, H^ab = H 𝓐 𝓦, H^bb = 𝓦ᵀ 𝓐 𝓦 with 𝓐 = [∂V/∂ξ] 𝓜⁻¹ [∂V/∂ξ]ᵀ, (19); det G = Π det(H_iᵀH_i) det I_i."""
    found = Partition([[dof.index for dof in link.dofs] for link in linkage.links])
    own: list[ArticulatedInertia] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "its inverse inertia in the blocks of H, WC (18)-(19)")
        P, weight = mobility(linkage, i)
        for name, part in (("A", P.A), ("B", P.B), ("C", P.C)):
            linkage.mark(name, i, part)
        own.append(P)
        found.metric[i] = [
            weight * linkage.measure(i),
            *(linkage.drives[dof.index].armature for dof in rotors(linkage, i)),
        ]
        if link.parent < 0:
            _split(linkage, found, i, i, _full(P))
            continue
        outer = own[link.parent]
        _split(linkage, found, i, i, _full(P + _across(linkage, i, outer)))
        _split(
            linkage,
            found,
            i,
            link.parent,
            [[-x for x in row] for row in carried(linkage, i, _full(outer))],
        )
        for j in (c for c in linkage.links[link.parent].children if c < i):
            _split(
                linkage,
                found,
                i,
                j,
                turned_over(carried(linkage, j, turned_over(carried(linkage, i, _full(outer))))),
            )
    return found


def _split(linkage: Linkage, found: Partition, i: int, j: int, A: Block) -> None:
    """The block 𝓐_ij, j ≤ i, between soft and hard directions."""
    (a_i, b_i), (a_j, b_j) = (soft_and_hard(linkage, x) for x in (i, j))
    soft, mixed = product(linkage, a_i, A), product(linkage, b_i, A)
    found.soft[i, j] = product(linkage, soft, turned_over(a_j))
    found.hard[i, j] = product(linkage, mixed, turned_over(b_j))
    if i == j:
        own = rotors(linkage, i)
        for r, dof in enumerate(own, len(b_i) - len(own)):
            found.hard[i, i][r][r] = (
                found.hard[i, i][r][r] + linkage.one / linkage.drives[dof.index].armature
            )
    found.coupling[i, j] = product(linkage, soft, turned_over(b_j))
    if i != j:
        other = product(linkage, mixed, turned_over(a_j))
        found.coupling[j, i] = [
            [row[c] for row in other] for c in range(len(a_j))
        ]  # a free joint's has no columns


def soft_and_hard(linkage: Linkage, i: int) -> tuple[Block, Block]:
    """The rows of `directions` as Scalars; behind the hard ones the soft one of each rotor."""
    soft, hard = directions(linkage.model.links[i].kind)
    a, b = (
        [
            [lower(m[r, c], linkage.declared(i), linkage.home) for c in range(6)]
            for r in range(m.rows)
        ]
        for m in (soft, hard)
    )
    return a, [*b, *(a[dof.column] for dof in rotors(linkage, i))]
