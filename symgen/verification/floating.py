"""(c) The compiled C against the exact answer, in units of round-off scaled by the problem.

The unit is eps times the natural size of the answer: the sum of its terms' absolute values (`symgen.verification.scales`). For
functions that solve with M it is the size that a residual is relative to. A straight-line program without divisions returns the
exact sum of its terms, each multiplied by at most `depth` factors 1 + δ with |δ| ≤ eps/2 (Higham, Accuracy and Stability of
Numerical Algorithms, lemma 3.1). Its constants, its sines and the quaternions among its arguments carry one more each. So the
error is at most about `depth` units, and far less in the mean. All else of a state is exact in both real types, and brings no
error. An elimination of a positive definite matrix lets nothing grow, so its backward error is as small (theorem 10.4 there). The
determinant inherits cond M times the relative error of M.
"""

from __future__ import annotations

from contextlib import suppress

import flint
import numpy as np

from symgen import methods
from symgen.emission import printer
from symgen.ir.recursion import Form
from symgen.pipeline.choose import terms
from symgen.reference.precision import Array
from symgen.support.errors import RequestError
from symgen.verification.evaluating import Runner
from symgen.verification.levers import followed
from symgen.verification.magnitude import largest
from symgen.verification.report import Check, lost_digits
from symgen.verification.residuals import SOLVED, by_state, distances, natural, solves
from symgen.verification.running_error import bounds
from symgen.verification.scales.determinant import trace
from symgen.verification.truth import Truth
from symgen.vocabulary.functions import FUNCTIONS, PREPARING
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions
from symgen.vocabulary.reals import LOST, REALS, loses


def allowance(program: Form, truth: Truth, text: TextOptions = PLAIN) -> float:
    """The bound in units: `depth`, one for the constants, one for quaternions, those of a sine, whose last place is a unit or
    less, and one where there is an atan2, which may be off by two. The angle of a joint that follows is computed, and
    off by as many as it has radians, which all that it turns takes over.

    A derivative's sizes are bounds already: one. Where a method's terms are larger than those, it may lose digits in proportion:
    `symgen.pipeline.choose.terms`.
    """
    if bounds(program, truth, text):
        return 1.0
    larger = terms(
        truth.mechanism,
        program.function,
        program.method,
        ProgramOptions(program.real, **truth.links),
    )
    angle = "atan2" in program.operations
    turned = followed(truth.rough, truth.floats["q"])
    return (
        float(
            program.depth
            + 1
            + bool(program.quaternions)
            + angle
            + printer().ulps[text.trig]
            + turned
        )
        * larger
    )


def differs(program: Form, truth: Truth) -> bool:
    """Whether its method's answer is a difference of larger terms. Its smaller entries are then no better than its largest."""
    return program.function not in PREPARING and methods.find(program.method).cancels(
        truth.mechanism
    )


def check_floating(
    program: Form, run: Runner, truth: Truth, label: str, text: TextOptions = PLAIN
) -> Check:
    """The largest error of `run` (the compiled function) over all states and results, in units of round-off.

    An answer that loses its digits is not judged. There are five cases. The bound is more than `symgen.vocabulary.reals.LOST` of the terms,
    and bounds nothing. Or it is more than that share of the answer that the terms leave over, and the answer was seen to be off
    by as much. Or M is singular within round-off wherever an answer that needs its inverse is off. Or all terms of a result are
    below the smallest normal number of the type. Or what is not finite may be off by all that it is. Nor is an answer judged that
    is above its largest number, where the C says infinity.
    """
    results = run(truth.arguments(program.function, truth.floats))
    units, where, allowed = 0.0, "", allowance(program, truth, text)
    none = loses(allowed, program.real)
    lost = allowed if none else 0.0
    broken = next((name for name, values in results.items() if not np.isfinite(values).all()), None)
    if broken is not None and _too_large(
        truth.results(program.function)[broken], results[broken], program.real
    ):
        large = f"{broken} is above the largest number that a {program.real} holds"
        return Check(
            "floating", label, np.inf, allowed, " eps", f"{broken} is not finite", large, True
        )
    if broken is not None:  # a ball made of NaN or infinity would hide which result it came from
        at = np.asarray(~np.isfinite(results[broken].reshape(truth.count, -1)).all(axis=-1))
        lost = (
            lost
            or _singular(program, truth, at, allowed)
            or _swamped(program, truth, broken, at, allowed, text)
        )
        why = lost_digits(lost) if lost else ""
        return Check(
            "floating", label, np.inf, allowed, " eps", f"{broken} is not finite", why, lost > 0
        )
    entered = {name: truth.scalars.array(values.astype(float)) for name, values in results.items()}
    with truth.scalars.working():
        own = bounds(program, truth, text)
        for name, found in distances(
            program.function, entered, truth, differs(program, truth), own
        ).items():
            if not np.isfinite(
                found.size
            ).all():  # of a derivative: something may be divided by nothing
                return Check(
                    "floating",
                    label,
                    0.0,
                    allowed,
                    " eps",
                    name,
                    f"{name} has no bound at these states",
                    True,
                )
            ratios = by_state(found.difference, found.size * REALS[program.real].eps)
            error, state = float(ratios.max()), int(ratios.argmax())
            equation = solves(program.function, name)
            if not equation and 0 < float(found.terms.min()) < float(REALS[program.real].least):
                small = f"{name} is below the smallest number that a {program.real} holds with all its digits"
                return Check(
                    "floating", label, error, allowed, " eps", f"{name}, state {state}", small, True
                )
            if (
                not equation
                and error > allowed
                and (near := _singular(program, truth, ratios > allowed, allowed))
            ):
                return Check(
                    "floating",
                    label,
                    error,
                    allowed,
                    " eps",
                    f"{name}, state {state}",
                    lost_digits(near),
                    True,
                )
            if error >= units:
                units, where = error, f"largest in {name}, state {state}"
            if not none and loses(allowed * found.loss, program.real) and found.seen > LOST:
                lost = max(lost, allowed * found.loss)
    if lost and (none or units <= allowed):
        return Check("floating", label, units, allowed, " eps", where, lost_digits(lost), True)
    return Check("floating", label, units, allowed, " eps", where)


def _too_large(exact: Array, found: Array, real: str) -> bool:
    """Whether all that is not finite is as large in truth, and infinite of the same sign."""
    at = ~np.isfinite(found)
    largest = REALS[real].largest
    within = flint.arb(flint.fmpq(largest.numerator, largest.denominator))
    return all(
        ball > within if sign > 0 else ball < -within if sign < 0 else False
        for ball, sign in zip(exact[at], found[at], strict=True)
    )


def _swamped(
    program: Form, truth: Truth, name: str, broken: Array, allowed: float, text: TextOptions
) -> float:
    """How many round-offs of an answer are allowed, where these are all of it at every state that is `broken`; else 0.

    A step of dynamics at which a light link is torn away has such stages.
    """
    if name in SOLVED or FUNCTIONS[program.function].derivative is not None:
        return 0.0
    terms, answer = (
        largest(values)[broken]
        for values in (
            natural(
                program.function, name, truth, differs(program, truth), bounds(program, truth, text)
            ),
            truth.results(program.function)[name],
        )
    )
    with np.errstate(divide="ignore"):
        least = float((allowed * terms / answer).min())
    return least if least * REALS[program.real].eps >= 1 else 0.0


def _singular(program: Form, truth: Truth, broken: Array, allowed: float) -> float:
    """How many round-offs of M's inverse are allowed, where a matrix so near to M is singular; else 0.

    Whoever divides by its pivots may then divide by next to nothing, or take its logarithm. It counts only if M is so at every
    state that is `broken`.
    """
    if not program.operations["div"] and "log" not in program.operations:
        return 0.0
    with suppress(RequestError):  # M itself is singular, and then nobody may divide
        least = float(trace(truth, truth.scales.roots)[broken].min())
        return allowed * least if allowed * least * REALS[program.real].eps >= 1 else 0.0
    return 0.0
