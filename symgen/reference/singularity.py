"""Whether a mass matrix can be inverted, decided from the reference's pivots over balls.

A pivot D_k that is away from zero at one state is no zero as a function of the state, so one state at which all of them are
says that M is regular. A ball that is too wide to tell says nothing about M: it is asked again with more digits. Rounding takes
about one digit a joint, so a chain of a thousand joints is decided in balls of some 1300 digits, in a few seconds.

Most robots need none of this: where every joint feels enough of its own link, or of a few links, all others gone, it feels as
much of all of them (`symgen.reference.link_pivot_bounds`). That takes time as there are links.

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
from dataclasses import dataclass
from fractions import Fraction
from sys import float_info
from typing import Any, NamedTuple

import numpy as np
from flint import arb as ball
from flint import fmpq

from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.reference import coupled, link_pivot_bounds
from symgen.reference.arrays import identity, skewed, transposed
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Carried, Motion
from symgen.reference.precision import Array, arb
from symgen.reference.states import draw_states

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
    if not link_pivot_bounds.physical(mechanism):
        return False
    with arb(DIGITS).working():
        enough = [MARGIN * bound for bound in link_pivot_bounds.most(mechanism, payload)]
        unsure = [
            i
            for i, (joint, body) in enumerate(zip(mechanism.joints, mechanism.bodies, strict=True))
            if not all(ball(pivot) > enough[i] for pivot in link_pivot_bounds.least(joint, body))
        ]
        few = list(link_pivot_bounds.together(mechanism, unsure))
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
