"""Magnitudes, distances and their ratios on given numbers: floats, balls, zero, infinite and
undefined ones.
"""

from __future__ import annotations

from functools import cache

import flint
import numpy as np
import pytest

import symgen
from symgen.reference.precision import Array, arb
from symgen.verification.algebra import any_nonzero, midpoints
from symgen.verification.exact_results import ExactResults
from symgen.verification.magnitude import largest, upper_magnitudes
from symgen.verification.residuals import (
    SMALLEST_SIZE,
    Distance,
    distances,
    entrywise_distance,
    is_solved,
    largest_ratio,
    largest_ratio_by_state,
    natural_size,
    right_hand_side,
)

BALL, WIDE = flint.arb(-3, 0.5), flint.arb(0, float("inf"))


def balls(*values: object) -> np.ndarray:
    return np.array(values, dtype=object)


# -- magnitudes --


def test_magnitudes_of_floats_are_absolute_values_and_undefined_ones_infinite() -> None:
    values = np.array([[-2.0, 1.0], [np.nan, np.inf]])
    assert upper_magnitudes(values).tolist() == [[2, 1], [np.inf, np.inf]]
    assert largest(values).tolist() == [2, np.inf]


def test_magnitudes_of_balls_include_their_radii() -> None:
    low, high = upper_magnitudes(balls(BALL, flint.arb(2, 0.25))).tolist()
    assert low == pytest.approx(3.5)
    assert high == pytest.approx(2.25)
    assert low >= 3.5
    assert upper_magnitudes(balls(WIDE, flint.arb("nan"), -1.5)).tolist() == [np.inf, np.inf, 1.5]


def test_the_largest_magnitude_is_over_all_entries_of_a_state() -> None:
    values = np.arange(12.0).reshape(2, 3, 2) - 9
    assert largest(values).tolist() == [9, 3]


# -- balls --


def test_a_ball_that_contains_zero_is_not_nonzero() -> None:
    assert not any_nonzero(balls(flint.arb(0.5, 1), flint.arb(0)))
    assert any_nonzero(balls(flint.arb(0), BALL))
    assert not any_nonzero(np.array([1.0]))


def test_midpoints_ignore_radii() -> None:
    assert midpoints(balls(BALL, flint.arb(2, 1), 0.25)).tolist() == [-3, 2, 0.25]


# -- ratios --


def test_ratios_are_relative_to_the_size_of_each_entry() -> None:
    differences, size = np.array([[1.0, -4.0], [3.0, 0.0]]), np.array([[0.5, 8.0], [2.0, 0.0]])
    assert largest_ratio_by_state(differences, size).tolist() == [2, 1.5]
    assert largest_ratio(differences, size) == (2, 0)
    assert largest_ratio(differences[::-1], size[::-1]) == (2, 1)


def test_ratios_to_one_size_a_state_use_the_largest_difference() -> None:
    differences = np.array([[1.0, -4.0], [3.0, 0.0]])
    assert largest_ratio_by_state(differences, np.array([8.0, 2.0])).tolist() == [0.5, 1.5]


def test_a_size_of_zero_counts_as_the_smallest_and_undefined_ratios_as_infinite() -> None:
    """Differences of 2e-40 are twice the smallest size, and 0 against 0 is none."""
    differences = np.array([[0.0], [2 * SMALLEST_SIZE], [np.nan], [np.inf]])
    size = np.array([[0.0], [0.0], [1.0], [np.inf]])
    assert largest_ratio_by_state(differences, size).tolist() == [0, 2, np.inf, np.inf]


def test_ratios_of_balls_include_their_radii() -> None:
    ratio, state = largest_ratio(balls(BALL, flint.arb(1)).reshape(2, 1), np.array([[2.0], [1.0]]))
    assert ratio == pytest.approx(1.75)
    assert state == 0


# -- distances --


def test_the_loss_is_the_median_ratio_of_terms_to_results() -> None:
    """Take 3 of the ratios 2, 8 and 3; a result below 1e-20 of its terms counts as they do."""
    ones = np.ones(3)
    distance = Distance(
        np.zeros((3, 1)), ones, np.array([1.0, 0.5, 2.0]), np.array([2.0, 4.0, 6.0])
    )
    assert distance.loss == 3
    vanishing = distance._replace(answer=np.array([1e-21, 4e-21, 0.0]))
    assert vanishing.loss == 1
    assert distance._replace(terms=0 * ones, answer=0 * ones).loss == 0
    assert distance._replace(answer=np.array([1e-18] * 3)).loss == pytest.approx(4e18)


def test_the_observed_error_is_weighted_and_relative_to_the_result() -> None:
    difference = np.array([[0.5, -1.0], [0.25, 0.0], [0.0, 8.0]])
    ones = np.ones(3)
    distance = Distance(difference, ones, np.array([2.0, 1.0, 4.0]), 100 * ones)
    assert distance.observed_error == 0.5  # of 1/2, 1/4 and 2
    weighted = distance._replace(weights=np.array([[10.0, 0.5]]))
    assert weighted.observed_error == 2.5  # of 5/2, 5/2 and 1
    zero = distance._replace(answer=0 * ones)
    assert zero.observed_error == 0.01


def test_undefined_ratios_count_as_infinite_in_the_median() -> None:
    distance = Distance(np.zeros((1, 1)), np.ones(1), np.array([np.nan]), np.ones(1))
    assert distance.loss == np.inf


def test_an_entrywise_distance_has_the_largest_entries_of_result_and_size() -> None:
    scalars = arb(30)
    value = scalars.array([[1, -3], [2, 0]])
    size = np.array([[4.0, 5.0], [7.0, 6.0]])
    distance = entrywise_distance(0 * value, value, size)
    assert distance.answer == pytest.approx([3, 2])
    assert distance.terms.tolist() == [5, 7]
    assert (distance.size == size).all()


@pytest.mark.parametrize(
    ("function", "result", "expected"),
    [
        ("forward_dynamics", "a", True),
        ("mass_matrix_solve", "x", True),
        ("inverse_mass_matrix", "Minv", True),
        ("forward_dynamics_derivatives", "da_dq", True),
        ("mass_matrix", "M", False),
        ("forward_dynamics:jvp", "a", False),
        ("constrained_forward_dynamics", "a", False),
        ("contact_forward_dynamics", "a", False),
    ],
)
def test_solutions_are_checked_by_their_residuals(
    function: str, result: str, expected: bool
) -> None:
    assert is_solved(function, result) is expected


# -- solutions with the mass matrix --


@cache
def exact() -> ExactResults:
    return ExactResults(symgen.load("planar_arm"), 3, 2)


def floats(values: Array) -> Array:
    return np.asarray(values, dtype=float)


def off(function: str, result: str, error: float = 1e-3) -> Distance:
    """Return the distance of a result whose entries are too large by an error."""
    correct = exact().results(function)[result]
    with exact().scalars.working():
        wrong = correct + exact().scalars.array(error)
    return distances(function, {result: wrong}, exact())[result]


def roots() -> Array:
    return exact().scales.roots


@pytest.mark.parametrize(
    ("function", "result"), [("forward_dynamics", "a"), ("mass_matrix_solve", "x")]
)
def test_a_solution_is_off_by_the_forces_that_its_error_needs(function: str, result: str) -> None:
    """Joint by joint, relative to the terms of the equation, and weighted with 1/√s."""
    distance, correct = off(function, result), floats(exact().results(function)[result])
    mass, scales = floats(exact().mass_matrix), exact().scales
    assert np.allclose(floats(distance.difference), 1e-3 * mass.sum(axis=-1), rtol=1e-9)
    b = floats(right_hand_side(exact(), result))
    assert np.allclose((mass @ correct[..., None])[..., 0], b)
    size = scales.dynamics_residual(correct + 1e-3)
    if result == "x":
        size = roots() * scales.weighted_sum(correct + 1e-3) + np.abs(b)
    assert np.allclose(distance.size, size)
    assert np.allclose(distance.weights, 1 / roots())
    assert np.allclose(distance.answer, np.abs(b / roots()).max(axis=-1))
    assert np.allclose(distance.terms, (size / roots()).max(axis=-1))
    expected = np.abs(1e-3 * mass.sum(axis=-1) / roots()).max(axis=-1) / distance.answer
    assert distance.observed_error == pytest.approx(np.median(expected))


def test_an_inverse_is_compared_entry_by_entry() -> None:
    distance = off("inverse_mass_matrix", "Minv")
    correct = floats(exact().results("inverse_mass_matrix")["Minv"])
    weights = roots()[:, :, None] * roots()[:, None, :]
    size = exact().scales.inverse()
    assert np.allclose(floats(distance.difference), 1e-3, rtol=1e-9)
    assert np.allclose(distance.size, size)
    assert np.allclose(distance.weights, weights)
    assert np.allclose(distance.answer, np.abs(correct * weights).max(axis=(1, 2)))
    assert np.allclose(distance.terms, (size * weights).max(axis=(1, 2)))


@pytest.mark.parametrize("by", ["q", "v"])
def test_derivatives_of_accelerations_are_off_by_the_forces_of_their_columns(by: str) -> None:
    name = f"da_d{by}"
    distance = off("forward_dynamics_derivatives", name)
    correct = floats(exact().results("forward_dynamics_derivatives")[name])
    mass = floats(exact().mass_matrix)
    assert np.allclose(floats(distance.difference), 1e-3 * mass.sum(axis=-1)[..., None], rtol=1e-9)
    weights = 1 / roots()[..., None]
    assert np.allclose(distance.weights, weights)
    assert np.allclose(distance.answer, np.abs(mass @ correct * weights).max(axis=(1, 2)))
    assert np.allclose(distance.terms, (distance.size * weights).max(axis=(1, 2)))
    solved = roots()[..., None] * (roots()[:, None, :] @ np.abs(correct + 1e-3))
    assert (distance.size > solved).all()


def test_other_results_have_their_natural_size_or_its_largest_or_given_bounds() -> None:
    M = exact().results("mass_matrix")["M"]
    distance = off("mass_matrix", "M")
    natural = exact().scales.of("mass_matrix", "M")
    assert np.allclose(floats(distance.difference), 1e-3)
    assert np.allclose(distance.size, natural)
    of_largest = natural_size("mass_matrix", "M", exact(), True)
    assert of_largest.shape == natural.shape
    assert np.allclose(of_largest, natural.max(axis=(1, 2), keepdims=True))
    bound = {"M": np.full(natural.shape, 7.0)}
    (by_bounds,) = distances("mass_matrix", {"M": M}, exact(), bounds=bound).values()
    assert (by_bounds.size == 7).all()
    assert (natural_size("mass_matrix", "M", exact(), True, bound) == 7).all()


@pytest.mark.parametrize(("answer", "loss"), [(2e-18, 1), (7e-18, 1), (9e-18, 800 / 9e-18)])
def test_results_below_a_fraction_of_their_terms_count_as_zero(answer: float, loss: float) -> None:
    """The terms are 800, and 8e-18 is 1e-20 of them."""
    terms = np.array([800.0])
    distance = Distance(np.zeros((1, 1)), terms, np.array([answer]), terms)
    assert distance.loss == pytest.approx(loss)
