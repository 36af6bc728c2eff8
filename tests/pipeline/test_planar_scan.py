"""M⁻¹ b of point masses in a plane level by level: value for value that of the serial sweeps, in C, and with slips planted."""

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
from symgen.pipeline.loops.planar_scan import build_scan as levelled
from symgen.readback import loops
from symgen.support.errors import ArgumentError, OutOfReach, RequestError
from tests.segments import built, call, written
from tests.shared.c_programs import DOUBLES
from tests.shared.looped_robots import NUMBERS
from tests.shared.planar_scan import levels
from tests.shared.planar_segments import exact_solution, exactly, in_two_groups, robot, state_of
from tests.shared.robots_for_tests import planar_rods, point_mass_arm, random_mechanism

METHOD = "fixman:parallel"


def off(one: LoopProgram, name: str) -> float:
    """The largest difference from the serial sweeps, to the larger of 1 and the value."""
    with flint.ctx.workdps(200):
        found = evaluate(one, exactly(len(one)), NUMBERS)["x"]
        return max(
            float((abs(x - y) / (1 + abs(y))).upper())
            for x, y in zip(found, exact_solution(name), strict=True)
        )


@pytest.mark.parametrize(
    ("name", "segments"), [("equal", 1), ("equal", 8), ("masses", 2), ("bent", 4), ("bent", 16)]
)
def test_levels_are_the_serial_sweeps(name: str, segments: int) -> None:
    assert off(levels(name, segments), name) < 1e-50


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_short_chain_has_them_too(n: int) -> None:
    made = symgen.load(f"planar_point_mass:{n}")
    with flint.ctx.workdps(100):
        x = symgen.ir.program.evaluate(
            symgen.program(made, "mass_matrix_solve", "riccati"), exactly(n), NUMBERS
        )["x"]
        found = evaluate(levelled(made, 8), exactly(n), NUMBERS)["x"]
        assert max(float(abs(a - b).upper()) for a, b in zip(found, x, strict=True)) < 1e-50


def test_it_takes_little_more_than_the_serial_sweeps() -> None:
    """Operations of a link and of a pair of runs, where the sweeps take 31 of a link; and numbers of a link."""
    assert [
        (
            [step.cost for step in levels(name, 8).programs],
            levels(name, 8).work,
            levels(name, 8).link_classes[0].width,
        )
        for name in ("equal", "bent")
    ] == [([0, 0, 0, 12, 15, 4, 4, 0, 0, 2], 6, 1), ([0, 0, 0, 20, 15, 4, 4, 0, 0, 2], 6, 4)]


def test_depth_grows_by_a_step_a_doubling() -> None:
    """Eight operations: up a sum, a quotient, two products and a difference; down a product and two differences."""
    depths = [levelled(point_mass_arm(*[1] * (n - 1)), 1).depth for n in (16, 32, 64, 128)]
    assert [b - a for a, b in pairwise(depths)] == [8, 8, 8]


@pytest.mark.parametrize("name", ["equal", "bent"])
def test_digits_are_not_lost(name: str) -> None:
    exact, serial = (
        [float(x) for x in exact_solution(name)],
        recursion(robot(name), "mass_matrix_solve", "fixman:planar"),
    )
    state = state_of(len(exact))
    errors = [
        max(abs(x - y) for x, y in zip(found["x"], exact, strict=True)) / max(map(abs, exact))
        for found in (evaluate(levels(name, 8), state, DOUBLES), run(serial, state, DOUBLES))
    ]
    assert errors[0] <= max(4 * errors[1], 1e-14)


def _slipped(step: Program) -> Program:
    """Where the last difference is a sum."""
    at = max((i for i, row in enumerate(step.rows) if row.op == "sub"), default=-1)
    return replace(
        step,
        rows=tuple(row._replace(op="add") if i == at else row for i, row in enumerate(step.rows)),
    )


def _slipped_if(this: Program, step: Program) -> Program:
    return _slipped(step) if step == this else step


def test_a_slip_is_seen() -> None:
    """In every step that takes a difference, in what a tree begins with and cuts off, and in the table."""
    one = levels("bent", 8)
    slips = [one.by(partial(_slipped_if, step)) for step in one.programs if _slipped(step) != step]
    assert len(slips) == 5
    moments, tree, before = one.scans
    slips += [
        replace(one, stages=in_turn(one.maps, scans))
        for scans in (
            (moments, replace(tree, valid=tree.valid + 1), before),
            (moments, tree, replace(before, initial=(Fraction(1, 10**30),))),
        )
    ]
    for c in range(one.link_classes[0].width):
        row = list(one.constants[9])
        row[c] += Fraction(1, 10**30)
        slips.append(replace(one, constants=(*one.constants[:9], tuple(row), *one.constants[10:])))
    assert [off(slip, "bent") > 1e-40 for slip in slips] == [True] * len(slips)


@pytest.mark.parametrize(
    ("name", "segments", "trig"),
    [("equal", 8, "libm"), ("bent", 16, "libm"), ("masses", 8, "auto")],
)
def test_c_is_what_is_evaluated(tmp_path: Path, name: str, segments: int, trig: str) -> None:
    """With <math.h> bit for bit, in turn and at the same time; with sines of its own within their error. It is read back."""
    one, state = levels(name, segments), state_of(len(robot(name).joints))
    found = evaluate(one, state, DOUBLES)["x"]
    file = written(tmp_path, one, trig)
    first = call(built(file, "-O1", "-Darm_NO_CLONES", function=one.function), one, state)
    if trig == "libm":
        assert first == found
        assert (
            call(
                built(file, "-O1", "-Darm_NO_CLONES", "-fopenmp", function=one.function), one, state
            )
            == first
        )
    assert first == pytest.approx(found, rel=1e-10, abs=1e-10)
    text = file.read_text()
    assert loops.compare(one, text) == []
    assert len(loops.compare(one.by(_slipped), text)) >= 5


def test_folder_and_solver_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "SHARE", 32)
    in_two_groups(tmp_path / "chain", METHOD)


def test_who_cannot_have_it_is_told(tmp_path: Path) -> None:
    chain = point_mass_arm(*[1] * 9)
    for mechanism, function, more, error, said in (
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
        with pytest.raises(error, match=said):
            symgen.generate(mechanism, tmp_path / "out", [f"{function}={METHOD}"], **more)
    with pytest.raises(RequestError, match="exists only in looped form"):
        symgen.program(chain, "mass_matrix_solve", METHOD)
