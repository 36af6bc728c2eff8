"""Where the parts of the declared mechanism are and how they move: poses as power series along a trajectory, and Jacobians.

What a joint type does (a turn about its axis, a slide along it) and `Mechanism` are all that it shares with the derivation.
Arrays are as `symgen.reference.mechanics` has them.
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
)
from symgen.reference.precision import FLOAT, Array, Scalars
from symgen.support.errors import ArgumentError
from symgen.vocabulary.arrays import ALL_ROWS, USUAL, Convention
from symgen.vocabulary.poses import Pose, Quaternion, Rotate, Shift, Slide, Vector3

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Motion = TypeVar("_Motion", bound="Motion")


class Carried(NamedTuple):
    """One part as a body carries it: `centre` (..., 3) and the tensor `inertia` (..., 3, 3) about it, in the body's axes; `borne`
    is the fraction of its weight that is borne for it."""

    body: int
    mass: Array
    centre: Array
    inertia: Array
    borne: Fraction = Fraction(0)


class Placement(NamedTuple):
    """Power series in t of a body's pose in the base: `turn` of (..., 3, 3) and `shift` of (..., 3), one a power."""

    turn: tuple[Array, ...]
    shift: tuple[Array, ...]


def at_precision(
    method: Callable[Concatenate[_Motion, _P], _T],
) -> Callable[Concatenate[_Motion, _P], _T]:
    """Run a method of Motion in its scalars' working precision."""

    @wraps(method)
    def run(self: _Motion, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self.scalars.working():
            return method(self, *args, **kwargs)

    return cast("Callable[Concatenate[_Motion, _P], _T]", run)


def remembered(
    method: Callable[Concatenate[_Motion, _P], Array],
) -> Callable[Concatenate[_Motion, _P], Array]:
    """Give a method's last answer again at the same exact states; floats are quick enough to be taken anew.

    Most functions ask for M, and over balls M takes the longest.
    """

    names = list(signature(method).parameters)[1:]

    @wraps(method)
    def run(self: _Motion, /, *args: _P.args, **kwargs: _P.kwargs) -> Array:
        if self.scalars.dtype is not object:
            return method(self, *args, **kwargs)
        given: dict[str, Any] = {**dict(zip(names, args, strict=False)), **kwargs}
        before, answer = self.answers.get(method.__name__, ({}, None))
        if answer is None or not all(_same(before.get(name), given.get(name)) for name in names):
            answer = method(self, *args, **kwargs)
            # Copies: who calls may write into what it gave, and into what it got.
            self.answers[method.__name__] = (
                {name: np.array(x) for name, x in given.items() if x is not None},
                answer,
            )
        return np.array(answer)

    return run


def _same(a: Any, b: Any) -> bool:
    """Whether two arguments hold the same exact numbers; a ball with a radius equals nothing."""
    if a is None or b is None:
        return a is b
    return bool(a.shape == b.shape and (a == b).all())


def _composed(first: Placement, second: Placement) -> Placement:
    """Power series of one motion after another."""
    powers = range(len(first.turn))
    shifts = (
        p + added(times(first.turn[i], second.shift[k - i]) for i in range(k + 1))
        for k, p in enumerate(first.shift)
    )
    turns = (added(first.turn[i] @ second.turn[k - i] for i in range(k + 1)) for k in powers)
    return Placement(tuple(turns), tuple(shifts))


class Attachments(TypedDict, total=False):
    """Links that carry frames, a run-time payload or wrenches, points that may touch something, and how J is stated."""

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
    """The motion of `mechanism` over `scalars`, evaluated from its declaration.

    `frame`, `payload` and `wrench` name links and `contact` points of them, as `Reference` has them. Raises UnknownName for an
    unknown link.
    """

    def __init__(
        self, mechanism: Mechanism, scalars: Scalars = FLOAT, **attachments: Unpack[Attachments]
    ) -> None:
        self.mechanism, self.scalars = mechanism, scalars
        self.convention = attachments.get("convention", USUAL)
        self.task_rows = attachments.get("task_rows", ALL_ROWS)
        self.described = mechanism
        """By whose numbers it is decided how often redundant forces are solved for, where `mechanism` has others at run time."""
        self.answers: dict[str, tuple[dict[str, Array], Any]] = {}
        self.frames = [mechanism.frame(name) for name in _names(attachments.get("frame"))]
        self.wrenches = [mechanism.frame(name) for name in _names(attachments.get("wrench"))]
        self.contact = _names(attachments.get("contact"))
        self.contacts = [mechanism.contact(name) for name in self.contact]
        self.frame = self.frames[0] if self.frames else None
        payload = attachments.get("payload")
        self.payload = None if payload is None else mechanism.frame(payload)
        self.motions = [joint.motions for joint in mechanism.joints]
        with scalars.working():
            self.axes = [self._direction(joint.axis) for joint in mechanism.joints]
            self.poses = [self.pose(joint.pose) for joint in mechanism.joints]
            self.gravity: Array = self._vector(mechanism.gravity)
            self.declared = [
                self._carry(index, part)
                for index, body in enumerate(mechanism.bodies)
                for part in body.parts
            ]
        self.shares = [self._shares(index) for index in range(len(mechanism.bodies))]
        """Per body, how fast each degree of freedom of its own joint moves for a unit of v: (entry of v, rate)."""

    def of_each_frame(self) -> list[Self]:
        """The same motion once for each frame, where only that one is named."""
        found = [copy(self) for _ in self.frames]
        for one, frame in zip(found, self.frames, strict=True):
            one.frame, one.frames = frame, [frame]
        return found

    # ---- the declaration, entered into the scalars -------------------------------------------------------------------

    @cached_property
    def ways(self) -> list[list[int]]:
        """Per body, the bodies between it and the base, base first and its own last. Of a long chain that is a long list: a
        recursion does without.
        """
        found: list[list[int]] = []
        for body, parent in enumerate(self.mechanism.parents):
            found.append([*(found[parent] if parent != BASE else ()), body])
        return found

    @cached_property
    def supports(self) -> list[list[int]]:
        """Per body, the entries of v that move it: those of the joints of its way, or of joints that these follow."""
        return [
            list(dict.fromkeys(k for one in way for k, _ in self.shares[one])) for way in self.ways
        ]

    def _shares(self, index: int) -> list[tuple[int, Fraction]]:
        own, follows = self.mechanism.v_slices[index], self.mechanism.follows[index]
        if follows is None:
            return [(k, Fraction(1)) for k in range(own.start, own.stop)]
        return [(self.mechanism.v_slices[follows.leader].start, follows.multiplier)]

    def coordinates(self, index: int, q: Array) -> Array:
        """A joint's own coordinates (..., n), at q (..., NQ) of those that follow no other."""
        follows = self.mechanism.follows[index]
        if follows is None:
            return q[..., self.mechanism.q_slices[index]]
        lead = q[..., self.mechanism.q_slices[follows.leader]]
        return np.asarray(
            lead * self.scalars.constant(follows.multiplier) + self.scalars.constant(follows.offset)
        )

    def rates(self, index: int, v: Array) -> Array:
        """A joint's own velocities or accelerations likewise."""
        follows = self.mechanism.follows[index]
        if follows is None:
            return v[..., self.mechanism.v_slices[index]]
        return np.asarray(
            v[..., self.mechanism.v_slices[follows.leader]]
            * self.scalars.constant(follows.multiplier)
        )

    def _vector(self, xyz: Vector3) -> Array:
        return self.scalars.array([self.scalars.constant(x) for x in xyz])

    def _direction(self, axis: Vector3) -> Array:
        vector = self._vector(axis)
        squared = sum(x * x for x in axis)
        return (
            vector
            if squared == 1
            else vector / np.sqrt(self.scalars.array(self.scalars.constant(Fraction(squared))))
        )

    def _unit(self, declared: Quaternion) -> Array:
        """A declared quaternion w, x, y, z as x, y, z, w of length one."""
        w, *u = (self.scalars.constant(entry) for entry in declared)
        length = np.sqrt(
            self.scalars.array(self.scalars.constant(sum((e * e for e in declared), Fraction(0))))
        )
        return np.asarray(self.scalars.array([*u, w]) / length)

    def pose(self, pose: Pose) -> tuple[Array, Array]:
        """Turn (3, 3) and shift (3,) of a declared pose: the product of its steps from left to right."""
        turn, shift = identity(self.scalars), self._vector((Fraction(0),) * 3)
        for step in pose:
            if isinstance(step, Shift):
                shift = shift + turn @ self._vector(step.xyz)
            elif isinstance(step, Slide):
                shift = shift + turn @ (
                    self._direction(step.axis) * self.scalars.constant(step.distance)
                )
            elif isinstance(step, Rotate):
                turn = turn @ quaternion(self._unit(step.quaternion))
            else:
                turn = turn @ rodrigues(
                    self._direction(step.axis), *self.scalars.sine_cosine(step.angle)
                )
        return turn, shift

    def _carry(self, body: int, part: Any) -> Carried:
        turn, centre = self.pose(part.pose)
        xx, xy, xz, yy, yz, zz = (self.scalars.constant(moment) for moment in part.moments)
        tensor = self.scalars.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return Carried(
            body,
            self.scalars.array(self.scalars.constant(part.mass)),
            centre,
            turn @ tensor @ turn.T,
            part.gravcomp,
        )

    def parts(self, payload: Array | None = None) -> list[Carried]:
        """Every part that a body carries, the run-time payload included."""
        if self.payload is None or self.payload.body == BASE:
            return self.declared
        if payload is None:
            raise ArgumentError(
                f"this reference carries a payload on '{self.payload.name}'; pass its ten numbers as `payload`"
            )
        turn, shift = self.pose(self.payload.pose)
        mass, c = payload[..., 0], payload[..., 1:4]
        tensor = payload[..., [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape((*payload.shape[:-1], 3, 3))
        # Steiner: the ten numbers are about the link's origin, a part's moments about its centre
        squared = (c * c).sum(axis=-1)[..., None, None] * identity(self.scalars)
        about_centre = tensor - mass[..., None, None] * (
            squared - c[..., :, None] * c[..., None, :]
        )
        return [
            *self.declared,
            Carried(self.payload.body, mass, shift + times(turn, c), turn @ about_centre @ turn.T),
        ]

    # ---- kinematics --------------------------------------------------------------------------------------------------

    @at_precision
    def placements(
        self, q: Array, v: Array | None = None, a: Array | None = None
    ) -> list[Placement]:
        """Pose of every body's frame in the base: at q, or with v and a the power series along q + v t + a t²/2."""
        still, nothing = identity(self.scalars), self.scalars.array([0, 0, 0])
        order = 1 if v is None else 3
        base = Placement((still, *[0 * still] * (order - 1)), (nothing,) * order)
        placed: list[Placement] = []
        for index, joint in enumerate(self.mechanism.joints):
            start = self._start(index, base if joint.parent == BASE else placed[joint.parent])
            series = [self.coordinates(index, q)]
            if v is not None and a is not None:
                series += [self.rates(index, v), self.rates(index, a)]
            if joint.type.directed:
                placed.append(self._moved_about_axis(index, start, series))
            else:
                placed.append(_composed(start, self._along(index, *series)))
        return placed

    def _start(self, index: int, parent: Placement) -> Placement:
        """Power series of where a joint starts: its declared pose on the parent."""
        turn, shift = self.poses[index]
        shifts = (p + times(r, shift) for r, p in zip(parent.turn, parent.shift, strict=True))
        return Placement(tuple(r @ turn for r in parent.turn), tuple(shifts))

    def _moved_about_axis(self, index: int, start: Placement, series: Sequence[Array]) -> Placement:
        """A pose moved by the turns and slides of a joint with an axis, in their order."""
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

    def _along(self, index: int, q: Array, *rates: Array) -> Placement:
        """What a joint without an axis does, as a power series T (1 + t ξ̂ + t²/2 (ξ̂ ξ̂ + dξ̂)): the twist ξ is of v, dξ of a."""
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
        own = self.twists(index, identity(self.scalars))
        (w, u), (dw, du) = (self._twist(own, x) for x in rates)
        spin, rate = skewed(w), skewed(dw)
        return Placement(
            (turn, turn @ spin, turn @ (spin @ spin + rate) / 2),
            (shift, times(turn, u), times(turn, times(spin, u) + du) / 2),
        )

    def _twist(self, units: Sequence[tuple[Array, Array]], v: Array) -> list[Array]:
        """(angular, linear) of the twist that the velocities v (..., n) make of those of their units."""
        return [
            added(v[..., k, None] * unit[part] for k, unit in enumerate(units)) for part in (0, 1)
        ]

    def moved(self, q: Array, step: Array) -> Array:
        """q ⊕ δ (..., NQ), to the first order in δ (..., NV)."""
        q, step = (x.copy() for x in stacked(q, step))
        for index, (of_q, of_v) in enumerate(
            zip(self.mechanism.q_slices, self.mechanism.v_slices, strict=True)
        ):
            own, aside = q[..., of_q], step[..., of_v]  # a view of what is returned
            if self.mechanism.joints[index].type.directed:
                own += aside
                continue
            turn, spin, shift = self.stirred(index, own, aside)
            for word in self.motions[index]:
                if isinstance(word, Placing):
                    own[..., word.of : word.of + word.axes] += times(turn, shift)[..., : word.axes]
                elif isinstance(word, Orienting):
                    u, w = (
                        own[..., word.of : word.of + 3].copy(),
                        own[..., word.of + 3, None].copy(),
                    )
                    own[..., word.of : word.of + 3] += (w * spin + cross(u, spin)) / 2
                    own[..., word.of + 3] -= (u * spin).sum(axis=-1) / 2
                else:
                    own[..., word.of] += (spin * self.axes[index]).sum(axis=-1)
        return q

    def stirred(self, index: int, q: Array, step: Array) -> tuple[Array, Array, Array]:
        """Of a joint without an axis: how it has turned its body (..., 3, 3), and the twist of a step δ in the body's axes."""
        spin, shift = self._twist(self.twists(index, identity(self.scalars)), step)
        return self._along(index, q).turn[0], spin, shift

    def _scaled(self, step: AboutAxis, coordinates: Array) -> Array:
        """What an elementary motion takes of a joint's coordinates, or of their rates."""
        value = coordinates[..., step.of]
        return (
            value if step.rate == 1 else np.asarray(value * self.scalars.constant(step.rate))
        )  # of one state as well

    def _slide(self, axis: Array, along: Sequence[Array]) -> list[Array]:
        """A displacement along an axis as a power series, from its value and, where given, its rates."""
        return [value[..., None] * axis / n for value, n in zip(along, (1, 1, 2), strict=False)]

    def _turn(self, axis: Array, along: Sequence[Array]) -> list[Array]:
        """A turn about an axis likewise."""
        turn = rodrigues(axis, np.sin(along[0]), np.cos(along[0]))
        if len(along) == 1:
            return [turn]
        spin = skew(axis)
        v, a = along[1][..., None, None], along[2][..., None, None]
        return [turn, v * (spin @ turn), (a * spin + v * v * (spin @ spin)) @ turn / 2]

    def across(self, index: int, q: Array) -> tuple[Array, Array]:
        """Turn (..., 3, 3) and shift (..., 3) from a body's frame to its parent's, at q (..., NQ)."""
        turn, shift = self.poses[index]
        if not self.mechanism.joints[index].type.directed:
            own = self._along(index, self.coordinates(index, q))
            return turn @ own.turn[0], shift + times(turn, own.shift[0])
        for step in self.mechanism.joints[index].about_axis:
            value = self._scaled(step, self.coordinates(index, q))
            if isinstance(step, Sliding):
                shift = shift + times(turn, self._slide(self.axes[index], [value])[0])
            else:
                turn = turn @ self._turn(self.axes[index], [value])[0]
        return turn, shift

    def twists(self, index: int, turn: Array) -> list[tuple[Array, Array]]:
        """(angular, linear) (..., 3) of a body's frame for a unit of each of its joint's velocities.

        `turn` (..., 3, 3) leads from the body's axes to those that the answer is in.
        """
        kind, still = self.mechanism.joints[index].type, 0 * turn[..., 0]
        if kind.along is not None:
            return [
                (turn[..., along], still) if velocity.unit == "rad" else (still, turn[..., along])
                for along, velocity in zip(kind.along, kind.velocities, strict=True)
            ]
        axis = times(turn, self.axes[index])
        found = [(still, still) for _ in range(kind.nv)]
        for step in self.mechanism.joints[index].about_axis:
            moved = axis if step.rate == 1 else axis * self.scalars.constant(step.rate)
            angular, linear = found[step.of]
            found[step.of] = (
                (angular, linear + moved)
                if isinstance(step, Sliding)
                else (angular + moved, linear)
            )
        return found

    @at_precision
    def columns(self, body: int, point: Array, placed: Sequence[Placement]) -> tuple[Array, Array]:
        """Jw and Jv (..., 3, k) of a point (..., 3) carried by `body`, for the k entries of v in `supports[body]`."""
        found: dict[int, list[Array]] = {}
        for j in self.ways[body]:
            for (turning, sliding), (k, rate) in zip(
                self.twists(j, placed[j].turn[0]), self.shares[j], strict=True
            ):
                both = np.broadcast_arrays(
                    turning, sliding + cross(turning, point - placed[j].shift[0])
                )
                moved = [one if rate == 1 else one * self.scalars.constant(rate) for one in both]
                found[k] = (
                    moved
                    if k not in found
                    else [a + b for a, b in zip(found[k], moved, strict=True)]
                )
        return stack([one[0] for one in found.values()]), stack([one[1] for one in found.values()])

    def first_of(self, k: int) -> int:
        """The first entry of v that turns with what entry k moves: k itself, or that of its joint where this has no axis."""
        joint, of = self.mechanism.dofs[k]
        return k if self.mechanism.joints[joint].type.directed else k - of

    def frame_placement(self, placed: Sequence[Placement], q: Array) -> tuple[Array, Array]:
        """Axes (..., 3, 3) and origin (..., 3) of the chosen frame, in the base."""
        (turn, *_), (shift, *_) = self.frame_series(placed, q)
        return turn, shift

    def frame_series(self, placed: Sequence[Placement], q: Array) -> Placement:
        """Power series of the chosen frame's pose in the base, as long as those of `placed`."""
        if self.frame is None:
            raise ArgumentError("this reference has no frame; name a link with frame=")
        turn, shift = self.pose(self.frame.pose)
        if self.frame.body == BASE:
            rest = 0 if not placed else len(placed[0].turn) - 1
            turns, shifts = (turn, *[0 * turn] * rest), (shift, *[0 * shift] * rest)
        else:
            at = placed[self.frame.body]
            turns = tuple(r @ turn for r in at.turn)
            shifts = tuple(p + times(r, shift) for r, p in zip(at.turn, at.shift, strict=True))
        return Placement(
            tuple(np.broadcast_to(r, (*q.shape[:-1], 3, 3)) for r in turns),
            tuple(np.broadcast_to(p, (*q.shape[:-1], 3)) for p in shifts),
        )

    def outside(
        self, placed: Sequence[Placement], wrench: Array | None
    ) -> list[tuple[int, Array, Array, Array]]:
        """Every wrench that a joint carries, on its body: (body, point, moment, force) in base axes."""
        carried = [(k, link) for k, link in enumerate(self.wrenches) if link.body != BASE]
        if not carried:
            return []
        several = len(self.wrenches) > 1
        if wrench is None or wrench.shape[-1 - several :] != (
            (len(self.wrenches), 6) if several else (6,)
        ):
            names = "', '".join(link.name for link in self.wrenches)
            raise ArgumentError(
                f"this reference feels a wrench on '{names}'; pass six numbers of each as `wrench`"
            )
        found = []
        for k, link in carried:
            own = wrench[..., k, :] if several else wrench
            (turn, shift), at = self.pose(link.pose), placed[link.body]
            moment, force = (
                times(at.turn[0] @ turn, part) for part in (own[..., :3], own[..., 3:])
            )
            found.append((link.body, at.shift[0] + times(at.turn[0], shift), moment, force))
        return found
