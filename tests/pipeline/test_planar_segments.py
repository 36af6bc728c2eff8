"""M⁻¹ b of point masses in a plane in segments: value for value that of the serial sweeps, in C, and with slips planted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import flint
import pytest

import symgen
from symgen.ir.loops import LoopProgram, SequentialScan, Sweep, evaluate
from symgen.ir.loops import evaluate as run
from symgen.pipeline import segment_lengths
from symgen.pipeline.loops import recursion
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


def off(one: LoopProgram, name: str) -> float:
    """The largest difference from the serial sweeps, to the larger of 1 and the value."""
    with flint.ctx.workdps(200):
        found = evaluate(one, exactly(len(one)), NUMBERS)["x"]
        return max(
            float((abs(x - y) / (1 + abs(y))).upper())
            for x, y in zip(found, exact_solution(name), strict=True)
        )


@pytest.mark.parametrize(
    ("name", "segments"),
    [("equal", 1), ("equal", 2), ("equal", 8), ("masses", 8), ("bent", 7), ("bent", 24)],
)
def test_segments_are_the_serial_sweeps(name: str, segments: int) -> None:
    assert off(chain_in_parts(name, segments), name) < 1e-50


def test_it_takes_little_more_than_the_serial_sweeps() -> None:
    """Operations of a link, which take 31 in those, and numbers that it keeps."""
    assert [
        (form.link_cost, form.work, form.link_classes[0].width)
        for form in (chain_in_parts(name, 8) for name in ROBOTS)
    ] == [(44, 11, 1), (44, 11, 2), (52, 14, 5)]


@pytest.mark.parametrize("name", ROBOTS)
def test_digits_are_not_lost(name: str) -> None:
    """At most four times the error of the serial sweeps, or 1e-14."""
    exact, serial = (
        [float(x) for x in exact_solution(name)],
        recursion(robot(name), "mass_matrix_solve", "fixman:planar"),
    )
    state = state_of(len(exact))
    errors = [
        max(abs(x - y) for x, y in zip(found["x"], exact, strict=True)) / max(map(abs, exact))
        for found in (
            evaluate(chain_in_parts(name, 8), state, DOUBLES),
            run(serial, state, DOUBLES),
        )
    ]
    assert errors[0] <= max(4 * errors[1], 1e-14)


def _slipped(step: symgen.ir.program.Program) -> symgen.ir.program.Program:
    """Where the last product is a sum."""
    at = max((i for i, row in enumerate(step.rows) if row.op == "mul"), default=-1)
    return replace(
        step,
        rows=tuple(row._replace(op="add") if i == at else row for i, row in enumerate(step.rows)),
    )


def test_a_slip_is_seen() -> None:
    """In every step along the links and across the segments that multiplies, in the table, and in what a sweep is given."""
    one, slips = chain_in_parts("bent", 7), 0
    for s, stage in enumerate(one.stages):
        changed = (
            [replace(stage, steps=(_slipped(stage.steps[0]),))]
            if isinstance(stage, Sweep)
            else [
                replace(stage, opening=_slipped(stage.opening)),
                replace(stage, step=_slipped(stage.step)),
            ]
        )
        for other in changed:
            if other != stage:
                slips += 1
                assert (
                    off(replace(one, stages=(*one.stages[:s], other, *one.stages[s + 1 :])), "bent")
                    > 1e-40
                ), (s, other)
    assert slips >= 5
    for c in range(one.link_classes[0].width):
        row = list(one.constants[9])
        row[c] += Fraction(1, 10**30)
        assert (
            off(
                replace(one, constants=(*one.constants[:9], tuple(row), *one.constants[10:])),
                "bent",
            )
            > 1e-40
        )
    ways = [
        s
        for s, stage in enumerate(one.stages)
        if isinstance(stage, SequentialScan) and stage.gives >= 0
    ]
    for s in ways:  # what the segment before hands on is not what this one is told
        way = one.stages[s]
        assert isinstance(way, SequentialScan)
        step = replace(
            way.step, rows=way.opening.rows, outputs=way.opening.outputs, inputs=way.opening.inputs
        )
        assert (
            off(
                replace(
                    one, stages=(*one.stages[:s], replace(way, step=step), *one.stages[s + 1 :])
                ),
                "bent",
            )
            > 1e-40
        )


@pytest.mark.parametrize(
    ("name", "segments", "trig"),
    [("equal", 8, "libm"), ("bent", 16, "libm"), ("bent", 8, "auto"), ("masses", 8, "inline")],
)
def test_c_is_what_is_evaluated(tmp_path: Path, name: str, segments: int, trig: str) -> None:
    """With <math.h> bit for bit, in turn and at the same time; with sines of its own within their error. It is read back."""
    one, state = chain_in_parts(name, segments), state_of(len(robot(name).joints))
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
    adding = [step for step in one.programs if _slipped(step) != step]
    assert len(loops.compare(one.by(_slipped), text)) >= len({*adding}) >= 5


def test_folder_and_solver_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_lengths, "GROUP", 32)
    in_two_groups(tmp_path / "chain", METHOD)


def test_who_cannot_have_it_is_told(tmp_path: Path) -> None:
    turned = point_mass_arm(*[1] * 40)
    turned = replace(
        turned,
        joints=tuple(
            replace(joint, axis=(Fraction(0), Fraction(0), Fraction((-1) ** i)))
            for i, joint in enumerate(turned.joints)
        ),
    )
    for mechanism, function, error, said in (
        (
            random_mechanism(40, 1),
            "mass_matrix_solve",
            RequestError,
            "fixman:segments needs a serial chain of revolute joints",
        ),
        (planar_rods(40), "mass_matrix_solve", RequestError, "chain of point masses"),
        (
            turned,
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
        with pytest.raises(error, match=said):
            symgen.generate(mechanism, tmp_path / "out", [f"{function}={METHOD}"])
    with pytest.raises(RequestError, match="exists only in looped form"):
        symgen.program(point_mass_arm(*[1] * 40), "mass_matrix_solve", METHOD)
    with pytest.raises(RequestError, match="take a multiple of 8"):
        symgen.emission.backends.c99.source(
            chain_in_parts("bent", 7), aimed(chain_in_parts("bent", 7), "libm")
        )
