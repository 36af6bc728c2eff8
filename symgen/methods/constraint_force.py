"""Interbody constraint forces first, then accelerations: the Schur complement of Fijany & Featherstone.

Cut every joint: link i answers a wrench at one of its points by itself, and with 𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹ the wrenches F across the
joints give the accelerations across the joints, 𝓐 F = H q̈ (+ η, what velocities and gravity ask for). A joint's wrench is
F_i = W_a τ_i + W f_i; that nothing moves in the forbidden directions W decides f, and f decides q̈:

    H_bb f = 𝓦ᵀ η − H_abᵀ τ,   q̈ = H_aa τ + H_ab f − 𝓦_aᵀ η,   M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ   LC (12)

with H_aa = 𝓦_aᵀ 𝓐 𝓦_a, H_ab = 𝓦_aᵀ 𝓐 𝓦, H_bb = 𝓦ᵀ 𝓐 𝓦. Block (i, j) of 𝓐 stands in the axes of links i and j at O_i and O_j,
and is zero unless a link carries both joints on it: block tridiagonal for a chain, nothing in it is summed along the chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symgen.closed_forms import constraint_subspace
from symgen.derivation import Scalar, lower
from symgen.linkage import Linkage
from symgen.methods._constraint_force_elimination import (
    Block,
    Blocks,
    Order,
    Pivot,
    coupled,
    dot,
    eliminate,
    leaf_first,
    name_block,
    odd_even,
    reduced,
    solved,
    transposed,
)
from symgen.methods._constraint_force_motion import Omegas, by_scan, by_sweep, eta
from symgen.model import indefinite
from symgen.spatial import Matrix, Rotation, Symmetric, Vector, cross_rows, plus
from symgen.spatial import transposed as turned_over

if TYPE_CHECKING:
    from symgen.mechanism import Mechanism

SOURCE = "Fijany & Featherstone 2013 (abstract and nomenclature), with Lee & Chirikjian 2005, (8), (12)"
REGROUPED = False   # every link's own inertia is inverted


def refusal(mechanism: Mechanism) -> str | None:
    """𝓜⁻¹ needs every link's inertia positive definite."""
    found = indefinite(mechanism)
    if found is None:
        return None
    return (f"constraint_force divides by the inertia of every link, and link '{found[0]}' of '{mechanism.name}' {found[1]}; "
            "lump it into its neighbour with --lock, give it moments of inertia, or take another method (riccati, udut)")


# -- links on their own -------------------------------------------------------------------------------------------------

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
        S = inertia.S - Symmetric(h[0] * s[0], h[0] * s[1], h[0] * s[2], h[1] * s[1], h[1] * s[2], h[2] * s[2])
        J = Symmetric(S.yy + S.zz, -S.xy, -S.xz, S.xx + S.zz, -S.yz, S.xx + S.yy)
        row = J.rows
        adjugate = [row[1].cross(row[2]), row[2].cross(row[0]), row[0].cross(row[1])]
        det = row[0].dot(adjugate[0])
        by = linkage.one / det
        inverse = Symmetric.of((adjugate[0] * by, adjugate[1] * by, adjugate[2] * by))
        found.append(Body(J, s, inverse, inverse_m, det * (m * m * m)))
    return found


Spatial = tuple[Matrix, Matrix, Matrix, Matrix]
"""A 6x6 as (angular of moment, angular of force, linear of moment, linear of force)."""


def mobility(body: Body, a: Vector, b: Vector, zero: Scalar) -> Spatial:
    """Acceleration at a of a free link per wrench at b, both from the mass centre: X_a diag(J⁻¹, 1/m) X_bᵀ."""
    rows = body.inverse_J.rows
    of_force = (rows[0].cross(b), rows[1].cross(b), rows[2].cross(b))                           # J⁻¹ b̃
    of_moment = turned_over((rows[0].cross(a), rows[1].cross(a), rows[2].cross(a)))             # (J⁻¹ ã)ᵀ = −ã J⁻¹
    m = body.inverse_m
    linear = cross_rows(-a, of_force)
    return rows, of_force, of_moment, plus(linear, (Vector((m, zero, zero)), Vector((zero, m, zero)), Vector((zero, zero, m))))


# -- 𝓐 and its parts ----------------------------------------------------------------------------------------------------

def operator(linkage: Linkage, links: Sequence[Body]) -> dict[tuple[int, int], Block]:
    """The blocks of 𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹ that are not zero, 6x6 by (i, j), i ≤ j."""
    zero = linkage.zero
    found: dict[tuple[int, int], Block] = {}
    for i, body in enumerate(links):
        linkage.step(i, "its mobility at its own joint and at those it carries: blocks of A")
        link = linkage.links[i]
        places = [(c, linkage.links[c].shift - body.s) for c in link.children]
        found[i, i] = _sum(found.get((i, i)), _full(mobility(body, -body.s, -body.s, zero)))
        for n, (j, b) in enumerate(places):
            turning = linkage.links[j].rotation
            found[j, j] = _full(_inward(turning, mobility(body, b, b, zero)))
            found[i, j] = _negated(_full(_inward_right(turning, mobility(body, -body.s, b, zero))))
            for k, a in places[:n]:
                both = _inward_left(linkage.links[k].rotation, mobility(body, a, b, zero))
                found[k, j] = _full(_inward_right(turning, both))
    return found


def _inward(rotation: Rotation, m: Spatial) -> Spatial:
    """Rᵀ m R of a symmetric 6x6."""
    back = Rotation([turned_over(factor) for factor in reversed(rotation.factors)])
    coupling = back.outward_matrix(m[1])
    return (back.outward_symmetric(Symmetric.of(m[0])).rows, coupling, turned_over(coupling),
            back.outward_symmetric(Symmetric.of(m[3])).rows)


def _inward_right(rotation: Rotation, m: Spatial) -> Spatial:
    """m R: each row in the axes of the link that `rotation` leads out of."""
    def turned(x: Matrix) -> Matrix:
        return (rotation.inward(x[0]), rotation.inward(x[1]), rotation.inward(x[2]))
    return turned(m[0]), turned(m[1]), turned(m[2]), turned(m[3])


def _inward_left(rotation: Rotation, m: Spatial) -> Spatial:
    """Rᵀ m."""
    def turned(x: Matrix) -> Matrix:
        x = turned_over(x)
        return turned_over((rotation.inward(x[0]), rotation.inward(x[1]), rotation.inward(x[2])))
    return turned(m[0]), turned(m[1]), turned(m[2]), turned(m[3])


def _full(m: Spatial) -> Block:
    return [[*a, *b] for left, right in ((m[0], m[1]), (m[2], m[3])) for a, b in zip(left, right, strict=True)]


def _sum(a: Block | None, b: Block) -> Block:
    if a is None:
        return b
    made: Block = []
    for r in range(6):
        made.append([made[c][r] if c < r else a[r][c] + b[r][c] for c in range(6)])   # symmetric
    return made


def _negated(m: Block) -> Block:
    return [[-x for x in row] for row in m]


Basis = list[list[tuple[int, Scalar]]]
"""Columns of a 6 x k matrix: the entries that are not zero, as (row, value)."""


def basis(linkage: Linkage, i: int) -> Basis:
    """[W_a, W] of joint i, lowered from the closed form of its type."""
    columns: Basis = []
    for part in constraint_subspace(linkage.model.links[i].kind):
        for c in range(part.cols):
            entries = [lower(part[r, c], {}, linkage.home) for r in range(6)]
            columns.append([(r, x) for r, x in enumerate(entries) if not x.is_zero])
    return columns


def _seen(left: Basis, m: Block, right: Basis, zero: Scalar) -> Block:
    """leftᵀ m right."""
    made: Block = []
    for column in left:
        row = [zero] * 6
        for r, x in column:
            row = [a + x * b for a, b in zip(row, m[r], strict=True)]
        made.append([_picked(other, row, zero) for other in right])
    return made


def _picked(column: list[tuple[int, Scalar]], row: Sequence[Scalar], zero: Scalar) -> Scalar:
    total = zero
    for r, x in column:
        total = total + x * row[r]
    return total


@dataclass(frozen=True)
class Partition:
    """[𝓦_a, 𝓦]ᵀ 𝓐 [𝓦_a, 𝓦] block by block: entry 0 of a row or column belongs to τ, the others to f."""

    blocks: dict[tuple[int, int], Block]
    bases: list[Basis]
    links: list[Body]

    def at(self, i: int, j: int) -> Block | None:
        found = self.blocks.get((min(i, j), max(i, j)))
        return found if found is None or i <= j else transposed(found)

    def constraint(self) -> Blocks:
        """H_bb."""
        return {place: [row[1:] for row in block[1:]] for place, block in self.blocks.items()}


def partition(linkage: Linkage) -> Partition:
    """H_aa, H_ab and H_bb, LC (12)."""
    links = bodies(linkage)
    A = operator(linkage, links)
    bases = [basis(linkage, i) for i in range(len(linkage))]
    blocks = {(i, j): _seen(bases[i], m, bases[j], linkage.zero) for (i, j), m in A.items()}
    for (i, j), block in blocks.items():
        name_block(linkage, f"H_{i + 1}_{j + 1}", block)
    return Partition(blocks, bases, links)


# -- what is computed ---------------------------------------------------------------------------------------------------

def constraint_forces(linkage: Linkage, parts: Partition, pivots: Sequence[Pivot], tau: Sequence[Scalar],
                      forbidden: Sequence[Sequence[Scalar]] | None = None) -> dict[int, list[Scalar]]:
    """f of H_bb f = 𝓦ᵀ η − H_abᵀ τ, a list a joint; `forbidden`: 𝓦ᵀ η, nothing without."""
    near = coupled(parts.blocks)
    right = {}
    for i in range(len(linkage)):
        linkage.step(i, "what the joint's forces ask of the constraint forces: H_ab^T tau")
        start = [linkage.zero] * 5 if forbidden is None else list(forbidden[i])
        for j in sorted({i} | near[i]):
            block = parts.at(j, i)
            assert block is not None
            start = [x - a * tau[j] for x, a in zip(start, block[0][1:], strict=True)]
        right[i] = start
    linkage.home.step("interbody constraint forces: H_bb f = W^T eta - H_ab^T tau, LC (12)")
    found = solved(pivots, right, linkage.zero)
    for i, f in found.items():
        linkage.name("f", i, Vector(f))
    return found


def accelerations(linkage: Linkage, parts: Partition, tau: Sequence[Scalar], forces: Mapping[int, Sequence[Scalar]],
                  free: Sequence[Scalar] | None = None) -> list[Scalar]:
    """q̈ = H_aa τ + H_ab f − 𝓦_aᵀ η; `free`: 𝓦_aᵀ η, nothing without."""
    near = coupled(parts.blocks)
    result = []
    for i in range(len(linkage)):
        linkage.step(i, "acceleration: H_aa tau + H_ab f, LC (12)")
        rate = linkage.zero if free is None else -free[i]
        for j in sorted({i} | near[i]):
            block = parts.at(i, j)
            assert block is not None
            rate = rate + dot(block[0], [tau[j], *forces[j]], linkage.zero)
        linkage.name("qddot", i, rate)
        result.append(rate)
    return result


def _pivots(linkage: Linkage, parts: Partition, order: Order) -> list[Pivot]:
    H_bb = parts.constraint()
    return eliminate(linkage, H_bb, order(coupled(H_bb)))[0]


def solve(linkage: Linkage, b: Sequence[Scalar], order: Order = leaf_first) -> list[Scalar]:
    """M⁻¹ b = (H_aa − H_ab H_bb⁻¹ H_abᵀ) b, LC (12)."""
    parts = partition(linkage)
    forces = constraint_forces(linkage, parts, _pivots(linkage, parts, order), b)
    return accelerations(linkage, parts, b, forces)


def mass_matrix_solve(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """x = M⁻¹ b."""
    return (solve(linkage, linkage.inputs["b"]),)


def _forward_dynamics(linkage: Linkage, order: Order, omegas: Omegas) -> tuple[list[Scalar], ...]:
    tau, rates = linkage.inputs["tau"], linkage.inputs["v"]
    parts = partition(linkage)
    asked = eta(linkage, [(body.J, body.inverse_J, body.s) for body in parts.links], omegas(linkage, rates), rates)
    split = [[_picked(column, e, linkage.zero) for column in columns] for columns, e in zip(parts.bases, asked, strict=True)]
    forces = constraint_forces(linkage, parts, _pivots(linkage, parts, order), tau, [s[1:] for s in split])
    return (accelerations(linkage, parts, tau, forces, [s[0] for s in split]),)


def forward_dynamics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """q̈ from the whole interbody forces: no bias force is computed beforehand."""
    return _forward_dynamics(linkage, leaf_first, by_sweep)


def _determinant(linkage: Linkage, order: Order) -> tuple[list[Scalar], ...]:
    parts = partition(linkage)
    factors = []
    for pivot in _pivots(linkage, parts, order):
        factors.append(_product([*pivot.D, parts.links[pivot.joint].determinant]))
        linkage.name("det", pivot.joint, factors[-1])
    return ([_product(factors)],)


def _product(factors: Sequence[Scalar]) -> Scalar:
    """As a balanced tree."""
    left = list(factors)
    while len(left) > 1:
        left = [left[n] * left[n + 1] if n + 1 < len(left) else left[n] for n in range(0, len(left), 2)]
    return left[0]


def mass_matrix_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """det M = det 𝓜 · det H_bb, LC (8)."""
    return _determinant(linkage, leaf_first)


def inverse_mass_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """M⁻¹ = H_aa − (L⁻¹ H_abᵀ)ᵀ D⁻¹ (L⁻¹ H_abᵀ), LC (12); symmetric entries are taken once."""
    n, zero = len(linkage), linkage.zero
    parts = partition(linkage)
    pivots, near = _pivots(linkage, parts, leaf_first), coupled(parts.blocks)
    columns = []
    for j in range(n):
        linkage.step(j, "column of L^-1 H_ab^T")
        right = {i: [zero] * 5 for i in range(n)}
        for i in {j} | near[j]:
            block = parts.at(j, i)
            assert block is not None
            right[i] = block[0][1:]
        columns.append(reduced(pivots, right, zero))
    scaled = [{p.joint: [y * by for y, by in zip(column[p.joint], p.inverse, strict=True)] for p in pivots} for column in columns]
    entries: dict[tuple[int, int], Scalar] = {}
    for i in range(n):
        linkage.step(i, "row of the inverse, LC (12)")
        for j in range(i + 1):
            block = parts.at(i, j)
            entry = zero if block is None else block[0][0]
            for p in pivots:
                entry = entry - dot(columns[i][p.joint], scaled[j][p.joint], zero)
            entries[i, j] = entries[j, i] = entry
    return ([entries[i, j] for i in range(n) for j in range(n)],)


def parallel_solve(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """x = M⁻¹ b by block cyclic reduction: O(log N) deep."""
    return (solve(linkage, linkage.inputs["b"], odd_even),)


def parallel_dynamics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """q̈ by block cyclic reduction, angular velocities by a prefix scan: O(log N) deep."""
    return _forward_dynamics(linkage, odd_even, by_scan)


def parallel_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """det M by block cyclic reduction: O(log N) deep."""
    return _determinant(linkage, odd_even)


FUNCTIONS = {
    "forward_dynamics": forward_dynamics,
    "mass_matrix_solve": mass_matrix_solve,
    "inverse_mass_matrix": inverse_mass_matrix,
    "mass_matrix_determinant": mass_matrix_determinant,
}
VARIANTS = {
    "parallel": {
        "forward_dynamics": parallel_dynamics,
        "mass_matrix_solve": parallel_solve,
        "mass_matrix_determinant": parallel_determinant,
    },
}
