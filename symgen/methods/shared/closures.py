"""What joints that close loops ask of velocities and accelerations: A v = 0 and A a + γ = 0, and C(q) = 0 of positions.

A loop joins a first and a second frame (`symgen.mechanism.closures`). Only the joints between them count: both ways inward end at the link
that carries them both, which may be held still, since nothing that it does moves one frame against the other. R turns vectors
from the second's axes to the first's, d leads from the first origin to the second. Of the angular velocities ω_a and ω_b of both
frames, the velocities v_a and v_b of their origins, and the accelerations α_a, α_b and a_a, a_b, each in the frame's own axes,

    ω = R ω_b − ω_a,                        u = ḋ = R v_b − v_a − ω_a × d,
    ω̇ = R α_b − α_a + ω × ω_a,             u̇ = R a_b − a_a − α_a × d − ω_a × (ω_a × d + 2 u),

all in the first's axes. A row is t · u or t · ω, with a direction t that the two frames have as T1 and T2, each in its own axes.

A and γ are those of a closed loop: R, d, ω and u are nothing but what the closure leaves free. So no pose is computed for a weld,
and one direction for a hinge. What is to be differentiated asks for them anywhere: the same formulas with all of R, d, ω and u,
by which A is the slope of C, and A a + γ its second derivative, at any positions. So does what pulls open loops together: with
gains K_p and K_d, γ + K_d A v + K_p C stands in the place of γ (J. Baumgarte, Stabilization of constraints and integrals of
motion in dynamical systems, Computer Methods in Applied Mechanics and Engineering 1, 1972). C is taken anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from symgen.derivation.closing import Closing
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import SplitShift, Vector, twist_to_child
from symgen.mechanism.closures import EVERY, Across, Along, Apart, Row
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.factor import Results
from symgen.methods.shared.outward import at_rest, outward_sweep, turns_about_z


class Inward(NamedTuple):
    """What a way inward gives: of every degree of freedom on it, how it turns about each direction and slides its point along
    it; then the directions and the lever from the origin to the point, as the link behind the way has them."""

    columns: dict[int, list[tuple[Scalar, Scalar]]]
    directions: list[Vector]
    lever: Vector


class Moving(NamedTuple):
    """How a frame moves, in its own axes: ω and ω̇, velocity and acceleration of its origin. What both ends of a loop have in
    common may be left out, as gravity is, or be in all four of both."""

    w: Vector
    v: Vector
    dw: Vector
    dv: Vector


class Directed(NamedTuple):
    """A row: its direction in the first's axes and in the second's, and whether it turns about it."""

    first: Vector
    second: Vector
    turns: bool


def inward(
    linkage: Linkage, frame: Frame, way: Sequence[int], directions: Sequence[Vector], off: Vector
) -> Inward:
    """From a frame, whose axes the directions are in, to the link behind the way; the point lies `off` its origin."""
    own, origin = linkage.mounted(frame)
    axes, lever = [own.to_parent(one) for one in directions], origin + own.to_parent(off)
    columns: dict[int, list[tuple[Scalar, Scalar]]] = {}
    for i in way:
        link = linkage.links[i]
        linkage.step(i, f"what its joint moves at {frame.name}")
        for dof in link.dofs:
            moved = dof.H_linear + dof.H_angular.cross(lever)
            columns[dof.index] = [(axis.dot(dof.H_angular), axis.dot(moved)) for axis in axes]
        inner, outer = (
            (link.shift.inner, link.shift.outer)
            if isinstance(link.shift, SplitShift)
            else (linkage.zeros, link.shift)
        )
        axes = [link.rotation.to_parent(axis) for axis in axes]
        lever = link.rotation.to_parent(lever + inner) + outer
        if link.parent < 0:
            turned = linkage.base_axes(i)
            axes, lever = (
                [turned.to_parent(axis) for axis in axes],
                turned.to_parent(lever) + linkage.base_place(i),
            )
    return Inward(columns, axes, lever)


def outward(
    linkage: Linkage, frame: Frame, way: Sequence[int], directions: Sequence[Vector]
) -> list[Vector]:
    """Directions that the link behind the way has, in the axes of a frame at its end."""
    for i in reversed(way):
        link = linkage.links[i]
        linkage.step(i, f"directions on the way to {frame.name}")
        if link.parent < 0:
            turned = linkage.base_axes(i)
            directions = [turned.to_child(one) for one in directions]
        directions = [link.rotation.to_child(one) for one in directions]
    own, _ = linkage.mounted(frame)
    return [own.to_child(one) for one in directions]


def at_frame(
    linkage: Linkage, frame: Frame, w: Vector, v: Vector, dw: Vector, dv: Vector
) -> Moving:
    """Of a frame, what its link does: RK (2.3), (2.7)."""
    own, origin = linkage.mounted(frame)
    v, dv = v + w.cross(origin), dv + dw.cross(origin) + w.cross(w.cross(origin))
    return Moving(*(own.to_child(one) for one in (w, v, dw, dv)))


def velocities(linkage: Linkage, still: Collection[int]) -> list[Vector]:
    """Of the origin of each link, where those that are `still` are taken to be at rest; RK (2.2), (2.3)."""
    rates = linkage.inputs["v"]
    found: list[tuple[Vector, Vector]] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "velocity, RK (2.2), (2.3)")
        w, v = found[link.parent] if link.parent >= 0 else (linkage.zeros, linkage.zeros)
        w, v = twist_to_child(link.rotation, link.shift, w, v)
        w, v = w + link.turning(rates), v + link.sliding(rates)
        found.append((linkage.zeros, linkage.zeros) if i in still else (w, v))
    return [v for _, v in found]


@dataclass(frozen=True)
class Loop:
    """One loop over a linkage: its rows of A, of γ and of C, those that are kept."""

    linkage: Linkage
    closing: Closing

    @cached_property
    def ways(self) -> tuple[list[int], list[int]]:
        """The links from each end inward, without those that carry both."""
        ends = [
            [] if frame.link < 0 else [frame.link, *self.linkage.model.ancestors(frame.link)]
            for frame in (self.closing.first, self.closing.second)
        ]
        shared = set(ends[0]) & set(ends[1])
        return [i for i in ends[0] if i not in shared], [i for i in ends[1] if i not in shared]

    def _free(self, where_closed: tuple[int, ...]) -> tuple[int, ...]:
        """The axes along or about which something is not zero."""
        return EVERY if self.linkage.anywhere else where_closed

    @property
    def slides(self) -> tuple[int, ...]:
        """The axes of the first along which the second's origin moves."""
        return self._free(self.closing.type.off)

    @cached_property
    def units(self) -> list[Vector]:
        """The axes of a frame in its own."""
        zero, one = self.linkage.zero, self.linkage.one
        return [Vector([one if i == k else zero for i in range(3)]) for k in range(3)]

    def seen(self, directions: Sequence[Vector]) -> list[Vector]:
        """Directions in the first's axes, as the second has them: inward on one way, outward on the other."""
        first, second = self.ways
        turned = inward(
            self.linkage, self.closing.first, first, directions, self.linkage.zeros
        ).directions
        return outward(self.linkage, self.closing.second, second, turned)

    @cached_property
    def everywhere(self) -> list[Vector]:
        """The first's axes as the second has them."""
        return self.seen(self.units)

    @cached_property
    def axes(self) -> list[Vector]:
        """The same where the loop is closed."""
        turned = self._free(self.closing.type.turned)
        if not turned:
            return self.units
        if len(turned) == 3:
            return self.everywhere
        (about,) = turned
        assert about == 2, "a closure turns about z, about nothing or anyhow"
        (x,) = self.seen(self.units[:1])
        return [
            Vector((x[0], x[1], self.linkage.zero)),
            Vector((-x[1], x[0], self.linkage.zero)),
            self.units[2],
        ]

    def apart(self) -> Vector:
        """d in the first's axes, anywhere: the difference of both levers, about which the link that carries both is asked."""
        found = [
            inward(self.linkage, frame, way, self.units if k == 0 else (), self.linkage.zeros)
            for k, (frame, way) in enumerate(
                zip((self.closing.first, self.closing.second), self.ways, strict=True)
            )
        ]
        between = found[1].lever - found[0].lever
        return Vector([axis.dot(between) for axis in found[0].directions])

    @cached_property
    def off(self) -> Vector:
        """d where the loop is closed."""
        allowed = self.slides
        if not allowed:
            return self.linkage.zeros
        d = self.apart()
        return Vector([d[k] if k in allowed else self.linkage.zero for k in range(3)])

    @cached_property
    def directed(self) -> list[Directed]:
        """The kept rows."""
        return [self._directed(row) for row in self.closing.rows]

    def _directed(self, row: Row) -> Directed:
        if isinstance(row, Along):
            return Directed(self.units[row.axis], self.axes[row.axis], False)
        if isinstance(row, Apart):
            return Directed(self.off, self._to_second(self.off), False)
        if isinstance(row, Across):
            normal = self._second_axis(row.second).cross(self.units[row.first])
            seen = self.units[row.second].cross(self.axes[row.first])
            return Directed(normal, seen, True) if row.sign > 0 else Directed(-normal, -seen, True)
        return Directed(self.units[row.axis], self.axes[row.axis], True)

    def _second_axis(self, j: int) -> Vector:
        """An axis of the second frame in the first's axes: a column of R."""
        return Vector([axis[j] for axis in self.axes])

    def _to_second(self, x: Vector) -> Vector:
        """Rᵀ x."""
        return Vector([x.dot(self._second_axis(j)) for j in range(3)])

    def jacobian(self) -> list[list[Scalar]]:
        """The kept rows of A, each as long as the velocities of all joints."""
        linkage, zero = self.linkage, self.linkage.zero
        (first, second), directed = self.ways, self.directed
        near = inward(linkage, self.closing.first, first, [one.first for one in directed], self.off)
        far = inward(
            linkage, self.closing.second, second, [one.second for one in directed], linkage.zeros
        )
        rows = [[zero] * len(linkage.dofs) for _ in directed]
        for sign, way in ((-1, near), (1, far)):
            for k, columns in way.columns.items():
                for row, one, (turn, slide) in zip(rows, directed, columns, strict=True):
                    row[k] = (turn if one.turns else slide) * sign
        return rows

    def ends(self, beside: bool = False) -> tuple[Moving, Moving]:
        """How the first and the second frame move while no joint accelerates. `beside`: there is a bias force, whose motion of
        all links serves, with gravity in it.

        Not in a plane, where gravity alone would be turned from link to link.
        """
        linkage, rates = self.linkage, self.linkage.inputs["v"]
        own = [i for way in self.ways for i in way]
        whole = beside and not all(
            linkage.links[i].rotation.keeps_z and turns_about_z(linkage.links[i]) for i in own
        )
        still = () if whole else [i for i in range(len(linkage)) if i not in own]
        motions = outward_sweep(linkage, rates, at_rest(linkage), whole, still)
        moved = velocities(linkage, still) if self.slides else [linkage.zeros] * len(linkage)
        zeros, up = linkage.zeros, linkage.zeros - linkage.base_gravity if whole else linkage.zeros
        ends = []
        for frame in (self.closing.first, self.closing.second):
            w, v, dw, dv = zeros, zeros, zeros, up
            if frame.link >= 0:
                link = motions[frame.link]
                w, v, dw, dv = link.omega, moved[frame.link], link.alpha, link.accel
            ends.append(at_frame(linkage, frame, w, v, dw, dv))
        first, second = ends
        return first, second

    def pulled(self, a: Moving, b: Moving) -> list[Scalar]:
        """`rates`, and of gains K_p and K_d, where there are any, K_d A v + K_p C besides: Baumgarte's."""
        linkage, rates = self.linkage, self.rates(a, b)
        if "gains" not in linkage.inputs:
            return rates
        position, velocity = linkage.inputs["gains"]
        opened = self.residual()
        linkage.home.step(
            f"loop {self.closing.name}: how fast it opens, and what pulls it together"
        )
        carried = a.v + a.w.cross(self.off)
        found = []
        for rate, C, one in zip(rates, opened, self.directed, strict=True):
            opening = (
                one.second.dot(b.w) - one.first.dot(a.w)
                if one.turns
                else one.second.dot(b.v) - one.first.dot(carried)
            )
            found.append(rate + velocity * opening + position * C)
        return found

    def rates(self, a: Moving, b: Moving) -> list[Scalar]:
        """How fast the kept rows of A v change while the first and the second frame move so."""
        linkage, closing = self.linkage, self.closing
        linkage.home.step(f"loop {closing.name}: how its rows change")
        zero, d = linkage.zero, self.off
        moved, spins, slides = a.w.cross(d), self._free(closing.type.spinning), self.slides
        spin = Vector(
            [axis.dot(b.w) - a.w[k] if k in spins else zero for k, axis in enumerate(self.axes)]
        )
        slide = Vector(
            [
                axis.dot(b.v) - a.v[k] - moved[k] if k in slides else zero
                for k, axis in enumerate(self.axes)
            ]
        )
        turning = spin.cross(a.w) - a.dw  # ω̇ without R α_b
        sliding = -a.dv - a.dw.cross(d) - a.w.cross(moved + slide + slide)  # u̇ without R a_b
        found = []
        for row, one in zip(closing.rows, self.directed, strict=True):
            rate = (
                one.second.dot(b.dw) + one.first.dot(turning)
                if one.turns
                else one.second.dot(b.dv) + one.first.dot(sliding)
            )
            if isinstance(row, Apart):
                rate = rate + slide.dot(slide)
            if isinstance(row, Across):
                rate = (
                    rate
                    + spin.cross(spin.cross(self._second_axis(row.second)))[row.first] * row.sign
                )
            found.append(rate)
        return found

    def residual(self) -> list[Scalar]:
        """The kept entries of C, anywhere; zero of a row that is of velocities alone."""
        linkage, closing = self.linkage, self.closing
        d = self.apart()
        linkage.home.step(f"loop {closing.name}: how far it is from being closed")
        found = []
        for row in closing.rows:
            if isinstance(row, Along):
                found.append(d[row.axis])
            elif isinstance(row, Apart):
                length = closing.parameters["distance"]
                found.append(
                    (d.dot(d) - linkage.home.constant(length * length))
                    * linkage.home.constant(HALF)
                )
            elif isinstance(row, Across):
                found.append(self.everywhere[row.first][row.second] * row.sign)
            else:
                found.append(linkage.zero)
        return found


HALF = Fraction(1, 2)


def loops(linkage: Linkage) -> list[Loop]:
    """All of a mechanism, in their order."""
    return [Loop(linkage, closing) for closing in linkage.loops]


def jacobian_rows(linkage: Linkage) -> list[list[Scalar]]:
    """A, a row for each kept row of each loop, of the velocities of all joints."""
    return [row for loop in loops(linkage) for row in loop.jacobian()]


def bias_entries(linkage: Linkage, beside: bool = False) -> list[Scalar]:
    """γ likewise, with what pulls open loops together where there are gains; `beside` as in `Loop.ends`."""
    return [entry for loop in loops(linkage) for entry in loop.pulled(*loop.ends(beside))]


def constraint_jacobian(linkage: Linkage) -> Results:
    """A, row-major."""
    return ([entry for row in jacobian_rows(linkage) for entry in row],)


def constraint_bias(linkage: Linkage) -> Results:
    """γ = dA/dt v."""
    return (bias_entries(linkage),)


def constraint_residual(linkage: Linkage) -> Results:
    """C(q)."""
    return ([entry for loop in loops(linkage) for entry in loop.residual()],)


def no_loops(mechanism: Mechanism) -> str | None:
    """That there is nothing of the kind on a robot without loops."""
    said = "declare joints that close some, as [[loop]] does in TOML"
    return None if mechanism.loops else f"'{mechanism.name}' has no loops; {said}"
