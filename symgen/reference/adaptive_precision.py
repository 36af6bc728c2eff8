"""Reference results at adaptive precision: if a ball is too wide to decide, the evaluation is
repeated with more digits.

Functions that solve with the mass matrix lose digits to the dependence of its balls, and lose more
with more joints. That loss says nothing about the matrix itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flint

from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array, TooFewDigits, arb
from symgen.vocabulary.functions import FUNCTIONS

DOUBLINGS = 4


def evaluate_adaptively(
    reference: Reference,
    digits: int,
    function: str,
    arguments: Mapping[str, Any],
    required_digits: int,
) -> dict[str, Array]:
    """Return `reference.evaluate` over balls of `digits` digits, or more if the result of a solve
    has too few digits.

    At least `required_digits` digits of each result are correct. Raises TooFewDigits if sixteen
    times as many digits do not suffice, as at a state where M is singular.
    """
    for attempt in range(DOUBLINGS + 1):
        last = attempt == DOUBLINGS
        try:
            results = (
                _with_digits(reference, digits << attempt) if attempt else reference
            ).evaluate(function, arguments)
        except TooFewDigits:
            if last:
                raise
            continue
        if (
            last
            or not FUNCTIONS[function].needs_inverse
            or all(_has_digits(values, required_digits) for values in results.values())
        ):
            break
    return results


def _with_digits(reference: Reference, digits: int) -> Reference:
    """Return a copy of the reference over balls of `digits` digits."""
    frame, wrench = (
        [frame.name for frame in links] for links in (reference.frames, reference.wrenches)
    )
    payload = None if reference.payload is None else reference.payload.name
    copy = Reference(
        reference.mechanism,
        arb(digits),
        frame=frame,
        payload=payload,
        wrench=wrench,
        convention=reference.convention,
        task_rows=reference.task_rows,
        contact=reference.contact,
    )
    copy.described = reference.described
    return copy


def _has_digits(values: Array, digits: int) -> bool:
    """True if at every state the radii are below 10^-digits of the largest entry."""
    for state in values.reshape(len(values), -1) if values.size else ():
        size = max(ball.abs_upper() for ball in state)
        if not all(ball.rad() <= size * flint.arb(10) ** -digits for ball in state):
            return False
    return True
