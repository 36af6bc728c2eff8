"""Forward dynamics in segments: value for value that of the serial sweeps, in exact arithmetic, in C, and with slips planted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import flint
import pytest
from flint import arb

from symgen.errors import OutOfReach, ProgramError, RequestError
from symgen.ir import Program
from symgen.looping import recursion
from symgen.looping.segmenting import segmented
from symgen.recursion import Recursion, Sweep
from symgen.recursion import evaluate as run
from symgen.segmented import Across, Segmented, check, evaluate
from tests.c_programs import DOUBLES
from tests.robots_for_tests import flat_chain, random_mechanism
from tests.segments import built, call, state_of, written
from tests.test_looping import NUMBERS

ROBOTS = {n: random_mechanism(n, 1) for n in (17, 64, 100)} | {33: flat_chain(33)}
"""The last one is planar: what a wrench moves is singular there."""


@cache
def serial(n: int) -> Recursion:
    return recursion(ROBOTS[n], "forward_dynamics", "riccati")


@cache
def parted(n: int, segments: int) -> Segmented:
    return segmented(ROBOTS[n], segments)


@cache
def wanted(n: int) -> list[arb]:
    with flint.ctx.workdps(100 + 3*n):   # balls grow from link to link
        return run(serial(n), exactly(n), NUMBERS)["a"]


def exactly(n: int) -> dict[str, list[arb]]:
    return {name: [arb(x) for x in values] for name, values in state_of(n).items()}


def off(one: Segmented) -> float:
    """The largest difference there may be from the serial sweeps, to the larger of 1 and the value."""
    n = len(one)
    with flint.ctx.workdps(100 + 3*n):
        return max(float((abs(x - y) / (1 + abs(y))).upper()) for x, y in zip(evaluate(one, exactly(n), NUMBERS)["a"], wanted(n),
                                                                            strict=True))


@pytest.mark.parametrize(("n", "segments"), [(17, 2), (17, 4), (33, 4), (64, 8), (100, 8)])
def test_segments_are_the_serial_sweeps(n: int, segments: int) -> None:
    assert off(parted(n, segments)) < 1e-50


@pytest.mark.usefixtures("polished_here")
def test_steps_do_not_know_how_many_segments_there_are() -> None:
    def steps(one: Segmented) -> list[object]:
        return [stage.steps if isinstance(stage, Sweep) else stage[1:3] for stage in one.stages]

    assert steps(segmented(ROBOTS[64], 8)) == steps(segmented(ROBOTS[64], 4))
    assert segmented(ROBOTS[100], 8).cost <= 812


@pytest.mark.parametrize("n", [17, 64, 100])
def test_digits_are_not_lost(n: int) -> None:
    """Four times the error of the serial sweeps, or 1.5e-14: at a hundred links it is 1.3e-14, where theirs is 1.3e-15."""
    one = parted(n, 4 if n < 32 else 8)
    exact = [float(x) for x in wanted(n)]

    def error(found: list[float]) -> float:
        return max(abs(x - y) for x, y in zip(found, exact, strict=True)) / max(map(abs, exact))

    assert error(evaluate(one, state_of(n), DOUBLES)["a"]) <= max(4*error(run(serial(n), state_of(n), DOUBLES)["a"]), 1.5e-14)


@pytest.mark.parametrize("what", ["table", "start", "opening", "way", "step"])
def test_a_slip_is_seen(what: str) -> None:
    one = parted(17, 4)
    stages = list(one.stages)
    if what == "table":
        row = one.tables[9]
        one = replace(one, tables=(*one.tables[:9], (row[0] + Fraction(1, 10**30), *row[1:]), *one.tables[10:]))
    elif what == "start":
        sweep = stages[3]
        assert isinstance(sweep, Sweep)
        stages[3] = replace(sweep, start=(*sweep.start[:-1], Fraction(1, 10**30)))
    elif what == "opening":
        stages[5] = stages[5]._replace(opening=_slipped(stages[5].opening))  # type: ignore[union-attr]
    elif what == "way":
        stages[4] = stages[4]._replace(step=_slipped(stages[4].step))  # type: ignore[union-attr]
    else:
        sweep = stages[6]
        assert isinstance(sweep, Sweep)
        stages[6] = replace(sweep, steps=(_slipped(sweep.steps[0]),))
    assert off(replace(one, stages=tuple(stages))) > 1e-40


def _slipped(step: Program) -> Program:
    """Where the last sum is a difference."""
    at = max(i for i, row in enumerate(step.rows) if row.op == "add")
    return replace(step, rows=tuple(row._replace(op="sub") if i == at else row for i, row in enumerate(step.rows)))


def test_what_breaks_a_rule_is_refused() -> None:
    one = parted(17, 4)
    sweep, way = one.stages[0], one.stages[1]
    assert isinstance(sweep, Sweep)
    assert isinstance(way, Across)
    for broken in (replace(one, segments=18), replace(one, tables=((), *one.tables[1:])), replace(one, stages=one.stages[:-1]),
                   replace(one, stages=(replace(sweep, start=sweep.start[1:]), *one.stages[1:])), replace(one, work=1),
                   replace(one, stages=(sweep, way._replace(takes=1), *one.stages[2:])),
                   replace(one, stages=(sweep, way._replace(gives=3), *one.stages[2:])),
                   replace(one, stages=(sweep, way._replace(opening=way.step), *one.stages[2:]))):
        with pytest.raises(ProgramError):
            check(broken)


def test_what_is_no_long_chain_of_like_links_is_refused() -> None:
    for mechanism in (random_mechanism(40, 1, "tree"), random_mechanism(40, 1, joints=("revolute", "prismatic")),
                      random_mechanism(20, 1)):
        with pytest.raises(OutOfReach, match="is not cut into 8 segments"):
            segmented(mechanism, 8)


@pytest.mark.parametrize(("n", "trig"), [(64, "libm"), (100, "libm"), (100, "auto"), (100, "inline")])
def test_c_is_what_is_evaluated(tmp_path: Path, n: int, trig: str) -> None:
    """With <math.h> bit for bit, whether a compiler takes lanes together or not; with sines of its own within their error."""
    one = parted(n, 8)
    found = evaluate(one, state_of(n), DOUBLES)["a"]
    file = written(tmp_path, one, trig)
    first = call(built(file, "-O1", "-Darm_NO_CLONES"), one, state_of(n))
    if trig == "libm":
        assert first == found
    assert first == pytest.approx(found, rel=1e-10, abs=1e-10)
    if trig == "auto":
        assert call(built(file), one, state_of(n)) == first


def test_another_number_of_lanes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="take 8 segments"):
        written(tmp_path, parted(17, 4))
