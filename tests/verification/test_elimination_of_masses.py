"""The dense elimination of one mass matrix, the condition number, and verdicts on floating-point
results.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest

import symgen
from symgen.reference.adaptive_precision import _has_digits
from symgen.reference.precision import Array, arb
from symgen.verification import compiled, floating
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import _Judge, _overflows
from symgen.verification.identities.dynamics import determinant, is_positive, pivots
from symgen.verification.reference_results import _condition, _norm
from symgen.verification.residuals import Distance
from symgen.verification.running_error import running_error_bounds, unit_sizes
from symgen.vocabulary.functions import REGROUP
from symgen.vocabulary.options import PLAIN

ONES = np.ones(3)


def balls(rows: Any, radius: float = 0.0) -> Array:
    """Return a matrix of balls with this radius."""
    with arb(60).working():
        return np.array([[flint.arb(x, radius) for x in row] for row in rows], dtype=object)


def random_matrix(n: int = 4) -> Array:
    root = np.random.default_rng(3).integers(-4, 5, (n, n))
    return np.asarray(root @ root.T + 3 * np.eye(n, dtype=int), dtype=float)


# -- elimination --


def test_pivots_are_ratios_of_trailing_minors_in_floats_and_balls() -> None:
    M = random_matrix()
    minors = [np.linalg.det(M[k:, k:]) for k in range(4)] + [1.0]
    expected = [minors[k] / minors[k + 1] for k in range(4)]
    assert pivots(M) == pytest.approx(expected)
    assert [float(x) for x in pivots(balls(M))] == pytest.approx(expected)
    assert (random_matrix() == M).all()


def test_entries_without_coupling_keep_their_pivots() -> None:
    M = np.array([[5.0, 0, 2], [0, 7, 0], [2, 0, 4]])
    assert pivots(M) == [4, 7, 4]


def test_an_elimination_stops_at_a_pivot_that_may_be_zero() -> None:
    assert pivots(np.array([[3.0, 1, 0], [1, 2, 2], [0, 2, 2]])) == [0, 2]
    assert pivots(np.array([[1.0, 0], [0, 0]])) == [0]
    stopped = pivots(balls([[1, 0], [0, 1]], 2))
    assert len(stopped) == 1


def test_the_determinant_is_the_product_of_the_pivots() -> None:
    M = random_matrix()
    assert determinant(M, np.ones(4)) == pytest.approx(np.linalg.det(M))
    assert float(determinant(balls(M), np.ones(4))) == pytest.approx(np.linalg.det(M))
    assert determinant(np.array([[-3.0]]), ONES) == -3
    assert determinant(np.array([[0.25, 0], [0, 0.5]]), ONES) == 0.125


@pytest.mark.parametrize("rows", [[[1, 1], [1, 1]], [[1, 0], [0, 0]], [[4, 2], [2, 1]]])
def test_a_singular_matrix_has_the_determinant_zero_and_is_not_positive(rows: Any) -> None:
    assert determinant(np.array(rows, dtype=float), ONES) == 0
    assert determinant(balls(rows), ONES) == 0
    assert is_positive(balls(rows), ONES) is False


def test_wide_balls_decide_nothing() -> None:
    """A radius of 1e-3 is wider than a zero, of which 1e-60 of the terms is allowed."""
    wide = balls([[1, 1], [1, 1]], 1e-3)
    assert np.isnan(determinant(wide, ONES))
    assert is_positive(wide, ONES) is None
    assert np.isnan(determinant(balls([[0]], 5e-60), ONES))
    assert determinant(balls([[0]], 5e-61), ONES) == 0
    assert determinant(balls([[0]], 1e-59), 100 * ONES) == 0


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[2, 1], [1, 2]], True),
        ([[1, 2], [2, 1]], False),
        ([[-1, 0], [0, 2]], False),
        ([[1, 0], [0, 1e-20]], True),
        ([[1e-20, 0], [0, 1]], True),
        ([[1, 0], [0, -1e-20]], False),
        ([[3]], True),
        ([[-3]], False),
    ],
)
def test_positive_matrices_have_positive_pivots(rows: Any, expected: bool) -> None:
    assert is_positive(balls(rows), ONES) is expected


def test_narrow_balls_are_decided_by_their_midpoints() -> None:
    """A radius of 1e-14 does not move the eigenvalue 1 to zero; one of 0.4 leaves the pivots
    positive, one of 0.6 not.
    """
    for radius, expected in ((1e-14, True), (0.2, True), (0.6, None)):
        assert is_positive(balls([[2, 1], [1, 2]], radius), ONES) is expected


def test_the_condition_is_the_largest_over_the_states() -> None:
    matrices = np.stack([np.diag([1.0, 5, 10]), np.diag([3.0, 2, 4])])
    assert _condition(matrices) == pytest.approx(10)
    assert _condition(matrices[1:]) == pytest.approx(2)
    assert _condition(np.stack([np.eye(3), np.diag([1.0, 2, 0])])) == np.inf
    assert _condition(np.diag([0.5, 0.25])[None]) == pytest.approx(2)


def test_the_norm_is_the_largest_row_sum() -> None:
    assert _norm(np.array([[[1, -2], [3, 4]], [[0, 5], [1, 1]]])).tolist() == [7, 5]


# -- digits --


def test_digits_are_known_relative_to_the_largest_entry_of_a_state() -> None:
    """Radii of 1e-30 are 30 digits of 1, and 27 of 1/1000 if it is alone at its state."""
    exact = np.array([[flint.arb(1, 1e-30), flint.arb(1e-3, 1e-30)]], dtype=object)
    assert _has_digits(exact, 29)
    assert not _has_digits(exact, 31)
    alone = exact.reshape(2, 1)
    assert not _has_digits(alone, 29)
    assert _has_digits(alone, 26)
    assert _has_digits(np.array([[flint.arb(0)]], dtype=object), 50)
    assert not _has_digits(np.array([[flint.arb(0, 1e-60)]], dtype=object), 1)
    assert _has_digits(np.empty((2, 0), dtype=object), 50)


# -- verdicts --


@pytest.mark.parametrize(
    ("exact", "value", "expected"),
    [
        (1e39, np.inf, True),
        (-1e39, -np.inf, True),
        (1e39, -np.inf, False),
        (-1e39, np.inf, False),
        (3e38, np.inf, False),
        (1e39, np.nan, False),
    ],
)
def test_infinite_results_may_be_above_the_largest_number(
    exact: float, value: float, expected: bool
) -> None:
    """A float holds 3.4e38 at most; finite entries do not count."""
    balls_of_results = np.array([flint.arb(exact), flint.arb(1)], dtype=object)
    values = np.array([value, 1.0])
    assert _overflows(balls_of_results, values, "float") is expected
    assert not _overflows(balls_of_results, values, "double")


def judge(function: str = "bias_force", allowed: float = 10.0, **operations: int) -> _Judge:
    program: Any = SimpleNamespace(
        function=function, real="float", operations={"div": 0} | operations
    )
    nothing: Any = None
    return _Judge(program, nothing, "f=m", PLAIN, allowed)


def test_a_bound_beyond_a_thousandth_bounds_nothing() -> None:
    """In float a round-off is 1.2e-7, so that 8400 of them are a thousandth."""
    assert not judge(allowed=8300).bounds_nothing
    assert judge(allowed=8500).bounds_nothing
    assert judge(allowed=np.nan).bounds_nothing


@pytest.mark.parametrize(
    ("loss", "error", "allowed", "expected"),
    [
        (2000, 2e-3, 10, True),
        (2000, 5e-4, 10, False),
        (500, 2e-3, 10, False),
        (2000, 2e-3, 8500, False),
    ],
)
def test_a_result_is_lost_if_its_bound_and_its_error_are(
    loss: float, error: float, allowed: float, expected: bool
) -> None:
    """Ten round-offs of terms that are 2000 times the result are 2.4e-3 of it."""
    distance = Distance(np.array([[error]]), np.ones(1), np.ones(1), np.array([loss]))
    assert judge(allowed=allowed).is_lost(distance) is expected


def test_results_below_the_smallest_normal_number_are_not_judged() -> None:
    """The smallest normal float is 1.2e-38; a solution is judged by its residual."""
    tiny = Distance(np.zeros((2, 1)), np.ones(2), np.ones(2), np.array([1e-39, 1.0]))
    ratios = np.array([1.0, 2.0])
    reason = "c is below the smallest number that a float holds with all its digits"
    assert judge().why_unjudged("c", tiny, ratios) == reason
    assert judge().why_unjudged("c", tiny._replace(terms=np.array([2e-38, 1])), ratios) == ""
    assert judge().why_unjudged("c", tiny._replace(terms=np.array([0.0, 1])), ratios) == ""
    assert judge("forward_dynamics").why_unjudged("a", tiny, ratios) == ""


def test_without_a_division_no_pivot_is_lost() -> None:
    program = judge().program
    broken = np.array([True])
    nothing: Any = None
    assert floating._singularity_round_offs(program, nothing, broken, 10) == 0


def test_singular_within_round_off_is_judged_at_the_least_broken_state() -> None:
    """A relative change of det M by 1e6 round-offs, ten of which are allowed, is 1.2 in float."""
    losses = np.array([1e6, 5.0, 9e9])
    exact: Any = SimpleNamespace(scales=SimpleNamespace(determinant_loss=lambda: losses))
    program = judge(div=1).program

    def lost(*broken: bool) -> float:
        return floating._singularity_round_offs(program, exact, np.array(broken), 10)

    assert lost(True, False, True) == 1e7
    assert lost(True, True, True) == 0
    assert lost(False, False, True) == 9e10
    logarithm: Any = SimpleNamespace(real="float", operations={"div": 0, "log": 1})
    assert (
        floating._singularity_round_offs(logarithm, exact, np.array([True, False, False]), 10)
        == 1e7
    )


# -- sizes of rows --


def form(function: str, looped: bool = False) -> Any:
    port = SimpleNamespace(name="tau", shape=(2, 3))
    return SimpleNamespace(function=function, looped=looped, outputs=(port,))


@pytest.mark.parametrize(
    ("function", "loops", "has_bounds"),
    [
        ("inverse_dynamics", (), False),
        ("inverse_dynamics:jvp", (), True),
        (REGROUP, (), True),
        ("constrained_forward_dynamics", ("loop",), True),
        ("contact_forward_dynamics", (), False),
        ("contact_forward_dynamics", ("loop",), True),
        ("unknown", (), False),
    ],
)
def test_derivatives_parameters_and_closed_loops_have_bounds_of_their_rows(
    function: str, loops: tuple[str, ...], has_bounds: bool
) -> None:
    exact: Any = SimpleNamespace(count=4, mechanism=SimpleNamespace(loops=loops))
    sizes = unit_sizes(form(function), exact)
    assert {name: size.shape for name, size in sizes.items()} == (
        {"tau": (4, 2, 3)} if has_bounds else {}
    )
    assert all((size == 1).all() for size in sizes.values())
    if not has_bounds:
        assert running_error_bounds(form(function), exact) == {}
    assert running_error_bounds(form(function, looped=True), exact) == {}


# -- compilation --


@pytest.mark.parametrize(
    ("rows", "looped", "level"), [(2000, False, "-O1"), (2001, False, "-O0"), (2001, True, "-O1")]
)
def test_long_functions_are_compiled_without_optimization(
    rows: int, looped: bool, level: str
) -> None:
    program: Any = SimpleNamespace(rows=range(rows), looped=looped)
    assert compiled._optimization_level(program) == level


def test_a_robot_has_its_number_of_digits() -> None:
    """Results have 60 digits more than the condition number of M has; 25 more are carried."""
    exact = ExactResults(symgen.load("planar_arm"), 2)
    assert exact.digits == 60 + int(np.ceil(np.log10(exact.condition)))
    assert exact.working == exact.digits + 25
    assert ExactResults(symgen.load("planar_arm"), 2, working=33).working == 33
    assert exact.sharper.working == 2 * exact.working
    assert exact.indefinite == 0
