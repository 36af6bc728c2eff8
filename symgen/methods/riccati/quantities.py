"""Rodriguez and Kreutz' operators block by block: φ (3.4), P, D, L, ψ (4.4)-(4.7), G (5.12), and Ω
of Λ⁻¹ = Bᵀ Ω B.

The paper numbers links from the tip; here i and j count from the base, so φ(i, j) is nonzero if
link i is an ancestor of link j. Blocks refer to the origins of the declared link frames; wrenches
are (moment, force), twists (angular, linear). For a joint with n degrees of freedom, D is n x n, H
n x 6, G and L 6 x n.
"""

from __future__ import annotations

from symgen.derivation.closed_forms import joint_form
from symgen.derivation.linkage import Dof, Linkage
from symgen.derivation.scalars import lower
from symgen.derivation.spatial import (
    ArticulatedInertia,
    Mobility,
    Symmetric,
    Vector,
    wrench_to_parent,
)
from symgen.methods.riccati.filter import Filter, riccati_sweep
from symgen.methods.riccati.operational import mobility_step
from symgen.methods.shared.quantities import (
    Block,
    Entries,
    Quantity,
    Rows,
    columns_to_rows,
    name_entries,
    scalar,
    unit_twists,
)

Wrench = tuple[Vector, Vector]
CARRIES = "link i carries link j, or i = j"


def _full(P: ArticulatedInertia | Mobility) -> Rows:
    return [[P.entry(r, c) for c in range(6)] for r in range(6)]


def _gain(linkage: Linkage, dof: Dof, gain: Filter) -> Wrench:
    """Return G of one degree of freedom, with the entry that follows from H G = 1 computed by it: 1
    for a rotation about z.

    With an armature H G is less than 1, and G is returned as it is.
    """
    if not linkage.drives[dof.index].armature.is_zero:
        return gain.G
    form = joint_form(linkage.model.links[dof.link].kind)
    H = [
        lower(x, linkage.joint_parameters(dof.link), linkage.derivation)
        for x in form.motion_subspace[:, dof.column]
    ]
    G = [*gain.G[0], *gain.G[1]]
    dependent = next(r for r in range(6) if not H[r].is_zero)
    remainder = linkage.one
    for r in range(6):
        if r != dependent:
            remainder = remainder - H[r] * G[r]
    G[dependent] = remainder / H[dependent]
    return Vector(G[:3]), Vector(G[3:])


def _to_parent(linkage: Linkage, i: int, wrench: Wrench) -> Wrench:
    """Return φ(k+1,k) · wrench."""
    return wrench_to_parent(linkage.links[i].rotation, linkage.links[i].shift, *wrench)


def _gains(linkage: Linkage) -> list[Wrench]:
    """Return G of each degree of freedom, in the recursion's order within a joint: the last one
    first.
    """
    return [
        _gain(linkage, dof, gain)
        for dof, gain in zip(linkage.dofs, riccati_sweep(linkage), strict=True)
    ]


def _joint_gains(linkage: Linkage) -> list[list[Wrench]]:
    """Return G(k) = P Hᵀ D⁻¹ of each joint, column by column.

    For several degrees of freedom it follows from 1 − G H, the product of the factors of the single
    ones: with H W = 1, 1 − G H maps W to W − G. The rows of H are unit vectors, so W = Hᵀ.
    """
    gains, result = _gains(linkage), []
    for i, link in enumerate(linkage.links):
        columns = [gains[link.dofs[0].index]] if len(link.dofs) == 1 else []
        for dof in link.dofs if not columns else ():
            remainder = _apply_projection(linkage, i, gains, (dof.H_angular, dof.H_linear))
            columns.append((dof.H_angular - remainder[0], dof.H_linear - remainder[1]))
        result.append(columns)
    return result


def _transitions(linkage: Linkage, name: str, gains: list[Wrench] | None) -> Entries:
    """Return the blocks φ(i,j) of (3.4), or, with gains, ψ(i,j) of (5.1): products of the steps
    from j inward to i.
    """
    blocks: Entries = {}
    for j in range(len(linkage)):
        columns, i = unit_twists(linkage), j
        blocks[j, j] = Block(columns_to_rows(columns), j, j)
        for parent in linkage.model.ancestors(j):
            linkage.step(i, f"{name} to its parent, RK {'(3.3)' if gains is None else '(4.7)'}")
            if gains is not None:
                columns = [
                    _apply_projection(linkage, i, gains, column) for column in columns
                ]  # (1 − G H) · wrench
            columns = [_to_parent(linkage, i, column) for column in columns]
            i = parent
            blocks[i, j] = Block(
                name_entries(linkage, f"{name}_{i + 1}_{j + 1}", columns_to_rows(columns)), i, j
            )
    return blocks


def _apply_projection(linkage: Linkage, i: int, gains: list[Wrench], wrench: Wrench) -> Wrench:
    """Return (1 − G H) · wrench, one degree of freedom after the other."""
    for dof in reversed(linkage.links[i].dofs):
        force, G = dof.project(*wrench), gains[dof.index]
        wrench = wrench[0] - G[0] * force, wrench[1] - G[1] * force
    return wrench


def _link_filters(linkage: Linkage) -> list[Filter]:
    """Return for each link the step of its last degree of freedom, which is processed first: its P
    is that of the whole link.
    """
    filters = riccati_sweep(linkage)
    return [filters[link.dofs[-1].index] for link in linkage.links]


def _phi(linkage: Linkage) -> Entries:
    return _transitions(linkage, "phi", None)


def _psi(linkage: Linkage) -> Entries:
    return _transitions(linkage, "psi", _gains(linkage))


def _P(linkage: Linkage) -> Entries:
    return {(i,): Block(_full(step.P), i, i) for i, step in enumerate(_link_filters(linkage))}


def _D(linkage: Linkage) -> Entries:
    blocks: Entries = {}
    for i, (link, step) in enumerate(zip(linkage.links, _link_filters(linkage), strict=True)):
        if len(link.dofs) == 1:
            blocks[i,] = scalar(step.D)
            continue
        P = _full(step.P)
        H = [[*dof.H_angular, *dof.H_linear] for dof in link.dofs]
        momenta = [[linkage.dot(row, h) for row in P] for h in H]  # P Hᵀ, column by column
        block = [[linkage.dot(h, momentum) for momentum in momenta] for h in H]
        for dof in link.dofs:
            block[dof.column][dof.column] = (
                block[dof.column][dof.column] + linkage.drives[dof.index].armature
            )
        blocks[i,] = Block(block)
    return blocks


def _G(linkage: Linkage) -> Entries:
    return {
        (i,): Block(columns_to_rows(columns), i) for i, columns in enumerate(_joint_gains(linkage))
    }


def _L(linkage: Linkage) -> Entries:
    blocks: Entries = {}
    for i, columns in enumerate(_joint_gains(linkage)):
        parent = linkage.links[i].parent
        linkage.step(i, "gain on the parent's side, L = phi G, RK (4.4), (5.12)")
        block = Block(
            columns_to_rows([_to_parent(linkage, i, column) for column in columns]), parent
        )
        name_entries(linkage, f"L_{i + 1}", block.rows)
        blocks[i,] = block
    return blocks


def _H(linkage: Linkage) -> Entries:
    return {
        (i,): Block(
            columns_to_rows([(dof.H_angular, dof.H_linear) for dof in link.dofs]), i
        ).transposed()
        for i, link in enumerate(linkage.links)
    }


def _Omega(linkage: Linkage) -> Entries:
    zero, zeros = linkage.zero, linkage.zeros
    zero_matrix = Symmetric(zero, zero, zero, zero, zero, zero)
    mobilities: list[Mobility] = []
    filters = riccati_sweep(linkage)
    for i, link in enumerate(linkage.links):
        linkage.step(i, "acceleration per unit wrench on the link, from RK (3.13), (4.16), (5.4)")
        before = (
            mobilities[link.parent]
            if link.parent >= 0
            else Mobility(zero_matrix, (zeros, zeros, zeros), zero_matrix)
        )
        mobilities.append(
            mobility_step(linkage, i, before.to_child(link.rotation, link.shift), filters)
        )
        name_entries(linkage, f"Omega_{i + 1}", _full(mobilities[i]))
    return {(i,): Block(_full(mobility), i, i) for i, mobility in enumerate(mobilities)}


QUANTITIES = {
    "P": Quantity(("k",), "6x6", "articulated-body inertia, RK (4.4)-(4.5)", _P),
    "D": Quantity(
        ("k",),
        "scalar",
        "articulated-body inertia along the axis of joint k, D = H P H^T; covariance of the"
        " innovation, RK (4.6)",
        _D,
    ),
    "G": Quantity(("k",), "6x1", "Kalman gain, a wrench on link k, G = P H^T / D, RK (5.12)", _G),
    "L": Quantity(("k",), "6x1", "Kalman gain as a wrench on the parent, L = phi G, RK (4.4)", _L),
    "H": Quantity(("k",), "1x6", "joint axis; H^T is the twist of a unit joint rate, RK (3.5)", _H),
    "phi": Quantity(
        ("i", "j"),
        "6x6",
        "transforms a wrench on link j to link i, RK (3.1)-(3.4)",
        _phi,
        nonzero=CARRIES,
    ),
    "psi": Quantity(
        ("i", "j"),
        "6x6",
        "phi across free joints, psi = phi - L H for each joint on the way, RK (4.7), (5.1)",
        _psi,
        nonzero=CARRIES,
    ),
    "Omega": Quantity(
        ("k",), "6x6", "acceleration of link k per unit wrench on it, from RK (4.16), (5.4)", _Omega
    ),
}
