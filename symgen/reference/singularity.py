"""Whether a mass matrix can be inverted, decided from the reference's pivots over balls.

A pivot D_k that is away from zero at one state is no zero as a function of the state, so one state at which all of them are
says that M is regular. A ball that is too wide to tell says nothing about M: it is asked again with more digits. Rounding takes
about one digit a joint, so a chain of a thousand joints is decided in balls of some 1300 digits, in a few seconds.

Most robots need none of this: lower bounds of the pivots by each joint's own link suffice, in time proportional to the number
of links. The pivot of a joint is D = hᵀ P h + A, its inertia once every joint behind it is free. With I of its own link, P − I is
the inertia of its children, which is never negative where no link's inertia is. So D is at least hᵀ I h + A, whatever the link
carries and in every state, and M has an inverse where that is positive at every joint. Of a joint of several degrees of freedom
it is the pivots of Hᵀ I H + A, since an elimination of more leaves more (Horn and Johnson, Matrix Analysis, 7.7). The bound also
holds of a few links together, without all others: a joint that moves a massless link has the inertia of its child. All is
rational, except for axes turned by an angle. Of moments in such axes the least is taken, which is at least 4 det / tr²:
det = λ₁λ₂λ₃ with λ₂λ₃ at most (tr/2)². A centre behind a turn is not computed, and its part is left out.

The reference's pivots of M = U D Uᵀ, what each joint feels once every joint that it carries is free, come of an
articulated recursion on the declared bodies, from the leaves to the base (Rodriguez and Kreutz 1988, (4.9)-(4.12): the Riccati
equation of a filter), in the axes of each body's own frame and over any scalars. With P of a body what a twist of it meets,
h the twist of its joint and X the body's twist for one of its parent,

    D = hᵀ P h + A,    P_parent += Xᵀ (P − P h hᵀ P / D) X,    M_kk = hᵀ I_c h + A with I_c_parent += Xᵀ I_c X

and A the armature of the joint's drive, which is felt at the joint alone.

Its length grows with the number of joints, where M itself grows with its square. What it is made of is `Mechanism` and the
reference's poses: nothing of the derivation, whose `riccati` prints another form of the same paper in frames of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from sys import float_info
from typing import Any, NamedTuple

import numpy as np
from flint import arb as ball
from flint import fmpq

from symgen.mechanism.joints import Placing, Sliding, Turning
from symgen.mechanism.mechanism import BASE, Body, Joint, Mechanism, Part
from symgen.reference import coupled
from symgen.reference.arrays import identity, skewed, transposed
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Carried, Motion
from symgen.reference.precision import Array, arb
from symgen.reference.states import draw_states
from symgen.vocabulary.poses import Pose, Shift, Slide, Vector3

DIGITS = 120
LEAST_PIVOT = Fraction(1, 10**20)
"""A pivot this small a part of its diagonal entry is no inertia: no real type of the C could resolve it."""
NOTHING = Fraction(1, 10**100)
"""A ball that holds zero and nothing above this part of all the inertia about the joint's origin is taken for zero."""
MARGIN = fmpq(4, 10**20)
"""Of a bound of the diagonal entry: above it a pivot is above both, since NOTHING is of no more than three times as much."""
DOUBLINGS = 4
STATES = 2


@dataclass(frozen=True)
class Loss:
    """Why M is not known to have an inverse that a computer can find: the joint at which it is lost, and how much it feels there.

    `feels` is the pivot as a part of its diagonal entry: 0 where it vanishes (to 100 digits, at random states), None where
    `digits` digits did not tell.
    """

    joint: str
    feels: float | None
    digits: int

    @property
    def sentence(self) -> str:
        """What is the matter with the mass matrix, and what to do: the end of a sentence about it."""
        name, lock = f"joint '{self.joint}'", f"lock it with --lock {self.joint}"
        if self.feels is None:
            return (
                f"the mass matrix, of which {self.digits} digits do not tell whether it can be inverted: {lock}, or look for "
                f"a misplaced exponent or unit among the numbers of {name} and of what it carries"
            )
        if self.feels > 0:
            return (
                f"the mass matrix, which no real type can tell from a singular one: {name} moves only {self.feels:.0e} of "
                f"its inertia that other joints do not move as well; {lock}, or look for a misplaced exponent or unit"
            )
        return (
            f"the mass matrix, which is singular: {name} moves no inertia that other joints do not move as well; {lock}, "
            "or give its links a mass"
        )


def loss(mechanism: Mechanism, payload: str | None = None) -> Loss | None:
    """Where the mass matrix loses its rank at every state; None where it is known to be regular.

    Going from the leaves to the base, it is the first joint that feels no inertia once all joints after it are free: a
    massless moving leaf, or a joint whose motion another one undoes. A `payload` (a link's name) counts as a load.
    """
    if not mechanism.coupled and _each_feels_enough(mechanism, payload):
        return None
    return _lost(mechanism, payload)


def _each_feels_enough(mechanism: Mechanism, payload: str | None) -> bool:
    """Whether the least that each joint can feel tells that M is regular. If not, nothing is known yet."""
    if not has_physical_inertias(mechanism):
        return False
    with arb(DIGITS).working():
        enough = [MARGIN * bound for bound in largest_diagonal(mechanism, payload)]
        unsure = [
            i
            for i, (joint, body) in enumerate(zip(mechanism.joints, mechanism.bodies, strict=True))
            if not all(ball(pivot) > enough[i] for pivot in least_pivots(joint, body))
        ]
        few = list(connected_parts(mechanism, unsure))
    return all(
        len(own) < len(mechanism.bodies) and _few_feel_enough(part, [enough[i] for i in own])
        for part, own in few
    )


def _few_feel_enough(mechanism: Mechanism, enough: Sequence[Any]) -> bool:
    """The same of some links by themselves, at one state."""
    reference = Reference(mechanism, arb(DIGITS + 5 * mechanism.longest // 4))
    with reference.scalars.working():
        q = reference.scalars.array(draw_states(mechanism, 1, seed=1)["q"])
        return all(
            felt.free[0] > enough[mechanism.dofs[felt.dof][0]] for felt in pivots(reference, q)
        )


def _lost(mechanism: Mechanism, payload: str | None) -> Loss | None:
    """`loss` by the pivots of the whole."""
    digits = DIGITS + 5 * mechanism.longest // 4
    states = draw_states(mechanism, STATES, seed=1, payload=payload)
    losses: list[Loss] = []
    references: dict[int, Reference] = {}
    for state in range(STATES):
        q, load = (
            None if name not in states else states[name][state : state + 1]
            for name in ("q", "payload")
        )
        found: Loss | None = None
        for attempt in range(DOUBLINGS + 1):
            reference = references.get(attempt) or Reference(
                mechanism, arb(digits << attempt), payload=payload
            )
            references[attempt] = reference
            found = _loss_at(reference, q, load, digits << attempt)
            if found is None:
                return None
            if found.feels is not None:
                break
        assert found is not None
        losses.append(found)
    return min(
        losses,
        key=lambda one: (
            one.feels is not None,
            -(one.feels or 0.0),
            mechanism.joint_index(one.joint),
        ),
    )


def _loss_at(reference: Reference, q: Any, load: Any, digits: int) -> Loss | None:
    scalars, mechanism = reference.scalars, reference.mechanism
    with scalars.working():
        least, nothing = (scalars.constant(x) for x in (LEAST_PIVOT, NOTHING))
        for k, free, held, spread in pivots(
            reference, scalars.array(q), None if load is None else scalars.array(load)
        ):
            feels, whole, zero = abs(free[0]), abs(held[0]), nothing * abs(spread[0])
            if not feels > least * whole + zero:
                return Loss(
                    mechanism.joints[mechanism.dofs[k][0]].name,
                    _part(feels, whole, least * whole + zero, zero),
                    digits,
                )
        return None


def _part(feels: Any, whole: Any, bound: Any, zero: Any) -> float | None:
    """How much of the `whole` a pivot is that may be below the bound; None where its ball does not say."""
    if feels.contains(0):
        return 0.0 if feels <= zero else None
    return max(float((feels / whole).mid()), float_info.min) if feels <= bound else None


# -- the pivots --


class Felt(NamedTuple):
    """What degree of freedom k feels, (...) each: kg·m² where it turns, kg where it slides."""

    dof: int
    free: Array
    """D_k, all joints behind it free."""
    held: Array
    """M_kk, all other joints held."""
    spread: Array
    """M_kk summed over three axes at right angles through the body's origin: as much as it could be, however the axis points."""


def pivots(reference: Reference, q: Array, payload: Array | None = None) -> Iterator[Felt]:
    """Every pivot at stacked states q (..., NQ), from the last entry of v to the first; `payload` (..., 10) as in Reference.

    A joint of several degrees of freedom is one step each, without a way between them.

    To be run in the working precision of the reference's scalars. Beyond a pivot that may be zero the rest means nothing:
    NaN in floats, balls without an end.
    """
    yield from (_of_matrix if reference.mechanism.coupled else _along_tree)(reference, q, payload)


def _along_tree(reference: Motion, q: Array, payload: Array | None) -> Iterator[Felt]:
    """By the recursion."""
    mechanism, parts = reference.mechanism, reference.parts(payload)
    batch = np.broadcast_shapes(q.shape[:-1], *(part.mass.shape for part in parts))
    met = [
        reference.scalars.array(np.zeros((*batch, 2, 6, 6))) for _ in mechanism.bodies
    ]  # P and I_c
    for part in parts:
        met[part.body] = met[part.body] + _rigid(reference, part)[..., None, :, :]
    for body in reversed(range(len(mechanism.bodies))):
        parent, own, here = mechanism.joints[body].parent, mechanism.v_slices[body], met[body]
        twists = dict(
            zip(
                range(own.start, own.stop),
                reference.twists(body, identity(reference.scalars)),
                strict=True,
            )
        )
        for k, twist in reversed(twists.items()):
            h = np.concatenate(twist)
            felt = here @ h  # P h, I_c h
            rotor = reference.scalars.constant(
                mechanism.joints[body].drive.at(k - own.start).armature
            )
            free, held = np.moveaxis((felt * h).sum(axis=-1) + rotor, -1, 0)
            yield Felt(k, free, held, _spread(here[..., 1, :, :], twist) + rotor)
            across = felt[..., 0, :]
            here[..., 0, :, :] -= across[..., :, None] * (across / free[..., None])[..., None, :]
        if parent != BASE:
            inward = _inward(reference, body, q)[..., None, :, :]
            met[parent] = met[parent] + transposed(inward) @ (here @ inward)


def _of_matrix(reference: Reference, q: Array, payload: Array | None) -> Iterator[Felt]:
    """Where joints follow others, which couples branches: by elimination of M, entry by entry from the last."""
    mechanism, spread = reference.mechanism, dict[int, Array]()
    of = [pair for pairs in reference.shares for pair in pairs]
    for one in _along_tree(coupled.whole(reference), coupled.every(reference, q), payload):
        k, rate = of[one.dof]
        spread[k] = spread.get(k, 0 * one.spread) + one.spread * reference.scalars.constant(
            rate * rate
        )
    left = reference.mass_matrix(q, payload).copy()
    held = [left[..., k, k].copy() for k in range(mechanism.nv)]
    for k in reversed(range(mechanism.nv)):
        yield Felt(k, left[..., k, k], held[k], spread[k])
        column = left[..., :k, k].copy()
        left[..., :k, :k] -= column[..., :, None] * (column / left[..., k, k, None])[..., None, :]


def _spread(inertia: Array, twist: tuple[Array, Array]) -> Array:
    """Of (..., 6, 6) and a twist: its moments and its masses along three axes, as often as the twist turns and slides."""
    moments, masses = (
        np.trace(inertia[..., part, part], axis1=-2, axis2=-1)
        for part in (slice(0, 3), slice(3, 6))
    )
    turning, sliding = ((part * part).sum() for part in twist)
    return np.asarray(turning * moments + sliding * masses)


def _rigid(reference: Motion, part: Carried) -> Array:
    """(..., 6, 6) of a part about its body's origin: (moment, force) = it times (angular, linear)."""
    mass, arm = part.mass[..., None, None], skewed(part.centre)
    whole = mass * identity(reference.scalars)
    return np.concatenate(
        [
            np.concatenate([part.inertia - mass * (arm @ arm), mass * arm], axis=-1),
            np.concatenate([-mass * arm, whole], axis=-1),
        ],
        axis=-2,
    )


def _inward(reference: Motion, body: int, q: Array) -> Array:
    """X (..., 6, 6): the twist of a body at its origin, in its axes, for one of its parent."""
    turn, shift = reference.across(body, q)
    turn = np.broadcast_to(turn, (*q.shape[:-1], 3, 3))
    back, lever = transposed(turn), -transposed(turn) @ skewed(shift)
    return np.concatenate(
        [np.concatenate([back, 0 * back], axis=-1), np.concatenate([lever, back], axis=-1)], axis=-2
    )


# -- bounds of a joint's pivot by its own link --

Exact = Any
"""An fmpq."""
Three = tuple[Exact, Exact, Exact]
Twist = tuple[Three, Three]
"""Angular and linear part of a degree of freedom; those of a joint with an axis are times the length of what is declared."""
_ZERO, _ONE = fmpq(0), fmpq(1)
_STILL: Three = (_ZERO, _ZERO, _ZERO)
_UNITS: tuple[Three, ...] = ((_ONE, _ZERO, _ZERO), (_ZERO, _ONE, _ZERO), (_ZERO, _ZERO, _ONE))
FARTHEST = 13
"""No state is drawn with a coordinate beyond it (rad, m): four times the usual range of an angle."""


def least_pivots(joint: Joint, body: Body) -> list[Exact]:
    """For each degree of freedom of the joint, from its last to its first, what it feels at least (kg m², kg)."""
    twists, square = _twists(joint)
    met = [[_ZERO] * len(twists) for _ in twists]
    for part in body.parts:
        centre, turned = _centre(part.pose)
        if centre is None:
            continue
        mass, moments = _exact(part.mass), tuple(map(_exact, part.moments))
        if turned:
            one = _least(moments)
            moments = (one, _ZERO, _ZERO, one, _ZERO, one)
        xx, xy, xz, yy, yz, zz = moments
        for i, (w, v) in enumerate(twists):
            x, y, z = _moved(w, v, centre)
            a, b, c = w
            spun = (xx * a + xy * b + xz * c, xy * a + yy * b + yz * c, xz * a + yz * b + zz * c)
            for j, (w_j, v_j) in enumerate(twists[: i + 1]):
                other = _moved(w_j, v_j, centre)
                met[i][j] += mass * (x * other[0] + y * other[1] + z * other[2]) + _dot(spun, w_j)
    for i in range(len(twists)):
        for j in range(i + 1):
            met[i][j] = met[j][i] = met[i][j] / square
        met[i][i] += _exact(joint.drive.armature)
    found = []
    for k in reversed(range(len(twists))):
        pivot = met[k][k]
        found.append(pivot)
        if not pivot > 0:
            return [*found, *[_ZERO] * k]
        for i in range(k):
            for j in range(k):
                met[i][j] -= met[i][k] * met[k][j] / pivot
    return found


def _twists(joint: Joint) -> tuple[list[Twist], Exact]:
    """Return the twist of each degree of freedom, in the body's axes, and the divisor of their products."""
    kind = joint.type
    if kind.along is not None:
        return [
            (_UNITS[along], _STILL) if velocity.unit == "rad" else (_STILL, _UNITS[along])
            for along, velocity in zip(kind.along, kind.velocities, strict=True)
        ], _ONE
    found: list[Twist] = [(_STILL, _STILL) for _ in range(kind.nv)]
    x, y, z = axis = _vector(joint.axis)
    for step in joint.about_axis:
        (w, v), rate = found[step.of], _exact(step.rate)
        more = (rate * x, rate * y, rate * z)
        found[step.of] = (w, _sum(v, more)) if isinstance(step, Sliding) else (_sum(w, more), v)
    return found, _dot(axis, axis)


def _centre(pose: Pose) -> tuple[Three | None, bool]:
    """Where a part's centre is, or None where that takes more than a sum; and whether its axes are turned."""
    shift, turned = _STILL, False
    for step in pose:
        if isinstance(step, Slide) or (turned and isinstance(step, Shift)):
            return None, turned
        if isinstance(step, Shift):
            shift = _sum(shift, _vector(step.xyz))
        else:
            turned = True
    return shift, turned


def _least(moments: Sequence[Exact]) -> Exact:
    """No principal moment is smaller."""
    xx, _, _, yy, _, zz = moments
    trace = xx + yy + zz
    return 4 * _determinant(moments) / (trace * trace) if trace else _ZERO


def _determinant(m: Sequence[Exact]) -> Exact:
    xx, xy, xz, yy, yz, zz = m
    return xx * (yy * zz - yz * yz) - xy * (xy * zz - xz * yz) + xz * (xy * yz - xz * yy)


def _physical(part: Part) -> bool:
    """True if the moments are those of an inertia, so that adding it takes nothing away."""
    xx, xy, xz, yy, yz, zz = moments = tuple(map(_exact, part.moments))
    if part.mass < 0 or xx < 0 or yy < 0 or zz < 0:
        return False
    return not (xy or xz or yz) or (
        xx * yy >= xy * xy
        and xx * zz >= xz * xz
        and yy * zz >= yz * yz
        and _determinant(moments) >= 0
    )


class Load(NamedTuple):
    """Bounds from above of all that a body carries: mass, the sum of all moments, and how far from its origin a centre can be."""

    mass: Any
    moments: Any
    reach: Any


def largest_diagonal(mechanism: Mechanism, payload: str | None) -> list[Any]:
    """Upper bound of M's diagonal entry of each joint: its inertia with all other joints held, in any state drawn."""
    loads = [Load(ball(0), ball(0), ball(0)) for _ in mechanism.bodies]
    if payload is not None and (at := mechanism.frame(payload)).body != BASE:
        loads[at.body] = Load(ball(4), ball(4), _length(at.pose) + 1)  # no more is drawn
    found = []
    for i in reversed(range(len(loads))):
        joint, load = mechanism.joints[i], loads[i]
        for part in mechanism.bodies[i].parts:
            xx, _, _, yy, _, zz = part.moments
            load = _both(load, Load(_ball(part.mass), _ball(xx + yy + zz), _length(part.pose)))
        slides = sum(
            (
                step.axes if isinstance(step, Placing) else abs(step.rate)
                for step in joint.motions
                if isinstance(step, Placing | Sliding)
            ),
            Fraction(0),
        )
        turning = 1 + sum(
            (abs(step.rate) for step in joint.about_axis if isinstance(step, Turning)), Fraction(0)
        )
        far = load.reach * _ball(turning) + _ball(1 + slides)
        found.append(
            load.mass * far * far
            + load.moments * _ball(turning * turning)
            + _ball(joint.drive.armature)
        )
        if joint.parent != BASE:
            out = load.reach + _length(joint.pose) + FARTHEST * _ball(slides)
            loads[joint.parent] = _both(loads[joint.parent], Load(load.mass, load.moments, out))
    return found[::-1]


def _both(a: Load, b: Load) -> Load:
    return Load(a.mass + b.mass, a.moments + b.moments, a.reach.max(b.reach))


def _length(pose: Pose) -> Any:
    return _ball(
        sum(
            (
                sum(map(abs, step.xyz), Fraction(0))
                if isinstance(step, Shift)
                else abs(step.distance)
                for step in pose
                if isinstance(step, Shift | Slide)
            ),
            Fraction(0),
        )
    )


def _exact(value: Fraction) -> Exact:
    return fmpq(value.numerator, value.denominator)


def _vector(xyz: Vector3) -> Three:
    x, y, z = xyz
    return _exact(x), _exact(y), _exact(z)


def _ball(value: Fraction | int) -> Any:
    return ball(fmpq(value.numerator, value.denominator))


def has_physical_inertias(mechanism: Mechanism) -> bool:
    """True if every link has an inertia that a body can have: then more links never mean a smaller pivot."""
    return all(_physical(part) for body in mechanism.bodies for part in body.parts)


def connected_parts(
    mechanism: Mechanism, unsure: Sequence[int]
) -> Iterator[tuple[Mechanism, list[int]]]:
    """For bodies that do not feel enough alone, those that hang together as a mechanism on the base, each with its children; and
    which body of the whole each is. Where nothing feels enough that is the whole itself.
    """
    open_, seen = set(unsure), set[int]()
    for root in sorted(open_):
        if root in seen:
            continue
        own, waiting = [], [root]
        while waiting:
            body = waiting.pop()
            own.append(body)
            if body in open_:
                seen.add(body)
                waiting += mechanism.children(body)
        own.sort()
        place = {body: k for k, body in enumerate(own)}
        joints = tuple(
            replace(
                mechanism.joints[body],
                mimic=None,
                parent=place.get(mechanism.joints[body].parent, BASE),
            )
            for body in own
        )
        yield Mechanism(mechanism.name, joints, tuple(mechanism.bodies[body] for body in own)), own


def _moved(w: Three, v: Three, centre: Three) -> Three:
    """v + w × centre."""
    (a, b, c), (x, y, z) = w, centre
    return v[0] + b * z - c * y, v[1] + c * x - a * z, v[2] + a * y - b * x


def _sum(a: Three, b: Three) -> Three:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _dot(a: Three, b: Three) -> Exact:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
