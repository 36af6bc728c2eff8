"""(c) The compiled C against the exact result, in units of round-off scaled by the problem.

The unit is eps times the natural size of the result: the sum of the absolute values of its terms
(`symgen.verification.scales`). For functions that solve with M, it is the size to which a residual
is relative. A straight-line program without divisions returns the exact sum of its terms, each
multiplied by at most `depth` factors 1 + δ. Each |δ| is at most eps/2 (Higham, Accuracy and
Stability of Numerical Algorithms, lemma 3.1). Constants, sines, and quaternions among the arguments
add one factor each. So the error is at most about `depth` units, and far smaller on average. All
other entries of a state are exact in both real types and add no error. The elimination of a
positive definite matrix has no growth, so its backward error is as small (theorem 10.4 there). The
determinant inherits cond M times the relative error of M.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import flint
import numpy as np

from symgen import methods
from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.pipeline.choose import term_ratio
from symgen.reference.precision import Array
from symgen.support.errors import RequestError
from symgen.verification.evaluating import Runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.levers import mimic_rotation
from symgen.verification.magnitude import largest
from symgen.verification.report import Check, precision_loss
from symgen.verification.residuals import (
    SOLVED,
    Distance,
    distances,
    is_solved,
    largest_ratio_by_state,
    natural_size,
)
from symgen.verification.running_error import running_error_bounds
from symgen.vocabulary.functions import FUNCTIONS, PREPARING
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions
from symgen.vocabulary.reals import LOST, REALS, loses


def allowance(program: Form, exact_results: ExactResults, text: TextOptions = PLAIN) -> float:
    """Return the error bound in units of round-off.

    It is `depth`, plus one for the constants, one for quaternions, the ulps of a sine, and one for
    an atan2, which may be off by two. The angle of a mimic joint is computed, and its error is as
    many units as the angle has radians; every body behind the joint inherits it.

    For a derivative the sizes are bounds already, so the result is 1. If a method's terms are
    larger than the natural size, its bound grows in proportion; see `term_ratio`.
    """
    if running_error_bounds(program, exact_results, text):
        return 1.0
    ratio = term_ratio(
        exact_results.mechanism,
        program.function,
        program.method,
        ProgramOptions(program.real, **exact_results.links),
    )
    angle = "atan2" in program.operations
    mimic_angle = mimic_rotation(exact_results.rough, exact_results.floats["q"])
    return (
        float(
            program.depth
            + 1
            + bool(program.quaternions)
            + angle
            + printer().ulps[text.trig]
            + mimic_angle
        )
        * ratio
    )


def is_difference(program: Form, exact_results: ExactResults) -> bool:
    """True if the method computes its result as a difference of larger terms. Then small entries
    are no better than the largest.
    """
    return program.function not in PREPARING and methods.find(program.method).cancels(
        exact_results.mechanism
    )


def check_floating(
    program: Form, run: Runner, exact_results: ExactResults, label: str, text: TextOptions = PLAIN
) -> Check:
    """Return the check of the largest error of `run` (the compiled function) over all states and
    results, in units of round-off.

    A result with a precision loss is not judged. There are five cases:

    - the bound is more than the fraction `symgen.vocabulary.reals.LOST` of the terms, so it bounds
      nothing;
    - the bound is more than that fraction of the result, and the observed error is as large;
    - M is singular within round-off at every state at which a result that needs its inverse is
      wrong;
    - all terms of a result are below the smallest normal number of the type;
    - a result is not finite, and its bound is as large as the result.

    A result above the largest number of the type, which the C returns as infinity, is not judged
    either.
    """
    judge = _Judge(program, exact_results, label, text, allowance(program, exact_results, text))
    results = run(exact_results.arguments(program.function, exact_results.floats))
    for name, values in results.items():
        if not np.isfinite(values).all():
            return judge.not_finite(name, values)
    worst, location_of_largest, losses = 0.0, "", [judge.allowed] if judge.bounds_nothing else []
    entered = {
        name: exact_results.scalars.array(values.astype(float)) for name, values in results.items()
    }
    with exact_results.scalars.working():
        sizes = running_error_bounds(program, exact_results, text)
        by_largest = is_difference(program, exact_results)
        for name, distance in distances(
            program.function, entered, exact_results, by_largest, sizes
        ).items():
            if not np.isfinite(distance.size).all():  # a derivative divides by zero
                why = f"{name} has no bound at these states"
                return judge.check(0.0, name, why, lost=True)
            ratios = largest_ratio_by_state(
                distance.difference, distance.size * REALS[program.real].eps
            )
            error, location = float(ratios.max()), f"{name}, state {int(ratios.argmax())}"
            if why := judge.why_unjudged(name, distance, ratios):
                return judge.check(error, location, why, lost=True)
            if error >= worst:
                worst, location_of_largest = error, f"largest in {location}"
            if judge.is_lost(distance):
                losses.append(judge.allowed * distance.loss)
    if losses and (judge.bounds_nothing or worst <= judge.allowed):
        return judge.check(worst, location_of_largest, precision_loss(max(losses)), lost=True)
    return judge.check(worst, location_of_largest)


@dataclass(frozen=True)
class _Judge:
    """Decides which floating-point results of a function are not judged, and why; `allowed` is its
    bound in units.
    """

    program: Form
    exact_results: ExactResults
    label: str
    text: TextOptions
    allowed: float

    @property
    def bounds_nothing(self) -> bool:
        """True if the bound is more than LOST of the terms."""
        return loses(self.allowed, self.program.real)

    def check(self, error: float, detail: str, why: str = "", lost: bool = False) -> Check:
        """Return the check; with a reason `why`, it is not judged."""
        return Check("floating", self.label, error, self.allowed, " eps", detail, why, lost)

    def not_finite(self, name: str, values: Array) -> Check:
        """Return the check of a result that is not finite. A ball made of it would hide which
        result it came from.
        """
        program, exact_results = self.program, self.exact_results
        detail = f"{name} is not finite"
        if _overflows(exact_results.results(program.function)[name], values, program.real):
            reason = f"{name} is above the largest number that a {program.real} holds"
            return self.check(np.inf, detail, reason, lost=True)
        broken = np.asarray(~np.isfinite(values.reshape(exact_results.count, -1)).all(axis=-1))
        lost = (
            (self.allowed if self.bounds_nothing else 0.0)
            or _singularity_round_offs(program, exact_results, broken, self.allowed)
            or _swamping_round_offs(program, exact_results, name, broken, self.allowed, self.text)
        )
        return self.check(np.inf, detail, precision_loss(lost) if lost else "", lost > 0)

    def why_unjudged(self, name: str, distance: Distance, ratios: Array) -> str:
        """Return why a result is not judged, whatever its other errors are: it underflows, or M is
        numerically singular.
        """
        program = self.program
        if is_solved(program.function, name):
            return ""
        if 0 < float(distance.terms.min()) < float(REALS[program.real].least):
            return (
                f"{name} is below the smallest number that a {program.real} holds with all its"
                " digits"
            )
        broken = ratios > self.allowed
        if broken.any() and (
            singular_round_offs := _singularity_round_offs(
                program, self.exact_results, broken, self.allowed
            )
        ):
            return precision_loss(singular_round_offs)
        return ""

    def is_lost(self, distance: Distance) -> bool:
        """True if the bound is more than LOST of the result, and the observed error of the result
        is as large.
        """
        return (
            not self.bounds_nothing
            and loses(self.allowed * distance.loss, self.program.real)
            and distance.observed_error > LOST
        )


def _overflows(exact: Array, values: Array, real: str) -> bool:
    """True if every infinite entry exceeds the type's largest number in the exact result, with the
    same sign.
    """
    at = ~np.isfinite(values)
    largest = REALS[real].largest
    limit = flint.arb(flint.fmpq(largest.numerator, largest.denominator))
    return all(
        ball > limit if sign > 0 else ball < -limit if sign < 0 else False
        for ball, sign in zip(exact[at], values[at], strict=True)
    )


def _swamping_round_offs(
    program: Form,
    exact_results: ExactResults,
    name: str,
    broken: Array,
    allowed: float,
    text: TextOptions,
) -> float:
    """Return the allowed round-offs of the result, if they are as large as the result at every
    `broken` state; else 0.

    An example is a step of dynamics at which a light link is thrown away.
    """
    if name in SOLVED or FUNCTIONS[program.function].derivative is not None:
        return 0.0
    terms, answer = (
        largest(values)[broken]
        for values in (
            natural_size(
                program.function,
                name,
                exact_results,
                is_difference(program, exact_results),
                running_error_bounds(program, exact_results, text),
            ),
            exact_results.results(program.function)[name],
        )
    )
    with np.errstate(divide="ignore"):
        least = float((allowed * terms / answer).min())
    return least if least * REALS[program.real].eps >= 1 else 0.0


def _singularity_round_offs(
    program: Form, exact_results: ExactResults, broken: Array, allowed: float
) -> float:
    """Return the allowed round-offs of M's inverse, if a matrix that near to M is singular at every
    `broken` state; else 0.

    A method that divides by the pivots of M may then divide by almost zero, or take the logarithm
    of it.
    """
    if not program.operations["div"] and "log" not in program.operations:
        return 0.0
    with suppress(RequestError):  # M itself is singular: the loss has no finite value
        least = float(exact_results.scales.determinant_loss()[broken].min())
        return allowed * least if allowed * least * REALS[program.real].eps >= 1 else 0.0
    return 0.0
