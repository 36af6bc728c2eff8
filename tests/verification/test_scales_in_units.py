"""Sizes are sums of terms that have the unit of their result, and no term is missing.

In other units of mass, length or time, a size changes by the same factor as its result. Where one
argument is far larger than the others, a result is no larger than its size, so that a missing term
of that argument is seen. The sizes of a pendulum are known in closed form.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest

from symgen.mechanism.mechanism import Mechanism
from symgen.verification import scales
from symgen.verification.exact_results import ExactResults
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.bars import pendulum
from tests.shared.other_units import UNITS, USUAL, Units, cart_and_arm, scaled

STATES = 4
ATTACHMENTS: Any = {"frame": "hand", "payload": "hand", "wrench": "hand", "contact": "hand"}
SIZED = [
    name
    for name, function in FUNCTIONS.items()
    if name in scales.BY_FUNCTION or all(r.name in scales.BY_RESULT for r in function.results)
]
"""Functions whose results have sizes."""
NOT_HOMOGENEOUS = {
    "mass": {"logdet"},
    # a wrench or an acceleration has one size, the larger of the angular and the linear one
    "length": {"logdet", "F", "alpha", "alpha_tip"},
    "time": {"logdet"},
}
"""Results whose sizes do not scale with a unit, by the unit."""
ROUND_OFF = 1e-9
DIFFERENCES = {"grad": 1e-7, "step_rk4": 3e-4}
"""Relative error of sizes that use differences, by result or function. Those of step_rk4 are over a
unit of the rates in any unit of time, where friction is not linear.
"""


class Sized:
    """Results and sizes of all functions, in floats."""

    def __init__(
        self, mechanism: Mechanism, units: Units = USUAL, times: Mapping[str, int] = {}
    ) -> None:
        exact = ExactResults(mechanism, STATES, 5, **ATTACHMENTS)
        for name in SIZED:
            exact.draw(name)
        for name, values in exact.states.items():
            exact.floats[name] = scaled(name, values, mechanism, units, times).astype(float)
        exact.load = exact.floats["payload"]
        exact.balls = {name: exact.scalars.array(x) for name, x in exact.floats.items()}
        functions = (*SIZED, "inverse_mass_matrix", "forward_dynamics")
        exact.replace_results(
            {
                name: exact.rough.evaluate(name, exact.reference_arguments(name, exact.floats))
                for name in functions
            }
        )
        self.exact = exact
        self.results = {
            (function, result.name): np.asarray(exact.results(function)[result.name], dtype=float)
            for function in SIZED
            for result in FUNCTIONS[function].results
        }

    @cached_property
    def sizes(self) -> dict[tuple[str, str], Any]:
        """Return the size of each result of each function."""
        return {
            (function, result): np.broadcast_to(self.exact.scales.of(function, result), value.shape)
            for (function, result), value in self.results.items()
        }


@cache
def sized(unit: str = "") -> Sized:
    """Return results and sizes in other units of one quantity, or in the usual ones."""
    units = UNITS.get(unit, USUAL)
    return Sized(cart_and_arm(units), units)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("function", SIZED)
def test_sizes_have_the_unit_of_their_results(function: str, unit: str) -> None:
    usual, in_unit = sized(), sized(unit)
    for result in (r.name for r in FUNCTIONS[function].results):
        if result in NOT_HOMOGENEOUS[unit]:
            continue
        value, size = usual.results[function, result], usual.sizes[function, result]
        is_nonzero = np.abs(value) > 1e-12 * np.abs(value).max()
        assert is_nonzero.any()
        factors = in_unit.results[function, result][is_nonzero] / value[is_nonzero]
        sizes = in_unit.sizes[function, result][is_nonzero] / size[is_nonzero]
        tolerance = DIFFERENCES.get(function, DIFFERENCES.get(result, ROUND_OFF))
        np.testing.assert_allclose(sizes, factors, rtol=tolerance, err_msg=result)


LARGE = 10**4
REGIMES: dict[str, dict[str, Any]] = {
    "rates": {"times": {"v": LARGE, "v_closed": LARGE}},
    "accelerations": {"times": {"a": LARGE}},
    "forces": {"times": {"tau": LARGE}},
    "wrench": {"times": {"wrench": LARGE}},
    "gravity": {"gravity": LARGE},
    "drives": {"drives": LARGE},
    "payload": {"times": {"payload": LARGE}},
    "positions": {"times": {"q": LARGE, "q_next": LARGE, "q_closed": LARGE}},
}


@pytest.mark.parametrize("regime", REGIMES)
def test_no_result_exceeds_its_size_where_one_argument_is_large(regime: str) -> None:
    times = REGIMES[regime].get("times", {})
    figures = {name: x for name, x in REGIMES[regime].items() if name != "times"}
    regime_results = Sized(cart_and_arm(**figures), times=times)
    for key, size in regime_results.sizes.items():
        value = np.abs(regime_results.results[key])
        assert (value <= size * (1 + ROUND_OFF) + 1e-12 * value.max()).all(), key


def test_accelerations_without_active_contacts_have_the_size_of_forward_dynamics() -> None:
    """Without contact forces, the equations are those of forward dynamics, which
    `interbody_forces` solves as well.
    """
    inactive = sized().exact.floats["active"][:, 0] == 0
    sizes = sized().sizes
    assert inactive.any()
    for function in ("contact_forward_dynamics", "interbody_forces"):
        assert np.all(sizes[function, "a"][inactive] > 0)
    np.testing.assert_allclose(
        sizes["contact_forward_dynamics", "a"][inactive],
        sizes["interbody_forces", "a"][inactive],
        rtol=ROUND_OFF,
    )


LENGTH, MASS, GRAVITY, INERTIA = 0.5, 3.0, 10.0, 0.25
OFFSET = 2.0
"""Distance of the pendulum's joint from the base."""


def pendulum_sizes(v: Any, a: Any) -> dict[str, Any]:
    """Return the sizes of the results of a pendulum in closed form, (count, 1) or (count, 2):
    angular and linear.
    """
    m, lever, g, i = MASS, LENGTH, GRAVITY, INERTIA * np.sqrt(3)
    v, a = np.abs(v), np.abs(a)
    inertia = m * lever**2 + i
    weight = m * g * lever
    centrifugal = 2 * m * lever**2 * v**2 + 2 * i * v**2
    ones = np.ones_like(v)
    true_inertia = m * lever**2 + INERTIA
    ratio = inertia / true_inertia

    def twist(angular: Any, linear: Any) -> Any:
        return np.concatenate([angular * ones, linear * ones], axis=1)

    return {
        "tau": inertia * a + centrifugal + weight,
        "c": centrifugal + weight,
        "g": weight * ones,
        "M": inertia * ones,
        "C": 2 * m * lever**2 * v + 2 * i * v,
        "T": inertia * v**2 / 2,
        "U": m * g * (OFFSET + lever) * ones,
        "com": (OFFSET + lever) * ones,
        "Jcom": lever * ones,
        "h": twist(m * lever * 2 * lever + i, m * lever) * v,
        "hdot": twist((m * lever**2 * 2 + i) * (a + 2 * v**2), m * lever * (a + 2 * v**2)),
        "dtau_dq": 2 * (m * (lever * a + 2 * lever * v**2 + g) * lever)
        + (m * lever**2 + 4 * i) * (a + 2 * v**2),
        "dtau_dv": 4 * m * lever**2 * v + 4 * i * v,
        "det": inertia * ones,
        "logdet": np.abs(np.log(true_inertia)) + ratio * ones,
        "grad": 2 * ratio * ones,
        "J": twist(1, 0),
        "Jdot_v": twist(v**2, 0),
        "p": OFFSET * ones,
        "R": ones,
    }


def test_the_sizes_of_a_pendulum_are_known_in_closed_form() -> None:
    """A force counts once for gravity, once for a and twice for v²; a moment like an inertia of the
    norm of the tensor.
    """
    exact = ExactResults(pendulum(), 5, 2, frame="bob")
    expected = pendulum_sizes(exact.floats["v"], exact.floats["a"])
    names = {r.name: f for f in SIZED for r in FUNCTIONS[f].results if r.name in expected}
    assert set(names) == set(expected)
    for result, function in names.items():
        size = exact.scales.of(function, result).reshape(5, -1)
        columns = expected[result].shape[1]
        values = size.reshape(5, columns, -1)
        np.testing.assert_allclose(
            values,
            np.broadcast_to(expected[result][..., None], values.shape),
            rtol=1e-6,
            atol=1e-15,
            err_msg=result,
        )
