"""Sizes to which the allowed errors of contacts and of differences of positions are relative."""

from __future__ import annotations

import numpy as np
import pytest

import symgen
from symgen.verification.exact_results import ExactResults
from symgen.verification.scales.contacts import _sizes
from symgen.verification.scales.integration import difference_size
from symgen.vocabulary.functions import FUNCTIONS

FUNCTIONS_OF_CONTACTS = ("contact_forward_dynamics", "contact_impulse")
FEET = ("FL_FOOT", "HR_FOOT")


@pytest.fixture(scope="module")
def exact_results() -> ExactResults:
    """Reference results of the quadruped with contacts at two of its feet."""
    return ExactResults(symgen.load("quadruped"), 6, 1, contact=FEET)


@pytest.mark.parametrize("function", FUNCTIONS_OF_CONTACTS)
def test_forces_have_a_size_at_active_contacts_only(
    exact_results: ExactResults, function: str
) -> None:
    """All components of a force have the same size, because axes of a contact are arbitrary."""
    active = exact_results.arguments(function, exact_results.floats)["active"] != 0
    assert active.any()
    assert not active.all()
    motion, forces = (result.name for result in FUNCTIONS[function].results)
    sizes = _sizes(function, exact_results.scales)
    assert sizes[forces].shape == (*active.shape, 3)
    np.testing.assert_array_equal(sizes[forces] > 0, np.repeat(active[..., None], 3, axis=-1))
    assert sizes[motion].shape == exact_results.floats["v"].shape
    assert (sizes[motion] > 0).all()


@pytest.mark.parametrize("function", FUNCTIONS_OF_CONTACTS)
def test_sizes_exceed_the_results_and_not_by_more_than_their_condition(
    exact_results: ExactResults, function: str
) -> None:
    sizes, results = _sizes(function, exact_results.scales), exact_results.results(function)
    for name, size in sizes.items():
        magnitude = np.abs(np.vectorize(float)(results[name]))
        assert (size >= 0.9 * magnitude).all(), name
        assert size.max() < 1e6 * magnitude.max(), name


@pytest.mark.parametrize("function", FUNCTIONS_OF_CONTACTS)
def test_verify_accepts_a_function_of_contacts(function: str) -> None:
    report = symgen.verify("quadruped", [function], contact=list(FEET), states=2, compiled=False)
    assert report.passed, str(report)


def test_the_size_of_a_displacement_is_proportional_to_the_positions_of_a_free_base() -> None:
    """Rotations, and displacements of other joints, do not depend on the position of the base."""
    exact_results = ExactResults(symgen.load("quadruped"), 3, 1)
    before = difference_size(exact_results)
    for name in ("q", "q_next"):
        exact_results.floats[name] = exact_results.floats[name] * np.where(
            np.arange(exact_results.mechanism.nq) < 3, 8, 1
        )
    after = difference_size(exact_results)
    assert (before > 0).all()
    factors = np.where(np.arange(exact_results.mechanism.nv) < 3, 8, 1)
    np.testing.assert_allclose(after, before * factors, rtol=1e-12)
