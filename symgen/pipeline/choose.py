"""Choice of the method if none is named: the one with the fewest operations for this robot and
without a precision loss.
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
"""Round-offs of any call: of constants, of a sine (however it is computed), and of a logarithm."""
LONG_CHAIN = 20
FINALIST_FACTOR, FINALIST_MARGIN = 1.04, 4
"""Factor and margin on the fewest operations; within them the last passes may change the order."""
LIMIT_FACTOR, LIMIT_MARGIN = 1.2, 70
"""Factor and margin on the fewest operations; a method above them after the first passes never ends
up the shortest. The later passes remove a seventh of the operations, of a short one a quarter. A
limit that is too tight changes the recorded counts of the built-in robots.
"""


def methods_for(mechanism: Mechanism, function: str) -> tuple[str, ...]:
    """Return the methods that can compute a function of this robot."""
    function_named(function)
    return tuple(
        m for m in methods.providers(function) if methods.find(m).refusal(mechanism) is None
    )


def divides_by_pivots(program: Program) -> bool:
    """True if a function that exists for a singular M as well is computed by an elimination that
    divides by pivots of M.
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

    Methods with a precision loss come last. `loss` is called if a method divides by pivots of M,
    which vanish if M is singular.
    """
    shortest: Program | None = None
    lost: dict[str, str] = {}
    log: list[str] = []
    singular: str | None = None
    longest = dearest = None
    readings, imprecise = set(), []
    near_shortest: list[Program] = []
    # Methods that eliminate all constraint forces are long, and on a long chain so are those that
    # pair every joint with
    # every other. They come last, when a shorter Program already sets a limit.
    long = mechanism.nv > LONG_CHAIN

    def order(name: str) -> tuple[bool, bool, str]:
        return methods.find(name).cancels(mechanism), long and not methods.find(name).sweeps, name

    for method in sorted(
        (m for m in methods_for(mechanism, function) if not methods.find(m).explicit_only),
        key=order,
    ):
        reading = methods.derivation_for_robot(method, function, mechanism)
        if reading in readings:  # a variant that shares another's derivation
            continue
        readings.add(reading)
        if _has_precision_loss(mechanism, function, method, options, 1):
            imprecise.append(method)
            continue
        try:
            candidate = attempt(mechanism, function, method, options).program(
                longest=longest, dearest=dearest
            )
        except (
            TooManyRows,
            MethodRefusal,
        ) as error:  # a method may refuse a payload, which its `refusal` does not know
            log.append(f"{method} rejected ({error})")
            continue
        except PrecisionLoss as error:
            lost[method] = str(error)
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
        near_shortest.append(candidate)
        if shortest is None or (candidate.cost, method) < (shortest.cost, shortest.method):
            shortest = candidate
            # The passes remove a quarter of a derivation, and up to three quarters of a short one.
            # A derivation above
            # these limits has never ended up the shortest.
            longest = 400 + len(candidate.rows) * 4 // 3
            dearest = LIMIT_MARGIN + candidate.cost * LIMIT_FACTOR
    for method in (
        imprecise if shortest is None else ()
    ):  # only imprecise methods are left; `verify` does not judge them
        with suppress(TooManyRows, MethodRefusal, PrecisionLoss):
            return polished(mechanism, function, method, options)
    if shortest is None:
        if singular or lost:
            raise OutOfReach(singular or next(iter(lost.values())))
        raise TooLong(
            f"{function} of '{mechanism.name}' ({mechanism.nv} joints) needs more than"
            f" {derive.ROW_BUDGET} rows by every method; lock joints that do not matter with"
            " --lock, or request other functions with -f"
        )
    log += [f"{method} rejected (precision loss)" for method in (*imprecise, *lost)]
    finalists = [
        polished(mechanism, function, candidate.method, options)
        for candidate in near_shortest
        if candidate.cost <= FINALIST_FACTOR * shortest.cost + FINALIST_MARGIN
    ]
    shortest = min(finalists, key=lambda program: (program.cost, program.method))
    cache.LOG.info("%s by %s, the fewest operations: %s", function, shortest.method, ", ".join(log))
    return replace(shortest, passed_over=tuple(lost.items()))


def term_ratio(mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> float:
    """Ratio of a method's terms to the natural size of its result; 1 for most methods."""
    payload = options.payload
    method_facts = methods.find(method)
    ratio = 1.0
    if method_facts.cancels(mechanism):
        from symgen.reference.free_bodies import (
            freedom,
        )  # NumPy, which a cached Program does without

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
    """True if the terms of a Program's method are so much larger than its result that no digit is
    reliable.
    """
    return program.function not in PREPARING and _has_precision_loss(
        mechanism,
        program.function,
        program.method,
        replace(options, real=program.real),
        program.depth,
    )
