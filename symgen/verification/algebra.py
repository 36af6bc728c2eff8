"""(a) The Program with its own constants, over balls of 60 + ⌈log₁₀ cond M⌉ digits or more, against
the reference.
"""

from __future__ import annotations

from typing import Any

import flint
import numpy as np

from symgen.ir.loops import Form
from symgen.reference.precision import Array
from symgen.verification.evaluating import scalar_runner
from symgen.verification.exact_results import SHARPENINGS, ExactResults
from symgen.verification.report import Check
from symgen.verification.residuals import LEAST_ANSWER, distances, is_solved, largest_ratio
from symgen.verification.running_error import unit_sizes

TOLERANCE = 1e-40
"""Fraction of the result's largest magnitude. A wrong term has an error of order 1e-1, and the
constants of a Program have 64 digits. No correct derivation has an error between the two.
"""


def check_algebra(program: Form, exact_results: ExactResults, label: str) -> Check:
    """Return the check of the largest relative error over all states and results, including the
    radii of the balls.

    Long eliminations and damped solves lose digits to the dependence of balls. If the radii are too
    wide to decide, the working digits are doubled.
    """
    for attempt in range(SHARPENINGS + 1):
        results = scalar_runner(exact_results.scalars, program)(
            exact_results.arguments(program.function)
        )
        error, centre, location_of_largest, decided = 0.0, 0.0, "", False
        for name, distance in distances(
            program.function, results, exact_results, bounds=unit_sizes(program, exact_results)
        ).items():
            difference, size = distance.difference, distance.size
            # a result without a solve is correct to its last digit
            if not is_solved(program.function, name):
                size = np.maximum(distance.answer, LEAST_ANSWER * distance.terms)
            ratio, state = largest_ratio(difference, size)
            if ratio >= error:
                error, location_of_largest = ratio, f"largest in {name}, state {state}"
            centre = max(centre, largest_ratio(midpoints(difference), size)[0])
            decided = decided or any_nonzero(difference)
        blurred = not np.isfinite(centre) or centre <= TOLERANCE < error or not decided
        if error <= TOLERANCE or not blurred or attempt == SHARPENINGS:
            break
        exact_results = exact_results.sharper
    return Check(
        "algebra",
        label,
        error,
        TOLERANCE,
        detail=f"{location_of_largest}, {exact_results.working} digits",
    )


def any_nonzero(balls: Array) -> bool:
    """True if at least one ball does not contain zero."""
    return any(not x.contains(0) for x in balls.ravel() if isinstance(x, flint.arb))


def midpoints(balls: Array) -> Array:
    """Return the midpoints of balls as floats."""

    def centre(ball: Any) -> float:
        return float(ball.mid()) if isinstance(ball, flint.arb) else float(ball)

    return np.asarray(np.frompyfunc(centre, 1, 1)(balls), dtype=float)
