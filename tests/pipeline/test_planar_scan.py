"""M⁻¹ b of planar point masses by a parallel scan: the results of the serial sweeps.

Tests compare in exact arithmetic and in C, and plant errors.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path

import flint
import pytest

import symgen
from symgen.ir.loops import LoopProgram, evaluate
from symgen.ir.loops import evaluate as run
from symgen.ir.program import Program
from symgen.pipeline import form
from symgen.pipeline.loops import recursion
from symgen.pipeline.loops.chains import in_turn
from symgen.pipeline.loops.planar_scan import build_scan
from symgen.readback import loops
from symgen.support.errors import ArgumentError, OutOfReach, RequestError
from tests.segments import built, call, written
from tests.shared.c_programs import DOUBLES
from tests.shared.looped_robots import NUMBERS
from tests.shared.planar_scan import levels as scan_of
from tests.shared.planar_segments import exact_solution, exactly, in_two_groups, robot, state_of
from tests.shared.robots_for_tests import planar_rods, point_mass_arm, random_mechanism

METHOD = "fixman:parallel"


def largest_difference(program: LoopProgram, name: str) -> float:
    """Return the largest difference from the serial sweeps, relative to 1 + |value|."""
    with flint.ctx.workdps(200):
        computed = evaluate(program, exactly(len(program)), NUMBERS)["x"]
        return max(
            float((abs(x - y) / (1 + abs(y))).upper())
            for x, y in zip(computed, exact_solution(name), strict=True)
        )


@pytest.mark.parametrize(
    ("name", "segments"), [("equal", 1), ("equal", 8), ("masses", 2), ("bent", 4), ("bent", 16)]
)
def test_the_parallel_scan_equals_the_serial_sweeps(name: str, segments: int) -> None:
    assert largest_difference(scan_of(name, segments), name) < 1e-50


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_parallel_scan_of_a_short_chain_equals_riccati(n: int) -> None:
    mechanism = symgen.load(f"planar_point_mass:{n}")
    with flint.ctx.workdps(100):
        x = symgen.ir.program.evaluate(
            symgen.program(mechanism, "mass_matrix_solve", "riccati"), exactly(n), NUMBERS
        )["x"]
        computed = evaluate(build_scan(mechanism, 8), exactly(n), NUMBERS)["x"]
        assert max(float(abs(a - b).upper()) for a, b in zip(computed, x, strict=True)) < 1e-50


def test_operations_and_saved_values_per_link_are_the_recorded_ones() -> None:
    """Operations of each step (the serial sweeps take 31 per link), workspace, link constants."""
    assert [
        (
            [step.cost for step in scan_of(name, 8).programs],
            scan_of(name, 8).work,
            scan_of(name, 8).link_classes[0].width,
        )
        for name in ("equal", "bent")
    ] == [([0, 0, 0, 12, 15, 4, 4, 0, 0, 2], 6, 1), ([0, 0, 0, 20, 15, 4, 4, 0, 0, 2], 6, 4)]


def test_depth_grows_by_one_step_per_doubling() -> None:
    """A step is 8 operations deep.

    Upsweep: a sum, a quotient, two products, a difference; downsweep: a product, two differences.
    """
    depths = [build_scan(point_mass_arm(*[1] * (n - 1)), 1).depth for n in (16, 32, 64, 128)]
    assert [b - a for a, b in pairwise(depths)] == [8, 8, 8]


@pytest.mark.parametrize("name", ["equal", "bent"])
def test_errors_are_at_most_four_times_those_of_the_serial_sweeps(name: str) -> None:
    exact, serial = (
        [float(x) for x in exact_solution(name)],
        recursion(robot(name), "mass_matrix_solve", "fixman:planar"),
    )
    state = state_of(len(exact))
    errors = [
        max(abs(x - y) for x, y in zip(results["x"], exact, strict=True)) / max(map(abs, exact))
        for results in (evaluate(scan_of(name, 8), state, DOUBLES), run(serial, state, DOUBLES))
    ]
    assert errors[0] <= max(4 * errors[1], 1e-14)


def with_sum(step: Program) -> Program:
    """Return a step whose last difference is a sum."""
    at = max((i for i, row in enumerate(step.rows) if row.op == "sub"), default=-1)
    return replace(
        step,
        rows=tuple(row._replace(op="add") if i == at else row for i, row in enumerate(step.rows)),
    )


def with_sum_in(this: Program, step: Program) -> Program:
    return with_sum(step) if step == this else step


def test_planted_errors_change_results() -> None:
    """Errors: a difference in each step, a scan's initial value and length, each link constant."""
    program = scan_of("bent", 8)
    changed = [
        program.by(partial(with_sum_in, step))
        for step in program.programs
        if with_sum(step) != step
    ]
    assert len(changed) == 5
    moments, tree, before = program.scans
    changed += [
        replace(program, stages=in_turn(program.maps, scans))
        for scans in (
            (moments, replace(tree, valid=tree.valid + 1), before),
            (moments, tree, replace(before, initial=(Fraction(1, 10**30),))),
        )
    ]
    for c in range(program.link_classes[0].width):
        row = list(program.constants[9])
        row[c] += Fraction(1, 10**30)
        changed.append(
            replace(
                program, constants=(*program.constants[:9], tuple(row), *program.constants[10:])
            )
        )
    assert [largest_difference(wrong, "bent") > 1e-40 for wrong in changed] == [True] * len(changed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "segments", "trig"),
    [("equal", 8, "libm"), ("bent", 16, "libm"), ("masses", 8, "auto")],
)
def test_the_c_equals_the_evaluation_and_is_read_back(
    tmp_path: Path, name: str, segments: int, trig: str
) -> None:
    """With libm's sines the bits are equal, serially and in threads; else the results are near."""
    program, state = scan_of(name, segments), state_of(len(robot(name).joints))
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
    assert len(loops.compare(program.by(with_sum), text)) >= 5


@pytest.mark.slow
def test_folder_and_solver_compute_the_scan_in_two_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(form, "SHARE", 32)
    in_two_groups(tmp_path / "chain", METHOD)


def test_other_robots_and_functions_are_refused_with_the_reason(tmp_path: Path) -> None:
    chain = point_mass_arm(*[1] * 9)
    for mechanism, function, more, error, message in (
        (
            random_mechanism(40, 1),
            "mass_matrix_solve",
            {},
            RequestError,
            "fixman:parallel needs a serial chain of revolute joints",
        ),
        (
            planar_rods(40),
            "mass_matrix_solve",
            {},
            RequestError,
            "fixman:parallel needs a chain of point masses",
        ),
        (chain, "forward_dynamics", {}, ArgumentError, "it computes mass_matrix_solve"),
        (
            chain,
            "mass_matrix_solve",
            {"form": "unrolled"},
            OutOfReach,
            "exists only in looped form; use --method fixman, or leave out --form unrolled",
        ),
    ):
        with pytest.raises(error, match=message):
            symgen.generate(mechanism, tmp_path / "out", [f"{function}={METHOD}"], **more)
    with pytest.raises(RequestError, match="exists only in looped form"):
        symgen.program(chain, "mass_matrix_solve", METHOD)
