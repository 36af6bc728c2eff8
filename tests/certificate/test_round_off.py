"""Bounds of the round-off: no state exceeds them, crafted Programs attain them, and the C stays below by a stated ratio."""

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

pytestmark = pytest.mark.usefixtures("finished_here")  # what is certified are rows after all passes

FOUR = ("panda", "ur5", "puma560", "scara")
STATES = 2000

# -- crafted Programs that attain their bound ------------------------------------------------------------------------------

EIGHT = Coarse("float", trig=1, bits=12)
"""Few digits: what is of second order is a thousandth, and one term too few is seen."""


def crafted(make: Callable[[list[Row]], int], inputs: int) -> Program:
    """A Program of x (inputs) → y, whose rows `make` appends to the inputs' rows; it returns the result's row."""
    made = [Row("input", (), (0, k)) for k in range(inputs)]
    result = make(made)
    return check(
        Program(
            "crafted",
            "by hand",
            (Port("x", (inputs,)),),
            (Port("y", (), (result,)),),
            tuple(made),
            real="float",
        )
    )


def put(made: list[Row], op: str, *args: int, value: Any = None) -> int:
    made.append(Row(op, args, value))
    return len(made) - 1


def summed(made: list[Row]) -> int:
    return put(
        made,
        "add",
        put(made, "add", put(made, "mul", 0, 1), put(made, "mul", 2, 3)),
        put(made, "mul", 1, 3),
    )


def power(made: list[Row]) -> int:
    last = put(made, "mul", 0, 1)
    for _ in range(6):
        last = put(made, "mul", last, 2)
    return last


def ratio(made: list[Row]) -> int:
    return put(
        made,
        "div",
        put(made, "mul", 0, 1),
        put(made, "sub", put(made, "neg", 2), put(made, "mul", 3, 3)),
    )


def roots(made: list[Row]) -> int:
    return put(made, "sqrt", put(made, "div", put(made, "mul", 0, 1), 2))


def constants(made: list[Row]) -> int:
    """Halfway between two neighbours, or nearly."""
    third = put(made, "const", value=1 + Fraction(1, 2**12) - Fraction(1, 2**40))
    return put(made, "add", put(made, "mul", 0, third), put(made, "mul", 1, third))


def circular(made: list[Row]) -> int:
    return put(made, "mul", put(made, "sin", 0), put(made, "cos", put(made, "mul", 1, 1)))


def turned(made: list[Row]) -> int:
    """cos·x + sin·y where (x, y) lies along (cos, sin): the length of (x, y), and errors along it."""
    c, s = put(made, "cos", 0), put(made, "sin", 0)
    x, y = put(made, "mul", 1, 1), put(made, "mul", 2, 2)
    return put(made, "add", put(made, "mul", c, x), put(made, "mul", y, s))


def logarithms(made: list[Row]) -> int:
    return put(made, "log", put(made, "mul", 0, 1))


POINTS = {
    summed: [1.5, 2.25, 3.125, 0.75],
    power: [1.25, 1.5, 1.75],
    ratio: [3.0, 5.0, 0.5, 0.75],
    roots: [3.0, 7.0, 5.0],
    constants: [1.5, 1.25],
    circular: [1.0, 0.5],
    turned: [math.atan2(9, 4), 2.0, 3.0],
    logarithms: [3.0, 7.0],
}


def worst(
    made: Program, at: list[float], arithmetic: Coarse, tries: int = 400
) -> tuple[float, float]:
    """(largest error that an adversary in `arithmetic` attains, the bound)."""
    x = np.array([at])
    exact = rows(made, {"x": x}, Exact("float"), 0)
    bound = float(bounds_at_states(made, {"x": x}, arithmetic)["y"].max())
    many = np.repeat(x, tries, axis=0)
    computed = rows(made, {"x": many}, arithmetic, 1)
    result = made.outputs[0].rows[0]
    return float(np.abs(computed[result] - exact[result][0]).max()), bound


class Exact(Coarse):
    """Float64 itself, which stands for exact numbers."""

    @property
    def unit(self) -> float:
        return 0.0

    def rounded(self, value: Any) -> float:
        return float(value)


@pytest.mark.parametrize("make", list(POINTS), ids=lambda make: make.__name__)
def test_an_adversary_nearly_attains_the_bound_and_never_exceeds_it(
    make: Callable[[list[Row]], int],
) -> None:
    made = crafted(make, len(POINTS[make]))
    attained, bound = worst(made, POINTS[make], EIGHT, 20_000)
    assert attained <= bound * (1 + 1e-12)
    # a logarithm's ulp may be half of 2u times it, and a sine's argument moves it by less than its own error
    assert (
        attained
        >= (0.45 if make is logarithms else 0.7 if make in (circular, turned) else 0.97) * bound
    )


@pytest.mark.parametrize("make", list(POINTS), ids=lambda make: make.__name__)
def test_a_bound_for_a_smaller_unit_is_exceeded(make: Callable[[list[Row]], int]) -> None:
    """A wrong constant in the model is found out by the same Programs."""
    made = crafted(make, len(POINTS[make]))
    attained, _ = worst(made, POINTS[make], EIGHT, 20_000)
    _, bound = worst(made, POINTS[make], replace(EIGHT, bits=14))
    assert attained > bound


# -- robots ----------------------------------------------------------------------------------------------------------------


def given_states(mechanism: Mechanism, count: int, seed: int = 0) -> dict[str, Array]:
    return random_states(
        mechanism, declared_ranges(mechanism), ProgramOptions("float"), count, seed
    )


def lost(name: str, function: str, states: dict[str, Array]) -> Array:
    """States (count,) where the arm is so near a pose in which its frame cannot move along some row of the task that 20 bits do
    not tell the two apart: there the inertia of the task is divided by what may be nothing, and no bound of it is finite."""
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
)  # whose stages leave any range within a second
def test_no_adversary_exceeds_the_bounds(name: str, function: str) -> None:
    """Errors of u either way at every operation, at corners of the box and within it, against the exact rows in float64."""
    mechanism, arithmetic = robot(name), Coarse("float", bits=20)
    if refusal(mechanism, function, None):
        return
    made = derive(mechanism, function, None, "float", task_rows=task_rows(name, function))
    states = given_states(mechanism, 200)
    regular = ~lost(name, function, states)
    assert 2 * regular.sum() > len(regular)
    found = bound_round_off(made, declared_ranges(mechanism), states, arithmetic)
    exact = rows(made, states, Exact("float"), 0)
    for seed in (None, 1):
        computed = rows(made, states, arithmetic, seed)
        for port in made.outputs:
            missed = np.stack([np.abs(computed[r] - exact[r]) for r in port.rows], axis=-1)
            assert np.isfinite(
                found.bound[port.name] if found.everywhere else found.bound[port.name][regular]
            ).all()
            size = max(np.abs(exact[r]).max() for r in port.rows)
            assert (missed <= found.bound[port.name] + 1e-13 * size).all()


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 4), st.integers(0, 10**6), st.sampled_from(["chain", "tree"]), st.booleans())
def test_random_robots_keep_their_bounds_and_points_lie_in_boxes(
    n: int, seed: int, kind: str, general: bool
) -> None:
    mechanism, arithmetic = (
        random_mechanism(n, seed, kind, ("revolute", "prismatic"), general),
        Coarse("float", bits=20),
    )
    ranges, states = declared_ranges(mechanism), given_states(mechanism, 100, seed)
    for function in ("inverse_dynamics", "mass_matrix", "forward_kinematics"):
        made = derive(mechanism, function, None, "float")
        found = bound_round_off(made, ranges, states, arithmetic)
        assert found.everywhere
        pointwise = bounds_at_states(made, states, arithmetic)
        cells = propagate(made, subdivide(made, ranges), arithmetic)
        exact, computed = (
            rows(made, states, Exact("float"), 0),
            rows(made, states, arithmetic, seed),
        )
        for index, row in cells.items():
            assert (exact[index] >= row.exact.lo.min() - 1e-9).all()
            assert (exact[index] <= row.exact.hi.max() + 1e-9).all()
        for port in made.outputs:
            missed = np.stack([np.abs(computed[r] - exact[r]) for r in port.rows], axis=-1)
            size = max(np.abs(exact[r]).max() for r in port.rows)
            assert (missed <= pointwise[port.name] + 1e-13 * size).all()
            assert (pointwise[port.name] <= found.bound[port.name] * (1 + 1e-9) + 1e-30).all()


@pytest.mark.parametrize(
    ("name", "real"), [*((name, "float") for name in ("panda", "scara")), ("scara", "double")]
)
def test_the_c_keeps_to_its_bounds_and_they_are_not_absurd(name: str, real: str) -> None:
    proof = prove(robot(name), None, ProgramOptions(real), states=STATES)
    assert proof.holds
    most = {"inverse_dynamics": 300, "mass_matrix": 50, "forward_dynamics": 1500}
    for one in proof.functions:
        (result,) = one.round_off.bound
        assert one.round_off.everywhere == (one.function != "forward_dynamics")
        ratio = one.round_off.ratio(result)
        assert ratio is not None
        assert 1 <= ratio < most[one.function]
        assert one.round_off.observed[result].shape[0] == (64 if real == "double" else STATES)
        for divisor in one.divisors:
            assert divisor.floor.floor is not None
            assert divisor.least is not None
            assert divisor.least >= divisor.floor.floor


def test_what_is_exact_at_a_point_is_what_the_reference_says() -> None:
    mechanism = robot("panda")
    states = given_states(mechanism, 200)
    made = derive(mechanism, "forward_dynamics", None, "double")
    found = propagate(
        made, points({port.name: states[port.name] for port in made.inputs}), Arithmetic("double")
    )
    truth = Reference(mechanism, FLOAT).forward_dynamics(states["q"], states["v"], states["tau"])
    for k, row in enumerate(made.outputs[0].rows):
        size = np.abs(truth).max(axis=-1)
        assert (found[row].exact.lo <= truth[:, k] + 1e-9 * size).all()
        assert (found[row].exact.hi >= truth[:, k] - 1e-9 * size).all()
        assert (found[row].exact.hi - found[row].exact.lo <= 1e-6 * size).all()


@pytest.mark.parametrize("options", [{"payload": "link4"}, {"wrench": "link4"}, {"trig": "macro"}])
def test_run_time_arguments_and_trigonometry_are_taken_along(options: dict[str, str]) -> None:
    text = TextOptions(options.get("trig", "libm"))
    links = {name: link for name, link in options.items() if name != "trig"}
    proof = prove(robot("scara"), None, ProgramOptions("float", **links), text, states=500)
    assert proof.holds
    assert all(name in " ".join(proof.assumptions) for name in options if name != "trig")


# -- intervals, ranges -----------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9))
def test_intervals_enclose(seed: int) -> None:
    random = Random(seed)
    ends = sorted(random.uniform(-3, 3) * 10.0 ** random.randint(-2, 2) for _ in range(2))
    others = sorted(random.uniform(-3, 3) * 10.0 ** random.randint(-2, 2) for _ in range(2))
    a, b = (Interval(np.array([low]), np.array([high])) for low, high in (ends, others))
    x, y = (
        Fraction(random.choice([low, high, random.uniform(low, high)]))
        for low, high in (ends, others)
    )

    def holds(interval: Interval, value: Fraction) -> bool:
        return bool(interval.lo[0] == -np.inf or Fraction(float(interval.lo[0])) <= value) and bool(
            interval.hi[0] == np.inf or value <= Fraction(float(interval.hi[0]))
        )

    assert holds(a + b, x + y)
    assert holds(a - b, x - y)
    assert holds(a * b, x * y)
    assert holds(a * a, x * x)
    assert holds(-a, -x)
    if y:
        assert holds(a / b, x / y)
    for interval, value in (
        (a.sine(), flint.arb(float(x)).sin()),
        (a.cosine(), flint.arb(float(x)).cos()),
    ):
        assert interval.lo[0] <= float(value.upper())
        assert interval.hi[0] >= float(value.lower())
    assert a.sine().size[0] <= 1


def test_a_narrow_angle_has_a_narrow_sine() -> None:
    low = np.linspace(-7, 7, 400)
    found = Interval(low, low + 0.01).sine()
    assert (found.hi - found.lo <= 0.0101).all()
    assert (found.hi - found.lo >= 0).all()


def test_every_argument_at_run_time_has_its_ranges() -> None:
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


def test_what_is_no_range_is_refused() -> None:
    with pytest.raises(RequestError, match="positive"):
        declared_ranges(robot("panda"), Fraction(0))
    joint = replace(robot("scara").joints[0], limits=Limits(Fraction(1), Fraction(-1)))
    twisted = replace(robot("scara"), joints=(joint, *robot("scara").joints[1:]))
    with pytest.raises(RequestError, match="not in order"):
        declared_ranges(twisted, ACCELERATION)
    with pytest.raises(RequestError, match="states"):
        prove(robot("scara"), states=0)


def test_states_lie_in_the_box_and_are_numbers_of_the_type() -> None:
    for name in FOUR:
        mechanism = robot(name)
        ranges, states = declared_ranges(mechanism), given_states(mechanism, 300)
        for argument in ("q", "v", "a", "tau"):
            values = states[argument]
            assert (values == values.astype(np.float32)).all()
            for k, (low, high) in enumerate(ranges.of[argument]):
                assert float(low) <= values[:, k].min()
                assert values[:, k].max() <= float(high)
