"""RK's operators block by block: φ (3.4), P, D, L, ψ (4.4)-(4.7), G (5.12), and Ω of Λ⁻¹ = Bᵀ Ω B.

RK number links from the tip; here i and j count from the base, so φ(i, j) is not zero where link i carries link j. Blocks
stand at the origins of the declared link frames; wrenches are (moment, force), twists (angular, linear). Where a joint has n
degrees of freedom, D is n x n, H n x 6, G and L 6 x n.
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
    named,
    scalar,
    spread,
    units,
)

Wrench = tuple[Vector, Vector]
CARRIES = "link i carries link j, or is it"


def _full(P: ArticulatedInertia | Mobility) -> Rows:
    return [[P.entry(r, c) for c in range(6)] for r in range(6)]


def _gain(linkage: Linkage, dof: Dof, gain: Filter) -> Wrench:
    """G of one degree of freedom, with the entry that H G = 1 decides taken from there: 1 for a turn about z.

    Behind a rotor H G is less than 1.
    """
    if not linkage.drives[dof.index].armature.is_zero:
        return gain.G
    form = joint_form(linkage.model.links[dof.link].kind)
    H = [
        lower(x, linkage.declared(dof.link), linkage.home)
        for x in form.motion_subspace[:, dof.column]
    ]
    G = [*gain.G[0], *gain.G[1]]
    pinned = next(r for r in range(6) if not H[r].is_zero)
    rest = linkage.one
    for r in range(6):
        if r != pinned:
            rest = rest - H[r] * G[r]
    G[pinned] = rest / H[pinned]
    return Vector(G[:3]), Vector(G[3:])


def _to_parent(linkage: Linkage, i: int, wrench: Wrench) -> Wrench:
    """φ(k+1,k) · wrench."""
    return wrench_to_parent(linkage.links[i].rotation, linkage.links[i].shift, *wrench)


def _gains(linkage: Linkage) -> list[Wrench]:
    """By degree of freedom: a joint's are taken one after the other, the last one first."""
    return [
        _gain(linkage, dof, one)
        for dof, one in zip(linkage.dofs, riccati_sweep(linkage), strict=True)
    ]


def _joint_gains(linkage: Linkage) -> list[list[Wrench]]:
    """Column by column G(k) = P Hᵀ D⁻¹ of every joint.

    That of several degrees of freedom is read off 1 − G H, which is the product of their own: where H W = 1, it takes W to W − G.
    The rows of H are unit vectors there, so that W = Hᵀ serves.
    """
    gains, found = _gains(linkage), []
    for i, link in enumerate(linkage.links):
        columns = [gains[link.dofs[0].index]] if len(link.dofs) == 1 else []
        for dof in link.dofs if not columns else ():
            left = _without(linkage, i, gains, (dof.H_angular, dof.H_linear))
            columns.append((dof.H_angular - left[0], dof.H_linear - left[1]))
        found.append(columns)
    return found


def _transitions(linkage: Linkage, name: str, gains: list[Wrench] | None) -> Entries:
    """The blocks φ(i,j) of (3.4), or with the gains ψ(i,j) of (5.1): products of the steps from j out to i."""
    found: Entries = {}
    for j in range(len(linkage)):
        columns, i = units(linkage), j
        found[j, j] = Block(spread(columns), j, j)
        for parent in linkage.model.ancestors(j):
            linkage.step(i, f"{name} out of it, RK {'(3.3)' if gains is None else '(4.7)'}")
            if gains is not None:
                columns = [
                    _without(linkage, i, gains, one) for one in columns
                ]  # (1 − G H) · wrench
            columns = [_to_parent(linkage, i, one) for one in columns]
            i = parent
            found[i, j] = Block(named(linkage, f"{name}_{i + 1}_{j + 1}", spread(columns)), i, j)
    return found


def _without(linkage: Linkage, i: int, gains: list[Wrench], wrench: Wrench) -> Wrench:
    """(1 − G H) · wrench, one degree of freedom after the other."""
    for dof in reversed(linkage.links[i].dofs):
        felt, G = dof.project(*wrench), gains[dof.index]
        wrench = wrench[0] - G[0] * felt, wrench[1] - G[1] * felt
    return wrench


def _before(linkage: Linkage) -> list[Filter]:
    """Of every link, the step of the degree of freedom that is taken first: its P is that of the whole link."""
    filters = riccati_sweep(linkage)
    return [filters[link.dofs[-1].index] for link in linkage.links]


def _phi(linkage: Linkage) -> Entries:
    return _transitions(linkage, "phi", None)


def _psi(linkage: Linkage) -> Entries:
    return _transitions(linkage, "psi", _gains(linkage))


def _P(linkage: Linkage) -> Entries:
    return {(i,): Block(_full(one.P), i, i) for i, one in enumerate(_before(linkage))}


def _D(linkage: Linkage) -> Entries:
    found: Entries = {}
    for i, (link, one) in enumerate(zip(linkage.links, _before(linkage), strict=True)):
        if len(link.dofs) == 1:
            found[i,] = scalar(one.D)
            continue
        P = _full(one.P)
        H = [[*dof.H_angular, *dof.H_linear] for dof in link.dofs]
        felt = [[linkage.dot(row, h) for row in P] for h in H]  # P Hᵀ, column by column
        block = [[linkage.dot(h, momentum) for momentum in felt] for h in H]
        for dof in link.dofs:
            block[dof.column][dof.column] = (
                block[dof.column][dof.column] + linkage.drives[dof.index].armature
            )
        found[i,] = Block(block)
    return found


def _G(linkage: Linkage) -> Entries:
    return {(i,): Block(spread(columns), i) for i, columns in enumerate(_joint_gains(linkage))}


def _L(linkage: Linkage) -> Entries:
    found: Entries = {}
    for i, columns in enumerate(_joint_gains(linkage)):
        parent = linkage.links[i].parent
        linkage.step(i, "gain on the parent's side, L = phi G, RK (4.4), (5.12)")
        moved = Block(spread([_to_parent(linkage, i, one) for one in columns]), parent)
        named(linkage, f"L_{i + 1}", moved.rows)
        found[i,] = moved
    return found


def _H(linkage: Linkage) -> Entries:
    return {
        (i,): Block(spread([(dof.H_angular, dof.H_linear) for dof in link.dofs]), i).transposed()
        for i, link in enumerate(linkage.links)
    }


def _Omega(linkage: Linkage) -> Entries:
    zero, zeros = linkage.zero, linkage.zeros
    still = Symmetric(zero, zero, zero, zero, zero, zero)
    found: list[Mobility] = []
    filters = riccati_sweep(linkage)
    for i, link in enumerate(linkage.links):
        linkage.step(i, "what a wrench on the link moves, from RK (3.13), (4.16), (5.4)")
        before = (
            found[link.parent]
            if link.parent >= 0
            else Mobility(still, (zeros, zeros, zeros), still)
        )
        found.append(mobility_step(linkage, i, before.to_child(link.rotation, link.shift), filters))
        named(linkage, f"Omega_{i + 1}", _full(found[i]))
    return {(i,): Block(_full(one), i, i) for i, one in enumerate(found)}


QUANTITIES = {
    "P": Quantity(("k",), "6x6", "articulated-body inertia, RK (4.4)-(4.5)", _P),
    "D": Quantity(
        ("k",),
        "scalar",
        "what joint k feels of it, D = H P H^T, the covariance of its innovation, RK (4.6)",
        _D,
    ),
    "G": Quantity(("k",), "6x1", "Kalman gain, a wrench on link k, G = P H^T / D, RK (5.12)", _G),
    "L": Quantity(("k",), "6x1", "the same on the parent, L = phi G, RK (4.4)", _L),
    "H": Quantity(("k",), "1x6", "joint axis; H^T is the twist of a unit joint rate, RK (3.5)", _H),
    "phi": Quantity(
        ("i", "j"),
        "6x6",
        "takes a wrench on link j to link i, RK (3.1)-(3.4)",
        _phi,
        nonzero=CARRIES,
    ),
    "psi": Quantity(
        ("i", "j"),
        "6x6",
        "the same over joints that give way, psi = phi - L H a step, RK (4.7), (5.1)",
        _psi,
        nonzero=CARRIES,
    ),
    "Omega": Quantity(
        ("k",), "6x6", "acceleration of link k by a wrench on it, from RK (4.16), (5.4)", _Omega
    ),
}
