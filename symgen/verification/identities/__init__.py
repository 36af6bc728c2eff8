"""(d) Identities between the functions: relations that hold for every robot, without a reference.

Identities are found by discovery: a file without a leading underscore has IDENTITIES, and a RANK
that orders the files in a report. An identity is written once and run twice: over the Programs in
balls (tolerance 1e-40), and over the compiled C in its own real type (tolerance: the round-offs of
the functions in it). Differences are relative to the size of the terms, as in `residuals`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from importlib import import_module

import numpy as np

from symgen.ir.loops import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.support.leaves import leaf_names
from symgen.verification.algebra import TOLERANCE, any_nonzero, midpoints
from symgen.verification.evaluating import Runner, scalar_runner
from symgen.verification.exact_results import SHARPENINGS, ExactResults
from symgen.verification.floating import allowance
from symgen.verification.identities import _derivatives
from symgen.verification.identities._identity import DAMPED, Functions, Identity
from symgen.verification.report import Check
from symgen.verification.residuals import largest_ratio
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import PLAIN, TextOptions
from symgen.vocabulary.reals import REALS, loses


def _discover_identities() -> tuple[Identity, ...]:
    """Return the identities of every file, ordered by RANK."""
    leaves = [import_module(f"{__name__}.{name}") for name in leaf_names(__path__)]
    leaves.sort(key=lambda leaf: leaf.RANK)
    return tuple(identity for leaf in leaves for identity in leaf.IDENTITIES)


IDENTITIES = _discover_identities()
"""Identities of functions that are not derivatives; those of a derivative are created for it
(`_derivatives`).
"""


def companions(function: str, mechanism: Mechanism) -> tuple[str, ...]:
    """Return the other functions that the first identity of a function needs, when it is verified
    alone.
    """
    if (derivative := FUNCTIONS[function].derivative) is not None:
        return _derivatives.companions(derivative, mechanism)
    needs = (
        identity.needs
        for identity in IDENTITIES
        if function in identity.needs and identity.applies_to(mechanism)
    )
    return tuple(name for name in next(needs, ()) if name != function)


def check_identities(
    programs: Mapping[str, Form],
    compiled: Mapping[str, Runner] | None,
    exact_results: ExactResults,
    text: TextOptions = PLAIN,
    lost: Collection[str] = (),
) -> Iterator[Check]:
    """Yield the check of every identity whose functions are present: over balls and then, where it
    applies, over the compiled C.

    In the compiled C an identity is not judged if one of its functions is in `lost`.
    """
    over_balls = [_over_balls(programs, exact_results)]
    over_floats = (
        None
        if compiled is None
        else Functions(compiled, exact_results.floats, exact_results, False)
    )
    for identity in (*IDENTITIES, *_derivatives.derivative_identities(programs)):
        if not _applies(identity, programs, exact_results):
            continue
        yield _check_over_balls(identity, programs, over_balls)
        if over_floats is not None and not identity.exact_only:
            yield _check_over_floats(identity, programs, over_floats, text, lost)


def _applies(identity: Identity, programs: Mapping[str, Form], exact_results: ExactResults) -> bool:
    """True if the identity's functions exist, and it holds for the mechanism at these states."""
    return (
        all(function in programs for function in identity.needs)
        and identity.applies_to(exact_results.mechanism)
        and not (identity.absent and identity.absent(exact_results))
    )


def _check_over_balls(
    identity: Identity, programs: Mapping[str, Form], over_balls: list[Functions]
) -> Check:
    """Return the check of an identity over balls, with more digits if only the balls' radii are too
    wide.

    `over_balls` are the functions with the digits of the states, then with twice as many, and so
    on; missing ones are appended.
    """
    exact_results = over_balls[0].exact_results
    damped = identity.damped is not None and identity.damped(exact_results)
    bound = DAMPED if damped else TOLERANCE
    for attempt in range(SHARPENINGS + 1):
        if attempt == len(over_balls):
            over_balls.append(_over_balls(programs, over_balls[-1].exact_results.sharper))
        check, blurred = _check(identity, over_balls[attempt], bound, "", 1.0)
        if check.passed or not blurred:
            break
    return check


def _check_over_floats(
    identity: Identity,
    programs: Mapping[str, Form],
    over_floats: Functions,
    text: TextOptions,
    lost: Collection[str],
) -> Check:
    """Return the check of an identity over the compiled C; it is not judged if one of its functions
    has a precision loss.
    """
    real = next(iter(programs.values())).real
    allowances = {
        function: allowance(programs[function], over_floats.exact_results, text)
        for function in identity.needs
    }
    units = sum(allowances.values())
    check, _ = _check(identity, over_floats, units, " eps", REALS[real].eps)
    losing = next((f for f in identity.needs if f in lost or loses(allowances[f], real)), "")
    if not losing:
        return check
    # A result that overflows the type has its own check.
    beyond = loses(units, real) or not np.isfinite(check.error)
    return replace(check, unjudged=f"precision loss of {losing}", lost=beyond)


def _over_balls(programs: Mapping[str, Form], exact_results: ExactResults) -> Functions:
    return Functions(
        {f: scalar_runner(exact_results.scalars, program) for f, program in programs.items()},
        exact_results.balls,
        exact_results,
        True,
    )


def _check(
    identity: Identity, functions: Functions, bound: float, unit: str, scale: float
) -> tuple[Check, bool]:
    """Return the check, and True if it may have failed only because the balls are too wide.

    That is the case if no ball excludes equality, or if the midpoints agree.
    """
    with functions.exact_results.scalars.working(), np.errstate(all="ignore"):
        errors, different = [], False
        for of_frame in (
            [functions] if identity.together else functions.of_each_frame(identity.needs)
        ):
            difference, size = identity.distance(of_frame)
            errors.append(
                (
                    *largest_ratio(difference, size * scale),
                    largest_ratio(midpoints(difference), size * scale)[0],
                )
            )
            different = different or any_nonzero(difference)
        error, state, _ = max(errors)
        centre = max(centre for _, _, centre in errors)
    where = f"largest at state {state}{', compiled' if unit else ''}"
    blurred = not np.isfinite(centre) or centre <= bound < error or not different
    return Check("identities", identity.title, error, bound, unit, where), blurred
