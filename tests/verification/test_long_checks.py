"""Checks of looped functions of long robots, on two bars: expected forces, bounds of errors, and
verdicts on results with known errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from symgen.emission import printer
from symgen.ir.loops import LoopProgram
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.loops import recursion
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.verification import long
from symgen.verification.algebra import TOLERANCE
from symgen.verification.long import (
    ERROR_FACTOR,
    STATES,
    LongExactResults,
    check_long_algebra,
    check_long_floating,
    force_sizes,
)
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import PLAIN, TextOptions
from tests.shared.bars import chain_of_bars

EPS = 2.0**-52
METHODS = {
    "inverse_dynamics": "newton_euler",
    "bias_force": "newton_euler",
    "gravity_force": "newton_euler",
    "forward_dynamics": "riccati",
    "mass_matrix_solve": "riccati",
    "mass_matrix_log_determinant": "riccati",
    "interbody_forces": "riccati",
    "kinetic_energy": "newton_euler",
    "forward_kinematics": "kinematics",
}


@cache
def bars() -> Mechanism:
    """Return two bars in a plane that contains the direction of gravity."""
    gravity = (Fraction(1), Fraction(-10), Fraction(2))
    return replace(chain_of_bars(2).build(), gravity=gravity)


@cache
def form(function: str) -> LoopProgram:
    frame = "bar1" if FUNCTIONS[function].needs_frame else ""
    return recursion(bars(), function, METHODS[function], frame).in_real("double")


def long_results() -> LongExactResults:
    return LongExactResults(bars(), 5, 1, frame="bar1")


@cache
def results() -> LongExactResults:
    return long_results()


def reference(function: str, **arguments: Array) -> Array:
    floats = results().floats
    names = FUNCTIONS[function].own_arguments
    values_by_name = {name: floats[name] for name in names} | arguments
    (values,) = Reference(bars()).evaluate(function, values_by_name).values()
    return np.asarray(values, dtype=float)


def floats_of(values: Any) -> Array:
    return np.asarray(values).astype(float)


def test_a_long_robot_has_few_states() -> None:
    assert results().count == STATES == len(results().floats["q"])
    assert LongExactResults(bars(), 1, 1).count == 1
    assert (floats_of(results().states["still"]) == 0).all()


@pytest.mark.parametrize("function", list(METHODS)[:5])
def test_forces_are_those_of_the_reference_at_the_states(function: str) -> None:
    """Accelerations are judged by the forces that they need."""
    answer = reference(function)
    with results().scalars.working():
        numbers = results().scalars.array(answer)
    expected, actual = (floats_of(x) for x in results().expected_and_actual(function, numbers))
    if function == "forward_dynamics":
        np.testing.assert_array_equal(expected, results().floats["tau"])
    elif function == "mass_matrix_solve":
        np.testing.assert_array_equal(expected, results().floats["b"])
    else:
        np.testing.assert_array_equal(actual, answer)
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)
    assert np.abs(expected).max() > 0.1


@pytest.mark.parametrize("function", METHODS)
def test_correct_loops_agree_with_the_reference_and_wrong_ones_do_not(function: str) -> None:
    """A relative error of 1e-30 of the results is one of the largest entry, or of its forces."""
    correct = long_results()
    check = check_long_algebra(form(function), correct, "label")
    assert check.passed
    assert check.error <= 1e-60  # constants have 64 digits
    assert (check.subject, check.bound) == ("label", TOLERANCE)
    assert check.detail == f"100 digits, {STATES} states"
    exact = correct.exact_results(form(function))
    with correct.scalars.working():
        factor = 1 + correct.scalars.array([1e-30])[0]
        correct.results[function] = {key: x * factor for key, x in exact.items()}
    wrong = check_long_algebra(form(function), correct, "label")
    assert not wrong.passed
    assert 0.5e-30 < wrong.error < 1e-28


# -- bounds --


def units_of(function: str, text: TextOptions = PLAIN) -> float:
    """Return the longest chain of operations, one for constants, and the ulps of a sine."""
    return form(function).depth + 1 + printer().ulps[text.trig]


def terms(function: str) -> Array:
    """Return the sizes of a function's forces: at rest, with velocities, or with accelerations."""
    floats = results().floats
    still = 0 * floats["v"]
    v = still if function == "gravity_force" else floats["v"]
    a = floats["a"] if function == "inverse_dynamics" else still
    return force_sizes(results().rough, floats["q"], v, a)


@pytest.mark.parametrize("function", list(METHODS)[:3])
def test_bounds_of_forces_are_the_round_off_of_their_terms(function: str) -> None:
    text = TextOptions("libm")
    for extra in (0, 7):
        bounds = results().bounds(form(function), text, extra)
        allowed = EPS * (units_of(function, text) + extra)
        expected = terms(function).max(axis=1)[:, None] * allowed
        np.testing.assert_allclose(bounds, expected, rtol=1e-14)
    np.testing.assert_allclose(results().terms(form(function), None), terms(function))


def test_bounds_of_totals_are_the_round_off_of_their_sizes() -> None:
    for extra in (0, 7):
        bounds = results().bounds(form("kinetic_energy"), PLAIN, extra)
        sizes = results().term_sizes["T"]
        expected = EPS * (units_of("kinetic_energy") + extra) * sizes[:, None]
        np.testing.assert_allclose(bounds, expected, rtol=1e-14)


def test_bounds_of_solved_results_are_a_thousand_errors_in_numpy() -> None:
    """An error counts as at least a round-off of the result."""
    function = form("forward_dynamics")
    errors = np.array(results().numpy_errors(function))
    exact = np.abs(floats_of(results().exact(function))).max(axis=1)
    assert (errors[:, 0] >= EPS * exact).all()
    assert (errors[:, 0] < 1e3 * EPS * exact).all()
    bounds = results().bounds(function, PLAIN, 7)
    np.testing.assert_allclose(bounds, 1000 * errors)
    assert ERROR_FACTOR == 1000


def test_accelerations_have_the_sizes_of_the_forces_that_they_need() -> None:
    floats, a = results().floats, np.full((STATES, 2), 3.0)
    sizes = results().terms(form("forward_dynamics"), a)
    expected = force_sizes(results().rough, floats["q"], floats["v"], a)
    np.testing.assert_array_equal(sizes, expected)
    solved = results().terms(form("mass_matrix_solve"), a)
    expected = force_sizes(results().rough, floats["q"], 0 * floats["v"], a)
    np.testing.assert_array_equal(solved, expected)


# -- verdicts on compiled results --


def verdict(function: str, change: float, **more: Any) -> Any:
    """Return the check of the exact results, rounded, with a relative error."""

    def run(arguments: Mapping[str, Array]) -> dict[str, Array]:
        exact = results().exact_results(form(function))
        return {name: floats_of(x) * (1 + change) for name, x in exact.items()}

    return check_long_floating(form(function), run, results(), "label", PLAIN, **more)


@pytest.mark.parametrize("function", list(METHODS)[:2])
def test_errors_of_forces_are_in_units_of_their_terms(function: str) -> None:
    error = 2.0**-30
    check = verdict(function, error)
    values = np.abs(floats_of(results().exact(form(function))))
    expected = (error * values / terms(function)).max() / EPS
    assert check.error == pytest.approx(expected, rel=1e-5)
    assert check.bound == units_of(function)
    assert (check.unit, check.detail) == (" eps", f"{STATES} states")
    assert not check.passed
    assert verdict(function, 0).passed


def test_errors_of_accelerations_are_those_of_their_forces() -> None:
    """M x − b is the error times b, relative to the terms of M x at rest."""
    error = 2.0**-30
    check = verdict("mass_matrix_solve", error)
    x = floats_of(results().exact(form("mass_matrix_solve"))) * (1 + error)
    sizes = results().terms(form("mass_matrix_solve"), x)
    expected = (error * np.abs(results().floats["b"]) / sizes).max() / EPS
    assert check.error == pytest.approx(expected, rel=1e-4)


def test_errors_of_totals_are_relative_to_their_sizes() -> None:
    error = 2.0**-30
    check = verdict("kinetic_energy", error)
    T = floats_of(results().exact(form("kinetic_energy"))).ravel()
    expected = (error * T / results().term_sizes["T"]).max() / EPS
    assert check.error == pytest.approx(expected, rel=1e-5)
    assert check.bound == units_of("kinetic_energy")


def test_other_results_may_be_off_by_a_thousand_times_numpys_error() -> None:
    """The error and the bound are in round-offs of the largest entry, which has the error."""
    error = 2.0**-30
    function = "mass_matrix_log_determinant"
    check = verdict(function, error)
    assert check.error == pytest.approx(error / EPS, rel=1e-5)
    exact = np.abs(floats_of(results().exact(form(function)))).ravel()
    in_units = np.array(results().numpy_errors(form(function)))[:, 0] / (EPS * exact)
    assert check.bound in [pytest.approx(1000 * max(x, 1)) for x in in_units]
    assert not check.passed
    none = verdict(function, 0)
    assert none.passed
    assert none.error <= 1


def test_a_result_that_is_not_finite_fails() -> None:
    check = verdict("inverse_dynamics", np.nan)
    assert check.error == np.inf
    assert check.detail == "tau is not finite"
    assert check.bound == units_of("inverse_dynamics")


@pytest.mark.parametrize(
    ("det", "fits"),
    [("1", True), ("1e300", True), ("1e309", False), ("1e-310", False), ("0", False)],
)
def test_a_determinant_outside_of_the_range_of_the_type_is_not_judged(det: str, fits: bool) -> None:
    function: Any = type("Form", (), {"function": "mass_matrix_determinant", "real": "double"})()
    stub: Any = type("Results", (), {"exact": lambda self, form: [1.0, float(det)]})()
    reason = long._out_of_range(function, stub)
    assert (reason is None) == fits
    if reason is not None:
        assert "outside the range of double" in reason
    function.function = "mass_matrix_log_determinant"
    assert long._out_of_range(function, stub) is None
