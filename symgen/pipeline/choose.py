"""Choice of the method if the user names none: the method that has the fewest operations for this
robot and no precision loss.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from symgen import methods
from symgen.derivation.constants import PrecisionLoss
from symgen.derivation.scalars import TooManyRows
from symgen.description.tip import tip
from symgen.ir.loops import Form
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import derive, segment_lengths
from symgen.pipeline.derive import attempt, polished
from symgen.support import cache
from symgen.support.errors import MethodRefusal, OutOfReach, TooLong
from symgen.vocabulary.functions import FUNCTIONS, PREPARING
from symgen.vocabulary.names import function_named
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.reals import loses

if TYPE_CHECKING:
    from symgen.reference.singularity import RankLoss

CALL_ROUND_OFFS = 5
"""Round-offs of every call in addition to its depth: of constants, of a sine or cosine by any value
of --trig, and of a logarithm.
"""
LONG_CHAIN = 20
"""Number of velocities above which methods that pair every joint with every other come last."""
FINALIST_FACTOR, FINALIST_MARGIN = 1.04, 4
"""A candidate is a finalist if it has at most FACTOR × fewest + MARGIN operations. The last passes
run for finalists only, since they cannot make any other candidate the shortest.
"""
LIMIT_FACTOR, LIMIT_MARGIN = 1.2, 70
"""A candidate is abandoned if it has more than FACTOR × fewest + MARGIN operations after the first
passes.

The later passes remove a seventh of the operations, and a quarter of a short Program. No abandoned
candidate would have become the shortest for any recorded robot. A limit that is too tight would
change the recorded operation counts of the built-in robots.
"""


def methods_for(mechanism: Mechanism, function: str) -> tuple[str, ...]:
    """Return the methods that can compute a function of this robot."""
    function_named(function)
    return tuple(
        m for m in methods.providers(function) if methods.find(m).refusal(mechanism) is None
    )


def divides_by_pivots(program: Program) -> bool:
    """True if the Program divides by pivots of M, although its function also exists for a singular
    M.
    """
    return program.operations["div"] > 0 and FUNCTIONS[program.function].by_pivots


def best_program(
    mechanism: Mechanism,
    function: str,
    options: ProgramOptions,
    loss: Callable[[], RankLoss | None] = lambda: None,
) -> Program:
    """Return the Program by the method with the fewest operations for this robot (mul + add + div;
    ties by name).

    A method with a precision loss is used only if there is no other. `loss` returns the rank loss
    of M, or None; it is called if a method divides by pivots of M, which vanish if M is singular.
    """
    shortest: Program | None = None
    precision_losses: dict[str, str] = {}
    log: list[str] = []
    singular: str | None = None
    row_limit = cost_limit = None
    derivations, imprecise = set(), []
    candidates: list[Program] = []
    # Two kinds of methods have long Programs: those that eliminate all constraint forces, and, on a
    # long chain, those that pair every joint with every other. They are derived last, when a
    # shorter Program already limits the derivation.
    is_long = mechanism.nv > LONG_CHAIN

    def order(name: str) -> tuple[bool, bool, str]:
        facts = methods.find(name)
        return facts.cancels(mechanism), is_long and not facts.sweeps, name

    for method in sorted(
        (m for m in methods_for(mechanism, function) if not methods.find(m).explicit_only),
        key=order,
    ):
        derivation = methods.derivation_for_robot(method, function, mechanism)
        if derivation in derivations:  # a variant that shares the derivation of another one
            continue
        derivations.add(derivation)
        if _has_precision_loss(mechanism, function, method, options, 1):
            imprecise.append(method)
            continue
        try:
            candidate = attempt(mechanism, function, method, options).program(
                longest=row_limit, dearest=cost_limit
            )
        except (TooManyRows, MethodRefusal) as error:
            # `refusal` depends on the robot only; a derivation may also refuse a payload.
            log.append(f"{method} rejected ({error})")
            continue
        except PrecisionLoss as error:
            precision_losses[method] = str(error)
            continue
        candidate = replace(candidate, method=method)
        if divides_by_pivots(candidate) and (rank_loss := loss()):
            singular = f"{function} of '{mechanism.name}' divides by {rank_loss.sentence}"
            log.append(f"{method} rejected (it divides by pivots of a singular matrix)")
            continue
        if _has_precision_loss(mechanism, function, method, options, candidate.depth):
            imprecise.append(method)
            continue
        log.append(f"{method} {candidate.cost}")
        candidates.append(candidate)
        if shortest is None or (candidate.cost, method) < (shortest.cost, shortest.method):
            shortest = candidate
            # All passes together remove a quarter of the rows of a derivation, and up to three
            # quarters of a short one. No derivation above these limits has become the shortest.
            row_limit = 400 + len(candidate.rows) * 4 // 3
            cost_limit = LIMIT_MARGIN + candidate.cost * LIMIT_FACTOR
    # Without any other method, an imprecise one is used; `verify` then reports no verdict.
    for method in imprecise if shortest is None else ():
        with suppress(TooManyRows, MethodRefusal, PrecisionLoss):
            return polished(mechanism, function, method, options)
    if shortest is None:
        if singular or precision_losses:
            raise OutOfReach(singular or next(iter(precision_losses.values())))
        raise TooLong(
            f"{function} of '{mechanism.name}' ({mechanism.nv} joints) needs more than"
            f" {derive.ROW_BUDGET} rows by every method; lock joints that do not matter with"
            " --lock, or request other functions with -f"
        )
    log += [f"{method} rejected (precision loss)" for method in (*imprecise, *precision_losses)]
    finalists = [
        polished(mechanism, function, candidate.method, options)
        for candidate in candidates
        if candidate.cost <= FINALIST_FACTOR * shortest.cost + FINALIST_MARGIN
    ]
    shortest = min(finalists, key=lambda program: (program.cost, program.method))
    cache.LOG.info("%s by %s, the fewest operations: %s", function, shortest.method, ", ".join(log))
    return replace(shortest, passed_over=tuple(precision_losses.items()))


def term_ratio(mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> float:
    """Return the largest ratio of a method's intermediate terms to its result; 1 for most methods.

    A large ratio means cancellation, that is, a loss of digits.
    """
    payload = options.payload
    method_facts = methods.find(method)
    ratio = 1.0
    if method_facts.cancels(mechanism):
        # These imports load NumPy, which is not needed if the Program is in the cache.
        from symgen.reference.free_bodies import freedom

        ratio = max(ratio, freedom(mechanism, payload, derive.frame_starts(mechanism)))
    if method_facts.about_mass_centre:
        from symgen.reference.leverage import leverage

        ratio = max(ratio, leverage(mechanism, payload))
    if method_facts.segments_end_free:
        ratio = max(ratio, segment_lengths.term_ratio(mechanism, options.real))
    if function in method_facts.carries_mobility_outward:
        from symgen.reference.mobility import mobility

        ratio = max(ratio, mobility(mechanism, options.frame or tip(mechanism), payload))
    return ratio


def _has_precision_loss(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions, depth: int
) -> bool:
    """True if a method has a precision loss after `depth` operations, by the rule of `verify`."""
    ratio = term_ratio(mechanism, function, method, options)
    return ratio > 1 and loses((depth + CALL_ROUND_OFFS) * ratio, options.real)


def has_precision_loss(mechanism: Mechanism, program: Form, options: ProgramOptions) -> bool:
    """True if a Program has a precision loss: the terms of its method are so much larger than its
    result that no digit of the result is reliable.
    """
    return program.function not in PREPARING and _has_precision_loss(
        mechanism,
        program.function,
        program.method,
        replace(options, real=program.real),
        program.depth,
    )
