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
from dataclasses import dataclass

import flint
import numpy as np

from symgen import methods
from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.pipeline.choose import terms
from symgen.reference.precision import Array
from symgen.support.errors import RequestError
from symgen.verification.evaluating import Runner
from symgen.verification.levers import followed
from symgen.verification.magnitude import largest
from symgen.verification.report import Check, lost_digits
from symgen.verification.residuals import SOLVED, Distance, by_state, distances, natural, solves
from symgen.verification.running_error import bounds
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
    judge = _Judge(program, truth, label, text, allowance(program, truth, text))
    results = run(truth.arguments(program.function, truth.floats))
    for name, values in results.items():
        if not np.isfinite(values).all():
            return judge.not_finite(name, values)
    worst, where, losses = 0.0, "", [judge.allowed] if judge.bounds_nothing else []
    entered = {name: truth.scalars.array(values.astype(float)) for name, values in results.items()}
    with truth.scalars.working():
        sizes = bounds(program, truth, text)
        whole = differs(program, truth)
        for name, distance in distances(program.function, entered, truth, whole, sizes).items():
            if not np.isfinite(distance.size).all():  # of a derivative: divided by nothing
                why = f"{name} has no bound at these states"
                return judge.check(0.0, name, why, lost=True)
            ratios = by_state(distance.difference, distance.size * REALS[program.real].eps)
            error, where_now = float(ratios.max()), f"{name}, state {int(ratios.argmax())}"
            if why := judge.why_unjudged(name, distance, ratios):
                return judge.check(error, where_now, why, lost=True)
            if error >= worst:
                worst, where = error, f"largest in {where_now}"
            if judge.is_lost(distance):
                losses.append(judge.allowed * distance.loss)
    if losses and (judge.bounds_nothing or worst <= judge.allowed):
        return judge.check(worst, where, lost_digits(max(losses)), lost=True)
    return judge.check(worst, where)


@dataclass(frozen=True)
class _Judge:
    """A function in floating point: what of its results is not judged, and why; `allowed` is its bound in units."""

    program: Form
    truth: Truth
    label: str
    text: TextOptions
    allowed: float

    @property
    def bounds_nothing(self) -> bool:
        """True if the bound is more than LOST of the terms."""
        return loses(self.allowed, self.program.real)

    def check(self, error: float, detail: str, why: str = "", lost: bool = False) -> Check:
        """The check; with `why` it is not judged."""
        return Check("floating", self.label, error, self.allowed, " eps", detail, why, lost)

    def not_finite(self, name: str, values: Array) -> Check:
        """The check of a result that is not finite: a ball made of it would hide which result it came from."""
        program, truth = self.program, self.truth
        detail = f"{name} is not finite"
        if _too_large(truth.results(program.function)[name], values, program.real):
            large = f"{name} is above the largest number that a {program.real} holds"
            return self.check(np.inf, detail, large, lost=True)
        broken = np.asarray(~np.isfinite(values.reshape(truth.count, -1)).all(axis=-1))
        lost = (
            (self.allowed if self.bounds_nothing else 0.0)
            or _singular(program, truth, broken, self.allowed)
            or _swamped(program, truth, name, broken, self.allowed, self.text)
        )
        return self.check(np.inf, detail, lost_digits(lost) if lost else "", lost > 0)

    def why_unjudged(self, name: str, distance: Distance, ratios: Array) -> str:
        """Why no error of a result is judged, whatever the others are: it underflows, or M is as good as singular."""
        program = self.program
        if solves(program.function, name):
            return ""
        if 0 < float(distance.terms.min()) < float(REALS[program.real].least):
            return f"{name} is below the smallest number that a {program.real} holds with all its digits"
        broken = ratios > self.allowed
        if broken.any() and (near := _singular(program, self.truth, broken, self.allowed)):
            return lost_digits(near)
        return ""

    def is_lost(self, distance: Distance) -> bool:
        """True if the bound is more than LOST of the answer that the terms leave over, and the answer was off by as much."""
        return (
            not self.bounds_nothing
            and loses(self.allowed * distance.loss, self.program.real)
            and distance.seen > LOST
        )


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
        least = float(truth.scales.determinant_loss()[broken].min())
        return allowed * least if allowed * least * REALS[program.real].eps >= 1 else 0.0
    return 0.0
