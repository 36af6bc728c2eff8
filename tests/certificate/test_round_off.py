"""Bounds of round-off: no state exceeds them, and special Programs nearly attain them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symgen.certificate.boxes import points, random_states, subdivide
from symgen.certificate.intervals import Interval
from symgen.certificate.ranges import ACCELERATION, declared_ranges
from symgen.certificate.rounding import Arithmetic, propagate
from symgen.description.tip import tip
from symgen.ir.program import Port, Program, Row, check
from symgen.mechanism.mechanism import Limits, Mechanism
from symgen.pipeline.build import program as derive
from symgen.pipeline.build import refusal
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.support.errors import RequestError
from symgen.verification.proof import prove
from symgen.verification.proof.round_off import bound_round_off, bounds_at_states
from symgen.vocabulary.options import ProgramOptions, TextOptions
from tests.shared.robots_for_tests import OF_ANY_ROBOT, random_mechanism, robot, task_rows
from tests.shared.rounded_rows import Coarse, rows

pytestmark = pytest.mark.usefixtures("finished_here")  # bounds are for programs after all passes

FOUR = ("panda", "ur5", "puma560", "scara")
STATES = 2000

# -- Programs that nearly attain their bound ------------------------------------------------------

TWELVE_BITS = Coarse("float", trig=1, bits=12)
"""Few bits: second-order terms are about 1/1000, so that a missing first-order term shows."""


def crafted(make: Callable[[list[Row]], int], inputs: int) -> Program:
    """Make a Program x → y; `make` appends its rows and returns the row of the result."""
    rows_ = [Row("input", (), (0, k)) for k in range(inputs)]
    result = make(rows_)
    return check(
        Program(
            "crafted",
            "by hand",
            (Port("x", (inputs,)),),
            (Port("y", (), (result,)),),
            tuple(rows_),
            real="float",
        )
    )


def append_row(rows: list[Row], op: str, *args: int, value: Any = None) -> int:
    rows.append(Row(op, args, value))
    return len(rows) - 1


def summed(rows: list[Row]) -> int:
    return append_row(
        rows,
        "add",
        append_row(rows, "add", append_row(rows, "mul", 0, 1), append_row(rows, "mul", 2, 3)),
        append_row(rows, "mul", 1, 3),
    )


def power(rows: list[Row]) -> int:
    last = append_row(rows, "mul", 0, 1)
    for _ in range(6):
        last = append_row(rows, "mul", last, 2)
    return last


def ratio(rows: list[Row]) -> int:
    return append_row(
        rows,
        "div",
        append_row(rows, "mul", 0, 1),
        append_row(rows, "sub", append_row(rows, "neg", 2), append_row(rows, "mul", 3, 3)),
    )


def roots(rows: list[Row]) -> int:
    return append_row(rows, "sqrt", append_row(rows, "div", append_row(rows, "mul", 0, 1), 2))


def constants(rows: list[Row]) -> int:
    """Use a constant nearly halfway between two neighbouring floats."""
    third = append_row(rows, "const", value=1 + Fraction(1, 2**12) - Fraction(1, 2**40))
    return append_row(
        rows, "add", append_row(rows, "mul", 0, third), append_row(rows, "mul", 1, third)
    )


def circular(rows: list[Row]) -> int:
    return append_row(
        rows,
        "mul",
        append_row(rows, "sin", 0),
        append_row(rows, "cos", append_row(rows, "mul", 1, 1)),
    )


def aligned_with_angle(rows: list[Row]) -> int:
    """cos·x + sin·y with (x, y) parallel to (cos, sin), which aligns the errors as well."""
    c, s = append_row(rows, "cos", 0), append_row(rows, "sin", 0)
    x, y = append_row(rows, "mul", 1, 1), append_row(rows, "mul", 2, 2)
    return append_row(rows, "add", append_row(rows, "mul", c, x), append_row(rows, "mul", y, s))


def logarithms(rows: list[Row]) -> int:
    return append_row(rows, "log", append_row(rows, "mul", 0, 1))


POINTS = {
    summed: [1.5, 2.25, 3.125, 0.75],
    power: [1.25, 1.5, 1.75],
    ratio: [3.0, 5.0, 0.5, 0.75],
    roots: [3.0, 7.0, 5.0],
    constants: [1.5, 1.25],
    circular: [1.0, 0.5],
    aligned_with_angle: [math.atan2(9, 4), 2.0, 3.0],
    logarithms: [3.0, 7.0],
}


def worst(
    program: Program, point: list[float], arithmetic: Coarse, tries: int = 400
) -> tuple[float, float]:
    """Return the largest error that random rounding in `arithmetic` attains, and its bound."""
    x = np.array([point])
    exact = rows(program, {"x": x}, Exact("float"), 0)
    bound = float(bounds_at_states(program, {"x": x}, arithmetic)["y"].max())
    repeated = np.repeat(x, tries, axis=0)
    computed = rows(program, {"x": repeated}, arithmetic, 1)
    result = program.outputs[0].rows[0]
    return float(np.abs(computed[result] - exact[result][0]).max()), bound


class Exact(Coarse):
    """Arithmetic in float64, used in place of exact numbers."""

    @property
    def unit(self) -> float:
        return 0.0

    def rounded(self, value: Any) -> float:
        return float(value)


@pytest.mark.parametrize("make", list(POINTS), ids=lambda make: make.__name__)
def test_random_rounding_nearly_attains_the_bound_and_never_exceeds_it(
    make: Callable[[list[Row]], int],
) -> None:
    program = crafted(make, len(POINTS[make]))
    attained, bound = worst(program, POINTS[make], TWELVE_BITS, 20_000)
    assert attained <= bound * (1 + 1e-12)
    # the ulp of a logarithm may be half of 2u |log|, and the error of a sine's argument matters
    # less than its own
    assert (
        attained
        >= (0.45 if make is logarithms else 0.7 if make in (circular, aligned_with_angle) else 0.97)
        * bound
    )


@pytest.mark.parametrize("make", list(POINTS), ids=lambda make: make.__name__)
def test_a_bound_for_a_smaller_unit_is_exceeded(make: Callable[[list[Row]], int]) -> None:
    """A wrong constant in the error model is detected by the Programs that nearly attain it."""
    program = crafted(make, len(POINTS[make]))
    attained, _ = worst(program, POINTS[make], TWELVE_BITS, 20_000)
    _, bound = worst(program, POINTS[make], replace(TWELVE_BITS, bits=14))
    assert attained > bound


# -- robots ----------------------------------------------------------------------------------------


def sampled_states(mechanism: Mechanism, count: int, seed: int = 0) -> dict[str, Array]:
    return random_states(
        mechanism, declared_ranges(mechanism), ProgramOptions("float"), count, seed
    )


def near_singular(name: str, function: str, states: dict[str, Array]) -> Array:
    """True for states (count,) so near a singular pose of the task that 20 bits cannot separate
    them.

    Task inertia is then divided by a number that may be zero, and its bound is infinite.
    """
    task = task_rows(name, function)
    if task is None:
        return np.zeros(len(states["q"]), dtype=bool)
    mechanism = robot(name)
    J = Reference(mechanism, FLOAT, frame=tip(mechanism)).jacobian(states["q"])[:, list(task)]
    sizes = np.linalg.svd(J, compute_uv=False)
    return np.asarray(sizes[:, -1] < 0.01 * sizes[:, 0])


@pytest.mark.parametrize(
    ("name", "function"),
    [
        (("puma560", "tree5")[i % 2], function)
        for i, function in enumerate(OF_ANY_ROBOT)
        if function != "step_rk4"
    ],
)  # its stages leave the ranges within a second
def test_no_choice_of_rounding_exceeds_the_bounds(name: str, function: str) -> None:
    """Perturb each operation by ±u, at corners and inside the ranges; compare with float64."""
    mechanism, arithmetic = robot(name), Coarse("float", bits=20)
    if refusal(mechanism, function, None):
        return
    program = derive(mechanism, function, None, "float", task_rows=task_rows(name, function))
    states = sampled_states(mechanism, 200)
    regular = ~near_singular(name, function, states)
    assert 2 * regular.sum() > len(regular)
    bounds = bound_round_off(program, declared_ranges(mechanism), states, arithmetic)
    exact = rows(program, states, Exact("float"), 0)
    for seed in (None, 1):
        computed = rows(program, states, arithmetic, seed)
        for port in program.outputs:
            errors = np.stack([np.abs(computed[r] - exact[r]) for r in port.rows], axis=-1)
            assert np.isfinite(
                bounds.bound[port.name] if bounds.everywhere else bounds.bound[port.name][regular]
            ).all()
            size = max(np.abs(exact[r]).max() for r in port.rows)
            assert (errors <= bounds.bound[port.name] + 1e-13 * size).all()


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(st.integers(1, 4), st.integers(0, 10**6), st.sampled_from(["chain", "tree"]), st.booleans())
def test_random_robots_keep_their_bounds_and_intervals_contain_all_states(
    n: int, seed: int, kind: str, general: bool
) -> None:
    mechanism, arithmetic = (
        random_mechanism(n, seed, kind, ("revolute", "prismatic"), general),
        Coarse("float", bits=20),
    )
    ranges, states = declared_ranges(mechanism), sampled_states(mechanism, 100, seed)
    for function in ("inverse_dynamics", "mass_matrix", "forward_kinematics"):
        program = derive(mechanism, function, None, "float")
        bounds = bound_round_off(program, ranges, states, arithmetic)
        assert bounds.everywhere
        pointwise = bounds_at_states(program, states, arithmetic)
        cells = propagate(program, subdivide(program, ranges), arithmetic)
        exact, computed = (
            rows(program, states, Exact("float"), 0),
            rows(program, states, arithmetic, seed),
        )
        for index, row in cells.items():
            assert (exact[index] >= row.exact.lo.min() - 1e-9).all()
            assert (exact[index] <= row.exact.hi.max() + 1e-9).all()
        for port in program.outputs:
            errors = np.stack([np.abs(computed[r] - exact[r]) for r in port.rows], axis=-1)
            size = max(np.abs(exact[r]).max() for r in port.rows)
            assert (errors <= pointwise[port.name] + 1e-13 * size).all()
            assert (pointwise[port.name] <= bounds.bound[port.name] * (1 + 1e-9) + 1e-30).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "real"), [*((name, "float") for name in ("panda", "scara")), ("scara", "double")]
)
def test_the_c_stays_within_its_bounds_by_a_limited_ratio(name: str, real: str) -> None:
    proof = prove(robot(name), None, ProgramOptions(real), states=STATES)
    assert proof.holds
    most = {"inverse_dynamics": 300, "mass_matrix": 50, "forward_dynamics": 1500}
    for function in proof.functions:
        (result,) = function.round_off.bound
        assert function.round_off.everywhere == (function.function != "forward_dynamics")
        ratio = function.round_off.ratio(result)
        assert ratio is not None
        assert 1 <= ratio < most[function.function]
        assert function.round_off.observed[result].shape[0] == (64 if real == "double" else STATES)
        for divisor in function.divisors:
            assert divisor.certificate.lower_bound is not None
            assert divisor.least is not None
            assert divisor.least >= divisor.certificate.lower_bound


def test_intervals_at_a_point_contain_the_result_of_the_reference() -> None:
    mechanism = robot("panda")
    states = sampled_states(mechanism, 200)
    program = derive(mechanism, "forward_dynamics", None, "double")
    cells = propagate(
        program,
        points({port.name: states[port.name] for port in program.inputs}),
        Arithmetic("double"),
    )
    reference_results = Reference(mechanism, FLOAT).forward_dynamics(
        states["q"], states["v"], states["tau"]
    )
    for k, row in enumerate(program.outputs[0].rows):
        size = np.abs(reference_results).max(axis=-1)
        assert (cells[row].exact.lo <= reference_results[:, k] + 1e-9 * size).all()
        assert (cells[row].exact.hi >= reference_results[:, k] - 1e-9 * size).all()
        assert (cells[row].exact.hi - cells[row].exact.lo <= 1e-6 * size).all()


@pytest.mark.parametrize("options", [{"payload": "link4"}, {"wrench": "link4"}, {"trig": "macro"}])
def test_bounds_hold_with_payload_wrench_and_other_trigonometry(options: dict[str, str]) -> None:
    text = TextOptions(options.get("trig", "libm"))
    links = {name: link for name, link in options.items() if name != "trig"}
    proof = prove(robot("scara"), None, ProgramOptions("float", **links), text, states=500)
    assert proof.holds
    assert all(name in " ".join(proof.assumptions) for name in options if name != "trig")


# -- intervals, ranges -----------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9))
def test_intervals_contain_the_exact_results(seed: int) -> None:
    random = Random(seed)
    bounds = sorted(random.uniform(-3, 3) * 10.0 ** random.randint(-2, 2) for _ in range(2))
    other_bounds = sorted(random.uniform(-3, 3) * 10.0 ** random.randint(-2, 2) for _ in range(2))
    a, b = (Interval(np.array([low]), np.array([high])) for low, high in (bounds, other_bounds))
    x, y = (
        Fraction(random.choice([low, high, random.uniform(low, high)]))
        for low, high in (bounds, other_bounds)
    )

    def contains(interval: Interval, value: Fraction) -> bool:
        return bool(interval.lo[0] == -np.inf or Fraction(float(interval.lo[0])) <= value) and bool(
            interval.hi[0] == np.inf or value <= Fraction(float(interval.hi[0]))
        )

    assert contains(a + b, x + y)
    assert contains(a - b, x - y)
    assert contains(a * b, x * y)
    assert contains(a * a, x * x)
    assert contains(-a, -x)
    if y:
        assert contains(a / b, x / y)
    for interval, value in (
        (a.sine(), flint.arb(float(x)).sin()),
        (a.cosine(), flint.arb(float(x)).cos()),
    ):
        assert interval.lo[0] <= float(value.upper())
        assert interval.hi[0] >= float(value.lower())
    assert a.sine().size[0] <= 1


def test_a_narrow_angle_has_a_narrow_sine() -> None:
    low = np.linspace(-7, 7, 400)
    sine = Interval(low, low + 0.01).sine()
    assert (sine.hi - sine.lo <= 0.0101).all()
    assert (sine.hi - sine.lo >= 0).all()


def test_payload_and_wrench_have_ranges() -> None:
    of = declared_ranges(robot("scara")).of
    assert {name: len(of[name]) for name in ("payload", "wrench")} == {"payload": 10, "wrench": 6}


def test_every_assumption_names_its_joint() -> None:
    assumed = declared_ranges(robot("puma560")).assumed
    assert any("joint3" in text and "no limits declared" in text for text in assumed)
    assert any("joint6" in text and "velocity" in text for text in assumed)
    assert "accelerations within ±10" in assumed[-1]
    assert len(declared_ranges(robot("panda")).assumed) == 1
    joint = robot("scara").joints[2]
    free = replace(
        robot("scara"),
        joints=tuple(
            replace(j, limits=Limits()) if j is joint else j for j in robot("scara").joints
        ),
    )
    assert any("joint3" in text and "m assumed" in text for text in declared_ranges(free).assumed)


def test_the_assumed_range_of_an_angle_contains_a_half_turn_either_way() -> None:
    """π is no fraction, so the range ends beyond it; the excess is below a float's round-off."""
    joint = replace(robot("scara").joints[0], limits=Limits())
    endless = replace(robot("scara"), joints=(joint, *robot("scara").joints[1:]))
    with flint.ctx.workdps(50):
        low, high = (
            flint.arb(x.numerator) / x.denominator for x in declared_ranges(endless).of["q"][0]
        )
        assert low < -flint.arb.pi()
        assert flint.arb.pi() < high
        assert high < flint.arb.pi() * (1 + 1e-7)


def test_a_faulty_range_is_refused() -> None:
    with pytest.raises(RequestError, match="positive"):
        declared_ranges(robot("panda"), Fraction(0))
    joint = replace(robot("scara").joints[0], limits=Limits(Fraction(1), Fraction(-1)))
    twisted = replace(robot("scara"), joints=(joint, *robot("scara").joints[1:]))
    with pytest.raises(RequestError, match="not in order"):
        declared_ranges(twisted, ACCELERATION)
    with pytest.raises(RequestError, match="states"):
        prove(robot("scara"), states=0)


def test_sampled_states_are_in_range_and_representable() -> None:
    for name in FOUR:
        mechanism = robot(name)
        ranges, states = declared_ranges(mechanism), sampled_states(mechanism, 300)
        for argument in ("q", "v", "a", "tau"):
            values = states[argument]
            assert (values == values.astype(np.float32)).all()
            for k, (low, high) in enumerate(ranges.of[argument]):
                assert float(low) <= values[:, k].min()
                assert values[:, k].max() <= float(high)
