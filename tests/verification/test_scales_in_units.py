"""Sizes are sums of terms that have the unit of their result, and no term is missing.

In other units of mass, length or time, a size changes by the same factor as its result. Where one
argument is far larger than the others, a result is no larger than its size, so that a missing term of
that argument is seen. The sizes of a pendulum are known in closed form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.verification import scales
from symgen.verification.exact_results import ExactResults
from symgen.vocabulary.functions import FUNCTIONS

FACTOR = 4
STATES = 4
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
"""Relative error of sizes that use differences, by result or function. Those of step_rk4 are over a unit
of the rates in any unit of time, where friction is not linear.
"""


@dataclass(frozen=True)
class Units:
    """Factors of the figures of a robot and of its states, if the units of mass, length and time become
    smaller.
    """

    mass: int = 1
    length: int = 1
    time: int = 1

    def factor(self, mass: int = 0, length: int = 0, time: int = 0) -> Fraction:
        """Return the factor of a figure with these powers of the units."""
        return (
            Fraction(self.mass) ** mass
            * Fraction(self.length) ** length
            * Fraction(self.time) ** time
        )


UNITS = {
    "mass": Units(mass=FACTOR),
    "length": Units(length=FACTOR),
    "time": Units(time=FACTOR),
}


def robot(units: Units = Units(), *, gravity: int = 1, drives: int = 1) -> Mechanism:
    """Return a cart with an arm, a lift and a ball joint; gravity and drive figures may be multiplied."""
    energy = {"mass": 1, "length": 2, "time": -2}

    def of(value: str, mass: int = 0, length: int = 0, time: int = 0, times: int = 1) -> Fraction:
        return Fraction(value) * units.factor(mass, length, time) * times

    def lengths(*values: str) -> list[Fraction]:
        return [of(x, length=1) for x in values]

    def inertia(*values: str) -> list[Fraction]:
        return [of(x, 1, 2) for x in values]

    arm = symgen.Robot(
        "cart_and_arm",
        gravity=[of(x, 0, 1, -2, gravity) for x in ("1.5", "-2.5", "-9")],
        friction_speed=of("0.25", time=-1),
    )
    arm.body(
        "cart",
        parent="base",
        type="prismatic",
        axis=(1, 0, 0),
        xyz=lengths("0.1", "0.2", "-0.3"),
        mass=of("3", 1),
        centre=lengths("0.1", "-0.2", "0.05"),
        inertia=inertia("0.5", "0.01", "0.02", "0.6", "-0.03", "0.7"),
        armature=of("0.4", 1, times=drives),
        damping=of("0.8", 1, 0, -1, drives),
        stiffness=of("1.5", 1, 0, -2, drives),
        rest=of("0.3", length=1),
    )
    arm.body(
        "arm",
        parent="cart",
        type="revolute",
        axis=(0, 0, 1),
        xyz=lengths("0.4", "-0.1", "0.2"),
        rpy=("pi/2", 0, 0),
        mass=of("2", 1),
        centre=lengths("0.3", "0.1", "-0.2"),
        inertia=inertia("0.2", "0.02", "-0.01", "0.3", "0.01", "0.25"),
        armature=of("0.1", 1, 2, times=drives),
        damping=of("0.3", 1, 2, -1, drives),
        friction=of("0.5", **energy, times=drives),
        stiffness=of("0.7", **energy, times=drives),
        gravcomp="0.5",
    )
    arm.body(
        "lift",
        parent="arm",
        type="prismatic",
        axis=(0, 1, 0),
        xyz=lengths("0.2", "0.1", "0.3"),
        quaternion=(2, 1, 0, -1),
        mass=of("1.5", 1),
        centre=lengths("-0.1", "0.2", "0.1"),
        inertia=inertia("0.1", "0.002", "0.001", "0.15", "0.003", "0.12"),
    )
    arm.body(
        "hand",
        parent="lift",
        type="spherical",
        xyz=lengths("0.5", "0.2", "0.1"),
        mass=of("1", 1),
        centre=lengths("0.1", "0.15", "-0.05"),
        inertia=inertia("0.02", "0.001", "0.002", "0.03", "-0.001", "0.025"),
    )
    return arm.build()


ATTACHMENTS: Any = {"frame": "hand", "payload": "hand", "wrench": "hand", "contact": "hand"}


def scaled(
    name: str, values: Any, mechanism: Mechanism, units: Units, times: Mapping[str, int]
) -> Any:
    """Return the values of an argument in other units, multiplied by `times`."""
    values = values * times.get(name, 1)
    metres = np.array(
        [c.unit == "m" for joint in mechanism.joints for c in joint.type.velocities], dtype=int
    )
    length = np.array([units.factor(length=1) if x else 1 for x in metres], dtype=object)
    if name in ("q", "q_next", "q_closed"):
        positions = [c.unit == "m" for joint in mechanism.joints for c in joint.type.positions]
        return values * np.array([units.length if x else 1 for x in positions], dtype=object)
    if name in ("v", "v_closed", "a", "b"):
        return values * length * units.factor(0, 0, -1 if name.startswith("v") else -2)
    if name == "tau":
        return values * units.factor(1, 2, -2) / length
    if name in ("dt", "instant"):
        return values * units.factor(time=1)
    if name == "wrench":
        return values * np.array(
            [units.factor(1, 2, -2)] * 3 + [units.factor(1, 1, -2)] * 3, dtype=object
        )
    if name in ("pi", "payload"):  # first moments in pi, the mass centre in payload
        powers = [(1, 0)] + [(int(name == "pi"), 1)] * 3 + [(1, 2)] * 6
        numbers = [units.factor(*power) for power in powers] * (values.shape[-1] // 10)
        return values * np.array(numbers, dtype=object)
    return values


class Sized:
    """Results and sizes of all functions, in floats."""

    def __init__(
        self, mechanism: Mechanism, units: Units = Units(), times: Mapping[str, int] = {}
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
    units = UNITS.get(unit, Units())
    return Sized(robot(units), units)


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
}


@pytest.mark.parametrize("regime", REGIMES)
def test_no_result_exceeds_its_size_where_one_argument_is_large(regime: str) -> None:
    times = REGIMES[regime].get("times", {})
    figures = {name: x for name, x in REGIMES[regime].items() if name != "times"}
    regime_results = Sized(robot(**figures), times=times)
    for key, size in regime_results.sizes.items():
        value = np.abs(regime_results.results[key])
        assert (value <= size * (1 + ROUND_OFF) + 1e-12 * value.max()).all(), key


LENGTH, MASS, GRAVITY, INERTIA = 0.5, 3.0, 10.0, 0.25
OFFSET = 2.0
"""Distance of the pendulum's joint from the base."""


def pendulum_sizes(v: Any, a: Any) -> dict[str, Any]:
    """Return the sizes of the results of a pendulum in closed form, (count, 1) or (count, 2): angular
    and linear.
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
    robot = symgen.Robot("pendulum", gravity=(0, -10, 0)).body(
        "bob",
        parent="base",
        type="revolute",
        axis=(0, 0, 1),
        xyz=(0, 0, 2),
        mass=3,
        centre=("0.3", "0.4", 0),
        inertia=("0.25", 0, 0, "0.25", 0, "0.25"),
    )
    exact = ExactResults(robot.build(), 5, 2, frame="bob")
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
