"""Regularity of the mass matrix, decided from the pivots of the reference over balls.

A pivot D_k that is away from zero at one state is not identically zero. So one state at which all
pivots are away from zero proves that M is regular. A ball that is too wide to decide says nothing
about M; the test is repeated with more digits. Rounding takes about one digit for each joint, so a
chain of a thousand joints is decided in balls of some 1300 digits, in a few seconds.

Most robots need no such evaluation: lower bounds of the pivots from each joint's own link suffice,
in time proportional to the number of links. The pivot of a joint is D = hᵀ P h + A, its inertia
when every joint behind it is free (the articulated inertia along the joint). With I the inertia of
its own link, P − I is the contribution of its children, which is never negative if no link's
inertia is negative. So D is at least hᵀ I h + A, whatever the link carries and in every state. M
has an inverse if that bound is positive at every joint. For a joint of several degrees of freedom
the bounds are the pivots of Hᵀ I H + A: a larger positive matrix has larger pivots (Horn and
Johnson, Matrix Analysis, 7.7). The bound also holds for a few links together, without all others: a
joint that moves a massless link has the inertia of its child.

The bounds are rational, except for axes rotated by an angle. For moments in such axes the least
principal moment is used, which is at least 4 det / tr²: det = λ₁λ₂λ₃ with λ₂λ₃ at most (tr/2)². A
mass centre behind a rotation is not computed, and its part is left out.

The exact pivots are those of M = U D Uᵀ: the inertia that each joint moves when every joint that it
carries is free. An articulated recursion on the declared bodies gives them, from the leaves to the
base (Rodriguez and Kreutz 1988, (4.9)-(4.12): the Riccati equation of a filter). It works in the
axes of each body's own frame and over any scalars. With P the articulated inertia of a body, h the
twist of its joint and X the transform from the parent's twist to the body's twist,

    D = hᵀ P h + A,    P_parent += Xᵀ (P − P h hᵀ P / D) X,
    M_kk = hᵀ I_c h + A with I_c_parent += Xᵀ I_c X

where A is the armature of the joint's drive, which acts at the joint alone.

The cost of the recursion grows linearly with the number of joints, the size of M quadratically. The
recursion uses `Mechanism` and the reference's poses only, nothing of the derivation. The method
`riccati` prints another form of the same paper, in its own frames.
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
from symgen.reference.motion import BodyPart, Motion
from symgen.reference.precision import Array, arb
from symgen.reference.states import draw_states
from symgen.vocabulary.poses import Pose, Shift, Slide, Vector3

DIGITS = 120
LEAST_PIVOT = Fraction(1, 10**20)
"""A pivot below this fraction of its diagonal entry is no inertia: no real type of the C could
resolve it.
"""
ZERO_SHARE = Fraction(1, 10**100)
"""A ball that contains zero and lies below this fraction of the total inertia about the joint's
origin counts as zero.
"""
MARGIN = fmpq(4, 10**20)
"""Factor of the upper bound of the diagonal entry. A pivot above it exceeds both thresholds, since
the inertia that ZERO_SHARE refers to is at most three times that bound.
"""
DOUBLINGS = 4
STATES = 2


@dataclass(frozen=True)
class RankLoss:
    """Reason why a numeric inverse of M is not certain: the joint that loses the rank, and its
    relative pivot.

    `pivot_ratio` is the pivot divided by its diagonal entry: 0 if it vanishes (to 100 digits, at
    random states), None if `digits` digits did not decide.
    """

    joint: str
    pivot_ratio: float | None
    digits: int

    @property
    def sentence(self) -> str:
        """Return the fault of the mass matrix and its remedy, as the end of a sentence."""
        name, lock = f"joint '{self.joint}'", f"lock it with --lock {self.joint}"
        if self.pivot_ratio is None:
            return (
                f"the mass matrix, and {self.digits} digits do not decide if it is regular: {lock},"
                f" or look for a misplaced exponent or unit among the numbers of {name} and of the"
                " links that it carries"
            )
        if self.pivot_ratio > 0:
            return (
                "the mass matrix, which is singular to every real type: other joints move all of"
                f" the inertia of {name} but a fraction of {self.pivot_ratio:.0e}; {lock}, or look"
                " for a misplaced exponent or unit"
            )
        return (
            f"the mass matrix, which is singular: {name} moves no inertia that other joints do not"
            f" move as well; {lock}, or give its links a mass"
        )


def find_rank_loss(mechanism: Mechanism, payload: str | None = None) -> RankLoss | None:
    """Return where the mass matrix loses its rank at every state; None if it is regular.

    The joint is the first one, from the leaves to the base, that moves no inertia when all joints
    after it are free. It carries a massless leaf, or another joint undoes its motion. A `payload`
    (a link's name) counts as a load.
    """
    if not mechanism.coupled and _bounds_prove_regular(mechanism, payload):
        return None
    return _rank_loss_from_pivots(mechanism, payload)


def _bounds_prove_regular(mechanism: Mechanism, payload: str | None) -> bool:
    """True if the lower bounds of the pivots prove that M is regular. False leaves the question
    open.
    """
    if not has_physical_inertias(mechanism):
        return False
    with arb(DIGITS).working():
        thresholds = [MARGIN * bound for bound in diagonal_upper_bounds(mechanism, payload)]
        undecided = [
            i
            for i, (joint, body) in enumerate(zip(mechanism.joints, mechanism.bodies, strict=True))
            if not all(ball(pivot) > thresholds[i] for pivot in pivot_lower_bounds(joint, body))
        ]
        groups = list(connected_parts(mechanism, undecided))
    return all(
        len(bodies) < len(mechanism.bodies)
        and _few_pivots_suffice(submechanism, [thresholds[i] for i in bodies])
        for submechanism, bodies in groups
    )


def _few_pivots_suffice(mechanism: Mechanism, thresholds: Sequence[Any]) -> bool:
    """True if the pivots of a few links, without all others, exceed the thresholds at one state."""
    reference = Reference(mechanism, arb(DIGITS + 5 * mechanism.longest // 4))
    with reference.scalars.working():
        q = reference.scalars.array(draw_states(mechanism, 1, seed=1)["q"])
        return all(
            pivot.articulated[0] > thresholds[mechanism.dofs[pivot.dof][0]]
            for pivot in pivots(reference, q)
        )


def _rank_loss_from_pivots(mechanism: Mechanism, payload: str | None) -> RankLoss | None:
    """Return the rank loss of M, from the pivots of the whole mechanism at STATES states."""
    digits = DIGITS + 5 * mechanism.longest // 4
    states = draw_states(mechanism, STATES, seed=1, payload=payload)
    losses: list[RankLoss] = []
    references: dict[int, Reference] = {}
    for state in range(STATES):
        q, load = (
            None if name not in states else states[name][state : state + 1]
            for name in ("q", "payload")
        )
        candidate: RankLoss | None = None
        for attempt in range(DOUBLINGS + 1):
            reference = references.get(attempt) or Reference(
                mechanism, arb(digits << attempt), payload=payload
            )
            references[attempt] = reference
            candidate = _loss_at(reference, q, load, digits << attempt)
            if candidate is None:
                return None
            if candidate.pivot_ratio is not None:
                break
        assert candidate is not None
        losses.append(candidate)
    return min(
        losses,
        key=lambda entry: (
            entry.pivot_ratio is not None,
            -(entry.pivot_ratio or 0.0),
            mechanism.joint_index(entry.joint),
        ),
    )


def _loss_at(reference: Reference, q: Any, load: Any, digits: int) -> RankLoss | None:
    """Return the first joint whose pivot is below its threshold at one state; None if all are
    above.
    """
    scalars, mechanism = reference.scalars, reference.mechanism
    with scalars.working():
        pivot_threshold, zero_share = (scalars.constant(x) for x in (LEAST_PIVOT, ZERO_SHARE))
        for pivot in pivots(
            reference, scalars.array(q), None if load is None else scalars.array(load)
        ):
            articulated, diagonal = abs(pivot.articulated[0]), abs(pivot.composite[0])
            zero = zero_share * abs(pivot.bound[0])
            if not articulated > pivot_threshold * diagonal + zero:
                return RankLoss(
                    mechanism.joints[mechanism.dofs[pivot.dof][0]].name,
                    _pivot_ratio(articulated, diagonal, pivot_threshold * diagonal + zero, zero),
                    digits,
                )
        return None


def _pivot_ratio(pivot: Any, diagonal: Any, bound: Any, zero: Any) -> float | None:
    """Return a pivot, which may be below its bound, as a fraction of its diagonal entry; None if
    its ball does not decide.
    """
    if pivot.contains(0):
        return 0.0 if pivot <= zero else None
    return max(float((pivot / diagonal).mid()), float_info.min) if pivot <= bound else None


# -- the pivots --


class Pivot(NamedTuple):
    """Inertias of one degree of freedom, (...) each: kg·m² for a rotation, kg for a translation."""

    dof: int
    articulated: Array
    """D_k: all joints behind it are free."""
    composite: Array
    """M_kk: all other joints are locked."""
    bound: Array
    """Upper bound of M_kk for any direction of the axis: the sum over three orthogonal axes through
    the body's origin.
    """


def pivots(reference: Reference, q: Array, payload: Array | None = None) -> Iterator[Pivot]:
    """Yield every pivot at stacked states q (..., NQ), from the last entry of v to the first.

    `payload` (..., 10) is as in Reference. Each degree of freedom of a joint is one step of the
    recursion. Call this in the working precision of the reference's scalars. After a pivot that may
    be zero, the later ones are meaningless: NaN in floats, infinite balls.
    """
    yield from (_eliminated_pivots if reference.mechanism.coupled else _recursive_pivots)(
        reference, q, payload
    )


def _recursive_pivots(reference: Motion, q: Array, payload: Array | None) -> Iterator[Pivot]:
    """Yield the pivots by the articulated recursion."""
    mechanism, parts = reference.mechanism, reference.parts(payload)
    batch = np.broadcast_shapes(q.shape[:-1], *(part.mass.shape for part in parts))
    inertias = [
        reference.scalars.array(np.zeros((*batch, 2, 6, 6))) for _ in mechanism.bodies
    ]  # P and I_c
    for part in parts:
        inertias[part.body] = (
            inertias[part.body] + _spatial_inertia(reference, part)[..., None, :, :]
        )
    for body in reversed(range(len(mechanism.bodies))):
        parent, v_slice, inertia = (
            mechanism.joints[body].parent,
            mechanism.v_slices[body],
            inertias[body],
        )
        twists = dict(
            zip(
                range(v_slice.start, v_slice.stop),
                reference.twists(body, identity(reference.scalars)),
                strict=True,
            )
        )
        for k, twist in reversed(twists.items()):
            h = np.concatenate(twist)
            momenta = inertia @ h  # P h, I_c h
            rotor = reference.scalars.constant(
                mechanism.joints[body].drive.at(k - v_slice.start).armature
            )
            articulated, composite = np.moveaxis((momenta * h).sum(axis=-1) + rotor, -1, 0)
            yield Pivot(
                k, articulated, composite, _inertia_bound(inertia[..., 1, :, :], twist) + rotor
            )
            momentum = momenta[..., 0, :]
            inertia[..., 0, :, :] -= (
                momentum[..., :, None] * (momentum / articulated[..., None])[..., None, :]
            )
        if parent != BASE:
            inward = _motion_transform(reference, body, q)[..., None, :, :]
            inertias[parent] = inertias[parent] + transposed(inward) @ (inertia @ inward)


def _eliminated_pivots(reference: Reference, q: Array, payload: Array | None) -> Iterator[Pivot]:
    """Yield the pivots by elimination of M from its last entry: mimic joints couple branches, which
    the recursion cannot treat.
    """
    mechanism, bounds = reference.mechanism, dict[int, Array]()
    shares = [pair for pairs in reference.shares for pair in pairs]
    uncoupled, q_full = coupled.uncoupled_motion(reference), coupled.all_coordinates(reference, q)
    for pivot in _recursive_pivots(uncoupled, q_full, payload):
        k, rate = shares[pivot.dof]
        bounds[k] = bounds.get(k, 0 * pivot.bound) + pivot.bound * reference.scalars.constant(
            rate * rate
        )
    remaining = reference.mass_matrix(q, payload).copy()
    diagonal = [remaining[..., k, k].copy() for k in range(mechanism.nv)]
    for k in reversed(range(mechanism.nv)):
        yield Pivot(k, remaining[..., k, k], diagonal[k], bounds[k])
        column = remaining[..., :k, k].copy()
        remaining[..., :k, :k] -= (
            column[..., :, None] * (column / remaining[..., k, k, None])[..., None, :]
        )


def _inertia_bound(inertia: Array, twist: tuple[Array, Array]) -> Array:
    """Return the bound of twistᵀ I twist over all directions, from the inertia I (..., 6, 6).

    It is the trace of the moments times the squared angular part, and the trace of the masses times
    the squared linear part.
    """
    moments, masses = (
        np.trace(inertia[..., half, half], axis1=-2, axis2=-1)
        for half in (slice(0, 3), slice(3, 6))
    )
    turning, sliding = ((half * half).sum() for half in twist)
    return np.asarray(turning * moments + sliding * masses)


def _spatial_inertia(reference: Motion, part: BodyPart) -> Array:
    """Return the spatial inertia (..., 6, 6) of a part about its body's origin: it maps (angular,
    linear) to (moment, force).
    """
    mass, arm = part.mass[..., None, None], skewed(part.centre)
    mass_matrix = mass * identity(reference.scalars)
    return np.concatenate(
        [
            np.concatenate([part.inertia - mass * (arm @ arm), mass * arm], axis=-1),
            np.concatenate([-mass * arm, mass_matrix], axis=-1),
        ],
        axis=-2,
    )


def _motion_transform(reference: Motion, body: int, q: Array) -> Array:
    """Return X (..., 6, 6): it maps the parent's twist to the body's twist at the body's origin, in
    the body's axes.
    """
    rotation, shift = reference.parent_transform(body, q)
    rotation = np.broadcast_to(rotation, (*q.shape[:-1], 3, 3))
    inverse, lever = transposed(rotation), -transposed(rotation) @ skewed(shift)
    return np.concatenate(
        [
            np.concatenate([inverse, 0 * inverse], axis=-1),
            np.concatenate([lever, inverse], axis=-1),
        ],
        axis=-2,
    )


# -- bounds of a joint's pivot by its own link --

Exact = Any
"""An fmpq."""
Three = tuple[Exact, Exact, Exact]
Twist = tuple[Three, Three]
"""Angular and linear part of a degree of freedom. For a joint with an axis they are scaled by the
declared axis's length.
"""
_ZERO, _ONE = fmpq(0), fmpq(1)
_STILL: Three = (_ZERO, _ZERO, _ZERO)
_UNITS: tuple[Three, ...] = ((_ONE, _ZERO, _ZERO), (_ZERO, _ONE, _ZERO), (_ZERO, _ZERO, _ONE))
FARTHEST = 13
"""Largest magnitude of a drawn coordinate (rad, m): four times the usual range of an angle."""


def pivot_lower_bounds(joint: Joint, body: Body) -> list[Exact]:
    """Return a lower bound of the pivot of each degree of freedom of a joint, from its last to its
    first (kg m², kg).
    """
    twists, square = _twists(joint)
    products = [[_ZERO] * len(twists) for _ in twists]
    for part in body.parts:
        centre, rotated = _centre(part.pose)
        if centre is None:
            continue
        mass, moments = _exact(part.mass), tuple(map(_exact, part.moments))
        if rotated:
            least = _least_principal_moment(moments)
            moments = (least, _ZERO, _ZERO, least, _ZERO, least)
        xx, xy, xz, yy, yz, zz = moments
        for i, (w, v) in enumerate(twists):
            x, y, z = _velocity_at(w, v, centre)
            a, b, c = w
            spun = (xx * a + xy * b + xz * c, xy * a + yy * b + yz * c, xz * a + yz * b + zz * c)
            for j, (w_j, v_j) in enumerate(twists[: i + 1]):
                velocity_j = _velocity_at(w_j, v_j, centre)
                products[i][j] += mass * (
                    x * velocity_j[0] + y * velocity_j[1] + z * velocity_j[2]
                ) + _dot(spun, w_j)
    for i in range(len(twists)):
        for j in range(i + 1):
            products[i][j] = products[j][i] = products[i][j] / square
        products[i][i] += _exact(joint.drive.armature)
    bounds = []
    for k in reversed(range(len(twists))):
        pivot = products[k][k]
        bounds.append(pivot)
        if not pivot > 0:
            return [*bounds, *[_ZERO] * k]
        for i in range(k):
            for j in range(k):
                products[i][j] -= products[i][k] * products[k][j] / pivot
    return bounds


def _twists(joint: Joint) -> tuple[list[Twist], Exact]:
    """Return the twist of each degree of freedom, in the body's axes, and the divisor of their
    products.
    """
    kind = joint.type
    if kind.along is not None:
        return [
            (_UNITS[along], _STILL) if velocity.unit == "rad" else (_STILL, _UNITS[along])
            for along, velocity in zip(kind.along, kind.velocities, strict=True)
        ], _ONE
    twists: list[Twist] = [(_STILL, _STILL) for _ in range(kind.nv)]
    x, y, z = axis = _vector(joint.axis)
    for step in joint.about_axis:
        (w, v), rate = twists[step.of], _exact(step.rate)
        increment = (rate * x, rate * y, rate * z)
        twists[step.of] = (
            (w, _add(v, increment)) if isinstance(step, Sliding) else (_add(w, increment), v)
        )
    return twists, _dot(axis, axis)


def _centre(pose: Pose) -> tuple[Three | None, bool]:
    """Return the mass centre of a part, and whether the part's axes are rotated.

    The centre is None if it takes more than a sum: a shift along a normalized axis or behind a
    rotation.
    """
    shift, rotated = _STILL, False
    for step in pose:
        if isinstance(step, Slide) or (rotated and isinstance(step, Shift)):
            return None, rotated
        if isinstance(step, Shift):
            shift = _add(shift, _vector(step.xyz))
        else:
            rotated = True
    return shift, rotated


def _least_principal_moment(moments: Sequence[Exact]) -> Exact:
    """Return a lower bound of the principal moments."""
    xx, _, _, yy, _, zz = moments
    trace = xx + yy + zz
    return 4 * _determinant(moments) / (trace * trace) if trace else _ZERO


def _determinant(m: Sequence[Exact]) -> Exact:
    xx, xy, xz, yy, yz, zz = m
    return xx * (yy * zz - yz * yz) - xy * (xy * zz - xz * yz) + xz * (xy * yz - xz * yy)


def _is_physical(part: Part) -> bool:
    """True if the moments are those of a positive semidefinite inertia, so that adding it never
    decreases a pivot.
    """
    xx, xy, xz, yy, yz, zz = moments = tuple(map(_exact, part.moments))
    return bool(
        xx >= 0
        and yy >= 0
        and zz >= 0
        and xx * yy >= xy * xy
        and xx * zz >= xz * xz
        and yy * zz >= yz * yz
        and _determinant(moments) >= 0
    )


class Load(NamedTuple):
    """Upper bounds for all that a body carries: mass, sum of all moments, and distance of a mass
    centre from the body's origin.
    """

    mass: Any
    moments: Any
    reach: Any


def diagonal_upper_bounds(mechanism: Mechanism, payload: str | None) -> list[Any]:
    """Return an upper bound of M's diagonal entry of each joint, for any drawn state: its inertia
    with all other joints locked.
    """
    loads = [Load(ball(0), ball(0), ball(0)) for _ in mechanism.bodies]
    if payload is not None and (at := mechanism.frame(payload)).body != BASE:
        loads[at.body] = Load(ball(4), ball(4), _length(at.pose) + 1)  # at least a drawn payload
    bounds = []
    ranges: dict[tuple[Any, ...], list[Any]] = {}
    for i in reversed(range(len(loads))):
        joint, load = mechanism.joints[i], loads[i]
        for part in mechanism.bodies[i].parts:
            xx, _, _, yy, _, zz = part.moments
            moments = ball(_exact(xx) + _exact(yy) + _exact(zz))
            load = _combined_load(load, Load(_ball(part.mass), moments, _length(part.pose)))
        key = joint.kind, joint.parameters
        if key not in ranges:
            translation, rotation = _range_of_motion(joint)
            exact = translation, 1 + translation, rotation, rotation * rotation
            ranges[key] = [_ball(number) for number in exact]
        translated, translated_and_one, rotated, rotated_squared = ranges[key]
        lever = load.reach * rotated + translated_and_one
        bounds.append(
            load.mass * lever * lever + load.moments * rotated_squared + _ball(joint.drive.armature)
        )
        if joint.parent != BASE:
            reach = load.reach + _length(joint.pose) + FARTHEST * translated
            loads[joint.parent] = _combined_load(
                loads[joint.parent], Load(load.mass, load.moments, reach)
            )
    return bounds[::-1]


def _range_of_motion(joint: Joint) -> tuple[Fraction | int, Fraction | int]:
    """Return how far a joint translates for a unit of its coordinates, and 1 plus how far it
    rotates.
    """
    translation = sum(
        (
            step.axes if isinstance(step, Placing) else abs(step.rate)
            for step in joint.motions
            if isinstance(step, Placing | Sliding)
        ),
        Fraction(0),
    )
    rotation = 1 + sum(
        (abs(step.rate) for step in joint.about_axis if isinstance(step, Turning)), Fraction(0)
    )
    return translation, rotation


def _combined_load(a: Load, b: Load) -> Load:
    """Return the bounds of two loads together."""
    return Load(a.mass + b.mass, a.moments + b.moments, a.reach.max(b.reach))


def _length(pose: Pose) -> Any:
    """Return the summed lengths of all shifts of a pose, an upper bound of its displacement."""
    length = _ZERO
    for step in pose:
        if isinstance(step, Shift):
            x, y, z = _vector(step.xyz)
            length += abs(x) + abs(y) + abs(z)
        elif isinstance(step, Slide):
            length += abs(_exact(step.distance))
    return ball(length)


def _exact(value: Fraction) -> Exact:
    return fmpq(value.numerator, value.denominator)


def _vector(xyz: Vector3) -> Three:
    x, y, z = xyz
    return _exact(x), _exact(y), _exact(z)


def _ball(value: Fraction | int) -> Any:
    return ball(fmpq(value.numerator, value.denominator))


def has_physical_inertias(mechanism: Mechanism) -> bool:
    """True if every link has a physical inertia. Then adding links never makes a pivot smaller."""
    return all(_is_physical(part) for body in mechanism.bodies for part in body.parts)


def connected_parts(
    mechanism: Mechanism, undecided: Sequence[int]
) -> Iterator[tuple[Mechanism, list[int]]]:
    """Yield the connected groups of bodies that `undecided` joints form, each with its children, as
    mechanisms on the base.

    Each group comes with the indices of its bodies in the whole mechanism. If every joint is
    undecided, the only group is the whole.
    """
    pending, visited = set(undecided), set[int]()
    for root in sorted(pending):
        if root in visited:
            continue
        group, stack = [], [root]
        while stack:
            body = stack.pop()
            group.append(body)
            if body in pending:
                visited.add(body)
                stack += mechanism.children(body)
        group.sort()
        index = {body: k for k, body in enumerate(group)}
        joints = tuple(
            replace(
                mechanism.joints[body],
                mimic=None,
                parent=index.get(mechanism.joints[body].parent, BASE),
            )
            for body in group
        )
        yield (
            Mechanism(mechanism.name, joints, tuple(mechanism.bodies[body] for body in group)),
            group,
        )


def _velocity_at(w: Three, v: Three, centre: Three) -> Three:
    """Return v + w × centre, the velocity of `centre`."""
    (a, b, c), (x, y, z) = w, centre
    return v[0] + b * z - c * y, v[1] + c * x - a * z, v[2] + a * y - b * x


def _add(a: Three, b: Three) -> Three:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _dot(a: Three, b: Three) -> Exact:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
