"""Regressor Y: tau = Y π as a linear function of the ten inertial parameters of each link, from RK
(2.6)-(2.13).

Link b has mass m, first moment h = m c and moments J about the origin of its declared frame, in its
axes. Its motion requires

    moment  h × a + J ω̇ + ω × J ω,    force  m a + U h,                                         (1)

with a the acceleration of that origin less gravity and U the acceleration field of RK (2.6). Each
term is a parameter times a vector that depends on the motion only. Let (w, u) be the twist of the
frame per unit of degree of freedom j. Row j of Y is w·moment + u·force:

    m: u·a,    h: a × w + Uᵀ u,    J_kl: w·n_kl,                                                 (2)

with n_kl the moment per unit of J_kl. Twists are carried outward link by link, by φᵀ of RK (2.16).
Row j is zero for a link that is no descendant of j. If the axes of three or more joints intersect
(`meetings`) and p leads from the intersection to the origin, u = w × p:

    m: w·(p × a),    h_k: w·(e_k × a + p × U e_k).                                               (3)

In terms of second moments Σ = ½ tr(J) 1 − J, the row is J_yy + J_zz … on the diagonal and −J_kl off
it; Σ_bb has (w × e_b)·U e_b. Matter on the axis of a revolute joint moves with the parent. So for
all j before joint b three columns of b

    for a mass at its origin, for a first moment along its axis c, for a second moment along c   (4)

are combinations of the parent's columns, the last one being J_aa + J_bb. Then J_aa = Σ_bb − J_cc,
and J_bb is the remainder.
"""

from __future__ import annotations

from dataclasses import dataclass

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import motion_class
from symgen.derivation.constants import Mat3, Vec3
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import SplitShift, Vector, times, transposed, twist_to_child
from symgen.methods.shared.motion import Motion, acceleration_field
from symgen.methods.shared.outward import outward_sweep

PARAMETERS_PER_LINK = 10
"""Parameters of a link: m, h_x h_y h_z, and J as xx xy xz yy yz zz."""
UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
LEAST_INTERSECTING_AXES = 3
"""Least number of intersecting axes with which (3) needs fewer operations."""
Six = dict[tuple[int, int], Scalar]


@dataclass(frozen=True)
class LinkMotion:
    """Motion of a link in the axes of its declared frame: a, the columns U e_k, the n_kl of (2),
    and the unit vectors e_k.
    """

    a: Vector
    fields: tuple[Vector, ...]
    moments: dict[tuple[int, int], Vector]
    units: tuple[Vector, ...]

    @staticmethod
    def of(linkage: Linkage, motion: Motion, b: int) -> LinkMotion:
        """Return the motion in the declared frame; `motion` is that of link b in its own axes, at
        its own origin.
        """
        axes, origin = linkage.declared_frame(b)
        omega, alpha = axes.to_child(motion.omega), axes.to_child(motion.alpha)
        U, (xx, yy, zz) = acceleration_field(omega, alpha)
        x, y, z = omega
        xy, xz, yz = x * y, x * z, y * z
        moments = {
            (0, 0): Vector((alpha[0], xz, -xy)),
            (1, 1): Vector((-yz, alpha[1], xy)),
            (2, 2): Vector((yz, -xz, alpha[2])),
            (0, 1): Vector((-U[2][0], U[2][1], xx - yy)),
            (0, 2): Vector((U[1][0], zz - xx, -U[1][2])),
            (1, 2): Vector((yy - zz, -U[0][1], U[0][2])),
        }
        unit, zero = linkage.one, linkage.zero
        units = tuple(Vector(unit if i == c else zero for i in range(3)) for c in range(3))
        return LinkMotion(
            axes.to_child(motion.accel + times(motion.U, origin)), transposed(U), moments, units
        )

    def about(self, p: Vector) -> tuple[Vector, list[Vector]]:
        """Return the moments of (3) per unit of m and of each h_k, about a point from which p leads
        to the origin.
        """
        pairs = zip(self.units, self.fields, strict=True)
        return p.cross(self.a), [unit.cross(self.a) + p.cross(field) for unit, field in pairs]


@dataclass(frozen=True)
class Entries:
    """Entries of one row of Y for one link: by m, h and J, and by the diagonal of Σ."""

    m: Scalar
    h: Vector
    J: Six
    S: Vector

    @property
    def inertia_entries(self) -> list[Scalar]:
        """The ten entries, in the order of the parameters."""
        return [self.m, *self.h, *(self.J[pair] for pair in UPPER)]

    def of(self, h: Vec3, S: Mat3) -> Scalar:
        """Return the entry for matter without mass, with first moment h and second moment Σ."""
        derivation = self.m.derivation
        total = derivation.dot([derivation.constant(x) for x in h], self.h)
        for i, j in UPPER:
            total = total + derivation.constant(S[i][j]) * (self.S[i] if i == j else -self.J[i, j])
        return total


@dataclass(frozen=True)
class Axis:
    """Axis of joint b: axis c of its declared frame, or its opposite.

    `origin` and `direction` are the origin of that frame and its axis c, in the declared frame of
    the parent.
    """

    c: int
    origin: Vec3
    direction: Vec3

    @staticmethod
    def of(linkage: Linkage, b: int) -> Axis | None:
        """Return the axis of joint b, or None.

        None is returned for a root, for a joint that is not revolute, and if the axis is not a
        coordinate axis of both frames.
        """
        link = linkage.model.links[b]
        if link.parent < 0 or motion_class(link.kind) != "turn":
            return None
        (axes, origin), (outer, parent_origin) = (
            link.placement,
            linkage.model.links[link.parent].placement,
        )
        z = (k.ZERO, k.ZERO, k.ONE)
        own_axis, direction = k.apply(axes, z), k.apply(outer, k.apply(link.rotation, z))
        if any(sum(not k.is_zero(x) for x in vector) != 1 for vector in (own_axis, direction)):
            return None
        c = next(i for i in range(3) if not k.is_zero(own_axis[i]))
        origin_in_link = k.apply(k.transpose(axes), k.scale(-k.ONE, origin))
        origin_in_parent = k.add(
            k.apply(outer, k.add(link.shift, k.apply(link.rotation, origin_in_link))), parent_origin
        )
        return Axis(c, origin_in_parent, k.scale(own_axis[c], direction))

    def use_parent_columns(
        self, w: Vector, motion: LinkMotion, row: Entries, parent: Entries
    ) -> Entries:
        """Return a row whose entries of (4) are computed from those of its parent."""
        c, z, s, J = self.c, self.direction, self.origin, dict(row.J)
        a, b = sorted({0, 1, 2} - {c})
        across, along = (
            w.cross(motion.units[b]).dot(motion.fields[b]),
            parent.of(k.ORIGIN, _outer(z, z)),
        )
        J[a, a] = across - J[c, c]
        J[b, b] = along - J[a, a]
        S = {a: J[b, b] + J[c, c], b: across, c: along}
        few_terms = sum(not k.is_zero(x) for x in s) < 2
        m = parent.m + parent.of(s, _outer(s, s)) if few_terms else row.m
        h = Vector(parent.of(z, _symmetric_product(s, z)) if i == c else row.h[i] for i in range(3))
        return Entries(m, h, J, Vector(S[i] for i in range(3)))


def entries(w: Vector, m: Scalar, h: Vector, motion: LinkMotion) -> Entries:
    """Return the entries of a row: those of J by (2), beside given m and h."""
    J = {pair: w.dot(moment) for pair, moment in motion.moments.items()}
    return Entries(m, h, J, Vector((J[1, 1] + J[2, 2], J[0, 0] + J[2, 2], J[0, 0] + J[1, 1])))


def columns(linkage: Linkage) -> list[dict[int, Entries]]:
    """Return for each link {degree of freedom that moves it: the entries of its row}."""
    motions, points = (
        outward_sweep(linkage, linkage.inputs["v"], linkage.inputs["a"]),
        meetings(linkage),
    )
    twists: list[dict[int, tuple[Vector, Vector]]] = []
    result: list[dict[int, Entries]] = []
    for b, link in enumerate(linkage.links):
        linkage.step(b, "columns of the regressor")
        parent_twists = twists[link.parent] if link.parent >= 0 else {}
        link_twists = {
            j: twist_to_child(link.rotation, link.shift, *twist)
            for j, twist in parent_twists.items()
        }  # (2.16)
        link_twists |= {dof.index: (dof.H_angular, dof.H_linear) for dof in link.dofs}
        twists.append(link_twists)
        result.append({})
        motion, axis, about = (
            LinkMotion.of(linkage, motions[b], b),
            Axis.of(linkage, b),
            _about(linkage, b, points[b]),
        )
        axes, origin = linkage.declared_frame(b)
        for j, twist in link_twists.items():
            w, u = axes.to_child(twist[0]), axes.to_child(twist[1] + twist[0].cross(origin))
            linkage.name(f"w_{j + 1}", b, w)
            linkage.name(f"u_{j + 1}", b, u)
            m, h = (
                u.dot(motion.a),
                motion.a.cross(w) + Vector(field.dot(u) for field in motion.fields),
            )  # (2)
            if j in about:
                moment, first_moments = motion.about(about[j])
                m, h = w.dot(moment), Vector(w.dot(vector) for vector in first_moments)  # (3)
            row = entries(w, m, h, motion)
            result[b][j] = (
                axis.use_parent_columns(w, motion, row, result[link.parent][j])
                if axis and j in parent_twists
                else row
            )  # (4)
    return result


def _about(linkage: Linkage, b: int, points: dict[int, Point]) -> dict[int, Vector]:
    """Return p of (3), in declared axes, of each degree of freedom for which (3) needs fewer
    operations.
    """
    axes, origin = linkage.declared_frame(b)
    return {
        j: axes.to_child(point.away + origin)
        for j, point in points.items()
        if len(point.joints) >= LEAST_INTERSECTING_AXES
    }


def regressor(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return Y (NV x 10·NB), row-major: m, m·c, xx xy xz yy yz zz of each link."""
    return ([entry for row in rows(linkage) for entry in row],)


def rows(linkage: Linkage) -> list[list[Scalar]]:
    """Return Y row by row."""
    link_columns, zeros = columns(linkage), [linkage.zero] * PARAMETERS_PER_LINK
    return [
        [
            entry
            for link in link_columns
            for entry in (link[j].inertia_entries if j in link else zeros)
        ]
        for j in range(len(linkage.dofs))
    ]


def _outer(a: Vec3, b: Vec3) -> Mat3:
    return (k.scale(a[0], b), k.scale(a[1], b), k.scale(a[2], b))


def _symmetric_product(a: Vec3, b: Vec3) -> Mat3:
    """Return a bᵀ + b aᵀ."""
    first, second = _outer(a, b), _outer(b, a)
    return (k.add(first[0], second[0]), k.add(first[1], second[1]), k.add(first[2], second[2]))


@dataclass(frozen=True)
class Point:
    """Intersection of the axes of `joints` (degrees of freedom, from the base on).

    `away` leads from the point to a link's origin, in the link's axes.
    """

    joints: tuple[int, ...]
    away: Vector


def meetings(linkage: Linkage) -> list[dict[int, Point]]:
    """Return for each link {revolute degree of freedom that moves it: the point on its axis}.

    Consecutive joints whose axes intersect, such as those of a spherical wrist, share one point.
    """
    result: list[dict[int, Point]] = []
    for b, link in enumerate(linkage.links):
        linkage.step(b, "origin of the link frame, from points on the joint axes")
        points = {
            point.joints: _to_child(linkage, b, point)
            for point in (result[link.parent] if link.parent >= 0 else {}).values()
        }
        if motion_class(linkage.model.links[b].kind) == "turn":
            last = _through(linkage, b, points)
            joints = last.joints if last else ()
            extended = Point((*joints, link.dof.index), last.away if last else linkage.zeros)
            points = {name: point for name, point in points.items() if name != joints} | {
                extended.joints: extended
            }
        result.append({j: point for point in points.values() for j in point.joints})
    return result


def _to_child(linkage: Linkage, b: int, point: Point) -> Point:
    """Return a point of the parent relative to link b."""
    link = linkage.links[b]
    inner, outer = (
        (link.shift.inner, link.shift.outer)
        if isinstance(link.shift, SplitShift)
        else (linkage.zeros, link.shift)
    )
    return Point(point.joints, link.rotation.to_child(point.away + outer) + inner)


def _through(linkage: Linkage, b: int, points: dict[tuple[int, ...], Point]) -> Point | None:
    """Return the point of the previous joint, relative to link b, if the axis of joint b contains
    it, else None.

    If the previous joint is alone, any point on its axis may be chosen.
    """
    link = linkage.links[b]
    if link.parent < 0 or motion_class(linkage.model.links[link.parent].kind) != "turn":
        return None
    last = next(
        point
        for point in points.values()
        if point.joints[-1] == linkage.links[link.parent].dof.index
    )
    if _on_axis(last.away):
        return last
    if len(last.joints) == 1 and _on_axis(link.shift):
        return Point(last.joints, linkage.zeros)
    return None


def _on_axis(v: Vector) -> bool:
    return v[0].is_zero and v[1].is_zero and v[2].is_constant
