"""Inspectable blocks of the hard/soft partition: over (θ, L) for point masses in a plane (LC), over
joint coordinates in space (WC).

The C of the planar form uses absolute directions; the blocks here use the joint angles θ of the
paper. Points x_l are expressed in the axes in which joint 0 rotates, before it rotates. The rows of
∂θ/∂x and ∂L/∂x are those of (∂x/∂q)⁻¹. The published rows hold lengths constant; (12) has the same
value with either.
"""

from __future__ import annotations

from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import declared
from symgen.derivation.scalars import Scalar, lower
from symgen.derivation.spatial import Rotation
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.fixman.applicability import (
    all_points,
    link_ends,
    planar_refusal,
    same_direction,
    spatial_refusal,
)
from symgen.methods.fixman.geometry import (
    AHEAD,
    COS,
    PLANAR,
    SIN,
    Geometry,
    K,
    L,
    coordinate_gradients,
    published_coordinate_gradients,
)
from symgen.methods.fixman.partition import Block as Rows
from symgen.methods.fixman.planar import point_masses
from symgen.methods.fixman.spatial import soft_and_hard, spatial, twists_to_link
from symgen.methods.shared.quantities import (
    Block,
    Entries,
    Quantity,
    mirror_blocks,
    name_entries,
    scalar,
)

PointRows = list[dict[int, list[Scalar]]]
"""Rows ∂·/∂x_l of each link by point l, with two entries each."""


def refusal(mechanism: Mechanism) -> str | None:
    """Return why a robot has no blocks over (θ, L), or None: it must be a planar chain of point
    masses.
    """
    why = planar_refusal(mechanism)
    if why is not None:
        return why
    with k.precision():
        if all_points(declared(mechanism)):
            return None
    return (
        "LC's blocks over (theta, L) need point masses at the ends of the links, and links of"
        f" '{mechanism.name}' are rigid bodies; use H_aa, H_ab, H_bb of fixman:spatial"
    )


# -- in a plane ------------------------------------------------------------------------------------


def _directions(linkage: Linkage) -> list[tuple[Scalar, Scalar, Scalar]]:
    """Return (cosine, sine, length) of the vector from joint i to point i, in the axes in which
    joint 0 rotates.
    """
    cosine, sine = k.zxz(linkage.model.links[0].rotation)[
        2
    ]  # the last rotation is by q + β; that of the joint by q
    outer = linkage.matrix(k.rotation_about(k.IDENTITY[2], cosine, -sine))
    result = []
    for i, (end, link) in enumerate(zip(link_ends(linkage.model), linkage.links, strict=True)):
        linkage.step(i, "its direction in the plane, LC (14)")
        outer = Rotation([outer, *link.rotation.factors[-1 if i == 0 else 0 :]]).matrix(
            linkage.one, linkage.zero
        )
        length = k.square_root(k.dot(end, end))
        e = Rotation([outer]).to_parent(linkage.vector(k.scale(1 / length, end)))
        linkage.derivation.name(f"cos_{i + 1}", e[0])
        linkage.derivation.name(f"sin_{i + 1}", e[1])
        linkage.name("R", i, outer)
        result.append((e[0], e[1], linkage.scalar(length)))
    return result


def _rows(linkage: Linkage, geometry: Geometry = PLANAR) -> tuple[PointRows, PointRows]:
    """Return (∂θ/∂x, ∂L/∂x), LC (17), (18): θ_i by x_i, x_i−1 and x_i−2, L_i by x_i and x_i−1."""
    form = coordinate_gradients(geometry)
    soft: PointRows = []
    hard: PointRows = []
    phi_before: list[Scalar] = []
    sense = linkage.one
    for i, (cosine, sine, length) in enumerate(_directions(linkage)):
        linkage.step(i, "rows of dq/dx, LC (17)-(18)")
        bindings = {COS: cosine, SIN: sine, L: length}
        phi, stretch = (
            [lower(form[r, c], bindings, linkage.derivation) for c in (0, 1)] for r in (0, 1)
        )
        sense = sense if i == 0 or same_direction(linkage.model, i) else -sense
        row = {i: [sense * x for x in phi]}
        if i > 0:
            row[i - 1] = [-(sense * (x + y)) for x, y in zip(phi, phi_before, strict=True)]
        if i > 1:
            row[i - 2] = [sense * y for y in phi_before]
        soft.append(row)
        hard.append({i: stretch} | ({i - 1: [-x for x in stretch]} if i > 0 else {}))
        for stem, rows in (("dtheta", soft[i]), ("dL", hard[i])):
            for point, entries in rows.items():
                name_entries(
                    linkage, f"{stem}_{i + 1}_dx_{point + 1}", [[entry] for entry in entries]
                )
        phi_before = phi
    return soft, hard


def _row_blocks(rows: PointRows) -> Entries:
    return {
        (i, point): Block([entries]) for i, row in enumerate(rows) for point, entries in row.items()
    }


Entry = dict[tuple[int, int], Scalar]


def _by_joints(linkage: Linkage, H: Entry) -> Entry:
    """Return T⁻¹ H, from absolute directions to joint angles: θ_i = φ_i ∓ φ_i−1, + if the axes have
    opposite directions.
    """
    result = dict(H)
    for (i, j), x in sorted(H.items()):
        if i + 1 < len(linkage):
            x = -x if same_direction(linkage.model, i + 1) else x
            result[i + 1, j] = result.get((i + 1, j), linkage.zero) + x
    return result


def _transposed(H: Entry) -> Entry:
    return {(j, i): x for (i, j), x in H.items()}


def _of_angles(linkage: Linkage, stem: str, H: Entry) -> Entries:
    return {
        (i, j): Block(name_entries(linkage, f"{stem}_{i + 1}_{j + 1}", [[x]]))
        for (i, j), x in H.items()
        if not x.is_zero
    }


def _dtheta(linkage: Linkage) -> Entries:
    return _row_blocks(_rows(linkage)[0])


def _dtheta_printed(linkage: Linkage) -> Entries:
    """Return LC (21), its last term corrected; the link before link 0 is a unit length along the
    first axis.
    """
    form = published_coordinate_gradients()
    blocks: Entries = {}
    previous_direction, length = (linkage.one, linkage.zero), linkage.one
    sense = linkage.one
    for i, (cosine, sine, link_length) in enumerate(_directions(linkage)):
        linkage.step(i, "rows of dtheta/dx with lengths held constant, LC (21)")
        bindings = {COS: cosine, SIN: sine, L: link_length, K: length} | dict(
            zip(AHEAD, previous_direction, strict=True)
        )
        sense = sense if i == 0 or same_direction(linkage.model, i) else -sense
        for r, point in enumerate((i - 2, i - 1, i)):
            if point >= 0:
                row = [sense * lower(form[r, c], bindings, linkage.derivation) for c in (0, 1)]
                blocks[i, point] = Block(
                    [
                        [
                            x
                            for (x,) in name_entries(
                                linkage, f"dtheta_{i + 1}_dx_{point + 1}", [[x] for x in row]
                            )
                        ]
                    ]
                )
        previous_direction, length = (cosine, sine), link_length
    return blocks


def _dL(linkage: Linkage) -> Entries:
    return _row_blocks(_rows(linkage)[1])


def _H_theta_theta(linkage: Linkage) -> Entries:
    lower = {
        index: rows[0][0] for index, rows in point_masses(linkage).soft.items()
    }  # H^φφ, LC (23)
    half = _by_joints(linkage, {**lower, **_transposed(lower)})
    linkage.derivation.step("from absolute directions to joint angles")
    return _of_angles(linkage, "H_tt", _by_joints(linkage, _transposed(half)))


def _H_theta_L(linkage: Linkage) -> Entries:
    return _of_angles(
        linkage,
        "H_tL",
        _by_joints(
            linkage, {index: x for index, ((x,),) in point_masses(linkage).coupling.items()}
        ),
    )


def _H_L_L(linkage: Linkage) -> Entries:
    lower = {index: rows[0][0] for index, rows in point_masses(linkage).hard.items()}
    return _of_angles(linkage, "H_LL", {**lower, **_transposed(lower)})


# -- in space --------------------------------------------------------------------------------------


def _dq_dxi(linkage: Linkage) -> Entries:
    blocks: Entries = {}
    for i, link in enumerate(linkage.links):
        soft, hard = soft_and_hard(linkage, i)
        blocks[i, i] = Block([*soft, *hard], None, i)
        if link.parent >= 0:
            linkage.step(i, "rows of dq/dxi that depend on its parent, WC (18)")
            unit = [[linkage.one if r == c else linkage.zero for c in range(6)] for r in range(6)]
            parent_twists = twists_to_link(linkage, i, unit)
            rows: Rows = [
                [-linkage.dot(row, column) for column in zip(*parent_twists, strict=True)]
                for row in (*soft, *hard)
            ]
            blocks[i, link.parent] = Block(
                name_entries(linkage, f"dq_{i + 1}_dxi_{link.parent + 1}", rows), None, link.parent
            )
    return blocks


def _H_aa(linkage: Linkage) -> Entries:
    return mirror_blocks(
        {
            (i, j): Block(name_entries(linkage, f"Haa_{i + 1}_{j + 1}", rows))
            for (i, j), rows in spatial(linkage).soft.items()
        }
    )


def _H_ab(linkage: Linkage) -> Entries:
    return {
        (i, j): Block(name_entries(linkage, f"Hab_{i + 1}_{j + 1}", rows))
        for (i, j), rows in spatial(linkage).coupling.items()
    }


def _H_bb(linkage: Linkage) -> Entries:
    return mirror_blocks(
        {
            (i, j): Block(name_entries(linkage, f"Hbb_{i + 1}_{j + 1}", rows))
            for (i, j), rows in spatial(linkage).hard.items()
            if any(rows) or i == j
        }
    )


def _det_G(linkage: Linkage) -> Entries:
    return {(): scalar(linkage.product_over_links(spatial(linkage).metric))}


THREE, TWO, BAND = "l is i, i - 1 or i - 2", "l is i or i - 1", "links i and j share a point"
NEAR = "joints i and j are on the same link"
QUANTITIES = {
    "dtheta_dx": Quantity(
        ("i", "l"),
        "1x2",
        "derivative of joint angle i with respect to the position of point mass l, LC (17)-(21),"
        " link lengths differentiated too",
        _dtheta,
        nonzero=THREE,
        variant="planar",
        refusal=refusal,
    ),
    "dtheta_dx_printed": Quantity(
        ("i", "l"),
        "1x2",
        "dtheta_dx as printed in LC (19)-(21), where lengths are constant while cos theta is "
        "differentiated: other rows, the same M^-1, (12); the last term of (21) is corrected",
        _dtheta_printed,
        nonzero=THREE,
        variant="planar",
        refusal=refusal,
    ),
    "dL_dx": Quantity(
        ("i", "l"),
        "1x2",
        "derivative of the length of link i with respect to the position of point mass l, LC"
        " (15)-(18)",
        _dL,
        nonzero=TWO,
        variant="planar",
        refusal=refusal,
    ),
    "H_theta_theta": Quantity(
        ("i", "j"),
        "scalar",
        "soft block of H = G^-1, pentadiagonal, LC (22)-(23)",
        _H_theta_theta,
        nonzero=BAND,
        variant="planar",
        refusal=refusal,
    ),
    "H_theta_L": Quantity(
        ("i", "j"),
        "scalar",
        "soft-hard block of H, diagonals -2 to 1, LC (22)-(23)",
        _H_theta_L,
        nonzero=BAND,
        variant="planar",
        refusal=refusal,
    ),
    "H_L_L": Quantity(
        ("i", "j"),
        "scalar",
        "hard block of H, tridiagonal, LC (22)-(24)",
        _H_L_L,
        nonzero=BAND,
        variant="planar",
        refusal=refusal,
    ),
    "dq_dxi": Quantity(
        ("i", "j"),
        "6x6",
        "derivative of the relative velocity across joint i (the joint's own rate first) with"
        " respect to the twist of link j, WC (18)",
        _dq_dxi,
        nonzero="j is i or the parent of i",
        variant="spatial",
        refusal=spatial_refusal,
    ),
    "H_aa": Quantity(
        ("i", "j"),
        "scalar",
        "soft block of H, LC (7) with WC (19)",
        _H_aa,
        nonzero=NEAR,
        variant="spatial",
        refusal=spatial_refusal,
    ),
    "H_ab": Quantity(
        ("i", "j"),
        "1x5",
        "soft-hard block of H, LC (7) with WC (19)",
        _H_ab,
        nonzero=NEAR,
        variant="spatial",
        refusal=spatial_refusal,
    ),
    "H_bb": Quantity(
        ("i", "j"),
        "5x5",
        "hard block of H; M^-1 = H_aa - H_ab H_bb^-1 H_ab^T, LC (12)",
        _H_bb,
        nonzero=NEAR,
        variant="spatial",
        refusal=spatial_refusal,
    ),
    "det_G": Quantity(
        (),
        "scalar",
        "determinant of the free links, det M = det G det H_bb, LC (8)",
        _det_G,
        variant="spatial",
        refusal=spatial_refusal,
    ),
}
