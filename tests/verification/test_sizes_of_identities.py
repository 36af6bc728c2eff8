"""Sizes to which the errors of identities are relative: they have the unit of the error, and no
term is missing.

The functions under test are those of the reference in doubles.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.verification.evaluating import Runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.identities import IDENTITIES
from symgen.verification.identities._identity import Functions, Identity
from symgen.verification.residuals import largest_ratio_by_state
from tests.shared.other_units import UNITS, USUAL, Units, cart_and_arm, scaled

STATES = 3
ATTACHMENTS: Any = {"frame": "hand", "payload": "hand", "wrench": "hand", "contact": "hand"}
SIZED = ("inverse_mass_matrix", "forward_dynamics", "mass_matrix", "bias_force")
"""Functions on whose results sizes depend."""


@cache
def robot() -> Mechanism:
    return cart_and_arm()


class Doubles:
    """The reference in doubles at states in other units, some of them multiplied."""

    def __init__(
        self, mechanism: Mechanism, units: Units = USUAL, times: Mapping[str, int] = {}
    ) -> None:
        exact = ExactResults(mechanism, STATES, 5, **ATTACHMENTS)
        self.exact, self.error = exact, 0.0
        for name in {name for identity in JUDGED for name in identity.needs}:
            exact.draw(name)
        for name, values in exact.states.items():
            exact.floats[name] = scaled(name, values, mechanism, units, times).astype(float)
        exact.load = exact.floats["payload"]
        exact.balls = {name: exact.scalars.array(x) for name, x in exact.floats.items()}
        exact.replace_results(
            {
                name: exact.rough.evaluate(name, exact.reference_arguments(name, exact.floats))
                for name in SIZED
            }
        )

    def ratios(self, identity: Identity, error: float = 0.0) -> Array:
        """Return the relative distance (count,) of an identity, with relative errors of the entries
        of its first function.
        """

        def runner(name: str) -> Runner:
            def run(arguments: Mapping[str, Array]) -> dict[str, Array]:
                results = self.exact.rough.evaluate(name, arguments)
                if name != identity.needs[0]:
                    return dict(results)
                return {result: values * wrong(values) for result, values in results.items()}

            return run

        def wrong(values: Array) -> Array:
            return 1 + error * (1 + np.arange(values.size).reshape(values.shape) % 7)

        called = Functions(
            {name: runner(name) for name in identity.needs}, self.exact.floats, self.exact, False
        )
        return largest_ratio_by_state(*identity.distance(called))


SLOW = ("base_regressor", "base_parameters", "step_rk4")
"""Functions whose reference takes long."""


def is_judged(identity: Identity) -> bool:
    is_slow = any(name in SLOW for name in identity.needs)
    return not identity.exact_only and identity.applies_to(robot()) and not is_slow


JUDGED = [identity for identity in IDENTITIES if is_judged(identity)]
TITLES = {identity.title: identity for identity in JUDGED}


@cache
def doubles(unit: str = "") -> Doubles:
    units = UNITS.get(unit, USUAL)
    return Doubles(cart_and_arm(units), units)


@cache
def usual_ratios(title: str) -> Array:
    return doubles().ratios(TITLES[title], 1e-6)


OF_ONE_FUNCTION = {"difference(back) = −difference", "difference(q, q) = 0"}
"""Identities in which equal relative errors of a function cancel."""
AFTER_AN_IMPACT = {"no contact: v after = v", "active contacts are stopped"}
NOT_HOMOGENEOUS = {
    "mass": {"active contacts are stopped"},
    "length": {
        "M x = b",  # b has no unit of its own
        "Hᵀ F = tau",  # a wrench has one size, the larger of the moment and the force
        "integrate(difference) = q_next",  # as have positions and rotations
        "difference(integrate) = v dt",
        "active contacts do not accelerate",  # a size of 1 m is added
        *AFTER_AN_IMPACT,
    },
    "time": AFTER_AN_IMPACT,
}
"""Identities whose sizes do not scale with a unit, by the unit."""


def has_derivatives(identity: Identity) -> bool:
    return any("derivatives" in name for name in identity.needs)


CASES = [
    (title, unit)
    for title, identity in TITLES.items()
    for unit in UNITS
    if title not in OF_ONE_FUNCTION and (unit == "time" or not has_derivatives(identity))
]
"""Derivatives take longer, and are tried in another unit of time only."""


@pytest.mark.parametrize(("title", "unit"), CASES)
def test_the_relative_distance_does_not_depend_on_units(title: str, unit: str) -> None:
    """Entries of one function have relative errors from 1e-6 to 7e-6."""
    identity = TITLES[title]
    usual = usual_ratios(title)
    in_unit = doubles(unit).ratios(identity, 1e-6)
    assert usual.max() > 0
    if title not in NOT_HOMOGENEOUS[unit]:
        np.testing.assert_allclose(in_unit, usual, rtol=1e-6)


LARGE = 10**6
REGIMES: dict[str, dict[str, Any]] = {
    "rates": {"times": {"v": LARGE}},
    "accelerations": {"times": {"a": LARGE}},
    "forces": {"times": {"tau": LARGE}},
    "wrench": {"times": {"wrench": LARGE}},
    "gravity": {"gravity": LARGE},
    "drives": {"drives": LARGE},
    "payload": {"times": {"payload": LARGE}},
    "right-hand sides": {"times": {"b": LARGE}},
}


@cache
def in_regime(regime: str) -> Doubles:
    figures = {name: x for name, x in REGIMES[regime].items() if name != "times"}
    return Doubles(cart_and_arm(**figures), times=REGIMES[regime].get("times", {}))


FAST: dict[str, Any] = {
    "integrate keeps |quaternion|": "the rotation has many turns",
    "difference(integrate) = v dt": "the rotation has many turns",
    "no contact: a = FD(tau), no force": "the doubles of one system have one error",
    "ID(a) − tau = Aᵀ forces": "the doubles of one system have one error",
    "active contacts do not accelerate": "the doubles of one system have one error",
}
"""Identities that doubles do not satisfy at rates of 10⁶ rad/s, with the reason."""
MOST = {"M beside dtau_dq = M": 32}
"""Round-offs, where they are more than 8."""


@pytest.mark.parametrize("regime", REGIMES)
def test_round_off_stays_within_a_few_units_where_one_argument_is_large(regime: str) -> None:
    for title, identity in TITLES.items():
        if regime == "rates" and title in FAST:
            continue
        if regime != "rates" and has_derivatives(identity):
            continue
        round_offs = in_regime(regime).ratios(identity).max() * 2.0**52
        assert round_offs < MOST.get(title, 8), title
