"""Cases of the self-test: which states are judged, and how far a result may be off there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symgen.delivery import selftest
from symgen.delivery.cases import SelfTestCase
from symgen.delivery.selftest import (
    ROUNDING,
    SEED,
    STATES,
    ZERO,
    _answer_error,
    _is_judged,
    _of_loops,
    _says_nothing,
    _starts,
    cases,
)
from symgen.description.tip import tip
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.reference.assembling import APART, assemble, closed_states
from symgen.reference.states import draw_states
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import allowance
from symgen.verification.long import LongExactResults
from symgen.verification.residuals import SOLVED, natural_size
from symgen.vocabulary.functions import ASSEMBLE, ASSEMBLING
from symgen.vocabulary.options import PLAIN, ProgramOptions
from symgen.vocabulary.reals import REALS
from tests.shared.folders import mechanism
from tests.shared.looped import bennett
from tests.shared.recursions import sums

ARM = mechanism()
EPS = REALS["double"].eps
METHODS = {
    "mass_matrix": "composite_body",
    "forward_dynamics": "composite_body",
    "inverse_mass_matrix": "composite_body",
}


@cache
def program(function: str) -> Program:
    return build.program(ARM, function, METHODS[function])


@cache
def exact_results() -> ExactResults:
    return ExactResults(ARM, STATES, SEED)


@cache
def cases_of(function: str) -> list[SelfTestCase]:
    return cases(ARM, {function: program(function)}, ProgramOptions())


def unit(function: str) -> float:
    """Return the bound relative to the natural size: `depth` + 2 units, and one for printing."""
    return EPS * (allowance(program(function), exact_results()) + ROUNDING)


# -- unrolled functions ----------------------------------------------------------------------------


@pytest.mark.parametrize("function", METHODS)
def test_arguments_and_answers_are_the_exact_ones(function: str) -> None:
    drawn, form = draw_states(ARM, STATES, SEED), program(function)
    reference = exact_results().results(function)[form.outputs[0].name]
    assert len(cases_of(function)) == STATES
    for state, case in enumerate(cases_of(function)):
        assert case.function == function
        for port, values in zip(form.inputs, case.arguments, strict=True):
            assert list(values) == list(drawn[port.name][state])
        (answer,) = case.results
        expected = np.ravel(reference[state])
        assert [float(x) for x in answer] == [float(x) for x in expected]
        for number, ball in zip(answer, expected, strict=True):
            difference = Fraction(number) - Fraction(ball.str(60, radius=False))
            assert abs(difference) < Fraction(1, 10**36)


def test_a_result_with_a_natural_size_may_be_off_by_its_share() -> None:
    size = natural_size("mass_matrix", "M", exact_results(), False)
    for state, case in enumerate(cases_of("mass_matrix")):
        assert case.equations == (None,)
        assert case.tolerances[0] == pytest.approx(unit("mass_matrix") * np.ravel(size[state]))


def test_an_inverse_may_be_off_entry_by_entry() -> None:
    exact = exact_results().results("inverse_mass_matrix")
    with exact_results().scalars.working():
        size = SOLVED["Minv"](exact, exact_results()).size
    for state, case in enumerate(cases_of("inverse_mass_matrix")):
        assert case.equations == (None,)
        expected = unit("inverse_mass_matrix") * np.ravel(size[state])
        assert case.tolerances[0] == pytest.approx(expected)


def test_an_acceleration_solves_the_equations_of_motion() -> None:
    """M a = τ − c, with the lower triangle of M, row by row."""
    drawn = draw_states(ARM, STATES, SEED)
    masses = exact_results().results("mass_matrix")["M"].astype(float)
    bias = exact_results().bias.astype(float)
    for state, case in enumerate(cases_of("forward_dynamics")):
        (equation,) = case.equations
        assert equation is not None
        lower = [float(x) for x in equation.matrix]
        mass = masses[state]
        assert lower == pytest.approx([mass[0, 0], mass[1, 0], mass[1, 1]])
        tau = drawn["tau"][state].astype(float)
        assert [float(x) for x in equation.right] == pytest.approx(tau - bias[state])
        (a,) = case.results
        residual = mass @ [float(x) for x in a] - [float(x) for x in equation.right]
        assert np.abs(residual) == pytest.approx(0, abs=1e-12)


def test_the_residual_of_an_acceleration_may_be_off_by_the_rounding_of_its_terms_besides() -> None:
    """Half a unit each for the printed M, the printed b, the product, and each of the nv sums.

    The tolerance of the acceleration itself is |M⁻¹| times that of the residual without these.
    """
    besides = EPS * (ARM.nv + 3) / 2
    inverses = exact_results().results("inverse_mass_matrix")["Minv"].astype(float)
    for case, inverse in zip(cases_of("forward_dynamics"), inverses, strict=True):
        (equation,) = case.equations
        assert equation is not None
        moved = np.abs(inverse) @ np.array(equation.tolerances, dtype=float)
        ratio = 1 + besides / unit("forward_dynamics")
        assert moved == pytest.approx(ratio * np.array(case.tolerances[0]), rel=1e-9)


def test_a_residual_moves_the_answer_by_the_inverse_of_the_mass_matrix() -> None:
    inverses = np.abs(exact_results().results("inverse_mass_matrix")["Minv"].astype(float))
    vectors = np.arange(1.0, 1 + STATES * ARM.nv).reshape(STATES, ARM.nv)
    columns = np.arange(1.0, 1 + STATES * ARM.nv * 3).reshape(STATES, ARM.nv, 3)
    for moved, size in (
        (_answer_error(vectors, exact_results()), vectors),
        (_answer_error(columns, exact_results()), columns),
    ):
        assert moved.shape == size.shape
        for state in range(STATES):
            assert moved[state] == pytest.approx(inverses[state] @ size[state])


@pytest.mark.parametrize(
    ("result", "bounds", "nothing"),
    [
        ([2.0, 0.5], [1.0, 1.0], False),
        ([0.5, 0.5], [1.0, 1.0], True),
        ([0.5, -2.0], [1.0, 1.0], False),
        ([1.0, 1.0], [1.0, 1.0], True),
        ([0.5, 0.5], [1.0, 0.25], False),
        ([2.0, 2.0], [1.0, np.inf], True),
        ([2.0, 2.0], [np.nan, 1.0], True),
        ([0.0, 0.0], [1.0, 1.0], False),
        ([0.5 * ZERO, 0.0], [1.0, 1e9], False),
        ([2 * ZERO, 0.0], [1.0, 1e9], True),
        ([2 * ZERO, 0.0], [1e9, 1.0], True),
    ],
)
def test_a_result_says_nothing_if_no_entry_exceeds_its_bound(
    result: list[float], bounds: list[float], nothing: bool
) -> None:
    """A result that is zero but for the last digits of constants is compared with zero."""
    with exact_results().scalars.working():
        balls = exact_results().scalars.array(np.array([Fraction(x) for x in result]))
    assert _says_nothing(balls, np.array(bounds)) is nothing


@pytest.mark.parametrize("solved", [False, True])
@pytest.mark.parametrize(
    ("operation", "bound", "judged"), [("log", 0.5, True), ("log", 1.0, False), ("sin", 1.0, True)]
)
def test_the_argument_of_a_logarithm_has_a_digit(
    operation: str, bound: float, judged: bool, solved: bool
) -> None:
    """The bounds of another state, larger than its result, do not matter."""
    with exact_results().scalars.working():
        exact = exact_results().scalars.array(np.array([[Fraction(9)]] * 2))
    form: Any = SimpleNamespace(outputs=program("mass_matrix").outputs, operations={operation: 1})
    bounds = {"M": np.array([[70.0], [bound]])}
    equations: dict[str, list[Any]] = {"M": [None, None]} if solved else {}
    assert _is_judged(form, bounds, equations, {"M": exact}, 1) is judged


def test_states_without_a_digit_are_not_judged_unless_an_equation_judges_them() -> None:
    form = program("mass_matrix")
    exact, bounds = exact_results().results("mass_matrix"), {"M": np.full((STATES, 2, 2), 1e9)}
    assert not any(_is_judged(form, bounds, {}, exact, state) for state in range(STATES))
    assert all(_is_judged(form, bounds, {"M": []}, exact, state) for state in range(STATES))


# -- loops over the links of a long robot ----------------------------------------------------------


class WithBounds(LongExactResults):
    """Results of an arm at two states, with stated bounds."""

    bounds_of_states: tuple[float, float]

    def bounds(self, *_: Any) -> list[list[float]]:
        return [[bound] for bound in self.bounds_of_states]


def with_bounds(*bounds: float) -> WithBounds:
    results = WithBounds(ARM, 2, SEED)
    results.bounds_of_states = bounds[0], bounds[1]
    return results


def test_a_looped_function_is_judged_at_exact_arguments() -> None:
    """The sums are 1/7 + Σ (i + 1)/3 q_i; every entry has the bound of its result."""
    long_cases = list(_of_loops(sums(2), with_bounds(1e-9, 2e-9), PLAIN))
    assert [case.tolerances for case in long_cases] == [((bound,) * 2,) for bound in (1e-9, 2e-9)]
    for case, drawn in zip(long_cases, draw_states(ARM, 2, SEED, inertial=False)["q"], strict=True):
        first, second = (Fraction(x) for x in case.arguments[0])
        assert [first, second] == [Fraction(float(x)) for x in drawn]
        partial_sum = Fraction(1, 7) + first / 3
        expected = (partial_sum, partial_sum + 2 * second / 3)
        ((*sums_there,),) = case.results
        for exact, value in zip(expected, sums_there, strict=True):
            assert abs(exact - Fraction(value)) < abs(exact) / 10**38
        assert case.equations == (None,)
        assert case.function == "gravity_force"


def test_states_of_a_looped_function_without_a_digit_have_no_case() -> None:
    """The largest magnitude of a result must exceed its bound."""
    sizes = [
        max(abs(float(x)) for x in case.results[0])
        for case in _of_loops(sums(2), with_bounds(0.0, 0.0), PLAIN)
    ]
    for bounds, kept in (
        ((sizes[0], 0.99 * sizes[1]), [1]),
        ((0.99 * sizes[0], sizes[1]), [0]),
        ((np.nan, np.inf), []),
    ):
        of_both = [case.arguments for case in _of_loops(sums(2), with_bounds(0.0, 0.0), PLAIN)]
        of_kept = [case.arguments for case in _of_loops(sums(2), with_bounds(*bounds), PLAIN)]
        assert of_kept == [of_both[state] for state in kept]


@pytest.fixture
def requested_frames(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that receives the number of states and the frame of exact results of loops."""
    requests: list[Any] = []

    def record(robot: Mechanism, count: int, seed: int, frame: Any) -> LongExactResults:
        assert seed == SEED
        requests.append((count, frame))
        return with_bounds(0.0, np.inf)

    monkeypatch.setattr(selftest, "LongExactResults", record)
    return requests


def test_loops_of_many_joints_are_judged_by_themselves(
    monkeypatch: pytest.MonkeyPatch, requested_frames: list[Any]
) -> None:
    """One state of each, which takes no matrices; unrolled functions have the usual states."""
    form, frames = sums(2), requested_frames
    programs: Mapping[str, Any] = {
        "gravity_force": form,
        "mass_matrix": program("mass_matrix"),
    }
    monkeypatch.setattr(selftest, "LONG", 1)
    functions = [case.function for case in cases(ARM, programs, ProgramOptions())]
    assert functions == ["gravity_force"] + ["mass_matrix"] * STATES
    assert frames == [(1, None)]
    assert [case.function for case in cases(ARM, {"gravity_force": form}, ProgramOptions())] == [
        "gravity_force"
    ]
    frames.clear()
    assert len(cases(ARM, {"mass_matrix": program("mass_matrix")}, ProgramOptions())) == STATES
    assert frames == []


@pytest.mark.parametrize(
    ("function", "stated_frame", "frame"),
    [
        ("inverse_dynamics", "", None),
        ("forward_dynamics", "", None),
        ("forward_kinematics", "", "lower"),
        ("forward_kinematics", "upper", "upper"),
        ("mass_matrix_determinant", "", "lower"),
    ],
)
def test_the_frame_of_a_long_robot_is_its_tip_if_none_is_stated(
    function: str,
    stated_frame: str,
    frame: str | None,
    monkeypatch: pytest.MonkeyPatch,
    requested_frames: list[Any],
) -> None:
    """Forces and accelerations depend on no frame."""
    assert tip(ARM) == "lower"
    monkeypatch.setattr(selftest, "LONG", 1)
    forms: Mapping[str, Any] = {function: replace(sums(2), function=function)}
    cases(ARM, forms, ProgramOptions(frame=stated_frame or None))
    assert requested_frames == [(1, frame)]
    cases(replace(ARM, frames=()), forms, ProgramOptions(frame=stated_frame or None))
    assert requested_frames[1:] == [(1, stated_frame or None)]


def test_loops_of_few_joints_are_judged_like_unrolled_functions(
    monkeypatch: pytest.MonkeyPatch, requested_frames: list[Any]
) -> None:
    judged: list[str] = []

    def near(_: Mechanism, programs: Mapping[str, Any], *options: Any) -> list[SelfTestCase]:
        judged.extend(programs)
        return []

    monkeypatch.setattr(selftest, "_near", near)
    monkeypatch.setattr(selftest, "LONG", len(ARM.joints))
    assert cases(ARM, {"gravity_force": sums(2)}, ProgramOptions()) == []
    assert (judged, requested_frames) == (["gravity_force"], [])


# -- closed loops ----------------------------------------------------------------------------------


def test_the_driver_of_an_assembly_starts_near_closed_positions() -> None:
    """A case of it states no result, since the residual of the loops judges it."""
    robot = bennett()
    starts = _starts(robot, programs := dict.fromkeys(ASSEMBLING))  # type: ignore[arg-type]
    closed = closed_states(robot, assemble(robot), STATES, SEED)["q"].astype(float)
    assert len(starts) == STATES
    for case, positions in zip(starts, closed, strict=True):
        assert (case.function, case.results, case.tolerances) == (ASSEMBLE, (), ())
        (start,) = case.arguments
        apart = np.abs(np.array(start, dtype=float) - positions)
        assert 0.01 * APART < apart.max() <= APART * 1.001
    for name in ASSEMBLING:
        assert _starts(robot, {name: programs[name]}) == []  # type: ignore[dict-item]
    assert _starts(ARM, {}) == []
