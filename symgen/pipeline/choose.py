"""Which method is taken where none is named: the one with the fewest operations for this robot that does not lose its digits."""

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

OF_A_CALL = 5
"""Round-offs that any call has: of constants, of a sine (computed in whatever way), and of a logarithm."""
LONG_CHAIN = 20
CLOSE, FEW = 1.04, 4
"""Times the fewest operations, and more, within which the passes that come last may change who has fewer."""
DEARER, FEWER = 1.2, 70
"""Times the fewest operations, and more, beyond which no method after the first passes ends up the shortest: those behind remove
a seventh, of a short one a quarter. Too tight a limit shows in the recorded counts of the built-in robots.
"""


def methods_for(mechanism: Mechanism, function: str) -> tuple[str, ...]:
    """The methods that can compute a function of this robot."""
    function_named(function)
    return tuple(
        m for m in methods.providers(function) if methods.find(m).refusal(mechanism) is None
    )


def divides_by_pivots(made: Program) -> bool:
    """Whether a function that every robot has, singular or not, is made by dividing: a determinant by way of an elimination."""
    return made.operations["div"] > 0 and FUNCTIONS[made.function].by_pivots


def best(
    mechanism: Mechanism,
    function: str,
    options: ProgramOptions,
    loss: Callable[[], RankLoss | None] = lambda: None,
) -> Program:
    """By the method with the fewest operations for this robot (mul + add + div; ties by name) that does not lose its digits.

    `loss` is asked where a method divides by pivots of M, which are nothing where M is singular.
    """
    found: Program | None = None
    lost: dict[str, str] = {}
    weighed: list[str] = []
    singular: str | None = None
    longest = dearest = None
    seen, hopeless = set(), []
    close: list[Program] = []
    # Methods that take all constraint forces apart are long. On a long chain so are those that pair every joint with every other.
    # They come last, when there is something shorter to compare with.
    long = mechanism.nv > LONG_CHAIN

    def order(name: str) -> tuple[bool, bool, str]:
        return methods.find(name).cancels(mechanism), long and not methods.find(name).sweeps, name

    for method in sorted(
        (m for m in methods_for(mechanism, function) if not methods.find(m).explicit_only),
        key=order,
    ):
        reading = methods.derivation_for_robot(method, function, mechanism)
        if reading in seen:  # a variant that shares another's derivation
            continue
        seen.add(reading)
        if _loses(mechanism, function, method, options, 1):
            hopeless.append(method)
            continue
        try:
            candidate = attempt(mechanism, function, method, options).program(
                longest=longest, dearest=dearest
            )
        except (
            TooManyRows,
            MethodRefusal,
        ) as error:  # a method may decline a payload, which its refusal does not see
            weighed.append(f"{method} left ({error})")
            continue
        except PrecisionLoss as error:
            lost[method] = str(error)
            continue
        candidate = replace(candidate, method=method)
        if divides_by_pivots(candidate) and (none := loss()):
            singular = f"{function} of '{mechanism.name}' divides by {none.sentence}"
            weighed.append(f"{method} left (it divides by pivots of a singular matrix)")
            continue
        if _loses(mechanism, function, method, options, candidate.depth):
            hopeless.append(method)
            continue
        weighed.append(f"{method} {candidate.cost}")
        close.append(candidate)
        if found is None or (candidate.cost, method) < (found.cost, found.method):
            found = candidate
            # The passes remove a quarter of a derivation, of a short one up to three quarters. A longer one than this
            # has never ended up the shortest, and is left out.
            longest = 400 + len(candidate.rows) * 4 // 3
            dearest = FEWER + candidate.cost * DEARER
    for method in (
        hopeless if found is None else ()
    ):  # nothing else is left; `verify` says what they are worth
        with suppress(TooManyRows, MethodRefusal, PrecisionLoss):
            return polished(mechanism, function, method, options)
    if found is None:
        if singular or lost:
            raise OutOfReach(singular or next(iter(lost.values())))
        raise TooLong(
            f"{function} of '{mechanism.name}' ({mechanism.nv} joints) needs more than {derive.ROW_BUDGET} rows by every "
            "method; lock joints that do not matter with --lock, or ask for other functions with -f"
        )
    weighed += [f"{method} left (it would lose its digits here)" for method in (*hopeless, *lost)]
    last = [
        polished(mechanism, function, one.method, options)
        for one in close
        if one.cost <= CLOSE * found.cost + FEW
    ]
    found = min(last, key=lambda one: (one.cost, one.method))
    cache.LOG.info(
        "%s by %s, the fewest operations: %s", function, found.method, ", ".join(weighed)
    )
    return replace(found, passed_over=tuple(lost.items()))


def terms(mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> float:
    """How many times larger the terms of a method may be than those that its answer is measured against; 1 for most."""
    payload = options.payload
    reading = methods.find(method)
    found = 1.0
    if reading.cancels(mechanism):
        from symgen.reference.free_bodies import (
            freedom,
        )  # NumPy, which a cached Program does without

        found = max(found, freedom(mechanism, payload, derive.starts(mechanism)))
    if reading.about_mass_centre:
        from symgen.reference.leverage import leverage

        found = max(found, leverage(mechanism, payload))
    if reading.segments_end_free:
        found = max(found, segment_lengths.larger(mechanism, options.real))
    if function in reading.carries_mobility_outward:
        from symgen.reference.mobility import mobility

        found = max(found, mobility(mechanism, options.frame or tip(mechanism), payload))
    return found


def _loses(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions, depth: int
) -> bool:
    """Whether a method loses the digits of its answer in `depth` operations, by the rule of `verify`."""
    larger = terms(mechanism, function, method, options)
    return larger > 1 and loses((depth + OF_A_CALL) * larger, options.real)


def loses_digits(mechanism: Mechanism, made: Form, options: ProgramOptions) -> bool:
    """Whether the terms of a Program's method are so much larger than its answer that no digit of it can be relied on."""
    return made.function not in PREPARING and _loses(
        mechanism, made.function, made.method, replace(options, real=made.real), made.depth
    )
