"""Ranges of arguments, their assumptions in words, and the cells and random states of the box of
ranges.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.certificate import boxes
from symgen.certificate.boxes import points, random_states, subdivide
from symgen.certificate.ranges import (
    TURN,
    Ranges,
    assumptions_about,
    declared_ranges,
)
from symgen.ir.program import Port, Program, Row
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import RequestError
from symgen.vocabulary.options import ProgramOptions

BAR: dict[str, Any] = {"mass": 1, "centre": (1, 0, 0), "inertia": (1, 0, 0, 1, 0, 1)}
PI = (-TURN, TURN)


def within(size: float) -> tuple[Fraction, Fraction]:
    return Fraction(-size), Fraction(size)


@cache
def robot() -> Mechanism:
    """Return a hinge with all limits, a wheel, a slide and a body that moves freely in a plane."""
    builder = symgen.Robot("mixed")
    limits = {"lower": -1, "upper": "1.5", "velocity": 3, "effort": 40}
    builder.body("arm", parent="base", type="revolute", axis=(0, 0, 1), limits=limits, **BAR)
    builder.body("wheel", parent="arm", type="continuous", axis=(0, 0, 1), **BAR)
    builder.body("lift", parent="wheel", type="prismatic", axis=(0, 0, 1), **BAR)
    builder.body("puck", parent="base", type="planar", **BAR)
    builder.body("ball", parent="puck", type="spherical", **BAR)
    return builder.build()


def test_declared_limits_are_ranges_and_all_others_are_assumed() -> None:
    ranges = declared_ranges(robot(), wrenches=2, contacts=3)
    q = ((Fraction(-1), Fraction(3, 2)), PI, within(1), within(1), within(1), PI, *[within(1)] * 4)
    assert ranges.of == {
        "q": q,
        "q_next": q,
        "v": (within(3), *[within(5)] * 8),
        "tau": (within(40), *[within(100)] * 8),
        "a": (within(10),) * 9,
        "b": (within(100),) * 9,
        "payload": (
            (Fraction(0), Fraction(5)),
            *[(Fraction(-1, 5), Fraction(1, 5))] * 3,
            *[(Fraction(low, 5), Fraction(1, 5)) for low in (0, -1, -1, 0, -1, 0)],
        ),
        "wrench": (*[within(10)] * 3, *[within(100)] * 3) * 2,
        "gains": ((Fraction(0), Fraction(10_000)), (Fraction(0), Fraction(200))),
        "pi": (within(100),) * 50,
        "dt": (within(1),),
        "restitution": ((Fraction(0), Fraction(1)),),
        "active": ((Fraction(0), Fraction(1)),) * 3,
    }
    assert "active" not in declared_ranges(robot()).of
    assert declared_ranges(robot(), Fraction(7)).of["a"] == (within(7),) * 9


def test_assumptions_are_grouped_by_their_sentence_and_name_their_coordinates() -> None:
    alone = "limits are those of joints of one coordinate"
    quaternion = (
        "the entries of a unit quaternion, within ±1; intervals do not know that its length is 1, "
        "so that bounds over the ranges are wider"
    )
    planar, ball = (f"{name}_joint" for name in ("puck", "ball"))
    turning = ", ".join(f"{ball}.w{axis}" for axis in "xyz")
    expected = {
        "wheel_joint: turning without limits, ±pi rad assumed",
        "wheel_joint: no velocity limit declared, ±5 rad/s assumed",
        "wheel_joint: no effort limit declared, ±100 N m assumed",
        "lift_joint: no limits declared, ±1 m assumed",
        "lift_joint: no velocity limit declared, ±5 m/s assumed",
        "lift_joint: no effort limit declared, ±100 N assumed",
        f"{planar}.x, {planar}.y: {alone}, ±1 m assumed",
        f"{planar}.angle: {alone}, ±pi rad assumed",
        f"{planar}.vx, {planar}.vy: velocity {alone}, ±5 m/s assumed",
        f"{planar}.vx, {planar}.vy: effort {alone}, ±100 N assumed",
        f"{planar}.w, {turning}: velocity {alone}, ±5 rad/s assumed",
        f"{planar}.w, {turning}: effort {alone}, ±100 N m assumed",
        f"{ball}.x, {ball}.y, {ball}.z, {ball}.w: {quaternion}",
        "all joints: accelerations within ±10 rad/s² or m/s² (no description limits them)",
    }
    assert set(declared_ranges(robot()).assumed) == expected


@pytest.mark.parametrize(
    ("limits", "expected", "reason"),
    [
        ({"lower": -1}, PI, "no limits declared"),
        ({"upper": 1}, PI, "no limits declared"),
        ({"lower": 1, "upper": 1}, (Fraction(1), Fraction(1)), ""),
    ],
)
def test_half_a_range_is_none(
    limits: dict[str, int], expected: tuple[Fraction, Fraction], reason: str
) -> None:
    builder = symgen.Robot("arm")
    builder.body("a", parent="base", type="revolute", axis=(0, 0, 1), limits=limits, **BAR)
    ranges = declared_ranges(builder.build())
    assert ranges.of["q"] == (expected,)
    assert any("limits declared, ±pi" in text for text in ranges.assumed) == bool(reason)


def test_limits_of_zero_are_none() -> None:
    builder = symgen.Robot("arm")
    limits = {"lower": -1, "upper": 1, "velocity": 0, "effort": 0}
    builder.body("a", parent="base", type="revolute", axis=(0, 0, 1), limits=limits, **BAR)
    ranges = declared_ranges(builder.build())
    assert (ranges.of["v"], ranges.of["tau"]) == ((within(5),), (within(100),))


def test_a_leader_has_the_range_that_its_followers_leave() -> None:
    builder = symgen.Robot("led", mimic="couple")
    builder.body("a", parent="base", type="continuous", axis=(0, 0, 1), **BAR)
    limits = {"lower": -1, "upper": 2}
    builder.body("b", parent="a", type="revolute", axis=(0, 0, 1), limits=limits,
                 mimic=("a_joint", 2, 0), **BAR)  # fmt: skip
    assert declared_ranges(builder.build()).of["q"] == ((Fraction(-1, 2), Fraction(1)),)


def test_assumptions_about_arguments_state_their_numbers() -> None:
    payload, wrench, step = assumptions_about(["payload", "q", "wrench", "dt"])
    assert payload.endswith(
        "mass up to 5 kg, centre within ±0.2 m along each axis, moments to 0.2 kg m²"
    )
    assert wrench == "wrench: moments up to 10 N m, forces up to 100 N"
    assert step == "dt: time steps within ±1 s"
    assert assumptions_about(["q", "v"]) == []


# -- arguments of Programs --


def reading(function: str, elements: list[tuple[str, int]], **sizes: int) -> Program:
    """Return a Program that reads elements of arguments of these sizes and returns the first."""
    inputs = tuple(Port(name, (size,)) for name, size in sizes.items())
    names = list(sizes)
    rows = tuple(Row("input", (), (names.index(name), k)) for name, k in elements)
    return Program(function, "m", inputs, (Port("out", (1,), (0,)),), rows)


BOX = Ranges({"q": (within(2), (Fraction(1), Fraction(5)), within(3)), "v": (within(4),) * 3}, ())


def test_a_program_has_the_ranges_of_its_own_arguments() -> None:
    program = reading("bias_force", [("q", 0)], q=3, v=3)
    assert BOX.for_program(program) == BOX.of
    assert set(BOX.for_program(reading("gravity_force", [("q", 0)], q=3))) == {"q"}
    unknown = reading("gravity_force", [("q", 0)], q=3, x=1)
    with pytest.raises(RequestError, match="gravity_force takes 'x', for which no range is known"):
        BOX.for_program(unknown)


def test_changes_of_a_derivative_are_within_one() -> None:
    program = reading("gravity_force:jvp", [("q", 0)], q=3, dq=3)
    assert BOX.for_program(program) == {"q": BOX.of["q"], "dq": (within(1),) * 3}


# -- cells --


def test_cells_are_cut_along_the_positions_that_are_read() -> None:
    """Nine cells of two positions are three by three; other elements and arguments stay whole."""
    program = reading("bias_force", [("q", 0), ("q", 2), ("v", 1), ("q", 0)], q=3, v=3)
    cells = subdivide(program, BOX, 10)
    first, second, third = cells["q"]
    assert [len(element.lo) for element in (first, second, third)] == [9, 1, 9]
    assert np.allclose(first.lo, np.repeat([-2, -2 / 3, 2 / 3], 3), atol=1e-12)
    assert np.allclose(first.hi, np.repeat([-2 / 3, 2 / 3, 2], 3), atol=1e-12)
    assert np.allclose(third.lo, [-3, -1, 1] * 3, atol=1e-12)
    assert second.lo[0] < 1
    assert second.hi[0] > 5
    assert second.hi[0] - second.lo[0] < 4 + 1e-12
    assert [len(element.lo) for element in cells["v"]] == [1, 1, 1]
    assert cells["v"][0].lo[0] == pytest.approx(-4)


def test_too_few_cells_leave_the_ranges_whole() -> None:
    program = reading("bias_force", [("q", 0), ("q", 1), ("q", 2)], q=3, v=3)
    assert all(len(element.lo) == 1 for element in subdivide(program, BOX, 7)["q"])
    assert all(len(element.lo) == 8 for element in subdivide(program, BOX, 8)["q"])
    unread = reading("bias_force", [("v", 0)], q=3, v=3)
    assert all(len(element.lo) == 1 for element in subdivide(unread, BOX, 64)["q"])


def test_long_programs_have_fewer_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows and ten values in memory leave five cells; the usual number is 4096."""
    program = reading("bias_force", [("q", 0), ("v", 0)], q=3, v=3)
    assert len(subdivide(program, BOX)["q"][0].lo) == 4096
    monkeypatch.setattr(boxes, "VALUES", 10)
    assert len(subdivide(program, BOX)["q"][0].lo) == 5


def test_points_have_no_width() -> None:
    (x, y), (z,) = points({"q": np.array([[1, 2], [3, 4]]), "dt": np.array([5, 6])}).values()
    assert (x.lo is x.hi, x.lo.tolist(), y.hi.tolist(), z.lo.tolist()) == (
        True,
        [1, 3],
        [2, 4],
        [5, 6],
    )


# -- random states --


@pytest.mark.parametrize(("real", "digits"), [("double", np.float64), ("float", np.float32)])
def test_random_states_fill_the_box_and_every_eighth_is_a_corner(real: str, digits: type) -> None:
    mechanism, ranges = robot(), declared_ranges(robot())
    states = random_states(mechanism, ranges, ProgramOptions(real), 400)
    for name in ("q", "v", "a", "tau", "dt"):
        for k, (low, high) in enumerate(ranges.of[name]):
            values = states[name][:, k]
            if name == "q" and k > 5:  # entries of a quaternion
                continue
            assert (values == values.astype(digits)).all()
            assert float(low) <= values.min() < float(low) + 0.01 * float(high - low)
            assert float(high) - 0.01 * float(high - low) < values.max() <= float(high)
            corners = np.minimum(abs(values - float(low)), abs(values - float(high))) < 1e-6
            assert corners[::8].all()
            assert corners.sum() < 60
    lengths = np.linalg.norm(states["q"][:, 6:10], axis=1)
    assert np.abs(lengths - 1).max() <= 2 * np.finfo(digits).eps


def test_random_states_depend_on_the_seed_and_have_physical_loads() -> None:
    mechanism, ranges = robot(), declared_ranges(robot())
    options = ProgramOptions(payload="arm")
    first, again, next_seed = (
        random_states(mechanism, ranges, options, 70, seed) for seed in (0, 0, 1)
    )
    for name in ("q", "v", "payload"):
        assert (first[name] == again[name]).all()
        assert (first[name] != next_seed[name]).any()
    assert (first["q"] == random_states(mechanism, ranges, options, 70)["q"]).all()
    loads = first["payload"]
    assert len(np.unique(loads, axis=0)) == 64
    assert (loads[64:] == loads[:6]).all()
    assert (loads[:, 0] >= 0.5).all()
    free = random_states(mechanism, ranges, ProgramOptions(), 70)["payload"]
    assert free[:, 0].min() < 0.5


def test_a_zero_quaternion_becomes_the_identity() -> None:
    quaternions = np.array([[0.0, 0, 0, 0], [0, 3, 4, 0]])
    assert boxes._normalised(quaternions).tolist() == [[0, 0, 0, 1], [0, 0.6, 0.8, 0]]
