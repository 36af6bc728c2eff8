"""The reference in the place of the Programs, for identities: nothing is derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import symgen
from symgen.reference.precision import Array
from symgen.verification.algebra import TOLERANCE
from symgen.verification.evaluating import Runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.identities import IDENTITIES
from symgen.verification.identities._derivatives import derivative_identities
from symgen.verification.identities._identity import DAMPED, Functions, Identity
from symgen.verification.residuals import largest_ratio
from symgen.vocabulary.derivatives import MODES
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.other_units import cart_and_arm

STATES = 2
ERROR = 1e-9
"""Relative to the largest entry of a result."""
ROBOTS = ("cart and arm", "four_bar", "four_bar, open", "four_bar, two motors")
DERIVED = ("inverse_dynamics", "kinetic_energy", "forward_kinematics", "integrate", "difference")
"""Functions whose derivatives have identities here; positions are arguments or results of the last
two.
"""
OF_DERIVATIVES = derivative_identities(
    [name for of in DERIVED for name in (of, *(f"{of}:{mode}" for mode in MODES))]
)
NAMED = {identity.title: identity for identity in (*IDENTITIES, *OF_DERIVATIVES)}


@cache
def exact_results(name: str) -> ExactResults:
    """Return reference results of a robot with a frame, a load, a wrench and contacts."""
    if name == "cart and arm":
        hand = "hand"
        return ExactResults(
            cart_and_arm(), STATES, 3, frame=hand, payload=hand, wrench=hand, contact=hand
        )
    rod, mechanism = "coupler", symgen.load("four_bar")
    if name == "four_bar, two motors":
        mechanism = replace(mechanism, actuated=("crank_joint", "rocker_joint"))
    is_open = name == "four_bar, open"
    planar = (2, 3)  # two joints move the coupler: rotation about z, translation along x
    return ExactResults(
        mechanism, STATES, 3, baumgarte=is_open, frame=rod, contact=rod, task_rows=planar
    )


def applies(identity: Identity, name: str) -> bool:
    """True if the identity holds for the robot, and the robot has all of its functions."""
    exact = exact_results(name)
    if identity.title == "integrate keeps |quaternion|" and not exact.mechanism.quaternions:
        return False
    if identity in OF_DERIVATIVES and name != ROBOTS[0]:
        return False
    of_loops = any(FUNCTIONS[function].needs_loops for function in identity.needs)
    if of_loops != bool(exact.mechanism.loops) and name != "four_bar":
        return False  # identities of all robots are for the first two
    is_absent = identity.absent is not None and identity.absent(exact)
    return identity.applies_to(exact.mechanism) and not is_absent


CASES = [(name, title) for name in ROBOTS for title in NAMED if applies(NAMED[title], name)]


def functions(name: str, identity: Identity, wrong: str = "") -> Functions:
    """Return the reference's functions; the results of `wrong` have errors."""
    exact = exact_results(name)
    calls = 0

    def runner(function: str) -> Runner:
        def run(arguments: Mapping[str, Array]) -> dict[str, Any]:
            nonlocal calls
            results = exact.reference.evaluate(function, arguments)
            if function != wrong:
                return results
            calls += 1
            return {
                result: values + error_of(exact, values, calls)
                for result, values in results.items()
            }

        return run

    runners = {function: runner(function) for function in identity.needs}
    return Functions(runners, exact.balls, exact, True)


def error_of(exact: ExactResults, values: Array, calls: int) -> Array:
    """Return an error for every entry, in the numbers of the values."""
    scale = max(1.0, *(abs(float(x)) for x in values.ravel()))
    pattern = [ERROR * scale * calls * (1 + n % 7) for n in range(values.size)]
    return exact.scalars.array(pattern).reshape(values.shape)


def holds(name: str, identity: Identity, called: Functions) -> bool:
    exact = exact_results(name)
    damped = identity.damped is not None and identity.damped(exact)
    with exact.scalars.working():
        return largest_ratio(*identity.distance(called))[0] <= (DAMPED if damped else TOLERANCE)
