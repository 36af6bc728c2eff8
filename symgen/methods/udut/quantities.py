"""Saha's matrices block by block: B_ij, p_i (4), T_l, T_d, T (8)-(9), M̃_i (15), U, D, E_k, L_2 and
their ingredients (17)-(35).

Twists and wrenches of link i are taken at its mass centre C_i (the joint's origin for a massless
link) in its own declared axes. So the blocks of T_l are B_ij rotated from the axes of link j, in
which B_ij itself is expressed, to those of link i. On a tree a sum over i + 1 runs over the
children of link i.
"""

from __future__ import annotations

from dataclasses import replace

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import (
    NO_ROTATION,
    ArticulatedInertia,
    RigidInertia,
    Vector,
    twist_to_child,
    wrench_to_parent,
)
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.quantities import (
    Block,
    Entries,
    Quantity,
    Rows,
    column,
    columns_to_rows,
    name_entries,
    scalar,
    unit_twists,
)
from symgen.methods.udut.bodies import ArticulatedBody, Points, centres, decompose, joint_twists

Spatial = tuple[Vector, Vector]
INWARD, OUTWARD = "link j carries link i, or i = j", "link i carries link k"


def refusal(mechanism: Mechanism) -> str | None:
    """Return which joint has several degrees of freedom, which these quantities do not support, or
    None.
    """
    joint = next((joint for joint in mechanism.joints if joint.type.nv > 1), None)
    if joint is None:
        return None
    return (
        f"the letters of udut need joints of one degree of freedom, and joint '{joint.name}' of"
        f" '{mechanism.name}' has {joint.type.nv}; use riccati or another method"
    )


def _full(M: ArticulatedInertia) -> Rows:
    return [[M.entry(r, c) for c in range(6)] for r in range(6)]


def _dot(a: Spatial, b: Spatial) -> Scalar:
    return a[0].dot(b[0]) + a[1].dot(b[1])


def _path(linkage: Linkage, i: int, j: int) -> list[int]:
    """Return the links after j on the path from j to i."""
    path = [i, *linkage.model.ancestors(i)]
    return list(reversed(path[: path.index(j)]))


def _carry_twist(linkage: Linkage, points: Points, i: int, j: int, twist: Spatial) -> Spatial:
    """Return B_ij · twist."""
    for k in _path(linkage, i, j):
        twist = twist_to_child(linkage.links[k].rotation, points.arm[k], *twist)
    return twist


def _named_bodies(linkage: Linkage, points: Points) -> list[ArticulatedBody]:
    bodies = decompose(linkage, points)
    for i, body in enumerate(bodies):
        name_entries(linkage, f"Mhat_{i + 1}", _full(body.M))
    return bodies


def _B(linkage: Linkage) -> Entries:
    points, unit_entry, zero = centres(linkage), linkage.one, linkage.zero
    blocks: Entries = {}
    for i in range(len(linkage)):
        from_j = linkage.zeros  # C_i − C_j in the axes of j
        inner = None
        for j in (i, *linkage.model.ancestors(i)):
            if inner is not None:
                from_j = points.arm[inner] + linkage.links[inner].rotation.to_parent(from_j)
            x, y, z = -from_j  # c_ij = c_j − c_i, Fig. 1
            linkage.name(f"c_{i + 1}", j, -from_j)
            skew = ((zero, -z, y), (z, zero, -x), (-y, x, zero))  # (5)
            unit = [[unit_entry if r == c else zero for c in range(3)] for r in range(3)]
            rows = [[*unit[r], zero, zero, zero] for r in range(3)] + [
                [*skew[r], *unit[r]] for r in range(3)
            ]
            blocks[i, j] = Block(rows, j, j)  # (4)
            inner = j
    return blocks


def _T_l(linkage: Linkage) -> Entries:
    points = centres(linkage)
    blocks: Entries = {}
    for i in range(len(linkage)):
        for j in (i, *linkage.model.ancestors(i)):
            linkage.step(i, f"from the twist of link {j + 1} to its own, SA (9a)")
            columns = [_carry_twist(linkage, points, i, j, twist) for twist in unit_twists(linkage)]
            blocks[i, j] = Block(
                name_entries(linkage, f"T_{i + 1}_{j + 1}", columns_to_rows(columns)), i, j
            )
    return blocks


def _p(linkage: Linkage) -> Entries:
    return {(i,): column(p, i) for i, p in enumerate(joint_twists(linkage, centres(linkage)))}


def _T(linkage: Linkage) -> Entries:
    points = centres(linkage)
    blocks: Entries = {}
    twists = joint_twists(linkage, points)
    for i in range(len(linkage)):
        for j in (i, *linkage.model.ancestors(i)):
            blocks[i, j] = column(_carry_twist(linkage, points, i, j, twists[j]), i)
    return blocks


def _composite(linkage: Linkage) -> Entries:
    points = centres(linkage)
    bodies: dict[int, RigidInertia] = {}
    for i in reversed(range(len(linkage))):
        linkage.step(i, "composite body, SA (15a-c)")
        bodies[i] = linkage.inertia[i].to_parent(NO_ROTATION, -points.d[i])  # (12)
        for c in linkage.links[i].children:
            bodies[i] = bodies[i] + bodies[c].to_parent(
                linkage.links[c].rotation, points.arm[c]
            )  # (15a), (15c)
        linkage.name("h", i, bodies[i].h)
        linkage.name("Sigma", i, bodies[i].S)
    return {
        (i,): Block(name_entries(linkage, f"Mtilde_{i + 1}", _full(bodies[i].articulated())), i, i)
        for i in range(len(linkage))
    }


def _articulated(linkage: Linkage) -> Entries:
    return {
        (i,): Block(_full(body.M), i, i)
        for i, body in enumerate(_named_bodies(linkage, centres(linkage)))
    }


def _mhat(linkage: Linkage) -> Entries:
    return {
        (i,): scalar(body.mass) for i, body in enumerate(_named_bodies(linkage, centres(linkage)))
    }


def _carry_wrenches(
    linkage: Linkage, points: Points, stem: str, wrenches: list[Spatial]
) -> dict[tuple[int, int], Spatial]:
    """Return B_kiᵀ · wrench of link k for each ancestor i, (32)-(33)."""
    result: dict[tuple[int, int], Spatial] = {}
    for k, wrench in enumerate(wrenches):
        result[k, k] = wrench
        inner = k
        for i in linkage.model.ancestors(k):
            linkage.step(i, f"{stem} of link {k + 1} seen from it, SA (32)")
            wrench = wrench_to_parent(linkage.links[inner].rotation, points.arm[inner], *wrench)
            linkage.name(f"{stem}_{i + 1}", k, Vector([*wrench[0], *wrench[1]]))
            result[i, k] = wrench
            inner = i
    return result


def _psi(linkage: Linkage) -> Entries:
    points = centres(linkage)
    carried = _carry_wrenches(
        linkage, points, "psi", [body.psi for body in _named_bodies(linkage, points)]
    )
    return {(i, k): column(wrench, i) for (i, k), wrench in carried.items()}


def _psihat(linkage: Linkage) -> Entries:
    points = centres(linkage)
    carried = _carry_wrenches(
        linkage, points, "psihat", [body.psi_hat for body in _named_bodies(linkage, points)]
    )
    return {(i, k): column(wrench, i) for (i, k), wrench in carried.items()}


def _coefficients(linkage: Linkage) -> dict[tuple[int, int], Scalar]:
    """Return α_ik = p_iᵀ ψ̂_ik, (31)."""
    points = centres(linkage)
    bodies = _named_bodies(linkage, points)
    result = {}
    for (i, k), wrench in _carry_wrenches(
        linkage, points, "psihat", [body.psi_hat for body in bodies]
    ).items():
        if i != k:
            result[i, k] = linkage.derivation.name(
                f"alpha_{i + 1}_{k + 1}", _dot(bodies[i].p, wrench)
            )  # (31)
    return result


def _alpha(linkage: Linkage) -> Entries:
    return {(i, k): scalar(x) for (i, k), x in _coefficients(linkage).items()}


def _U(linkage: Linkage) -> Entries:
    return {(i, i): scalar(linkage.one) for i in range(len(linkage))} | _alpha(
        linkage
    )  # (18), (19)


def _E(linkage: Linkage) -> Entries:
    n, alpha = len(linkage), _coefficients(linkage)
    blocks: Entries = {}
    for k in range(n):
        rows = [[linkage.one if r == c else linkage.zero for c in range(n)] for r in range(n)]
        for i in range(k):
            rows[i][k] = -alpha.get((i, k), linkage.zero)  # (26)-(29)
        blocks[k,] = Block(rows)
    return blocks


def _L2(linkage: Linkage) -> Entries:
    points = centres(linkage)
    bodies = _named_bodies(linkage, points)
    blocks: Entries = {}
    for i, body in enumerate(bodies):
        for j in (i, *linkage.model.ancestors(i)):
            linkage.step(
                i, f"row of the eliminated matrix, column {j + 1}, SA (31) after column {i + 2}"
            )
            entry = (
                body.mass
                if i == j
                else _dot(body.psi, _carry_twist(linkage, points, i, j, bodies[j].p))
            )  # (31), k = i + 1
            blocks[i, j] = scalar(linkage.derivation.name(f"L2_{i + 1}_{j + 1}", entry))
    return blocks


_LETTERS = {
    "B": Quantity(
        ("i", "j"),
        "6x6",
        "twist at C_j to twist at C_i of one rigid body, in the axes of link j, SA (4)",
        _B,
        nonzero=INWARD,
        is_matrix=False,
    ),
    "p": Quantity(("i",), "6x1", "twist at C_i of a unit joint rate, SA (4)", _p),
    "T_l": Quantity(
        ("i", "j"),
        "6x6",
        "the blocks B_ij in the axes of link i, SA (9a)",
        _T_l,
        nonzero=INWARD,
    ),
    "T_d": Quantity(("i",), "6x1", "diag(p_1 ... p_n), SA (9b)", _p),
    "T": Quantity(
        ("i", "j"), "6x1", "natural orthogonal complement T_l T_d, SA (8)", _T, nonzero=INWARD
    ),
    "Mtilde": Quantity(("i",), "6x6", "inertia of composite body i at C_i, SA (15a-c)", _composite),
    "Mhat": Quantity(
        ("i",), "6x6", "articulated-body inertia of link i at C_i, SA (35)", _articulated
    ),
    "mhat": Quantity(
        ("i",), "scalar", "Mhat along the axis of joint i, p^T Mhat p, SA (32)", _mhat
    ),
    "psi": Quantity(
        ("i", "k"),
        "6x1",
        "momentum of articulated body k at unit joint rate, at C_i, SA (32)",
        _psi,
        nonzero=f"{OUTWARD}, or i = k",
    ),
    "psihat": Quantity(
        ("i", "k"), "6x1", "psi_ik / mhat_k, SA (33)", _psihat, nonzero=f"{OUTWARD}, or i = k"
    ),
    "alpha": Quantity(
        ("i", "k"),
        "scalar",
        "elimination coefficients p_i^T psihat_ik, SA (31)",
        _alpha,
        nonzero=OUTWARD,
    ),
    "U": Quantity(
        ("i", "k"),
        "scalar",
        "unit upper triangular, M = U D U^T, SA (19), (21)",
        _U,
        nonzero=f"{OUTWARD}, or i = k",
    ),
    "D": Quantity(("i",), "scalar", "the pivots mhat_i, M = U D U^T, SA (20), (21)", _mhat),
    "E": Quantity(
        ("k",),
        "nxn",
        "elementary upper triangular matrix that eliminates column k, SA (26)-(29)",
        _E,
        is_matrix=False,
    ),
    "L2": Quantity(
        ("i", "j"), "scalar", "E_2 ... E_n M, lower triangular, SA (17), (31)", _L2, nonzero=INWARD
    ),
}
QUANTITIES = {
    letter: replace(quantity, point="at its mass centre", refusal=refusal)
    for letter, quantity in _LETTERS.items()
}
