"""Closure constraints A v = 0, A a + γ = 0 and C(q) = 0 of closed kinematic loops.

A closed loop joins a first and a second frame (`symgen.mechanism.closures`). Only the joints
between the two frames matter: each path inward ends at the nearest common ancestor link, whose
motion does not move one frame relative to the other. R rotates vectors from the axes of the second
frame to those of the first, and d leads from the first origin to the second. The
frames have angular velocities ω_a and ω_b and angular accelerations α_a and α_b. Their origins have
velocities v_a and v_b and accelerations a_a and a_b. Each vector is in the axes of its own frame.
Then

    ω = R ω_b − ω_a,                        u = ḋ = R v_b − v_a − ω_a × d,
    ω̇ = R α_b − α_a + ω × ω_a,             u̇ = R a_b − a_a − α_a × d − ω_a × (ω_a × d + 2 u),

all in the axes of the first frame. A constraint row is t · u or t · ω. The direction t is stored
twice, in the axes of either frame.

A and γ are evaluated for a closed loop, where R, d, ω and u contain only what the closure leaves
free. So a weld needs no pose, and a hinge needs one direction. Derivatives need A and γ at any
positions (`Linkage.loops_may_be_open`): the formulas then use all of R, d, ω and u, so that A is
the gradient of C and A a + γ its second derivative. Baumgarte stabilization needs them too: with
gains K_p and K_d, γ + K_d A v + K_p C replaces γ (J. Baumgarte, Stabilization of constraints and
integrals of motion in dynamical systems, Computer Methods in Applied Mechanics and Engineering 1,
1972). C is always evaluated at any positions.
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
from symgen.mechanism.closures import ALL_AXES, Across, Along, Apart, Row
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.factor import Results
from symgen.methods.shared.outward import outward_sweep, turns_about_z, zero_rates


class InwardPath(NamedTuple):
    """Result of tracing a frame's path inward.

    `columns[k]` has, for each direction, the rotation about it and the translation along it per
    unit of velocity k. `directions` and `lever` are the directions, and the vector from the origin
    to the frame's point, in the axes of the common ancestor.
    """

    columns: dict[int, list[tuple[Scalar, Scalar]]]
    directions: list[Vector]
    lever: Vector


class FrameMotion(NamedTuple):
    """Motion of a frame in its own axes: ω, velocity of the origin, ω̇, and acceleration of the
    origin.

    Terms that both ends of a loop share, such as gravity, may be left out of both or be contained
    in both.
    """

    w: Vector
    v: Vector
    dw: Vector
    dv: Vector


class DirectedRow(NamedTuple):
    """Direction of a constraint row in the axes of the first and of the second frame.

    `angular` is True if the row constrains the angular velocity about it.
    """

    first: Vector
    second: Vector
    angular: bool


def trace_inward(
    linkage: Linkage,
    frame: Frame,
    path: Sequence[int],
    directions: Sequence[Vector],
    offset: Vector,
) -> InwardPath:
    """Trace a frame's path inward to the common ancestor and return the columns of its rows there.

    The directions are in the frame's axes. The point lies at `offset` from the frame's origin.
    """
    mount, origin = linkage.frame_pose(frame)
    axes, lever = (
        [mount.to_parent(direction) for direction in directions],
        origin + mount.to_parent(offset),
    )
    columns: dict[int, list[tuple[Scalar, Scalar]]] = {}
    for i in path:
        link = linkage.links[i]
        linkage.step(i, f"columns of the Jacobian at {frame.name}")
        for dof in link.dofs:
            velocity = dof.H_linear + dof.H_angular.cross(lever)
            columns[dof.index] = [(axis.dot(dof.H_angular), axis.dot(velocity)) for axis in axes]
        inner, outer = (
            (link.shift.inner, link.shift.outer)
            if isinstance(link.shift, SplitShift)
            else (linkage.zeros, link.shift)
        )
        axes = [link.rotation.to_parent(axis) for axis in axes]
        lever = link.rotation.to_parent(lever + inner) + outer
        if link.parent < 0:
            to_base = linkage.base_axes(i)
            axes, lever = (
                [to_base.to_parent(axis) for axis in axes],
                to_base.to_parent(lever) + linkage.base_position(i),
            )
    return InwardPath(columns, axes, lever)


def turn_outward(
    linkage: Linkage, frame: Frame, path: Sequence[int], directions: Sequence[Vector]
) -> list[Vector]:
    """Return directions, given in the axes of the common ancestor, in the axes of a frame at the
    path's end.
    """
    for i in reversed(path):
        link = linkage.links[i]
        linkage.step(i, f"directions on the way to {frame.name}")
        if link.parent < 0:
            to_base = linkage.base_axes(i)
            directions = [to_base.to_child(direction) for direction in directions]
        directions = [link.rotation.to_child(direction) for direction in directions]
    mount, _ = linkage.frame_pose(frame)
    return [mount.to_child(direction) for direction in directions]


def frame_motion(
    linkage: Linkage, frame: Frame, w: Vector, v: Vector, dw: Vector, dv: Vector
) -> FrameMotion:
    """Return the motion of a frame that is fixed to a link, RK (2.3), (2.7).

    The arguments are the motion of the link: ω, v, ω̇ and v̇ of its origin.
    """
    mount, origin = linkage.frame_pose(frame)
    v, dv = v + w.cross(origin), dv + dw.cross(origin) + w.cross(w.cross(origin))
    return FrameMotion(*(mount.to_child(vector) for vector in (w, v, dw, dv)))


def origin_velocities(linkage: Linkage, resting: Collection[int]) -> list[Vector]:
    """Return the velocity of each link's origin, RK (2.2), (2.3); `resting` links are taken to be
    at rest.
    """
    rates = linkage.inputs["v"]
    twists: list[tuple[Vector, Vector]] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "velocity, RK (2.2), (2.3)")
        w, v = twists[link.parent] if link.parent >= 0 else (linkage.zeros, linkage.zeros)
        w, v = twist_to_child(link.rotation, link.shift, w, v)
        w, v = w + link.turning(rates), v + link.sliding(rates)
        twists.append((linkage.zeros, linkage.zeros) if i in resting else (w, v))
    return [v for _, v in twists]


@dataclass(frozen=True)
class ClosedLoop:
    """One closed loop of a linkage: its independent rows of A, γ and C."""

    linkage: Linkage
    closing: Closing

    @cached_property
    def paths(self) -> tuple[list[int], list[int]]:
        """Links from each frame inward, without the common ancestors."""
        paths_to_root = [
            [] if frame.link < 0 else [frame.link, *self.linkage.model.ancestors(frame.link)]
            for frame in (self.closing.first, self.closing.second)
        ]
        shared = set(paths_to_root[0]) & set(paths_to_root[1])
        return [i for i in paths_to_root[0] if i not in shared], [
            i for i in paths_to_root[1] if i not in shared
        ]

    def _free(self, where_closed: tuple[int, ...]) -> tuple[int, ...]:
        """Return all axes if the loop may be open, else the axes that the closure leaves free."""
        return ALL_AXES if self.linkage.loops_may_be_open else where_closed

    @property
    def slides(self) -> tuple[int, ...]:
        """Axes of the first frame along which the second origin moves."""
        return self._free(self.closing.type.translation_axes)

    @cached_property
    def units(self) -> list[Vector]:
        """Unit vectors of a frame's axes."""
        zero, unit = self.linkage.zero, self.linkage.one
        return [Vector([unit if i == k else zero for i in range(3)]) for k in range(3)]

    def directions_in_second(self, directions: Sequence[Vector]) -> list[Vector]:
        """Return directions of the first frame's axes in the axes of the second frame."""
        first, second = self.paths
        turned = trace_inward(
            self.linkage, self.closing.first, first, directions, self.linkage.zeros
        ).directions
        return turn_outward(self.linkage, self.closing.second, second, turned)

    @cached_property
    def first_axes_in_second(self) -> list[Vector]:
        """Axes of the first frame in those of the second, at any positions: the columns of Rᵀ."""
        return self.directions_in_second(self.units)

    @cached_property
    def closed_axes(self) -> list[Vector]:
        """Axes of the first frame in the axes of the second, where the loop is closed."""
        rotation_axes = self._free(self.closing.type.rotation_axes)
        if not rotation_axes:
            return self.units
        if len(rotation_axes) == 3:
            return self.first_axes_in_second
        (axis,) = rotation_axes
        assert axis == 2, (
            "a closure leaves free no rotation, the rotation about z, or all rotations"
        )
        (x,) = self.directions_in_second(self.units[:1])
        return [
            Vector((x[0], x[1], self.linkage.zero)),
            Vector((-x[1], x[0], self.linkage.zero)),
            self.units[2],
        ]

    def difference(self) -> Vector:
        """Return d in the axes of the first frame, at any positions: the difference of the two
        levers.
        """
        traced = [
            trace_inward(
                self.linkage, frame, path, self.units if k == 0 else (), self.linkage.zeros
            )
            for k, (frame, path) in enumerate(
                zip((self.closing.first, self.closing.second), self.paths, strict=True)
            )
        ]
        between = traced[1].lever - traced[0].lever
        return Vector([axis.dot(between) for axis in traced[0].directions])

    @cached_property
    def closed_difference(self) -> Vector:
        """d in the axes of the first frame, where the loop is closed."""
        allowed = self.slides
        if not allowed:
            return self.linkage.zeros
        d = self.difference()
        return Vector([d[k] if k in allowed else self.linkage.zero for k in range(3)])

    @cached_property
    def directed_rows(self) -> list[DirectedRow]:
        """Directions of the independent rows."""
        return [self._directed_row(row) for row in self.closing.rows]

    def _directed_row(self, row: Row) -> DirectedRow:
        if isinstance(row, Along):
            return DirectedRow(self.units[row.axis], self.closed_axes[row.axis], False)
        if isinstance(row, Apart):
            return DirectedRow(
                self.closed_difference, self._to_second(self.closed_difference), False
            )
        if isinstance(row, Across):
            normal = self._second_axis(row.second).cross(self.units[row.first])
            normal_in_second = self.units[row.second].cross(self.closed_axes[row.first])
            return (
                DirectedRow(normal, normal_in_second, True)
                if row.sign > 0
                else DirectedRow(-normal, -normal_in_second, True)
            )
        return DirectedRow(self.units[row.axis], self.closed_axes[row.axis], True)

    def _second_axis(self, j: int) -> Vector:
        """Return an axis of the second frame in the first frame's axes: a column of R."""
        return Vector([axis[j] for axis in self.closed_axes])

    def _to_second(self, x: Vector) -> Vector:
        """Return Rᵀ x."""
        return Vector([x.dot(self._second_axis(j)) for j in range(3)])

    def jacobian(self) -> list[list[Scalar]]:
        """Return the independent rows of A, each with one entry per velocity of all joints."""
        linkage, zero = self.linkage, self.linkage.zero
        (first, second), directed = self.paths, self.directed_rows
        first_trace = trace_inward(
            linkage,
            self.closing.first,
            first,
            [row_direction.first for row_direction in directed],
            self.closed_difference,
        )
        second_trace = trace_inward(
            linkage,
            self.closing.second,
            second,
            [row_direction.second for row_direction in directed],
            linkage.zeros,
        )
        rows = [[zero] * len(linkage.dofs) for _ in directed]
        for sign, path in ((-1, first_trace), (1, second_trace)):
            for k, columns in path.columns.items():
                for row, row_direction, (angular, linear) in zip(
                    rows, directed, columns, strict=True
                ):
                    row[k] = (angular if row_direction.angular else linear) * sign
        return rows

    def end_motions(self, shares_bias_sweep: bool = False) -> tuple[FrameMotion, FrameMotion]:
        """Return the motions of the first and the second frame at zero joint accelerations.

        With `shares_bias_sweep` the function also has a bias force, whose outward sweep of all
        links, gravity included, is reused. A planar loop does not reuse it: there the sweep would
        rotate gravity from link to link for nothing else.
        """
        linkage, rates = self.linkage, self.linkage.inputs["v"]
        path_links = [i for path in self.paths for i in path]
        all_links = shares_bias_sweep and not all(
            linkage.links[i].rotation.keeps_z and turns_about_z(linkage.links[i])
            for i in path_links
        )
        resting = () if all_links else [i for i in range(len(linkage)) if i not in path_links]
        motions = outward_sweep(linkage, rates, zero_rates(linkage), all_links, resting)
        velocities = (
            origin_velocities(linkage, resting) if self.slides else [linkage.zeros] * len(linkage)
        )
        zeros, base_acceleration = (
            linkage.zeros,
            linkage.zeros - linkage.base_gravity if all_links else linkage.zeros,
        )
        frame_motions = []
        for frame in (self.closing.first, self.closing.second):
            w, v, dw, dv = zeros, zeros, zeros, base_acceleration
            if frame.link >= 0:
                link = motions[frame.link]
                w, v, dw, dv = link.omega, velocities[frame.link], link.alpha, link.accel
            frame_motions.append(frame_motion(linkage, frame, w, v, dw, dv))
        first, second = frame_motions
        return first, second

    def stabilized_row_rates(self, first: FrameMotion, second: FrameMotion) -> list[Scalar]:
        """Return `row_rates`; if there are gains K_p and K_d, add K_d A v + K_p C (Baumgarte)."""
        linkage, rates = self.linkage, self.row_rates(first, second)
        if "gains" not in linkage.inputs:
            return rates
        position, velocity = linkage.inputs["gains"]
        residual = self.residual()
        linkage.derivation.step(f"loop {self.closing.name}: Baumgarte terms K_d A v + K_p C")
        point_velocity = first.v + first.w.cross(self.closed_difference)
        stabilized = []
        for rate, C, direction in zip(rates, residual, self.directed_rows, strict=True):
            opening = (
                direction.second.dot(second.w) - direction.first.dot(first.w)
                if direction.angular
                else direction.second.dot(second.v) - direction.first.dot(point_velocity)
            )
            stabilized.append(rate + velocity * opening + position * C)
        return stabilized

    def row_rates(self, a: FrameMotion, b: FrameMotion) -> list[Scalar]:
        """Return γ: the rates of the rows of A v for these motions of the first and the second
        frame.
        """
        linkage, closing = self.linkage, self.closing
        linkage.derivation.step(f"loop {closing.name}: velocity-product acceleration of its rows")
        zero, d = linkage.zero, self.closed_difference
        transport, spins, slides = (
            a.w.cross(d),
            self._free(closing.type.angular_velocity_axes),
            self.slides,
        )
        spin = Vector(
            [
                axis.dot(b.w) - a.w[k] if k in spins else zero
                for k, axis in enumerate(self.closed_axes)
            ]
        )
        slide = Vector(
            [
                axis.dot(b.v) - a.v[k] - transport[k] if k in slides else zero
                for k, axis in enumerate(self.closed_axes)
            ]
        )
        angular = spin.cross(a.w) - a.dw  # ω̇ without R α_b
        linear = -a.dv - a.dw.cross(d) - a.w.cross(transport + slide + slide)  # u̇ without R a_b
        result = []
        for row, direction in zip(closing.rows, self.directed_rows, strict=True):
            rate = (
                direction.second.dot(b.dw) + direction.first.dot(angular)
                if direction.angular
                else direction.second.dot(b.dv) + direction.first.dot(linear)
            )
            if isinstance(row, Apart):
                rate = rate + slide.dot(slide)
            if isinstance(row, Across):
                rate = (
                    rate
                    + spin.cross(spin.cross(self._second_axis(row.second)))[row.first] * row.sign
                )
            result.append(rate)
        return result

    def residual(self) -> list[Scalar]:
        """Return the rows of C at any positions; a row that constrains velocities only has zero."""
        linkage, closing = self.linkage, self.closing
        d = self.difference()
        linkage.derivation.step(f"loop {closing.name}: closure error")
        entries = []
        for row in closing.rows:
            if isinstance(row, Along):
                entries.append(d[row.axis])
            elif isinstance(row, Apart):
                length = closing.parameters["distance"]
                entries.append(
                    (d.dot(d) - linkage.derivation.constant(length * length))
                    * linkage.derivation.constant(HALF)
                )
            elif isinstance(row, Across):
                entries.append(self.first_axes_in_second[row.first][row.second] * row.sign)
            else:
                entries.append(linkage.zero)
        return entries


HALF = Fraction(1, 2)


def closed_loops(linkage: Linkage) -> list[ClosedLoop]:
    """Return the closed loops of a linkage, in their order."""
    return [ClosedLoop(linkage, closing) for closing in linkage.loops]


def jacobian_rows(linkage: Linkage) -> list[list[Scalar]]:
    """Return A: the independent rows of all closed loops, one entry per velocity of all joints."""
    return [row for loop in closed_loops(linkage) for row in loop.jacobian()]


def bias_entries(linkage: Linkage, shares_bias_sweep: bool = False) -> list[Scalar]:
    """Return γ of all closed loops, stabilized if there are gains; see `ClosedLoop.end_motions`."""
    return [
        entry
        for loop in closed_loops(linkage)
        for entry in loop.stabilized_row_rates(*loop.end_motions(shares_bias_sweep))
    ]


def constraint_jacobian(linkage: Linkage) -> Results:
    """Return A, row-major."""
    return ([entry for row in jacobian_rows(linkage) for entry in row],)


def constraint_bias(linkage: Linkage) -> Results:
    """Return γ = Ȧ v."""
    return (bias_entries(linkage),)


def constraint_residual(linkage: Linkage) -> Results:
    """Return C(q)."""
    return ([entry for loop in closed_loops(linkage) for entry in loop.residual()],)


def refuse_without_closures(mechanism: Mechanism) -> str | None:
    """Return why a mechanism without closed loops is refused, else None."""
    remedy = "declare joints that close some, as [[loop]] does in TOML"
    return None if mechanism.loops else f"'{mechanism.name}' has no loops; {remedy}"
