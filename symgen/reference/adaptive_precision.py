"""The reference's answers with as many digits as it takes: a ball that is too wide to tell is asked again, never believed.

What solves with the mass matrix loses digits to the dependence of its balls, more of them the more joints there are. Too few
of them are no property of the matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flint

from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array, TooFewDigits, arb
from symgen.vocabulary.functions import FUNCTIONS

DOUBLINGS = 4


def answers(
    reference: Reference, digits: int, function: str, arguments: Mapping[str, Any], known: int
) -> dict[str, Array]:
    """`reference.evaluate` over its balls of `digits` digits, or over more where the answer of a solve has not `known` digits.

    Raises TooFewDigits where sixteen times as many digits leave the answer open, as at a state where M is singular.
    """
    for attempt in range(DOUBLINGS + 1):
        last = attempt == DOUBLINGS
        try:
            found = (_sharper(reference, digits << attempt) if attempt else reference).evaluate(
                function, arguments
            )
        except TooFewDigits:
            if last:
                raise
            continue
        if (
            last
            or not FUNCTIONS[function].needs_inverse
            or all(_knows(values, known) for values in found.values())
        ):
            break
    return found


def _sharper(reference: Reference, digits: int) -> Reference:
    frame, wrench = (
        [one.name for one in links] for links in (reference.frames, reference.wrenches)
    )
    payload = None if reference.payload is None else reference.payload.name
    found = Reference(
        reference.mechanism,
        arb(digits),
        frame=frame,
        payload=payload,
        wrench=wrench,
        convention=reference.convention,
        task_rows=reference.task_rows,
        contact=reference.contact,
    )
    found.described = reference.described
    return found


def _knows(values: Array, digits: int) -> bool:
    """Whether at every state the radii are below 10^-digits of the largest entry."""
    for state in values.reshape(len(values), -1):
        size = max((ball.abs_upper() for ball in state), default=flint.arb(0))
        if not all(ball.rad() <= size * flint.arb(10) ** -digits for ball in state):
            return False
    return True
