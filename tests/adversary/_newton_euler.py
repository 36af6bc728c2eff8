"""Independent reference for every function: Newton-Euler recursion in link axes and ball
arithmetic.

The recursion is that of Craig, Introduction to Robotics (3rd ed.): outward (6.45)-(6.50), inward
(6.51)-(6.53). It shares only the description with symgen: rotations come from quaternions, M from
the recursion at unit accelerations, and the gradient from differences. The reference of symgen uses
body Jacobians in the axes of the base instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
import numpy as np

from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.reference.precision import Array
from symgen.vocabulary.arrays import ALL_ROWS
from symgen.vocabulary.poses import Angle, Pose, Shift, Slide
from tests.adversary import _drives, _on_request
from tests.adversary._steps import difference, euler, runge_kutta, stepped

Ball = Any
Vector = list[Ball]
Turned = list[list[Ball]]
State = Mapping[str, Sequence[Any]]

MOVES: dict[str, Callable[[Mapping[str, Fraction]], tuple[int, Fraction]]] = {
    "revolute": lambda _: (1, Fraction(0)),
    "continuous": lambda _: (1, Fraction(0)),
    "prismatic": lambda _: (0, Fraction(1)),
    "helical": lambda numbers: (1, numbers["pitch"]),
}
"""Rotation about, and translation along, the axis per unit of a joint with one coordinate."""
ALONG: dict[str, str] = {"planar": "xyC", "spherical": "ABC", "free": "xyzABC"}
"""Velocities of joints without an axis: x, y, z translate the body, A, B, C rotate it."""
STEP = Fraction(1, 10**45)
"""Step of central differences, whose relative truncation error is about 1e-90."""


def ball(value: Any) -> Ball:
    if isinstance(value, Fraction):
        return flint.arb(flint.fmpq(value.numerator, value.denominator))
    return flint.arb(value)


def vector(values: Sequence[Any]) -> Vector:
    return [ball(x) for x in values]


def plus(*vectors: Vector) -> Vector:
    return [sum(components, flint.arb(0)) for components in zip(*vectors, strict=True)]


def scaled(factor: Ball, a: Vector) -> Vector:
    return [factor * x for x in a]


def dot(a: Vector, b: Vector) -> Ball:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def out(R: Turned, a: Vector) -> Vector:
    """Return R a: transform from the axes of a body to those of its parent."""
    return [dot(row, a) for row in R]


def into(R: Turned, a: Vector) -> Vector:
    """Return Rᵀ a."""
    return out(columns(R), a)


def columns(R: Turned) -> Turned:
    return [list(column) for column in zip(*R, strict=True)]


def product(R: Turned, S: Turned) -> Turned:
    return [into(S, row) for row in R]


def unit(axis: Vector) -> Vector:
    length = dot(axis, axis).sqrt()
    return [x / length for x in axis]


def turn(axis: Vector, sine: Ball, cosine: Ball) -> Turned:
    """Return the rotation of the quaternion (cosine, sine·axis) of half the angle."""
    w, (x, y, z) = cosine, scaled(sine, axis)
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]


def turned_by(axis: Vector, angle: Ball) -> Turned:
    return turn(axis, (angle / 2).sin(), (angle / 2).cos())


def radians(angle: Angle) -> Ball:
    return ball(angle.radians) + ball(angle.pi) * flint.arb.pi()


STILL = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def pose_of(pose: Pose) -> tuple[Turned, Vector]:
    R, p = [vector(row) for row in STILL], vector((0, 0, 0))
    for step in pose:
        if isinstance(step, Shift):
            p = plus(p, out(R, vector(step.xyz)))
        elif isinstance(step, Slide):
            p = plus(p, out(R, scaled(ball(step.distance), unit(vector(step.axis)))))
        else:
            R = product(R, turned_by(unit(vector(step.axis)), radians(step.angle)))
    return R, p


def full(m: Sequence[Any]) -> Turned:
    return [[m[0], m[1], m[2]], [m[1], m[3], m[4]], [m[2], m[4], m[5]]]


@dataclass(frozen=True)
class Matter:
    """Mass, centre and moments about the centre, in the axes of the body that carries it."""

    mass: Ball
    centre: Vector
    moments: Turned


@dataclass(frozen=True)
class Moved:
    """One body at a state: (R, p) in its parent, the same in the base (`seat`), and its motion.

    `spin`, `spinning` and `pull` are ω, ω̇ and the acceleration of the origin, in body axes.
    """

    R: Turned
    p: Vector
    seat: tuple[Turned, Vector]
    spin: Vector
    spinning: Vector
    pull: Vector


class Recursion:
    """The mechanism at one state, with flat arguments by name; the caller sets the digits."""

    def __init__(
        self,
        mechanism: Mechanism,
        state: State,
        frame: str | None = None,
        payload: str | None = None,
        wrench: str | Sequence[str] | None = None,
        task_rows: Sequence[int] = ALL_ROWS,
    ) -> None:
        self.mechanism = mechanism
        self.state = {
            name: vector(list(np.ravel(np.asarray(x, dtype=object)))) for name, x in state.items()
        }
        self.links = {"frame": frame, "payload": payload}
        self.task_rows = tuple(task_rows)
        self.given = {**self.links, "wrench": wrench, "task_rows": self.task_rows}
        self.pushing = [
            mechanism.frame(link)
            for link in ([wrench] if isinstance(wrench, str) else wrench or ())
        ]
        self.n = mechanism.nv
        self.axes = [unit(vector(joint.axis)) for joint in mechanism.joints]
        self.poses = [pose_of(joint.pose) for joint in mechanism.joints]
        self.columns = [
            self._columns(joint, axis)
            for joint, axis in zip(mechanism.joints, self.axes, strict=True)
        ]
        self.matter = [
            [self._matter_of_part(part) for part in body.parts] for body in mechanism.bodies
        ]
        self.nothing = vector([0] * self.n)
        if (
            payload is not None
            and "payload" in self.state
            and mechanism.frame(payload).body != BASE
        ):
            self.matter[mechanism.frame(payload).body].append(
                self._load(mechanism.frame(payload).pose)
            )

    def _columns(self, joint: Any, axis: Vector) -> list[tuple[Vector, Vector]]:
        """Return (angular, linear) of the body frame, in body axes, per unit of each joint
        velocity.
        """
        nothing, axes = vector((0, 0, 0)), [vector(row) for row in STILL]
        if joint.kind == "cylindrical":
            return [(axis, nothing), (nothing, axis)]
        if joint.kind in ALONG:
            return [
                (axes["ABC".index(k)], nothing) if k in "ABC" else (nothing, axes["xyz".index(k)])
                for k in ALONG[joint.kind]
            ]
        turns, slides = MOVES[joint.kind](dict(joint.parameters))
        return [(scaled(ball(Fraction(turns)), axis), scaled(ball(Fraction(slides)), axis))]

    def _joint_pose(self, i: int, q: Vector) -> tuple[Turned, Vector]:
        """Return (R, p) of the body in the joint frame, from the coordinates of the joint."""
        kind = self.mechanism.joints[i].kind
        if kind == "spherical":
            return turn(q[:3], ball(1), q[3]), vector((0, 0, 0))
        if kind == "free":
            return turn(q[3:6], ball(1), q[6]), q[:3]
        if kind == "planar":
            return turned_by(vector((0, 0, 1)), q[2]), [q[0], q[1], ball(0)]
        if kind == "cylindrical":
            return turned_by(self.axes[i], q[0]), scaled(q[1], self.axes[i])
        turns, slides = (
            ball(Fraction(x)) for x in MOVES[kind](dict(self.mechanism.joints[i].parameters))
        )
        return turned_by(self.axes[i], turns * q[0]), scaled(slides * q[0], self.axes[i])

    def _twist(self, i: int, v: Vector) -> tuple[Vector, Vector]:
        """Return (angular, linear) that velocities v (NV,) cause at one joint."""
        rates = v[self.mechanism.v_slices[i]]
        angular, linear = (
            [
                scaled(rate, column[half])
                for rate, column in zip(rates, self.columns[i], strict=True)
            ]
            for half in (0, 1)
        )
        return plus(*angular), plus(*linear)

    def advanced(self, q: Vector, k: int, step: Ball) -> Vector:
        """Advance q along velocity k by a step, to first order, which suffices for differences."""
        i, of = self.mechanism.dofs[k]
        kind, first, coordinates = (
            self.mechanism.joints[i].kind,
            self.mechanism.q_slices[i].start,
            list(q),
        )
        if kind not in ALONG:
            return [x + step if n == first + of else x for n, x in enumerate(q)]
        joint_axes, (spin, slide) = (
            q[self.mechanism.q_slices[i]],
            (scaled(step, column) for column in self.columns[i][of]),
        )
        shifted = out(self._joint_pose(i, joint_axes)[0], slide)
        if kind == "planar":
            change = [shifted[0], shifted[1], spin[2]]
        else:
            x, y, z, w = joint_axes[-4:]
            half = scaled(ball(Fraction(1, 2)), spin)
            turned = [*plus(scaled(w, half), cross([x, y, z], half)), -dot([x, y, z], half)]
            change = turned if kind == "spherical" else [*shifted, *turned]
        coordinates[self.mechanism.q_slices[i]] = plus(joint_axes, change)
        return coordinates

    def matter_of(self, mass: Ball, centre: Vector, moments: Turned) -> Matter:
        """Return the matter of a body, with moments about the centre in body axes."""
        return Matter(mass, centre, moments)

    def _matter_of_part(self, part: Any) -> Matter:
        R, centre = pose_of(part.pose)
        return Matter(
            ball(part.mass), centre, product(product(R, full(vector(part.moments))), columns(R))
        )

    def _load(self, pose: Pose) -> Matter:
        """Ten numbers about the link's own frame; moments are taken to the centre."""
        m, *centre_and_moments = self.state["payload"]
        c, tensor = centre_and_moments[:3], full(centre_and_moments[3:])
        R, p = pose_of(pose)
        about = [
            [tensor[r][k] - m * ((dot(c, c) if r == k else 0) - c[r] * c[k]) for k in range(3)]
            for r in range(3)
        ]
        return Matter(m, plus(p, out(R, c)), product(product(R, about), columns(R)))

    def outward(self, q: Vector, v: Vector, a: Vector, weights: bool) -> list[Moved]:
        """Return the motion of every body. With `weights` the base accelerates upward, which has
        the effect of gravity.
        """
        motions: list[Moved] = []
        lift = scaled(ball(-1), vector(self.mechanism.gravity)) if weights else vector((0, 0, 0))
        base = Moved(
            [],
            [],
            ([vector(row) for row in STILL], vector((0, 0, 0))),
            vector((0, 0, 0)),
            vector((0, 0, 0)),
            lift,
        )
        for i, joint in enumerate(self.mechanism.joints):
            before = base if joint.parent == BASE else motions[joint.parent]
            (fixed, at), (across, along) = (
                self.poses[i],
                self._joint_pose(i, q[self.mechanism.q_slices[i]]),
            )
            R, p = product(fixed, across), plus(at, out(fixed, along))
            (turning, sliding), (turned, slid) = self._twist(i, v), self._twist(i, a)
            carried = into(R, before.spin)
            spin = plus(carried, turning)
            spinning = plus(into(R, before.spinning), cross(carried, turning), turned)
            swung = plus(
                before.pull, cross(before.spinning, p), cross(before.spin, cross(before.spin, p))
            )
            pull = plus(
                into(R, swung),
                scaled(ball(2), cross(carried, sliding)),
                cross(turning, sliding),
                slid,
            )
            inside, origin = before.seat
            motions.append(
                Moved(
                    R, p, (product(inside, R), plus(origin, out(inside, p))), spin, spinning, pull
                )
            )
        return motions

    def inward(self, motions: Sequence[Moved], pushed: bool) -> list[tuple[Vector, Vector]]:
        """(moment, force) on every body from its parent, at its origin in its axes; `pushed`: with
        the wrenches from outside.
        """
        joint_wrenches = [(vector((0, 0, 0)), vector((0, 0, 0))) for _ in motions]
        for i in reversed(range(len(motions))):
            motion, (moment, force) = motions[i], joint_wrenches[i]
            for matter in self.matter[i]:
                c = matter.centre
                F = scaled(
                    matter.mass,
                    plus(
                        motion.pull,
                        cross(motion.spinning, c),
                        cross(motion.spin, cross(motion.spin, c)),
                    ),
                )
                N = plus(
                    out(matter.moments, motion.spinning),
                    cross(motion.spin, out(matter.moments, motion.spin)),
                )
                moment, force = plus(moment, N, cross(c, F)), plus(force, F)
            for k, on in enumerate(self.pushing):
                if not pushed or on.body != i:
                    continue
                (R, p), wrench = pose_of(on.pose), self.state["wrench"][6 * k :]
                n, f = out(R, wrench[:3]), out(R, wrench[3:6])
                moment, force = (
                    plus(moment, scaled(ball(-1), plus(n, cross(p, f)))),
                    plus(force, scaled(ball(-1), f)),
                )
            joint_wrenches[i] = moment, force
            parent = self.mechanism.joints[i].parent
            if parent != BASE:
                f = out(motion.R, force)
                n, was = plus(out(motion.R, moment), cross(motion.p, f)), joint_wrenches[parent]
                joint_wrenches[parent] = plus(was[0], n), plus(was[1], f)
        return joint_wrenches

    def forces(self, q: Vector, v: Vector, a: Vector, weights: bool, pushed: bool) -> Vector:
        joint_wrenches = self.inward(self.outward(q, v, a, weights), pushed)
        return [
            dot(angular, moment) + dot(linear, force)
            for columns, (moment, force) in zip(self.columns, joint_wrenches, strict=True)
            for angular, linear in columns
        ]

    # -- parts of functions ------------------------------------------------------------------------

    def number(self, value: Any) -> Ball:
        return ball(Fraction(value))

    def mass(self, q: Vector, rotors: bool = True) -> Any:
        rows = [
            self.forces(q, self.nothing, vector([int(i == k) for i in range(self.n)]), False, False)
            for k in range(self.n)
        ]
        for k, inertia in enumerate(_drives.armature(self) if rotors else []):
            rows[k][k] += inertia
        return flint.arb_mat(self.n, self.n, [x for row in rows for x in row])

    @cached_property
    def M(self) -> Any:
        return self.mass(self.state["q"])

    @property
    def v(self) -> Vector:
        return self.state["v"]

    @cached_property
    def bias(self) -> Vector:
        return self.driven(self.state["q"], self.v, self.nothing)

    def driven(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Inverse dynamics, drives at work."""
        return [
            f + joint_force * x + more
            for f, joint_force, x, more in zip(
                self.forces(q, v, a, True, True),
                _drives.armature(self),
                a,
                _drives.resisting(self, q, v),
                strict=True,
            )
        ]

    def solved(self, right: Vector) -> Vector:
        return [row[0] for row in self.M.solve(flint.arb_mat(self.n, 1, right)).tolist()]

    @cached_property
    def accelerations(self) -> Vector:
        return self.solved([t - c for t, c in zip(self.state["tau"], self.bias, strict=True)])

    @cached_property
    def twists(self) -> Turned:
        """Columns of the Jacobian of the frame: its velocity for a unit of each joint's, angular
        part first, in base axes.
        """
        on, twists = self.mechanism.frame(str(self.links["frame"])), []
        motions = self.outward(self.state["q"], self.nothing, self.nothing, False)
        path, body = set(), on.body
        while body != BASE:
            path.add(body)
            body = self.mechanism.joints[body].parent
        _, point = self.seat(motions)
        for i, of in self.mechanism.dofs:
            R, origin = motions[i].seat
            spin, along = (out(R, column) for column in self.columns[i][of])
            lever = plus(point, scaled(ball(-1), origin))
            twist = [*spin, *plus(along, cross(spin, lever))]
            twists.append(twist if i in path else vector([0] * 6))
        return twists

    def seat(self, motions: Sequence[Moved]) -> tuple[Turned, Vector]:
        """Pose of the frame in the base."""
        on = self.mechanism.frame(str(self.links["frame"]))
        R, p = pose_of(on.pose)
        if on.body == BASE:
            return R, p
        S, s = motions[on.body].seat
        return product(S, R), plus(s, out(S, p))

    def gradient(self) -> Vector:
        inverse, columns = self.M.inv(), []
        for i in range(self.n):
            up, down = (
                self.mass(self.advanced(self.state["q"], i, step))
                for step in (ball(STEP), -ball(STEP))
            )
            slope = (up - down) * (1 / (2 * ball(STEP)))
            traced = sum(((inverse * slope)[k, k] for k in range(self.n)), flint.arb(0))
            columns.append(
                flint.arb(0) if traced.contains(0) else traced
            )  # the difference of a constant is a ball around zero
        return columns

    def answer(self, function: str) -> dict[str, list[Ball]]:
        """Results of a function of `symgen.vocabulary.functions` by name, flat."""
        return ANSWERS[function](self, self.state["q"])

    def linked(self) -> dict[str, list[Ball]]:
        motions = self.outward(self.state["q"], self.v, self.accelerations, False)
        alpha = [
            x
            for link in motions
            for x in (*out(link.seat[0], link.spinning), *out(link.seat[0], link.pull))
        ]
        return {"alpha": alpha, "alpha_tip": self._tip(motions)}

    def drift(self) -> list[Ball]:
        """Return (ω̇, v̇) of the frame if no joint accelerates."""
        return self._tip(self.outward(self.state["q"], self.v, self.nothing, False))

    def _tip(self, link_motion: Sequence[Moved]) -> list[Ball]:
        on = self.mechanism.frame(str(self.links["frame"]))
        if on.body == BASE:
            return vector([0] * 6)
        (_, p), link = pose_of(on.pose), link_motion[on.body]
        swung = plus(link.pull, cross(link.spinning, p), cross(link.spin, cross(link.spin, p)))
        return [*out(link.seat[0], link.spinning), *out(link.seat[0], swung)]

    def between(self) -> dict[str, list[Ball]]:
        motions = self.outward(self.state["q"], self.v, self.accelerations, True)
        joint_wrenches = self.inward(motions, True)
        return {
            "F": [
                x
                for link, wrench in zip(motions, joint_wrenches, strict=True)
                for half in wrench
                for x in out(link.seat[0], half)
            ],
            "a": self.accelerations,
        }

    # -- results by function -----------------------------------------------------------------------

    @cached_property
    def total(self) -> Ball:
        return sum(
            (matter.mass for matter_of_body in self.matter for matter in matter_of_body),
            flint.arb(0),
        )

    @cached_property
    def centre(self) -> Vector:
        """Return Σ m c / Σ m in the base."""
        motions = self.outward(self.state["q"], self.nothing, self.nothing, False)
        return scaled(
            1 / self.total,
            plus(
                vector([0] * 3),
                *(
                    scaled(matter.mass, plus(at.seat[1], out(at.seat[0], matter.centre)))
                    for at, matter_of_body in zip(motions, self.matter, strict=True)
                    for matter in matter_of_body
                ),
            ),
        )

    def pushed(self, v: Vector, a: Vector) -> list[Ball]:
        """Return the inertial wrench of all links about the mass centre, in base axes."""
        motions = self.outward(self.state["q"], v, a, False)
        moment, force = vector([0] * 3), vector([0] * 3)
        for i, (n, f) in enumerate(self.inward(motions, False)):
            if self.mechanism.joints[i].parent == BASE:
                R, p = motions[i].seat
                F = out(R, f)
                moment, force = (
                    plus(moment, out(R, n), cross(plus(p, scaled(ball(-1), self.centre)), F)),
                    plus(force, F),
                )
        return [*moment, *force]

    def momenta(self) -> list[list[Ball]]:
        """Return the columns of A_G: momentum of all links for a unit of each velocity."""
        units = [vector([int(i == k) for i in range(self.n)]) for k in range(self.n)]
        return [self.pushed(self.nothing, unit) for unit in units]

    def momentum(self) -> list[Ball]:
        return [dot_n(row, self.v) for row in columns(self.momenta())]


def dot_n(a: Vector, b: Vector) -> Ball:
    return sum((x * y for x, y in zip(a, b, strict=True)), flint.arb(0))


def _flat(matrix: Any) -> list[Ball]:
    return [x for row in matrix.tolist() for x in row]


def _mobility(at: Recursion) -> list[Ball]:
    J = flint.arb_mat(at.n, 6, [x for column in at.twists for x in column])
    return _flat(J.transpose() * at.M.solve(J))


def _pose(at: Recursion, q: Vector) -> dict[str, list[Ball]]:
    R, p = at.seat(at.outward(q, at.nothing, at.nothing, False))
    return {"R": [x for row in R for x in row], "p": p}


def _poses(at: Recursion, q: Vector) -> dict[str, list[Ball]]:
    seats = [link.seat for link in at.outward(q, at.nothing, at.nothing, False)]
    return {
        "R_links": [x for R, _ in seats for row in R for x in row],
        "p_links": [x for _, p in seats for x in p],
    }


def _height(at: Recursion, q: Vector) -> dict[str, list[Ball]]:
    """Return U; links without mass contribute zero, since they have no mass centre."""
    motions, down = at.outward(q, at.nothing, at.nothing, False), vector(at.mechanism.gravity)
    return {
        "U": [
            sum(
                (
                    -matter.mass
                    * dot(down, plus(motion.seat[1], out(motion.seat[0], matter.centre)))
                    for motion, matter_of_body in zip(motions, at.matter, strict=True)
                    for matter in matter_of_body
                ),
                flint.arb(0),
            )
        ]
    }


ANSWERS: dict[str, Callable[[Recursion, Vector], dict[str, list[Ball]]]] = {
    "inverse_dynamics": lambda at, q: {"tau": at.driven(q, at.v, at.state["a"])},
    "forward_dynamics": lambda at, _: {"a": at.accelerations},
    "bias_force": lambda at, _: {"c": at.bias},
    "gravity_force": lambda at, q: {"g": at.forces(q, at.nothing, at.nothing, True, False)},
    "mass_matrix": lambda at, _: {"M": _flat(at.M)},
    "mass_matrix_and_bias": lambda at, _: {"M": _flat(at.M), "c": at.bias},
    "inverse_mass_matrix": lambda at, _: {"Minv": _flat(at.M.inv())},
    "mass_matrix_solve": lambda at, _: {"x": at.solved(at.state["b"])},
    "mass_matrix_determinant": lambda at, _: {"det": [at.M.det()]},
    "mass_matrix_log_determinant": lambda at, _: {"logdet": [at.M.det().log()]},
    "mass_matrix_log_determinant_gradient": lambda at, _: {"grad": at.gradient()},
    "operational_inertia_inverse": lambda at, _: {"Lambda_inv": _mobility(at)},
    "link_accelerations": lambda at, _: at.linked(),
    "interbody_forces": lambda at, _: at.between(),
    "forward_kinematics": _pose,
    "jacobian": lambda at, _: {"J": [x for row in columns(at.twists) for x in row]},
    "bias_acceleration": lambda at, _: {"Jdot_v": at.drift()},
    "link_poses": _poses,
    "center_of_mass": lambda at, _: {"com": at.centre},
    "center_of_mass_jacobian": lambda at, _: {
        "Jcom": [x / at.total for row in columns(at.momenta())[3:] for x in row]
    },
    "kinetic_energy": lambda at, q: {
        "T": [
            (
                dot_n(at.v, at.forces(q, at.nothing, at.v, False, False))
                + sum(
                    inertia * v * v for inertia, v in zip(_drives.armature(at), at.v, strict=True)
                )
            )
            / 2
        ]
    },
    "potential_energy": _height,
    "centroidal_momentum": lambda at, _: {"h": at.momentum()},
    "centroidal_momentum_matrix": lambda at, _: {
        "A_G": [x for row in columns(at.momenta()) for x in row]
    },
    "centroidal_momentum_rate": lambda at, _: {"hdot": at.pushed(at.v, at.state["a"])},
    "integrate": lambda at, _: {"q_next": stepped(at)},
    "difference": lambda at, _: {"delta": difference(at)},
    **_on_request.ANSWERS,
    "step": lambda at, _: dict(zip(("q_next", "v_next"), euler(at), strict=True)),
    "step_rk4": lambda at, _: dict(zip(("q_next", "v_next"), runge_kutta(at), strict=True)),
}


def answers(
    mechanism: Mechanism,
    function: str,
    states: Mapping[str, Array],
    digits: int,
    shapes: Mapping[str, tuple[int, ...]],
    **links: Any,
) -> dict[str, Array]:
    """Return results (count, …) by name, as balls, at states (count, …) by argument name."""
    count = len(states["q"])
    columns: dict[str, list[Any]] = {name: [] for name in shapes}
    with flint.ctx.workdps(digits):
        for k in range(count):
            results = Recursion(
                mechanism, {name: values[k] for name, values in states.items()}, **links
            ).answer(function)
            for name, shape in shapes.items():
                entries = np.empty(len(results[name]), dtype=object)
                entries[:] = results[name]
                columns[name].append(entries.reshape(shape))
    return {name: np.stack(rows) for name, rows in columns.items()}
