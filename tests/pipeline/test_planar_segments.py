"""M⁻¹ b of planar point masses in segments: the results of the serial sweeps.

Tests compare in exact arithmetic and in C, and plant errors.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import flint
import pytest

import symgen
from symgen.derivation import constants
from symgen.ir.loops import LoopProgram, SequentialScan, Sweep, evaluate
from symgen.ir.loops import evaluate as run
from symgen.pipeline import segment_lengths
from symgen.pipeline.loops import recursion
from symgen.pipeline.loops.planar_segments import numbers_of
from symgen.readback import loops
from symgen.support.errors import ArgumentError, OutOfReach, RequestError
from tests.segments import aimed, built, call, written
from tests.shared.c_programs import DOUBLES
from tests.shared.looped_robots import NUMBERS
from tests.shared.planar_segments import (
    ROBOTS,
    chain_in_parts,
    exact_solution,
    exactly,
    in_two_groups,
    robot,
    state_of,
)
from tests.shared.robots_for_tests import planar_rods, point_mass_arm, random_mechanism

METHOD = "fixman:segments"


def largest_difference(program: LoopProgram, name: str) -> float:
    """Return the largest difference from the serial sweeps, relative to 1 + |value|."""
    with flint.ctx.workdps(200):
        computed = evaluate(program, exactly(len(program)), NUMBERS)["x"]
        return max(
            float((abs(x - y) / (1 + abs(y))).upper())
            for x, y in zip(computed, exact_solution(name), strict=True)
        )


@pytest.mark.parametrize(
    ("name", "segments"),
    [("equal", 1), ("equal", 2), ("equal", 8), ("masses", 8), ("bent", 7), ("bent", 24)],
)
def test_segments_equal_the_serial_sweeps(name: str, segments: int) -> None:
    assert largest_difference(chain_in_parts(name, segments), name) < 1e-50


@pytest.mark.parametrize("count", [1, 4])
def test_numbers_of_a_link_are_lengths_masses_and_the_angle_to_the_link_before(count: int) -> None:
    """Ends of links may have any direction in the axes of the links."""
    turns = [(1, 0), (3, 4), (-4, 3), (5, 12)]
    ends = [(3, 4), (8, -6), (-5, 12), (0, 7)]
    masses = [2, 5, 7, 3]
    with constants.precision():
        exact = constants.rational
        links = []
        for i, ((c, s), m) in enumerate(zip(turns[:count], masses, strict=False)):
            size = Fraction(math.isqrt(c * c + s * s))
            rotation = constants.rotation_about(
                constants.IDENTITY[2], exact(c / size), exact(s / size)
            )
            before, end = (
                (*map(exact, ends[k]), exact(9)) for k in (max(i - 1, 0), i)
            )  # ends lie in a plane; heights do not count
            inertia = SimpleNamespace(m=exact(m))
            links.append(
                SimpleNamespace(rotation=rotation, shift=before, center=end, inertia=inertia)
            )
        model: Any = SimpleNamespace(links=links)
        rows = [
            {name: constants.as_float(x) for name, x in row.items()} for row in numbers_of(model)
        ]
    for i, row in enumerate(rows):
        length, before = math.hypot(*ends[i]), max(i - 1, 0)
        assert row["u"] == pytest.approx(1 / length)
        assert row["w"] == pytest.approx(1 / masses[i])
        assert row["u_before"] == pytest.approx(1 / math.hypot(*ends[before]))
        assert row["w_before"] == pytest.approx(1 / masses[i - 1] if i else 0)
        if i:
            of_end, of_frame, of_before = (
                math.atan2(y, x) for x, y in (ends[i], turns[i], ends[i - 1])
            )
            turn = of_end + of_frame - of_before
            assert math.cos(row["offset"]) == pytest.approx(math.cos(turn))
            assert math.sin(row["offset"]) == pytest.approx(math.sin(turn))
    of_x_axis = math.atan2(4, 3)
    assert rows[0]["offset"] == (rows[1]["offset"] if count > 1 else pytest.approx(of_x_axis))


def test_operations_and_saved_values_per_link_are_the_recorded_ones() -> None:
    """Operations per link (the serial sweeps take 31), workspace, and link constants."""
    assert [
        (form.link_cost, form.work, form.link_classes[0].width)
        for form in (chain_in_parts(name, 8) for name in ROBOTS)
    ] == [(44, 11, 1), (44, 11, 2), (52, 14, 5)]


@pytest.mark.parametrize("name", ROBOTS)
def test_errors_are_at_most_four_times_those_of_the_serial_sweeps(name: str) -> None:
    """Errors below 1e-14 pass as well."""
    exact, serial = (
        [float(x) for x in exact_solution(name)],
        recursion(robot(name), "mass_matrix_solve", "fixman:planar"),
    )
    state = state_of(len(exact))
    errors = [
        max(abs(x - y) for x, y in zip(results["x"], exact, strict=True)) / max(map(abs, exact))
        for results in (
            evaluate(chain_in_parts(name, 8), state, DOUBLES),
            run(serial, state, DOUBLES),
        )
    ]
    assert errors[0] <= max(4 * errors[1], 1e-14)


def with_sum(step: symgen.ir.program.Program) -> symgen.ir.program.Program:
    """Return a step whose last product is a sum."""
    at = max((i for i, row in enumerate(step.rows) if row.op == "mul"), default=-1)
    return replace(
        step,
        rows=tuple(row._replace(op="add") if i == at else row for i, row in enumerate(step.rows)),
    )


def test_planted_errors_change_results() -> None:
    """Errors: each step with a product, each link constant, and each scan across segments."""
    program, count = chain_in_parts("bent", 7), 0
    for s, stage in enumerate(program.stages):
        changed = (
            [replace(stage, steps=(with_sum(stage.steps[0]),))]
            if isinstance(stage, Sweep)
            else [
                replace(stage, opening=with_sum(stage.opening)),
                replace(stage, step=with_sum(stage.step)),
            ]
        )
        for wrong in changed:
            if wrong != stage:
                count += 1
                assert (
                    largest_difference(
                        replace(
                            program, stages=(*program.stages[:s], wrong, *program.stages[s + 1 :])
                        ),
                        "bent",
                    )
                    > 1e-40
                ), (s, wrong)
    assert count >= 5
    for c in range(program.link_classes[0].width):
        row = list(program.constants[9])
        row[c] += Fraction(1, 10**30)
        assert (
            largest_difference(
                replace(
                    program, constants=(*program.constants[:9], tuple(row), *program.constants[10:])
                ),
                "bent",
            )
            > 1e-40
        )
    scans = [
        s
        for s, stage in enumerate(program.stages)
        if isinstance(stage, SequentialScan) and stage.gives >= 0
    ]
    for s in scans:  # a segment ignores the carry of the segment before
        scan = program.stages[s]
        assert isinstance(scan, SequentialScan)
        step = replace(
            scan.step,
            rows=scan.opening.rows,
            outputs=scan.opening.outputs,
            inputs=scan.opening.inputs,
        )
        assert (
            largest_difference(
                replace(
                    program,
                    stages=(
                        *program.stages[:s],
                        replace(scan, step=step),
                        *program.stages[s + 1 :],
                    ),
                ),
                "bent",
            )
            > 1e-40
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "segments", "trig"),
    [("equal", 8, "libm"), ("bent", 16, "libm"), ("bent", 8, "auto"), ("masses", 8, "inline")],
)
def test_the_c_equals_the_evaluation_and_is_read_back(
    tmp_path: Path, name: str, segments: int, trig: str
) -> None:
    """With libm's sines the bits are equal, serially and in threads; else the results are near."""
    program, state = chain_in_parts(name, segments), state_of(len(robot(name).joints))
    expected = evaluate(program, state, DOUBLES)["x"]
    file = written(tmp_path, program, trig)
    first = call(built(file, "-O1", "-Darm_NO_CLONES", function=program.function), program, state)
    if trig == "libm":
        assert first == expected
        assert (
            call(
                built(file, "-O1", "-Darm_NO_CLONES", "-fopenmp", function=program.function),
                program,
                state,
            )
            == first
        )
    assert first == pytest.approx(expected, rel=1e-10, abs=1e-10)
    text = file.read_text()
    assert loops.compare(program, text) == []
    adding = [step for step in program.programs if with_sum(step) != step]
    assert len(loops.compare(program.by(with_sum), text)) >= len({*adding}) >= 5


@pytest.mark.slow
def test_folder_and_solver_compute_segments_in_two_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_lengths, "GROUP", 32)
    in_two_groups(tmp_path / "chain", METHOD)


def test_other_robots_and_functions_are_refused_with_the_reason(tmp_path: Path) -> None:
    antiparallel = point_mass_arm(*[1] * 40)
    antiparallel = replace(
        antiparallel,
        joints=tuple(
            replace(joint, axis=(Fraction(0), Fraction(0), Fraction((-1) ** i)))
            for i, joint in enumerate(antiparallel.joints)
        ),
    )
    for mechanism, function, error, message in (
        (
            random_mechanism(40, 1),
            "mass_matrix_solve",
            RequestError,
            "fixman:segments needs a serial chain of revolute joints",
        ),
        (planar_rods(40), "mass_matrix_solve", RequestError, "chain of point masses"),
        (
            antiparallel,
            "mass_matrix_solve",
            RequestError,
            "axes of one direction, and the axis of joint 'j1'",
        ),
        (point_mass_arm(*[1] * 20), "mass_matrix_solve", OutOfReach, "fewer than 32 links"),
        (
            point_mass_arm(*[1] * 40),
            "forward_dynamics",
            ArgumentError,
            "it computes mass_matrix_solve",
        ),
    ):
        with pytest.raises(error, match=message):
            symgen.generate(mechanism, tmp_path / "out", [f"{function}={METHOD}"])
    with pytest.raises(RequestError, match="exists only in looped form"):
        symgen.program(point_mass_arm(*[1] * 40), "mass_matrix_solve", METHOD)
    with pytest.raises(RequestError, match="take a multiple of 8"):
        symgen.emission.backends.c99.source(
            chain_in_parts("bent", 7), aimed(chain_in_parts("bent", 7), "libm")
        )
