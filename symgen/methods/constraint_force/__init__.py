"""Interbody constraint forces first, then accelerations: the Schur complement of Fijany & Featherstone.

Cut every joint: link i answers a wrench at one of its points by itself, and with 𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹ the wrenches F across the
joints give the accelerations across the joints, 𝓐 F = H q̈ (+ η, what else moves the links). A joint's wrench is
F_i = W_a τ_i + W f_i; that nothing moves in the forbidden directions W decides f, and f decides q̈:

    H_bb f = 𝓦ᵀ η − H_abᵀ τ,   q̈ = H_aa τ + H_ab f − 𝓦_aᵀ η,   M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ   LC (12)

with H_aa = 𝓦_aᵀ 𝓐 𝓦_a, H_ab = 𝓦_aᵀ 𝓐 𝓦, H_bb = 𝓦ᵀ 𝓐 𝓦. Block (i, j) of 𝓐 stands in the axes of links i and j at O_i and O_j,
and is zero unless a link carries both joints on it: block tridiagonal for a chain, nothing in it is summed along the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import add, mul
from typing import TYPE_CHECKING

from symgen.derivation.linkage import Linkage
from symgen.derivation.model import indefinite
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, Symmetric, Vector
from symgen.methods.constraint_force.elimination import (
    Near,
    Order,
    Pivot,
    coupled,
    dot,
    eliminate,
    leaf_first,
    odd_even,
    reduced,
    solved,
)
from symgen.methods.constraint_force.motion import (
    Axes,
    Omegas,
    Turned,
    axes_by_scan,
    axes_by_sweep,
    by_scan,
    by_sweep,
    eta,
    turned_by_scan,
    turned_by_sweep,
)
from symgen.methods.constraint_force.operator import at_frame
from symgen.methods.constraint_force.partition import Partition, combined, partition, picked

if TYPE_CHECKING:
    from symgen.mechanism import Mechanism

SOURCE = "Fijany & Featherstone 2013 (abstract and nomenclature), with Lee & Chirikjian 2005, (8), (12)"
REGROUPED = False   # every link's own inertia is inverted


def differs(mechanism: Mechanism) -> bool:
    """True: the constraint forces take back most of what H_aa alone would let a light link do."""
    return True


def refusal(mechanism: Mechanism) -> str | None:
    """𝓜⁻¹ needs every link's inertia positive definite."""
    found = indefinite(mechanism)
    if found is None:
        return None
    return (f"constraint_force divides by the inertia of every link, and link '{found[0]}' of '{mechanism.name}' {found[1]}; "
            "lump it into its neighbour with --lock, give it moments of inertia, or take another method (riccati, udut)")


# -- what is computed ---------------------------------------------------------------------------------------------------

def constraint_forces(linkage: Linkage, parts: Partition, pivots: Sequence[Pivot], tau: Sequence[Scalar],
                      forbidden: Sequence[Sequence[Scalar]] | None = None) -> dict[int, list[Scalar]]:
    """f of H_bb f = 𝓦ᵀ η − H_abᵀ τ, a list a joint; `forbidden`: 𝓦ᵀ η, nothing without."""
    near = coupled(parts.blocks)
    right = {}
    for i in range(len(linkage)):
        linkage.step(i, "what the joint's forces ask of the constraint forces: H_ab^T tau")
        start = [linkage.zero] * parts.forbidden(i) if forbidden is None else list(forbidden[i])
        for j in sorted({i} | near[i]):
            block = parts.at(j, i)
            assert block is not None
            start = [x - a * tau[j] for x, a in zip(start, block[0][1:], strict=True)]
        right[i] = start
    linkage.home.step("interbody constraint forces: H_bb f = W^T eta - H_ab^T tau, LC (12)")
    return solved(pivots, right, linkage)


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


def dynamics(linkage: Linkage, tau: Sequence[Scalar], order: Order,
             omegas: Omegas | None = None) -> tuple[list[Scalar], list[list[Scalar]]]:
    """(q̈, F) of joint forces τ; `omegas` says how ω is had, None: at rest and without gravity, q̈ = M⁻¹ τ.

    F_i = W_a τ_i + W f_i is what the parent does to link i: moment and force at O_i in the axes of link i.
    """
    parts, zero = partition(linkage), linkage.zero
    forbidden = free = None
    if omegas is not None:
        rates = linkage.inputs["v"]
        asked = eta(linkage, parts.links, omegas(linkage, rates), rates)
        split = [[picked(column, e, zero) for column in columns] for columns, e in zip(parts.bases, asked, strict=True)]
        forbidden, free = [s[1:] for s in split], [s[0] for s in split]
    f = constraint_forces(linkage, parts, _pivots(linkage, parts, order), tau, forbidden)
    wrenches = []
    for i, columns in enumerate(parts.bases):
        F = [zero] * 6
        for column, x in zip(columns, [tau[i], *f[i]], strict=True):
            for r, entry in column:
                F[r] = F[r] + entry * x
        wrenches.append(F)
    return accelerations(linkage, parts, tau, f, free), wrenches


def solve(linkage: Linkage, b: Sequence[Scalar]) -> list[Scalar]:
    """M⁻¹ b = (H_aa − H_ab H_bb⁻¹ H_abᵀ) b, LC (12)."""
    return dynamics(linkage, b, leaf_first)[0]


def mass_matrix_solve(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """x = M⁻¹ b."""
    return (solve(linkage, linkage.inputs["b"]),)


def forward_dynamics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """q̈ from the whole interbody forces: no bias force is computed beforehand."""
    return (dynamics(linkage, linkage.inputs["tau"], leaf_first, by_sweep)[0],)


def _interbody_forces(linkage: Linkage, order: Order, omegas: Omegas, axes: Axes) -> tuple[list[Scalar], ...]:
    rates, wrenches = dynamics(linkage, linkage.inputs["tau"], order, omegas)
    turned = axes(linkage)
    result: list[Scalar] = []
    for i, F in enumerate(wrenches):
        linkage.step(i, "interbody force at the origin of the frame that its joint moves, in the axes of the base")
        R, (rotation, origin) = Rotation([turned[i]]), linkage.model.links[i].placement
        f = Vector(F[3:])
        n = Vector(F[:3]) + linkage.constant_rotation(rotation).inward(linkage.vector(origin)).cross(f)
        result += [*R.outward(n), *R.outward(f)]
    return result, rates


def interbody_forces(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """F (NV x 6), and q̈ (NV) from it."""
    return _interbody_forces(linkage, leaf_first, by_sweep, axes_by_sweep)


def _determinant(linkage: Linkage, order: Order) -> tuple[list[Scalar], ...]:
    parts = partition(linkage)
    factors = []
    for pivot in _pivots(linkage, parts, order):
        factors.append(_in_pairs(mul, [*pivot.D, parts.links[pivot.joint].determinant]))
        linkage.name("det", pivot.joint, factors[-1])
    return ([_in_pairs(mul, factors)],)


def _log_determinant(linkage: Linkage, order: Order) -> tuple[list[Scalar], ...]:
    parts = partition(linkage)
    logarithms = []
    for pivot in _pivots(linkage, parts, order):
        logarithms.append(linkage.log_product([*pivot.D, parts.links[pivot.joint].determinant]))
        linkage.name("logdet", pivot.joint, logarithms[-1])
    return ([_in_pairs(add, logarithms)],)


def _in_pairs(join: Callable[[Scalar, Scalar], Scalar], terms: Sequence[Scalar]) -> Scalar:
    """As a balanced tree."""
    left = list(terms)
    while len(left) > 1:
        left = [join(left[n], left[n + 1]) if n + 1 < len(left) else left[n] for n in range(0, len(left), 2)]
    return left[0]


def mass_matrix_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """det M = det 𝓜 · det H_bb, LC (8)."""
    return _determinant(linkage, leaf_first)


def mass_matrix_log_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """ln det M = ln det 𝓜 + ln det H_bb, LC (8)."""
    return _log_determinant(linkage, leaf_first)


def inverse_mass_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """M⁻¹ = H_aa − (L⁻¹ H_abᵀ)ᵀ D⁻¹ (L⁻¹ H_abᵀ), LC (12); symmetric entries are taken once."""
    return _inverse_mass_matrix(linkage, leaf_first)


def _inverse_mass_matrix(linkage: Linkage, order: Order) -> tuple[list[Scalar], ...]:
    n, zero = len(linkage), linkage.zero
    parts = partition(linkage)
    pivots, near = _pivots(linkage, parts, order), coupled(parts.blocks)
    columns = []
    for j in range(n):
        linkage.step(j, "column of L^-1 H_ab^T")
        right = {i: [zero] * parts.forbidden(i) for i in range(n)}
        for i in {j} | near[j]:
            block = parts.at(j, i)
            assert block is not None
            right[i] = block[0][1:]
        columns.append(reduced(pivots, right, linkage))
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


def _operational_inertia_inverse(linkage: Linkage, order: Order, turned: Turned) -> tuple[list[Scalar], ...]:
    frame, n, zero = linkage.frame, len(linkage), linkage.zero
    assert frame is not None
    e = frame.link
    if e < 0:
        return ([zero] * 36,)
    parts = partition(linkage)
    H_bb = parts.constraint()
    joints = order(coupled(H_bb))
    for j, block in at_frame(linkage, parts.links, e, linkage.vector(frame.shift)).items():
        if j < 0:
            H_bb[n, n] = block
        else:
            H_bb[j, n] = [combined(column, block, zero) for column in parts.bases[j][1:]]
    _, left = eliminate(linkage, H_bb, joints)
    linkage.step(e, "its inverse inertia at the frame, in the axes of the base")
    R = Rotation([turned(linkage, e)])
    rows = left[n, n]
    angular, coupling, linear = (
        tuple(Vector(row[c:c + 3]) for row in rows[r:r + 3]) for r, c in ((0, 0), (0, 3), (3, 3)))
    ww = R.outward_symmetric(Symmetric.of((angular[0], angular[1], angular[2]))).rows
    wv = R.outward_matrix((coupling[0], coupling[1], coupling[2]))
    vv = R.outward_symmetric(Symmetric.of((linear[0], linear[1], linear[2]))).rows
    upper = [x for r in range(3) for x in (*ww[r], *wv[r])]
    return ([*upper, *(x for r in range(3) for x in (wv[0][r], wv[1][r], wv[2][r], *vv[r]))],)


def operational_inertia_inverse(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Λ⁻¹ = J M⁻¹ Jᵀ: the link's own inverse inertia at the frame, less what the constraint forces take from it.

    The frame is one more joint, which forbids everything: Λ⁻¹ is the Schur complement of 𝓐 on it. Joints are eliminated
    towards the frame's link, so that the frame meets the last ones only.
    """
    def towards(near: Near) -> list[int]:
        e = linkage.frame.link if linkage.frame is not None else -1
        way = [*reversed(linkage.model.ancestors(e)), e]
        return [i for i in leaf_first(near) if i not in way] + way
    return _operational_inertia_inverse(linkage, towards, turned_by_sweep)


def parallel_operational_inertia_inverse(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Λ⁻¹ by block cyclic reduction, the axes of the link by a product in pairs: O(log N) deep."""
    return _operational_inertia_inverse(linkage, odd_even, turned_by_scan)


def parallel_solve(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """x = M⁻¹ b by block cyclic reduction: O(log N) deep."""
    return (dynamics(linkage, linkage.inputs["b"], odd_even)[0],)


def parallel_dynamics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """q̈ by block cyclic reduction, angular velocities by a prefix scan: O(log N) deep."""
    return (dynamics(linkage, linkage.inputs["tau"], odd_even, by_scan)[0],)


def parallel_interbody_forces(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """F and q̈ by block cyclic reduction, angular velocities and axes by prefix scans: O(log N) deep."""
    return _interbody_forces(linkage, odd_even, by_scan, axes_by_scan)


def parallel_inverse(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """M⁻¹ by block cyclic reduction: O(log N) deep."""
    return _inverse_mass_matrix(linkage, odd_even)


def parallel_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """det M by block cyclic reduction: O(log N) deep."""
    return _determinant(linkage, odd_even)


def parallel_log_determinant(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """ln det M by block cyclic reduction: O(log N) deep."""
    return _log_determinant(linkage, odd_even)


FUNCTIONS = {
    "forward_dynamics": forward_dynamics,
    "mass_matrix_solve": mass_matrix_solve,
    "inverse_mass_matrix": inverse_mass_matrix,
    "mass_matrix_determinant": mass_matrix_determinant,
    "mass_matrix_log_determinant": mass_matrix_log_determinant,
    "operational_inertia_inverse": operational_inertia_inverse,
    "interbody_forces": interbody_forces,
}
VARIANTS = {
    "parallel": {
        "forward_dynamics": parallel_dynamics,
        "mass_matrix_solve": parallel_solve,
        "inverse_mass_matrix": parallel_inverse,
        "mass_matrix_determinant": parallel_determinant,
        "mass_matrix_log_determinant": parallel_log_determinant,
        "operational_inertia_inverse": parallel_operational_inertia_inverse,
        "interbody_forces": parallel_interbody_forces,
    },
}
