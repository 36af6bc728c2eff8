"""The regressor: tau as a linear function of the ten inertial parameters of every link, tau = Y π, from RK (2.6)-(2.13).

Link b has mass m, first moment h = m c and moments J about the origin of its declared frame, in its axes. To move it takes

    moment  h × a + J ω̇ + ω × J ω,    force  m a + U h,                                                                   (1)

with a the acceleration of that origin less gravity and U the acceleration field of RK (2.6). In each, a parameter stands before
a vector that hangs on the motion alone. The twist (w, u) of the frame for a unit of degree of freedom j takes them to row j of Y,
as w·moment + u·force:

    m: u·a,    h: a × w + Uᵀ u,    J_kl: w·n_kl,                                                                          (2)

n_kl the moment for a unit of J_kl. Twists go outward link by link, by φᵀ of RK (2.16). Row j is nothing for a link that j does
not carry. Where the axes of three joints or more go through one point (`meetings`) and the origin is away from it by p, u = w × p:

    m: w·(p × a),    h_k: w·(e_k × a + p × U e_k).                                                                        (3)

The same row by second moments Σ = ½ tr(J) 1 − J is J_yy + J_zz … on the diagonal and −J_kl beside it; Σ_bb has (w × e_b)·U e_b.
Matter on the axis of a joint that turns moves with the parent. So for all j before joint b the columns of b for a mass at its
origin, for a first moment along its axis c and for a second moment along it are combinations of the parent's columns,      (4)
the last one being J_aa + J_bb. Then J_aa = Σ_bb − J_cc, and J_bb is what is left.
"""

from __future__ import annotations

from dataclasses import dataclass

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import feels
from symgen.derivation.constants import Mat3, Vec3
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import SplitShift, Vector, times, transposed, twist_to_child
from symgen.methods.shared.motion import Motion, acceleration_field
from symgen.methods.shared.outward import outward_sweep

TEN = 10
"""Parameters of a link: m, h_x h_y h_z, and J as xx xy xz yy yz zz."""
UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
FEW = 3
"""Joints whose axes have to go through one point before (3) is the shorter way."""
Six = dict[tuple[int, int], Scalar]


@dataclass(frozen=True)
class Moved:
    """How a link moves, in the axes of its declared frame: a, the columns U e_k, the n_kl of (2), and the unit vectors e_k."""

    a: Vector
    fields: tuple[Vector, ...]
    moments: dict[tuple[int, int], Vector]
    units: tuple[Vector, ...]

    @staticmethod
    def of(linkage: Linkage, motion: Motion, b: int) -> Moved:
        """`motion` is that of link b in its own axes, at its own origin."""
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
        one, zero = linkage.one, linkage.zero
        units = tuple(Vector(one if i == c else zero for i in range(3)) for c in range(3))
        return Moved(
            axes.to_child(motion.accel + times(motion.U, origin)), transposed(U), moments, units
        )

    def about(self, p: Vector) -> tuple[Vector, list[Vector]]:
        """The moments of (3) about a point that the origin is away from by p: of a unit of m, and of each h_k."""
        pairs = zip(self.units, self.fields, strict=True)
        return p.cross(self.a), [unit.cross(self.a) + p.cross(field) for unit, field in pairs]


@dataclass(frozen=True)
class Entries:
    """The entries of one row of Y for one link: by m, h and J, and by the diagonal of Σ."""

    m: Scalar
    h: Vector
    J: Six
    S: Vector

    @property
    def ten(self) -> list[Scalar]:
        """In the order of the parameters."""
        return [self.m, *self.h, *(self.J[pair] for pair in UPPER)]

    def of(self, h: Vec3, S: Mat3) -> Scalar:
        """What the same row has for matter without mass, of first moment h and second moment Σ."""
        home = self.m.home
        total = home.dot([home.constant(x) for x in h], self.h)
        for i, j in UPPER:
            total = total + home.constant(S[i][j]) * (self.S[i] if i == j else -self.J[i, j])
        return total


@dataclass(frozen=True)
class Axis:
    """The axis of joint b: axis c of its declared frame, or its opposite.

    `place` and `along` are the origin of that frame, and axis c of it, in the declared frame of the parent.
    """

    c: int
    place: Vec3
    along: Vec3

    @staticmethod
    def of(linkage: Linkage, b: int) -> Axis | None:
        """None where there is no parent, where the joint does not just turn, or where the axis is no axis of both frames."""
        link = linkage.model.links[b]
        if link.parent < 0 or feels(link.kind) != "turn":
            return None
        (axes, origin), (outer, there) = link.placement, linkage.model.links[link.parent].placement
        z = (k.ZERO, k.ZERO, k.ONE)
        own, along = k.apply(axes, z), k.apply(outer, k.apply(link.rotation, z))
        if any(sum(not k.is_zero(x) for x in one) != 1 for one in (own, along)):
            return None
        c = next(i for i in range(3) if not k.is_zero(own[i]))
        back = k.apply(k.transpose(axes), k.scale(-k.ONE, origin))
        place = k.add(k.apply(outer, k.add(link.shift, k.apply(link.rotation, back))), there)
        return Axis(c, place, k.scale(own[c], along))

    def handed_over(self, w: Vector, moved: Moved, found: Entries, parent: Entries) -> Entries:
        """(4): a row with what joint b does not feel taken from its parent's."""
        c, z, s, J = self.c, self.along, self.place, dict(found.J)
        a, b = sorted({0, 1, 2} - {c})
        across, along = (
            w.cross(moved.units[b]).dot(moved.fields[b]),
            parent.of(k.ORIGIN, _outer(z, z)),
        )
        J[a, a] = across - J[c, c]
        J[b, b] = along - J[a, a]
        S = {a: J[b, b] + J[c, c], b: across, c: along}
        near = sum(not k.is_zero(x) for x in s) < 2
        m = parent.m + parent.of(s, _outer(s, s)) if near else found.m
        h = Vector(parent.of(z, _both(s, z)) if i == c else found.h[i] for i in range(3))
        return Entries(m, h, J, Vector(S[i] for i in range(3)))


def entries(w: Vector, m: Scalar, h: Vector, moved: Moved) -> Entries:
    """The J of (2) beside the rest."""
    J = {pair: w.dot(moment) for pair, moment in moved.moments.items()}
    return Entries(m, h, J, Vector((J[1, 1] + J[2, 2], J[0, 0] + J[2, 2], J[0, 0] + J[1, 1])))


def columns(linkage: Linkage) -> list[dict[int, Entries]]:
    """Of every link, {degree of freedom that carries it: the entries of its row}."""
    motions, points = (
        outward_sweep(linkage, linkage.inputs["v"], linkage.inputs["a"]),
        meetings(linkage),
    )
    twists: list[dict[int, tuple[Vector, Vector]]] = []
    found: list[dict[int, Entries]] = []
    for b, link in enumerate(linkage.links):
        linkage.step(b, "columns of the regressor")
        carried = twists[link.parent] if link.parent >= 0 else {}
        at = {
            j: twist_to_child(link.rotation, link.shift, *twist) for j, twist in carried.items()
        }  # (2.16)
        at |= {dof.index: (dof.H_angular, dof.H_linear) for dof in link.dofs}
        twists.append(at)
        found.append({})
        moved, axis, about = (
            Moved.of(linkage, motions[b], b),
            Axis.of(linkage, b),
            _about(linkage, b, points[b]),
        )
        axes, origin = linkage.declared_frame(b)
        for j, twist in at.items():
            w, u = axes.to_child(twist[0]), axes.to_child(twist[1] + twist[0].cross(origin))
            linkage.name(f"w_{j + 1}", b, w)
            linkage.name(f"u_{j + 1}", b, u)
            m, h = (
                u.dot(moved.a),
                moved.a.cross(w) + Vector(field.dot(u) for field in moved.fields),
            )  # (2)
            if j in about:
                own, each = moved.about(about[j])
                m, h = w.dot(own), Vector(w.dot(one) for one in each)  # (3)
            row = entries(w, m, h, moved)
            found[b][j] = (
                axis.handed_over(w, moved, row, found[link.parent][j])
                if axis and j in carried
                else row
            )  # (4)
    return found


def _about(linkage: Linkage, b: int, points: dict[int, Point]) -> dict[int, Vector]:
    """p of (3), in declared axes, of every degree of freedom that (3) is shorter for."""
    axes, origin = linkage.declared_frame(b)
    return {
        j: axes.to_child(point.away + origin)
        for j, point in points.items()
        if len(point.joints) >= FEW
    }


def regressor(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Y (NV x 10·NB), row-major: m, m·c, xx xy xz yy yz zz of every link in turn."""
    return ([entry for row in rows(linkage) for entry in row],)


def rows(linkage: Linkage) -> list[list[Scalar]]:
    """Y row by row."""
    found, nothing = columns(linkage), [linkage.zero] * TEN
    return [
        [entry for link in found for entry in (link[j].ten if j in link else nothing)]
        for j in range(len(linkage.dofs))
    ]


def _outer(a: Vec3, b: Vec3) -> Mat3:
    return (k.scale(a[0], b), k.scale(a[1], b), k.scale(a[2], b))


def _both(a: Vec3, b: Vec3) -> Mat3:
    """a bᵀ + b aᵀ."""
    one, other = _outer(a, b), _outer(b, a)
    return (k.add(one[0], other[0]), k.add(one[1], other[1]), k.add(one[2], other[2]))


@dataclass(frozen=True)
class Point:
    """A point on the axes of `joints` (degrees of freedom, from the base on); a link's origin is `away` from it, in its axes."""

    joints: tuple[int, ...]
    away: Vector


def meetings(linkage: Linkage) -> list[dict[int, Point]]:
    """Return for every link {degree of freedom that carries it and turns about one axis: its point}.

    Joints that follow each other and turn about axes through one point, as those of a shoulder do, do not move that point.
    """
    found: list[dict[int, Point]] = []
    for b, link in enumerate(linkage.links):
        linkage.step(b, "its origin, from points that axes go through")
        moved = {
            point.joints: _to_child(linkage, b, point)
            for point in (found[link.parent] if link.parent >= 0 else {}).values()
        }
        if feels(linkage.model.links[b].kind) == "turn":
            last = _through(linkage, b, moved)
            joints = last.joints if last else ()
            own = Point((*joints, link.dof.index), last.away if last else linkage.zeros)
            moved = {name: point for name, point in moved.items() if name != joints} | {
                own.joints: own
            }
        found.append({j: point for point in moved.values() for j in point.joints})
    return found


def _to_child(linkage: Linkage, b: int, point: Point) -> Point:
    """As it is seen from link b, not from its parent."""
    link = linkage.links[b]
    inner, outer = (
        (link.shift.inner, link.shift.outer)
        if isinstance(link.shift, SplitShift)
        else (linkage.zeros, link.shift)
    )
    return Point(point.joints, link.rotation.to_child(point.away + outer) + inner)


def _through(linkage: Linkage, b: int, moved: dict[tuple[int, ...], Point]) -> Point | None:
    """The point of the joint before joint b, seen from link b, where the axis of b goes through it too.

    That of one joint alone may be anywhere on its axis.
    """
    link = linkage.links[b]
    if link.parent < 0 or feels(linkage.model.links[link.parent].kind) != "turn":
        return None
    last = next(
        point
        for point in moved.values()
        if point.joints[-1] == linkage.links[link.parent].dof.index
    )
    if _on_axis(last.away):
        return last
    if len(last.joints) == 1 and _on_axis(link.shift):
        return Point(last.joints, linkage.zeros)
    return None


def _on_axis(v: Vector) -> bool:
    return v[0].is_zero and v[1].is_zero and v[2].is_constant
