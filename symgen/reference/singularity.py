"""Whether a mass matrix can be inverted, decided from the reference's pivots over balls.

A pivot D_k that is away from zero at one state is no zero as a function of the state, so one state at which all of them are
says that M is regular. A ball that is too wide to tell says nothing about M: it is asked again with more digits. Rounding takes
about one digit a joint, so a chain of a thousand joints is decided in balls of some 1300 digits, in a few seconds.

Most robots need none of this: where every joint feels enough of its own link, or of a few links, all others gone, it feels as
much of all of them (`symgen.reference.link_pivot_bounds`). That takes time as there are links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from sys import float_info
from typing import Any

from flint import arb as ball
from flint import fmpq

from symgen.mechanism.mechanism import Mechanism
from symgen.reference import link_pivot_bounds
from symgen.reference.mechanics import Reference
from symgen.reference.pivots import pivots
from symgen.reference.precision import arb
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
