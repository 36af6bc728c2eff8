"""Kinematics of the declared mechanism: poses as power series along a trajectory, and Jacobians.

It shares only `Mechanism` and the elementary motions of a joint type (a rotation about its axis, a
translation along it) with the derivation. Arrays are as in `symgen.reference.mechanics`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction
from functools import cached_property, wraps
from inspect import signature
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self, TypedDict, TypeVar, Unpack, cast

import numpy as np

from symgen.mechanism.joints import AboutAxis, Orienting, Placing, Sliding
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.reference.arrays import (
    added,
    cross,
    identity,
    quaternion,
    rodrigues,
    skew,
    skewed,
    stack,
    stacked,
    times,
    turned_by,
)
from symgen.reference.precision import FLOAT, Array, Scalars
from symgen.support.errors import ArgumentError
from symgen.vocabulary.arrays import ALL_ROWS, USUAL, Convention
from symgen.vocabulary.poses import Pose, Quaternion, Rotate, Shift, Slide, Vector3

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Motion = TypeVar("_Motion", bound="Motion")


class BodyPart(NamedTuple):
    """One part of a body: `centre` (..., 3) and the tensor `inertia` (..., 3, 3) about it, in the
    body's axes.

    `gravcomp` is the fraction of its weight that gravity compensation cancels.
    """

    body: int
    mass: Array
    centre: Array
    inertia: Array
    gravcomp: Fraction = Fraction(0)


class Placement(NamedTuple):
    """Power series in t of a body's pose in the base: `turn` (..., 3, 3) and `shift` (..., 3), one
    array a power.
    """

    turn: tuple[Array, ...]
    shift: tuple[Array, ...]


def at_precision(
    method: Callable[Concatenate[_Motion, _P], _T],
) -> Callable[Concatenate[_Motion, _P], _T]:
    """Decorator: run a method of Motion in the working precision of its scalars."""

    @wraps(method)
    def run(self: _Motion, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self.scalars.working():
            return method(self, *args, **kwargs)

    return cast("Callable[Concatenate[_Motion, _P], _T]", run)


def cached_result(
    method: Callable[Concatenate[_Motion, _P], Array],
) -> Callable[Concatenate[_Motion, _P], Array]:
    """Decorator: cache a method's last result over balls, for equal arguments. Floats are not
    cached.

    Most functions need M, and over balls M takes the longest.
    """

    names = list(signature(method).parameters)[1:]

    @wraps(method)
    def run(self: _Motion, /, *args: _P.args, **kwargs: _P.kwargs) -> Array:
        if self.scalars.dtype is not object:
            return method(self, *args, **kwargs)
        arguments: dict[str, Any] = {**dict(zip(names, args, strict=False)), **kwargs}
        cached_arguments, result = self.cached_results.get(method.__name__, ({}, None))
        if result is None or not all(
            _same(cached_arguments.get(name), arguments.get(name)) for name in names
        ):
            result = method(self, *args, **kwargs)
            # Copies: the caller may write into the arguments and into the result.
            self.cached_results[method.__name__] = (
                {name: np.array(x) for name, x in arguments.items() if x is not None},
                result,
            )
        return np.array(result)

    return run


def _same(a: Any, b: Any) -> bool:
    """True if two arguments hold equal exact numbers. A ball with a radius equals no other ball."""
    if a is None or b is None:
        return a is b
    return bool(a.shape == b.shape and (a == b).all())


def _composed(first: Placement, second: Placement) -> Placement:
    """Return the power series of one motion followed by another."""
    powers = range(len(first.turn))
    shifts = (
        p + added(times(first.turn[i], second.shift[k - i]) for i in range(k + 1))
        for k, p in enumerate(first.shift)
    )
    turns = (added(first.turn[i] @ second.turn[k - i] for i in range(k + 1)) for k in powers)
    return Placement(tuple(turns), tuple(shifts))


class Attachments(TypedDict, total=False):
    """Links that carry frames, a run-time payload or wrenches; contact points; and the convention
    of J.
    """

    frame: str | Sequence[str] | None
    payload: str | None
    wrench: str | Sequence[str] | None
    contact: str | Sequence[str] | None
    task_rows: Sequence[int]
    convention: Convention


def _names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names or ())


class Motion:
    """Motion of `mechanism` over `scalars`, evaluated from its declaration.

    `frame`, `payload` and `wrench` name links and `contact` names contact points, as in
    `Reference`. Raises UnknownName for an unknown link.
    """

    def __init__(
        self, mechanism: Mechanism, scalars: Scalars = FLOAT, **attachments: Unpack[Attachments]
    ) -> None:
        self.mechanism, self.scalars = mechanism, scalars
        self.convention = attachments.get("convention", USUAL)
        self.task_rows = attachments.get("task_rows", ALL_ROWS)
        self.described = mechanism
        """The mechanism as described. It determines the number of damped solves; `mechanism` may
        have other run-time numbers.
        """
        self.cached_results: dict[str, tuple[dict[str, Array], Any]] = {}
        self.frames = [mechanism.frame(name) for name in _names(attachments.get("frame"))]
        self.wrenches = [mechanism.frame(name) for name in _names(attachments.get("wrench"))]
        self.contact = _names(attachments.get("contact"))
        self.contacts = [mechanism.contact(name) for name in self.contact]
        self.frame = self.frames[0] if self.frames else None
        payload = attachments.get("payload")
        self.payload = None if payload is None else mechanism.frame(payload)
        self.motions = [joint.motions for joint in mechanism.joints]
        self._directions: dict[Vector3, tuple[Array, Array, Array]] = {}
        with scalars.working():
            self.axes = [self._direction(joint.axis) for joint in mechanism.joints]
            self.poses = [self.pose(joint.pose) for joint in mechanism.joints]
            self.gravity: Array = self._vector(mechanism.gravity)
            self.declared = [
                self._body_part(index, part)
                for index, body in enumerate(mechanism.bodies)
                for part in body.parts
            ]
        self.shares = [self._shares(index) for index in range(len(mechanism.bodies))]
        """Per body, for each degree of freedom of its joint: (k, rate per unit of v[k]); a mimic
        joint has its leader's k.
        """

    def of_each_frame(self) -> list[Self]:
        """Return one copy of the motion for each frame, with that frame only."""
        copies = [copy(self) for _ in self.frames]
        for motion, frame in zip(copies, self.frames, strict=True):
            motion.frame, motion.frames = frame, [frame]
        return copies

    # ---- the declaration, entered into the scalars -----------------------------------------------

    @cached_property
    def paths(self) -> list[list[int]]:
        """Return per body the path from the base to it: base first, the body itself last.

        For a long chain these lists are long; recursions do without them.
        """
        paths: list[list[int]] = []
        for body, parent in enumerate(self.mechanism.parents):
            paths.append([*(paths[parent] if parent != BASE else ()), body])
        return paths

    @cached_property
    def supports(self) -> list[list[int]]:
        """Return per body the entries of v that move it: those of the joints on its path, or of
        their leaders.
        """
        return [
            list(dict.fromkeys(k for joint in path for k, _ in self.shares[joint]))
            for path in self.paths
        ]

    def _shares(self, index: int) -> list[tuple[int, Fraction]]:
        """Return (entry of v, rate) for each degree of freedom of a joint."""
        v_slice, coupling = self.mechanism.v_slices[index], self.mechanism.joint_couplings[index]
        if coupling is None:
            return [(k, Fraction(1)) for k in range(v_slice.start, v_slice.stop)]
        return [(self.mechanism.v_slices[coupling.leader].start, coupling.multiplier)]

    def joint_coordinates(self, index: int, q: Array) -> Array:
        """Return a joint's own coordinates (..., n) at q (..., NQ); a mimic joint's follow from its
        leader's.
        """
        coupling = self.mechanism.joint_couplings[index]
        if coupling is None:
            return q[..., self.mechanism.q_slices[index]]
        leader = q[..., self.mechanism.q_slices[coupling.leader]]
        return np.asarray(
            leader * self.scalars.constant(coupling.multiplier)
            + self.scalars.constant(coupling.offset)
        )

    def joint_rates(self, index: int, v: Array) -> Array:
        """Return a joint's own velocities or accelerations (..., n); a mimic joint's follow from
        its leader's.
        """
        coupling = self.mechanism.joint_couplings[index]
        if coupling is None:
            return v[..., self.mechanism.v_slices[index]]
        return np.asarray(
            v[..., self.mechanism.v_slices[coupling.leader]]
            * self.scalars.constant(coupling.multiplier)
        )

    def _vector(self, xyz: Vector3) -> Array:
        return self.scalars.array([self.scalars.constant(x) for x in xyz])

    def _direction(self, axis: Vector3) -> Array:
        """Return the unit vector of a declared axis."""
        return self._turning_about(axis)[0]

    def _turning_about(self, axis: Vector3) -> tuple[Array, Array, Array]:
        """Return the unit vector n of a declared axis, and K = n× and K²; kept, since a robot has
        few different axes.
        """
        if axis not in self._directions:
            direction, squared = self._vector(axis), sum(x * x for x in axis)
            if squared != 1:
                length = np.sqrt(self.scalars.array(self.scalars.constant(Fraction(squared))))
                direction = direction / length
            spin = skew(direction)
            self._directions[axis] = direction, spin, spin @ spin
        return self._directions[axis]

    def _unit(self, declared: Quaternion) -> Array:
        """Return a declared quaternion w, x, y, z as x, y, z, w of length one."""
        w, *u = (self.scalars.constant(entry) for entry in declared)
        length = np.sqrt(
            self.scalars.array(self.scalars.constant(sum((e * e for e in declared), Fraction(0))))
        )
        return np.asarray(self.scalars.array([*u, w]) / length)

    def pose(self, pose: Pose) -> tuple[Array, Array]:
        """Return rotation (3, 3) and shift (3,) of a declared pose: the product of its steps from
        left to right.
        """
        turn: Array | None = None  # the identity, by which no product is computed
        shift = self._vector((Fraction(0),) * 3)
        for step in pose:
            if isinstance(step, Shift | Slide):
                translation = (
                    self._vector(step.xyz)
                    if isinstance(step, Shift)
                    else self._direction(step.axis) * self.scalars.constant(step.distance)
                )
                shift = shift + (translation if turn is None else turn @ translation)
            elif isinstance(step, Rotate):
                rotation = quaternion(self._unit(step.quaternion))
                turn = (identity(self.scalars) if turn is None else turn) @ rotation
            else:
                rotation = turned_by(
                    *self._turning_about(step.axis)[1:], *self.scalars.sine_cosine(step.angle)
                )
                turn = rotation if turn is None else turn @ rotation
        return identity(self.scalars) if turn is None else turn, shift

    def _body_part(self, body: int, part: Any) -> BodyPart:
        """Return a declared part in the scalars, in its body's axes."""
        turn, centre = self.pose(part.pose)
        xx, xy, xz, yy, yz, zz = (self.scalars.constant(moment) for moment in part.moments)
        tensor = self.scalars.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return BodyPart(
            body,
            self.scalars.array(self.scalars.constant(part.mass)),
            centre,
            tensor
            if all(isinstance(step, Shift | Slide) for step in part.pose)
            else turn @ tensor @ turn.T,
            part.gravcomp,
        )

    def parts(self, payload: Array | None = None) -> list[BodyPart]:
        """Return every part of every body, the run-time payload included."""
        if self.payload is None or self.payload.body == BASE:
            return self.declared
        if payload is None:
            raise ArgumentError(
                f"this reference has a payload on '{self.payload.name}'; pass its ten numbers as"
                " `payload`"
            )
        turn, shift = self.pose(self.payload.pose)
        mass, c = payload[..., 0], payload[..., 1:4]
        tensor = payload[..., [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape((*payload.shape[:-1], 3, 3))
        # parallel axis theorem: the ten numbers are about the link's origin, a part's moments about
        # its centre
        squared = (c * c).sum(axis=-1)[..., None, None] * identity(self.scalars)
        about_centre = tensor - mass[..., None, None] * (
            squared - c[..., :, None] * c[..., None, :]
        )
        return [
            *self.declared,
            BodyPart(self.payload.body, mass, shift + times(turn, c), turn @ about_centre @ turn.T),
        ]

    # ---- kinematics ------------------------------------------------------------------------------

    @at_precision
    def placements(
        self, q: Array, v: Array | None = None, a: Array | None = None
    ) -> list[Placement]:
        """Return the pose of every body's frame in the base.

        With q alone each series has one term. With v and a it is the power series along q + v t + a
        t²/2, up to t².
        """
        identity_rotation, zero = identity(self.scalars), self.scalars.array([0, 0, 0])
        order = 1 if v is None else 3
        base = Placement(
            (identity_rotation, *[0 * identity_rotation] * (order - 1)), (zero,) * order
        )
        placements_so_far: list[Placement] = []
        for index, joint in enumerate(self.mechanism.joints):
            start = self._start(
                index, base if joint.parent == BASE else placements_so_far[joint.parent]
            )
            series = [self.joint_coordinates(index, q)]
            if v is not None and a is not None:
                series += [self.joint_rates(index, v), self.joint_rates(index, a)]
            if joint.type.directed:
                placements_so_far.append(self._moved_about_axis(index, start, series))
            else:
                placements_so_far.append(_composed(start, self._joint_motion(index, *series)))
        return placements_so_far

    def _start(self, index: int, parent: Placement) -> Placement:
        """Return the power series of a joint's start frame: its declared pose on the parent."""
        turn, shift = self.poses[index]
        shifts = (p + times(r, shift) for r, p in zip(parent.turn, parent.shift, strict=True))
        return Placement(tuple(r @ turn for r in parent.turn), tuple(shifts))

    def _moved_about_axis(self, index: int, start: Placement, series: Sequence[Array]) -> Placement:
        """Return a pose moved by the rotations and translations of a joint with an axis, in their
        order.
        """
        turns, shifts = start
        powers = range(len(turns))
        for step in self.mechanism.joints[index].about_axis:
            along = [self._scaled(step, coefficients) for coefficients in series]
            if isinstance(step, Sliding):
                slide = self._slide(self.axes[index], along)
                shifts = tuple(
                    p + sum(times(turns[i], slide[k - i]) for i in range(k + 1))
                    for k, p in enumerate(shifts)
                )
            else:
                motion = self._turn(self.axes[index], along)
                turns = tuple(added(turns[i] @ motion[k - i] for i in range(k + 1)) for k in powers)
        return Placement(turns, shifts)

    def _joint_motion(self, index: int, q: Array, *rates: Array) -> Placement:
        """Return the motion of a joint without an axis as a power series T (1 + t ξ̂ + t²/2 (ξ̂ ξ̂
        + dξ̂)).

        The twist ξ is that of v, dξ that of a.
        """
        turn, shift = identity(self.scalars), self.scalars.array([0, 0, 0])
        for step in self.motions[index]:
            if isinstance(step, Placing):
                shift = shift + times(turn[..., : step.axes], q[..., step.of : step.of + step.axes])
            elif isinstance(step, Orienting):
                turn = turn @ quaternion(q[..., step.of : step.of + 4])
            else:
                turn = turn @ self._turn(self.axes[index], [q[..., step.of]])[0]
        if not rates:
            return Placement((turn,), (shift,))
        units = self.twists(index, identity(self.scalars))
        (w, u), (dw, du) = (self._twist(units, x) for x in rates)
        spin, rate = skewed(w), skewed(dw)
        return Placement(
            (turn, turn @ spin, turn @ (spin @ spin + rate) / 2),
            (shift, times(turn, u), times(turn, times(spin, u) + du) / 2),
        )

    def _twist(self, units: Sequence[tuple[Array, Array]], v: Array) -> list[Array]:
        """Return (angular, linear) of the twist of velocities v (..., n), from the twists of their
        units.
        """
        return [
            added(v[..., k, None] * unit[half] for k, unit in enumerate(units)) for half in (0, 1)
        ]

    def displaced(self, q: Array, step: Array) -> Array:
        """Return q ⊕ δ (..., NQ), to the first order in δ (..., NV)."""
        q, step = (x.copy() for x in stacked(q, step))
        for index, (q_slice, v_slice) in enumerate(
            zip(self.mechanism.q_slices, self.mechanism.v_slices, strict=True)
        ):
            coordinates = q[..., q_slice]  # a view of the result
            displacement = step[..., v_slice]
            if self.mechanism.joints[index].type.directed:
                coordinates += displacement
                continue
            turn, spin, shift = self.joint_displacement(index, coordinates, displacement)
            for element in self.motions[index]:
                if isinstance(element, Placing):
                    coordinates[..., element.of : element.of + element.axes] += times(turn, shift)[
                        ..., : element.axes
                    ]
                elif isinstance(element, Orienting):
                    u, w = (
                        coordinates[..., element.of : element.of + 3].copy(),
                        coordinates[..., element.of + 3, None].copy(),
                    )
                    coordinates[..., element.of : element.of + 3] += (w * spin + cross(u, spin)) / 2
                    coordinates[..., element.of + 3] -= (u * spin).sum(axis=-1) / 2
                else:
                    coordinates[..., element.of] += (spin * self.axes[index]).sum(axis=-1)
        return q

    def joint_displacement(self, index: int, q: Array, step: Array) -> tuple[Array, Array, Array]:
        """Return for a joint without an axis its rotation (..., 3, 3), and the twist (angular,
        linear) of a step δ in the body's axes.
        """
        spin, shift = self._twist(self.twists(index, identity(self.scalars)), step)
        return self._joint_motion(index, q).turn[0], spin, shift

    def _scaled(self, step: AboutAxis, coordinates: Array) -> Array:
        """Return the angle or distance of an elementary motion from a joint's coordinates, or from
        their rates.
        """
        value = coordinates[..., step.of]
        # asarray: the product over one state is a scalar
        return value if step.rate == 1 else np.asarray(value * self.scalars.constant(step.rate))

    def _slide(self, axis: Array, along: Sequence[Array]) -> list[Array]:
        """Return a translation along an axis as a power series, from its value and, if present, its
        rates.
        """
        return [value[..., None] * axis / n for value, n in zip(along, (1, 1, 2), strict=False)]

    def _turn(self, axis: Array, along: Sequence[Array]) -> list[Array]:
        """Return a rotation about an axis as a power series, from its angle and, if present, its
        rates.
        """
        turn = rodrigues(axis, np.sin(along[0]), np.cos(along[0]))
        if len(along) == 1:
            return [turn]
        spin = skew(axis)
        v, a = along[1][..., None, None], along[2][..., None, None]
        return [turn, v * (spin @ turn), (a * spin + v * v * (spin @ spin)) @ turn / 2]

    def parent_transform(self, index: int, q: Array) -> tuple[Array, Array]:
        """Return rotation (..., 3, 3) and shift (..., 3) from a body's frame to its parent's, at q
        (..., NQ).
        """
        turn, shift = self.poses[index]
        if not self.mechanism.joints[index].type.directed:
            motion = self._joint_motion(index, self.joint_coordinates(index, q))
            return turn @ motion.turn[0], shift + times(turn, motion.shift[0])
        for step in self.mechanism.joints[index].about_axis:
            value = self._scaled(step, self.joint_coordinates(index, q))
            if isinstance(step, Sliding):
                shift = shift + times(turn, self._slide(self.axes[index], [value])[0])
            else:
                turn = turn @ self._turn(self.axes[index], [value])[0]
        return turn, shift

    def twists(self, index: int, turn: Array) -> list[tuple[Array, Array]]:
        """Return (angular, linear), (..., 3) each, of a body's frame for a unit of each velocity of
        its joint.

        `turn` (..., 3, 3) maps the body's axes to the axes of the result.
        """
        kind, still = self.mechanism.joints[index].type, 0 * turn[..., 0]
        if kind.along is not None:
            return [
                (turn[..., along], still) if velocity.unit == "rad" else (still, turn[..., along])
                for along, velocity in zip(kind.along, kind.velocities, strict=True)
            ]
        axis = times(turn, self.axes[index])
        twists = [(still, still) for _ in range(kind.nv)]
        for step in self.mechanism.joints[index].about_axis:
            direction = axis if step.rate == 1 else axis * self.scalars.constant(step.rate)
            angular, linear = twists[step.of]
            twists[step.of] = (
                (angular, linear + direction)
                if isinstance(step, Sliding)
                else (angular + direction, linear)
            )
        return twists

    @at_precision
    def columns(
        self, body: int, point: Array, placements: Sequence[Placement]
    ) -> tuple[Array, Array]:
        """Return Jw and Jv (..., 3, k) of a point (..., 3) fixed to `body`, for the k entries of v
        in `supports[body]`.
        """
        columns: dict[int, list[Array]] = {}
        for j in self.paths[body]:
            for (angular, linear), (k, rate) in zip(
                self.twists(j, placements[j].turn[0]), self.shares[j], strict=True
            ):
                column = np.broadcast_arrays(
                    angular, linear + cross(angular, point - placements[j].shift[0])
                )
                scaled = [
                    half if rate == 1 else half * self.scalars.constant(rate) for half in column
                ]
                columns[k] = (
                    scaled
                    if k not in columns
                    else [a + b for a, b in zip(columns[k], scaled, strict=True)]
                )
        angular_columns, linear_columns = zip(*columns.values(), strict=True)
        return stack(angular_columns), stack(linear_columns)

    def first_of(self, k: int) -> int:
        """Return the first entry of v that rotates with entry k: k itself, or the first entry of a
        joint without an axis.
        """
        joint, position = self.mechanism.dofs[k]
        return k if self.mechanism.joints[joint].type.directed else k - position

    def frame_placement(self, placements: Sequence[Placement], q: Array) -> tuple[Array, Array]:
        """Return axes (..., 3, 3) and origin (..., 3) of the chosen frame, in the base."""
        (turn, *_), (shift, *_) = self.frame_series(placements, q)
        return turn, shift

    def frame_series(self, placements: Sequence[Placement], q: Array) -> Placement:
        """Return the power series of the chosen frame's pose in the base, of the length of those in
        `placements`.
        """
        if self.frame is None:
            raise ArgumentError("this reference has no frame; name a link with frame=")
        turn, shift = self.pose(self.frame.pose)
        if self.frame.body == BASE:
            order = 0 if not placements else len(placements[0].turn) - 1
            turns, shifts = (turn, *[0 * turn] * order), (shift, *[0 * shift] * order)
        else:
            at = placements[self.frame.body]
            turns = tuple(r @ turn for r in at.turn)
            shifts = tuple(p + times(r, shift) for r, p in zip(at.turn, at.shift, strict=True))
        return Placement(
            tuple(np.broadcast_to(r, (*q.shape[:-1], 3, 3)) for r in turns),
            tuple(np.broadcast_to(p, (*q.shape[:-1], 3)) for p in shifts),
        )

    def external_wrenches(
        self, placements: Sequence[Placement], wrench: Array | None
    ) -> list[tuple[int, Array, Array, Array]]:
        """Return external wrenches on moving bodies: (body, point, moment, force) in base axes."""
        moving = [(k, link) for k, link in enumerate(self.wrenches) if link.body != BASE]
        if not moving:
            return []
        several = len(self.wrenches) > 1
        if wrench is None or wrench.shape[-1 - several :] != (
            (len(self.wrenches), 6) if several else (6,)
        ):
            names = "', '".join(link.name for link in self.wrenches)
            raise ArgumentError(
                f"this reference has an external wrench on '{names}'; pass six numbers of each as"
                " `wrench`"
            )
        wrenches = []
        for k, link in moving:
            entries = wrench[..., k, :] if several else wrench
            (turn, shift), at = self.pose(link.pose), placements[link.body]
            moment, force = (
                times(at.turn[0] @ turn, half) for half in (entries[..., :3], entries[..., 3:])
            )
            wrenches.append((link.body, at.shift[0] + times(at.turn[0], shift), moment, force))
        return wrenches
