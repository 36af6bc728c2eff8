"""Derivatives of steps at any turn, from none to a whole one, against 90 digits: their errors in units of the last place."""

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
"""rad: none, what vanishes in a square, what round-off swallows, half a turn from both sides, a whole one."""
AXIS = (2 / 7, -3 / 7, 6 / 7)
PLACES = {
    "free": [0.25, -0.5, 0.125, 0.5, -0.5, 0.5, 0.5],
    "spherical": [0.5, -0.5, 0.5, 0.5],
    "planar": [0.25, -0.5, 0.75],
}
"""Positions that both real types hold, with quaternions of length 1."""
ULPS = 16
RESULTS = {"integrate": "q_next", "difference": "delta"}
KINDS = {"double": np.float64, "float": np.float32}


@cache
def points(kind: str, function: str, real: str) -> list[dict[str, Any]]:
    """Arguments in the real type, a point a turn."""
    number, found = KINDS[real], []
    for turn in TURNS:
        slide = [1.0, 2.0, 3.0][: sum(one.unit == "m" for one in joint_type(kind).velocities)]
        v = [
            number(x)
            for x in (*slide, *([turn] if kind == "planar" else [float(turn) * x for x in AXIS]))
        ]
        if function == "integrate":
            found.append({"q": PLACES[kind], "v": v, "dt": 1.0})
            continue
        with flint.ctx.workdps(digits.DIGITS):
            goal = digits.integrate(kind, entered(PLACES[kind]), entered(v))
        found.append({"q": PLACES[kind], "q_next": [number(float(x)) for x in goal]})
    return found


def entered(value: Any) -> Any:
    """A number or a list of numbers, exactly."""
    return (
        [flint.arb(float(x)) for x in value] if isinstance(value, list) else flint.arb(float(value))
    )


def exact(kind: str, point: Mapping[str, Any]) -> dict[str, Any]:
    """The point with quaternions at length 1."""
    found = {name: entered(value) for name, value in point.items()}
    for name in ("q", "q_next") if kind != "planar" else ():
        if name in found:
            found[name] = [*found[name][:-4], *digits.unit(found[name][-4:])]
    return found


def results(
    kind: str, function: str, mode: str, real: str, directions: Mapping[str, Any] | None = None
) -> dict[str, Array]:
    """Results of a derivative at all points, in the machine's numbers."""
    program = replace(symgen.program(tree_of(kind), f"{function}:{mode}"), real=real)
    given = points(kind, function, real)
    stacks = {
        name: np.array([point[name] for point in given], dtype=KINDS[real]) for name in given[0]
    }
    stacks |= {
        name: np.array([value] * len(given), dtype=KINDS[real])
        for name, value in (directions or {}).items()
    }
    return machine_runner(program)(stacks)


def ulps(found: Array, wanted: Array, real: str) -> float:
    """The largest error in units in the last place of the largest entry; infinite for what is not finite."""
    if not np.isfinite(found).all():
        return np.inf
    unit = np.spacing(KINDS[real](np.abs(wanted).max()))
    return float(np.abs(found.astype(float) - wanted).max() / unit)


CASES = [(kind, function) for kind in PLACES for function in RESULTS]


@pytest.mark.parametrize("real", KINDS)
@pytest.mark.parametrize(("kind", "function"), CASES)
def test_first_derivatives_keep_their_digits_at_any_turn(
    kind: str, function: str, real: str
) -> None:
    step = digits.Step(kind, function, joint_type(kind).nv)
    found = results(kind, function, "jacobian", real)
    with flint.ctx.workdps(digits.DIGITS):
        for k, point in enumerate(points(kind, function, real)):
            for name, columns in step.jacobian(exact(kind, point)).items():
                wanted = np.array([[float(x) for x in column] for column in columns]).T
                mine = found[f"d{RESULTS[function]}_d{name}"][k].reshape(wanted.shape)
                assert ulps(mine, wanted, real) <= ULPS, (TURNS[k], name)


def directions(step: digits.Step, seed: int = 10) -> dict[str, Any]:
    """Changes of the arguments and weights of the result."""
    drawn = np.random.default_rng(seed)
    found = {
        f"d{name}": 0.75
        if name == "dt"
        else (drawn.integers(-8, 8, step.count) / 4 + 0.125).tolist()
        for name in step.arguments
    }
    return found | {
        f"{RESULTS[step.function]}_bar": (drawn.integers(-8, 8, step.count) / 4 + 0.125).tolist()
    }


@pytest.mark.parametrize("real", KINDS)
@pytest.mark.parametrize(("kind", "function"), CASES)
def test_second_derivatives_keep_their_digits_at_any_turn(
    kind: str, function: str, real: str
) -> None:
    step = digits.Step(kind, function, joint_type(kind).nv)
    given = directions(step)
    found = results(kind, function, "hvp", real, given)
    changes = {name: entered(given[f"d{name}"]) for name in step.arguments}
    with flint.ctx.workdps(digits.DIGITS):
        for k, point in enumerate(points(kind, function, real)):
            bent = step.bent(
                exact(kind, point), entered(given[f"{RESULTS[function]}_bar"]), changes
            )
            wanted = np.array([float(x) for name in step.arguments for x in bent[name]])
            mine = np.concatenate([found[f"d{name}_bar"][k].ravel() for name in step.arguments])
            assert ulps(mine, wanted, real) <= ULPS, TURNS[k]


@pytest.mark.parametrize("real", KINDS)
def test_the_slope_of_a_planar_step_by_its_time_is_the_velocity_itself(real: str) -> None:
    """To the last bit, at any turn: it is no sum of terms that cancel."""
    slopes = results("planar", "integrate", "jacobian", real)["dq_next_ddt"]
    velocities = np.array([point["v"] for point in points("planar", "integrate", real)])
    assert (slopes.reshape(velocities.shape) == velocities).all()


HARDEST = ("1e-4", "2", "3.14159265458979324", "6.28318530717958648")
"""Turns at which errors of second derivatives are largest."""
SEEDS = range(10, 34)


@pytest.mark.parametrize("real", KINDS)
@pytest.mark.parametrize(("kind", "function"), CASES)
def test_sums_of_second_derivatives_keep_the_digits_of_their_terms(
    kind: str, function: str, real: str
) -> None:
    """Each second derivative is within 16 units in the last place of the largest, and each sum of them over random weights
    and changes within 16 units of the largest sum of the magnitudes. Terms may cancel, down to a sum without any digits.
    """
    step = digits.Step(kind, function, joint_type(kind).nv)
    places = [points(kind, function, real)[TURNS.index(turn)] for turn in HARDEST]
    units = [(name, unit) for name in step.arguments for unit in step.units(name)]
    with flint.ctx.workdps(digits.DIGITS):
        second = np.array(  # by place, change, direction and entry of the result
            [
                [
                    [bend for bends in step.bends(at, {name: unit}).values() for bend in bends]
                    for name, unit in units
                ]
                for at in (exact(kind, point) for point in places)
            ]
        )
        sizes = np.abs(second.astype(float))
        drawn = [directions(step, seed) for seed in SEEDS]
        result = f"{RESULTS[function]}_bar"
        weights = np.array([given[result] for given in drawn])
        changes = np.array(
            [np.hstack([given[f"d{name}"] for name in step.arguments]) for given in drawn]
        )
        sums = np.tensordot(weights, second, (1, 3)) * changes[:, None, :, None]
        wanted = sums.sum(axis=2).astype(float)
    terms = np.einsum("ci,cj,pjki->cpk", np.abs(weights), np.abs(changes), sizes)

    def hvp(weights: Array, changes: Array) -> Array:
        ends = np.cumsum([len(step.units(name)) for name in step.arguments])[:-1]
        parts = dict(zip(step.arguments, np.split(changes, ends, axis=1), strict=True))
        of_cases = {result: weights} | {f"d{name}": part for name, part in parts.items()}
        stacks = {name: [place[name] for place in places] * len(weights) for name in places[0]}
        stacks |= {name: np.repeat(part, len(places), axis=0) for name, part in of_cases.items()}
        if "dt" in step.arguments:
            stacks["ddt"] = stacks["ddt"][:, 0]
        program = replace(symgen.program(tree_of(kind), f"{function}:hvp"), real=real)
        found = machine_runner(program)(
            {name: np.array(stack, dtype=KINDS[real]) for name, stack in stacks.items()}
        )
        rows = len(weights) * len(places)
        return np.hstack(
            [found[f"d{name}_bar"].reshape(rows, -1) for name in step.arguments]
        ).reshape(len(weights), len(places), -1)

    def units_off(error: Array, size: Array) -> Array:
        return error.max(axis=2) / np.spacing(size.astype(KINDS[real]))

    count = len(units)
    single = hvp(
        np.repeat(np.eye(step.count), count, axis=0), np.tile(np.eye(count), (step.count, 1))
    )
    exactly = second.astype(float).transpose(3, 1, 0, 2).reshape(single.shape)
    assert (units_off(np.abs(single - exactly), sizes.max(axis=(1, 2, 3))) <= ULPS).all()
    error = np.abs(hvp(weights, changes) - wanted)
    assert (units_off(error, terms.max(axis=2)) <= ULPS).all()


@pytest.mark.parametrize("function", RESULTS)
def test_a_jvp_and_a_vjp_are_products_with_the_jacobian(function: str) -> None:
    """A free joint, within 16 units in the last place of the sum of magnitudes."""
    step = digits.Step("free", function, 6)
    given, result = directions(step), RESULTS[function]
    weights = np.array(given[f"{result}_bar"])
    slopes = {
        name: block.reshape(len(TURNS), 6, -1)
        for name, block in zip(
            step.arguments, results("free", function, "jacobian", "double").values(), strict=True
        )
    }
    ahead = results("free", function, "jvp", "double", given)[f"d{result}"]
    back = results("free", function, "vjp", "double", given)
    terms = [slopes[name] * np.atleast_1d(given[f"d{name}"]) for name in step.arguments]
    sizes = sum(np.abs(term).sum(axis=(1, 2)) for term in terms)
    assert (
        np.abs(ahead - sum(term.sum(axis=2) for term in terms)).max(axis=1)
        <= ULPS * np.spacing(sizes)
    ).all()
    for name in step.arguments:
        weighed = slopes[name] * weights[:, None]
        size = np.abs(weighed).sum(axis=(1, 2))
        missed = np.abs(back[f"{name}_bar"].reshape(len(TURNS), -1) - weighed.sum(axis=1)).max(
            axis=1
        )
        assert (missed <= ULPS * np.spacing(size)).all()


@pytest.mark.parametrize("name", ["step:jacobian(v)", "step:hvp(v)", "step_rk4:jvp(v)"])
def test_derivatives_of_a_step_of_the_dynamics_keep_their_digits_at_small_turns(name: str) -> None:
    """A free body, against the reference over balls."""
    robot, turns = (
        symgen.load("free_body"),
        np.array([0, 1e-300, 1e-17, 1e-12, 1e-8, 1e-4, 0.5, np.pi, 2 * np.pi]),
    )
    dt, count = 0.5**7, len(turns)
    given = {
        "q": np.array([PLACES["free"]] * count),
        "dt": np.full(count, dt),
        "tau": np.zeros((count, 6)),
        "v": np.array([[1, 2, 3, *(turn / dt * np.array(AXIS))] for turn in turns]),
    }
    function = FUNCTIONS[name]
    for array in function.arguments:
        if array.name not in given:
            given[array.name] = np.tile(np.arange(1, 7) / 4 - 1, (count, 1))
    given = {array.name: given[array.name] for array in function.arguments}
    found = machine_runner(symgen.program(robot, name))(given)
    scalars = arb(80)
    truth = Reference(robot, scalars).evaluate(
        name, {key: scalars.array(x) for key, x in given.items()}
    )
    for result, values in truth.items():
        wanted = values.astype(float)
        for k in range(count):
            assert ulps(found[result][k], wanted[k], "double") <= ULPS, (turns[k], result)


def test_functions_of_a_turn_are_their_series_at_any_argument() -> None:
    """Against mpmath, in 50 digits: within four round-offs of 1, where they are taken apart in one way or the other."""
    rows = (Row("input", (), (0, 0)), *(Row(op, (0,)) for op in STUMPFF))
    whole = Program(
        "turns",
        "",
        (Port("y", (1,)),),
        (Port("c", (len(STUMPFF),), tuple(range(1, len(rows)))),),
        rows,
    )
    apart = expanded(whole)
    assert not {row.op for row in apart.rows} & {*BY_SERIES}
    y = np.array([0, 1e-320, 1e-20, 0.3, 1 - 1e-9, 1, 1 + 1e-9, 2, np.pi**2, 40, 1e4])
    found = machine_runner(apart)({"y": y[:, None]})["c"]
    with mpmath.workdps(50):
        for x, values in zip(y, found, strict=True):
            for k, value in enumerate(values):
                wanted = mpmath.hyper(
                    [1], [mpmath.mpf(k + 1) / 2, mpmath.mpf(k + 2) / 2], -mpmath.mpf(x) / 4
                ) / factorial(k)
                error = abs(mpmath.mpf(float(value)) - wanted)
                assert error <= 4 * np.finfo(float).eps * max(1, np.sqrt(x) * (k < 2)), (x, k)


def test_no_program_that_is_printed_holds_a_function_of_a_turn() -> None:
    robot = tree_of(*PLACES)
    for name in (f"{function}{mode}" for function in RESULTS for mode in ("", ":jvp", ":vjp")):
        assert not {row.op for row in symgen.program(robot, name).rows} & {*BY_SERIES}


# -- what verify sees ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PLACES)
def test_states_hold_turns_near_none_half_a_turn_and_a_whole_one(kind: str) -> None:
    """Turns of v dt, and of q_next from q; in the three states of a self-test the first two."""
    robot = tree_of(kind)
    drawn = draw_states(robot, 16)
    angular = [one.unit == "rad" for one in joint_type(kind).velocities]
    spins = np.linalg.norm((drawn["v"] * drawn["dt"][:, None]).astype(float)[:, angular], axis=-1)
    scalars = arb(400)
    ways = Reference(robot, scalars).evaluate(
        "difference", {name: scalars.array(drawn[name]) for name in ("q", "q_next")}
    )
    apart = np.linalg.norm(ways["delta"].astype(float)[:, angular], axis=-1)
    for turns in (spins, apart):
        assert 0 < turns[1] < 1e-5
        assert abs(turns[2] - np.pi) < 1e-2
        assert 0 < turns[5] < 1e-2
    assert abs(spins[6] - 2 * np.pi) < 1e-2
    assert apart[6] < 2e-2  # the shorter way


@pytest.mark.parametrize("function", ["integrate:jacobian(v)", "difference:jacobian(q_next)"])
def test_verify_sees_slopes_of_quotients_at_small_turns(function: str) -> None:
    """The rows of the values themselves, differentiated: the algebra is right, and digits are lost."""
    robot, wanted = tree_of("free"), FUNCTIONS[function].derivative
    assert wanted is not None
    quotients = replace(differentiate(symgen.program(robot, wanted.of), wanted), real="double")
    options = ProgramOptions()
    report = verify_programs(
        Subject(robot, {function: quotients}, options, states=3, compiled=False)
    )
    assert {check.kind for check in report.failures} == {"floating"}
    ours = verify_programs(
        Subject(
            robot, {function: symgen.program(robot, function)}, options, states=3, compiled=False
        )
    )
    assert not ours.failures


@pytest.mark.parametrize(
    ("function", "wrt", "mode"),
    [
        ("integrate", "v", "jacobian"),
        ("difference", "q", "vjp"),
        ("step", "q,v", "jvp"),
    ],
)
def test_a_program_of_turns_is_differentiated_by_its_series_too(
    function: str, wrt: str, mode: str
) -> None:
    """`symgen.derivative` of a Program is the requested derivative; the slope of its own rows would be off by 21 at 1e-17 rad."""
    base = symgen.program("free_body", function)
    found = symgen.derivative(base, wrt, mode)
    assert found == symgen.program("free_body", f"{function}:{mode}({wrt})")
    assert pickle.loads(pickle.dumps(base)).origin is not None
    assert found != differentiate(base, Derivative(function, mode, tuple(wrt.split(","))))
    changed = base.with_rows([*base.rows, Row("neg", (len(base.rows) - 1,))], base.outputs)
    with pytest.raises(
        ArgumentError,
        match=rf"the rows of {function} were changed, .*or request '{function}:{mode}",
    ):
        symgen.derivative(changed, wrt, mode)
