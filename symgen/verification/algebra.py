"""(a) The Program with its own constants, over balls of 60 + ⌈log₁₀ cond M⌉ digits or more, against the reference."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np

from symgen.ir.loops import Form
from symgen.reference.precision import Array
from symgen.verification.evaluating import over
from symgen.verification.report import Check
from symgen.verification.residuals import LEAST_ANSWER, distances, solves, worst
from symgen.verification.running_error import units
from symgen.verification.truth import SHARPENINGS, Truth

TOLERANCE = 1e-40
"""Share of the largest magnitude in the result. A wrong term leaves an error of order 1e-1, and the constants of a Program carry
64 digits. No correct derivation has an error between the two.
"""


def check_algebra(program: Form, truth: Truth, label: str) -> Check:
    """The largest relative error over all states and results, with the balls' radii inside it.

    Long eliminations lose digits to dependence, and so do damped solves of forces that hold all that moves. Where the radii are
    too wide to tell, the working digits are doubled.
    """
    for attempt in range(SHARPENINGS + 1):
        results = over(truth.scalars, program)(truth.arguments(program.function))
        error, centre, where, told = 0.0, 0.0, "", False
        for name, found in distances(
            program.function, results, truth, bounds=units(program, truth)
        ).items():
            difference, size = found.difference, found.size
            if not solves(
                program.function, name
            ):  # a formula is right to the last digit of its answer
                size = np.maximum(found.answer, LEAST_ANSWER * found.terms)
            here, state = worst(difference, size)
            if here >= error:
                error, where = here, f"largest in {name}, state {state}"
            centre = max(centre, worst(centres(difference), size)[0])
            told = told or differ(difference)
        blurred = not np.isfinite(centre) or centre <= TOLERANCE < error or not told
        if error <= TOLERANCE or not blurred or attempt == SHARPENINGS:
            break
        truth = truth.sharper
    return Check("algebra", label, error, TOLERANCE, detail=f"{where}, {truth.working} digits")


def differ(balls: Array) -> bool:
    """Whether a ball does not contain zero."""
    return any(not x.contains(0) for x in balls.ravel() if isinstance(x, flint.arb))


def centres(balls: Array) -> Array:
    """Midpoints, as floats."""

    def centre(ball: Any) -> float:
        return float(ball.mid()) if isinstance(ball, flint.arb) else float(ball)

    return np.asarray(np.frompyfunc(centre, 1, 1)(balls), dtype=float)
