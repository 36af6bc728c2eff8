"""Derivatives of `integrate` and `difference` at rotations from zero to a whole turn.

Their errors, in units in the last place, are measured against results with 90 digits.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import factorial
from typing import Any

import flint
import mpmath
import numpy as np
import pytest

import symgen
from symgen.ir.program import BY_SERIES, STUMPFF, Port, Program, Row
from symgen.mechanism.joints import joint_type
from symgen.pipeline.differentiation import differentiate
from symgen.pipeline.differentiation.series import expanded
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array, arb
from symgen.reference.states import draw_states
from symgen.support.errors import ArgumentError
from symgen.verification.evaluating import machine_runner
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from tests.shared import turns_in_digits as digits
from tests.shared.turning_robots import tree_of

TURNS = (
    "0",
    "1e-320",
    "1e-300",
    "1e-160",
    "1e-155",
    "1e-100",
    "1e-30",
    "1e-17",
    "1e-12",
    "1e-8",
    "1e-6",
    "1e-4",
    "1e-2",
    "0.5",
    "1",
    "2",
    "3.14159265258979324",
    "3.14159265358979324",
    "3.14159265458979324",
    "5",
    "6.28318430717958648",
    "6.28318530717958648",
)
"""Rotation angles (rad): zero, squares that underflow, below round-off, near half a turn, a whole
turn.
"""
AXIS = (2 / 7, -3 / 7, 6 / 7)
POSITIONS = {
    "free": [0.25, -0.5, 0.125, 0.5, -0.5, 0.5, 0.5],
    "spherical": [0.5, -0.5, 0.5, 0.5],
    "planar": [0.25, -0.5, 0.75],
}
"""Positions that both real types represent exactly, with quaternions of length 1."""
ULPS = 16
RESULTS = {"integrate": "q_next", "difference": "delta"}
KINDS = {"double": np.float64, "float": np.float32}


@cache
def points(kind: str, function: str, real: str) -> list[dict[str, Any]]:
    """Return arguments in the real type, one point for each angle of TURNS."""
    number, arguments = KINDS[real], []
    for turn in TURNS:
        slide = [1.0, 2.0, 3.0][
            : sum(velocity.unit == "m" for velocity in joint_type(kind).velocities)
        ]
        v = [
            number(x)
            for x in (*slide, *([turn] if kind == "planar" else [float(turn) * x for x in AXIS]))
        ]
        if function == "integrate":
            arguments.append({"q": POSITIONS[kind], "v": v, "dt": 1.0})
            continue
        with flint.ctx.workdps(digits.DIGITS):
            goal = digits.integrate(kind, exact_number(POSITIONS[kind]), exact_number(v))
        arguments.append({"q": POSITIONS[kind], "q_next": [number(float(x)) for x in goal]})
    return arguments


def exact_number(value: Any) -> Any:
    """Return a number or a list of numbers as exact balls."""
    return (
        [flint.arb(float(x)) for x in value] if isinstance(value, list) else flint.arb(float(value))
    )


def exact(kind: str, point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the point as exact numbers, with quaternions scaled to length 1."""
    values = {name: exact_number(value) for name, value in point.items()}
    for name in ("q", "q_next") if kind != "planar" else ():
        if name in values:
            values[name] = [*values[name][:-4], *digits.unit(values[name][-4:])]
    return values


def results(
    kind: str, function: str, mode: str, real: str, directions: Mapping[str, Any] | None = None
) -> dict[str, Array]:
    """Return the results of a derivative at all points, in floating point."""
    program = replace(symgen.program(tree_of(kind), f"{function}:{mode}"), real=real)
    points_ = points(kind, function, real)
    stacks = {
        name: np.array([point[name] for point in points_], dtype=KINDS[real]) for name in points_[0]
    }
    stacks |= {
        name: np.array([value] * len(points_), dtype=KINDS[real])
        for name, value in (directions or {}).items()
    }
    return machine_runner(program)(stacks)


def ulps(actual: Array, expected: Array, real: str) -> float:
    """Return the largest error in units in the last place of the largest entry; infinite if an
    entry is not finite.
    """
    if not np.isfinite(actual).all():
        return np.inf
    unit = np.spacing(KINDS[real](np.abs(expected).max()))
    return float(np.abs(actual.astype(float) - expected).max() / unit)


CASES = [(kind, function) for kind in POSITIONS for function in RESULTS]


@pytest.mark.parametrize("real", KINDS)
@pytest.mark.parametrize(("kind", "function"), CASES)
def test_first_derivatives_are_within_16_ulps_at_any_rotation(
    kind: str, function: str, real: str
) -> None:
    step = digits.Step(kind, function, joint_type(kind).nv)
    results_ = results(kind, function, "jacobian", real)
    with flint.ctx.workdps(digits.DIGITS):
        for k, point in enumerate(points(kind, function, real)):
            for name, columns in step.jacobian(exact(kind, point)).items():
                expected = np.array([[float(x) for x in column] for column in columns]).T
                actual = results_[f"d{RESULTS[function]}_d{name}"][k].reshape(expected.shape)
                assert ulps(actual, expected, real) <= ULPS, (TURNS[k], name)


def directions(step: digits.Step, seed: int = 10) -> dict[str, Any]:
    """Return random changes of the arguments and random weights of the result."""
    random = np.random.default_rng(seed)
    values = {
        f"d{name}": 0.75
        if name == "dt"
        else (random.integers(-8, 8, step.count) / 4 + 0.125).tolist()
        for name in step.arguments
    }
    return values | {
        f"{RESULTS[step.function]}_bar": (random.integers(-8, 8, step.count) / 4 + 0.125).tolist()
    }


@pytest.mark.parametrize("real", KINDS)
@pytest.mark.parametrize(("kind", "function"), CASES)
def test_second_derivatives_are_within_16_ulps_at_any_rotation(
    kind: str, function: str, real: str
) -> None:
    step = digits.Step(kind, function, joint_type(kind).nv)
    directions_ = directions(step)
    results_ = results(kind, function, "hvp", real, directions_)
    changes = {name: exact_number(directions_[f"d{name}"]) for name in step.arguments}
    with flint.ctx.workdps(digits.DIGITS):
        for k, point in enumerate(points(kind, function, real)):
            bent = step.bent(
                exact(kind, point), exact_number(directions_[f"{RESULTS[function]}_bar"]), changes
            )
            expected = np.array([float(x) for name in step.arguments for x in bent[name]])
            actual = np.concatenate(
                [results_[f"d{name}_bar"][k].ravel() for name in step.arguments]
            )
            assert ulps(actual, expected, real) <= ULPS, TURNS[k]


@pytest.mark.parametrize("real", KINDS)
def test_the_time_derivative_of_a_planar_step_is_the_velocity_to_the_last_bit(real: str) -> None:
    """Equality holds to the last bit at any rotation, because no terms cancel."""
    derivatives = results("planar", "integrate", "jacobian", real)["dq_next_ddt"]
    velocities = np.array([point["v"] for point in points("planar", "integrate", real)])
    assert (derivatives.reshape(velocities.shape) == velocities).all()


HARDEST = ("1e-4", "2", "3.14159265458979324", "6.28318530717958648")
"""Turns at which errors of second derivatives are largest."""
SEEDS = range(10, 34)


@pytest.mark.parametrize("real", KINDS)
@pytest.mark.parametrize(("kind", "function"), CASES)
def test_sums_of_second_derivatives_are_within_16_ulps_of_the_sum_of_magnitudes(
    kind: str, function: str, real: str
) -> None:
    """Each second derivative is within 16 units in the last place of the largest one.

    Each sum over random weights and changes is within 16 units in the last place of the largest sum
    of magnitudes. Terms may cancel, so a sum itself may have no correct digit.
    """
    step = digits.Step(kind, function, joint_type(kind).nv)
    points_ = [points(kind, function, real)[TURNS.index(turn)] for turn in HARDEST]
    units = [(name, unit) for name in step.arguments for unit in step.units(name)]
    with flint.ctx.workdps(digits.DIGITS):
        second = np.array(  # indices: point, change, direction and entry of the result
            [
                [
                    [bend for bends in step.bends(at, {name: unit}).values() for bend in bends]
                    for name, unit in units
                ]
                for at in (exact(kind, point) for point in points_)
            ]
        )
        sizes = np.abs(second.astype(float))
        all_directions = [directions(step, seed) for seed in SEEDS]
        result = f"{RESULTS[function]}_bar"
        weights = np.array([directions_[result] for directions_ in all_directions])
        changes = np.array(
            [
                np.hstack([directions_[f"d{name}"] for name in step.arguments])
                for directions_ in all_directions
            ]
        )
        sums = np.tensordot(weights, second, (1, 3)) * changes[:, None, :, None]
        expected = sums.sum(axis=2).astype(float)
    terms = np.einsum("ci,cj,pjki->cpk", np.abs(weights), np.abs(changes), sizes)

    def hvp(weights: Array, changes: Array) -> Array:
        stops = np.cumsum([len(step.units(name)) for name in step.arguments])[:-1]
        changes_by_argument = dict(
            zip(step.arguments, np.split(changes, stops, axis=1), strict=True)
        )
        of_cases = {result: weights} | {
            f"d{name}": argument_changes for name, argument_changes in changes_by_argument.items()
        }
        stacks = {name: [point_[name] for point_ in points_] * len(weights) for name in points_[0]}
        stacks |= {
            name: np.repeat(argument_changes, len(points_), axis=0)
            for name, argument_changes in of_cases.items()
        }
        if "dt" in step.arguments:
            stacks["ddt"] = stacks["ddt"][:, 0]
        program = replace(symgen.program(tree_of(kind), f"{function}:hvp"), real=real)
        results_ = machine_runner(program)(
            {name: np.array(stack, dtype=KINDS[real]) for name, stack in stacks.items()}
        )
        rows = len(weights) * len(points_)
        return np.hstack(
            [results_[f"d{name}_bar"].reshape(rows, -1) for name in step.arguments]
        ).reshape(len(weights), len(points_), -1)

    def units_off(error: Array, size: Array) -> Array:
        return error.max(axis=2) / np.spacing(size.astype(KINDS[real]))

    count = len(units)
    single = hvp(
        np.repeat(np.eye(step.count), count, axis=0), np.tile(np.eye(count), (step.count, 1))
    )
    expected_single = second.astype(float).transpose(3, 1, 0, 2).reshape(single.shape)
    assert (units_off(np.abs(single - expected_single), sizes.max(axis=(1, 2, 3))) <= ULPS).all()
    error = np.abs(hvp(weights, changes) - expected)
    assert (units_off(error, terms.max(axis=2)) <= ULPS).all()


@pytest.mark.parametrize("function", RESULTS)
def test_a_jvp_and_a_vjp_are_products_with_the_jacobian(function: str) -> None:
    """For a free joint, the products agree within 16 units in the last place of the sum of
    magnitudes.
    """
    step = digits.Step("free", function, 6)
    directions_, result = directions(step), RESULTS[function]
    weights = np.array(directions_[f"{result}_bar"])
    blocks = {
        name: block.reshape(len(TURNS), 6, -1)
        for name, block in zip(
            step.arguments, results("free", function, "jacobian", "double").values(), strict=True
        )
    }
    jvp = results("free", function, "jvp", "double", directions_)[f"d{result}"]
    vjp = results("free", function, "vjp", "double", directions_)
    terms = [blocks[name] * np.atleast_1d(directions_[f"d{name}"]) for name in step.arguments]
    sizes = sum(np.abs(term).sum(axis=(1, 2)) for term in terms)
    assert (
        np.abs(jvp - sum(term.sum(axis=2) for term in terms)).max(axis=1)
        <= ULPS * np.spacing(sizes)
    ).all()
    for name in step.arguments:
        weighed = blocks[name] * weights[:, None]
        size = np.abs(weighed).sum(axis=(1, 2))
        error = np.abs(vjp[f"{name}_bar"].reshape(len(TURNS), -1) - weighed.sum(axis=1)).max(axis=1)
        assert (error <= ULPS * np.spacing(size)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["step:jacobian(v)", "step:hvp(v)", "step_rk4:jvp(v)"])
def test_derivatives_of_dynamic_steps_are_within_16_ulps_at_small_rotations(name: str) -> None:
    """Derivatives for a free body are compared with the reference in ball arithmetic."""
    robot, turns = (
        symgen.load("free_body"),
        np.array([0, 1e-300, 1e-17, 1e-12, 1e-8, 1e-4, 0.5, np.pi, 2 * np.pi]),
    )
    dt, count = 0.5**7, len(turns)
    inputs = {
        "q": np.array([POSITIONS["free"]] * count),
        "dt": np.full(count, dt),
        "tau": np.zeros((count, 6)),
        "v": np.array([[1, 2, 3, *(turn / dt * np.array(AXIS))] for turn in turns]),
    }
    function = FUNCTIONS[name]
    for array in function.arguments:
        if array.name not in inputs:
            inputs[array.name] = np.tile(np.arange(1, 7) / 4 - 1, (count, 1))
    inputs = {array.name: inputs[array.name] for array in function.arguments}
    actual = machine_runner(symgen.program(robot, name))(inputs)
    scalars = arb(80)
    reference_results = Reference(robot, scalars).evaluate(
        name, {key: scalars.array(x) for key, x in inputs.items()}
    )
    for result, values in reference_results.items():
        expected = values.astype(float)
        for k in range(count):
            assert ulps(actual[result][k], expected[k], "double") <= ULPS, (turns[k], result)


def test_stumpff_functions_equal_their_series_at_any_argument() -> None:
    """Expanded into series or closed forms, the Stumpff functions are within four round-offs of
    mpmath's 50 digits.
    """
    rows = (Row("input", (), (0, 0)), *(Row(op, (0,)) for op in STUMPFF))
    program = Program(
        "turns",
        "",
        (Port("y", (1,)),),
        (Port("c", (len(STUMPFF),), tuple(range(1, len(rows)))),),
        rows,
    )
    expanded_program = expanded(program)
    assert not {row.op for row in expanded_program.rows} & {*BY_SERIES}
    y = np.array([0, 1e-320, 1e-20, 0.3, 1 - 1e-9, 1, 1 + 1e-9, 2, np.pi**2, 40, 1e4])
    coefficients = machine_runner(expanded_program)({"y": y[:, None]})["c"]
    with mpmath.workdps(50):
        for x, values in zip(y, coefficients, strict=True):
            for k, value in enumerate(values):
                expected = mpmath.hyper(
                    [1], [mpmath.mpf(k + 1) / 2, mpmath.mpf(k + 2) / 2], -mpmath.mpf(x) / 4
                ) / factorial(k)
                error = abs(mpmath.mpf(float(value)) - expected)
                assert error <= 4 * np.finfo(float).eps * max(1, np.sqrt(x) * (k < 2)), (x, k)


def test_printed_programs_contain_no_stumpff_function() -> None:
    robot = tree_of(*POSITIONS)
    for name in (f"{function}{mode}" for function in RESULTS for mode in ("", ":jvp", ":vjp")):
        assert not {row.op for row in symgen.program(robot, name).rows} & {*BY_SERIES}


# -- states and verify -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", POSITIONS)
def test_states_include_rotations_near_zero_half_a_turn_and_a_whole_turn(kind: str) -> None:
    """The states have rotations of v dt and from q to q_next near zero, half a turn and a whole
    turn.

    The first three states, those of a self-test, include near zero and near half a turn.
    """
    robot = tree_of(kind)
    states = draw_states(robot, 16)
    angular = [velocity.unit == "rad" for velocity in joint_type(kind).velocities]
    spins = np.linalg.norm((states["v"] * states["dt"][:, None]).astype(float)[:, angular], axis=-1)
    scalars = arb(400)
    differences = Reference(robot, scalars).evaluate(
        "difference", {name: scalars.array(states[name]) for name in ("q", "q_next")}
    )
    rotations = np.linalg.norm(differences["delta"].astype(float)[:, angular], axis=-1)
    for turns in (spins, rotations):
        assert 0 < turns[1] < 1e-5
        assert abs(turns[2] - np.pi) < 1e-2
        assert 0 < turns[5] < 1e-2
    assert abs(spins[6] - 2 * np.pi) < 1e-2
    assert rotations[6] < 2e-2  # the shorter rotation


@pytest.mark.slow
@pytest.mark.parametrize("function", ["integrate:jacobian(v)", "difference:jacobian(q_next)"])
def test_verify_fails_differentiated_rows_at_small_rotations(function: str) -> None:
    """Differentiated rows of `integrate` and `difference` are algebraically correct, but they lose
    digits.
    """
    robot, derivative = tree_of("free"), FUNCTIONS[function].derivative
    assert derivative is not None
    quotients = replace(
        differentiate(symgen.program(robot, derivative.of), derivative), real="double"
    )
    options = ProgramOptions()
    report = verify_programs(
        Subject(robot, {function: quotients}, options, states=3, compiled=False)
    )
    assert {check.kind for check in report.failures} == {"floating"}
    correct_report = verify_programs(
        Subject(
            robot, {function: symgen.program(robot, function)}, options, states=3, compiled=False
        )
    )
    assert not correct_report.failures


@pytest.mark.parametrize(
    ("function", "wrt", "mode"),
    [
        ("integrate", "v", "jacobian"),
        ("difference", "q", "vjp"),
        ("step", "q,v", "jvp"),
    ],
)
def test_programs_of_rotations_are_differentiated_by_series(
    function: str, wrt: str, mode: str
) -> None:
    """`symgen.derivative` returns the requested derivative; differentiated rows would be off by 21
    at 1e-17 rad.
    """
    base = symgen.program("free_body", function)
    derivative = symgen.derivative(base, wrt, mode)
    assert derivative == symgen.program("free_body", f"{function}:{mode}({wrt})")
    assert pickle.loads(pickle.dumps(base)).origin is not None
    assert derivative != differentiate(base, Derivative(function, mode, tuple(wrt.split(","))))
    changed = base.with_rows([*base.rows, Row("neg", (len(base.rows) - 1,))], base.outputs)
    with pytest.raises(
        ArgumentError,
        match=rf"the rows of {function} were changed, .*or request '{function}:{mode}",
    ):
        symgen.derivative(changed, wrt, mode)
