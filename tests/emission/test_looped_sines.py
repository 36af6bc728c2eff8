"""Sines of many links in one loop: each angle's bits do not depend on its neighbours.

Results are near the exact ones; read-back reports each error planted in the blocks of sines.
"""

from __future__ import annotations

import ctypes
import math
import random
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import symgen
from symgen.emission.backends import c99
from symgen.ir.loops import SAVED, LoopProgram, angle_of, evaluate
from symgen.ir.program import Port
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.loops import build
from symgen.readback.loops import compare
from symgen.vocabulary.options import TextOptions
from tests.shared.analysers import UNWANTED, misra, tool
from tests.shared.c_programs import DOUBLES
from tests.shared.folders import run
from tests.shared.loop_libraries import called, shared, states
from tests.shared.robots_for_tests import random_mechanism

FAR = 2.0**15
ROBOTS = {
    "one block": lambda: random_mechanism(7, 1),
    "two blocks": lambda: random_mechanism(21, 1),
    "tree": lambda: random_mechanism(19, 3, "tree"),
    "two kinds": lambda: symgen.load("scara"),
    "a free base": lambda: symgen.load("quadruped"),
}


@cache
def robot(name: str) -> Mechanism:
    return ROBOTS[name]()


@cache
def inverse(name: str) -> LoopProgram:
    return build.recursion(robot(name), "inverse_dynamics", "newton_euler")


def texts(name: str, trig: str = "auto") -> dict[str, str]:
    recursion = inverse(name)
    names = c99.Target("arm", robot(name).sizes, TextOptions(trig))
    return c99.headers({recursion.function: recursion}, names) | {
        "function.c": c99.source(recursion, names)
    }


def build_library(folder: Path, files: dict[str, str]) -> ctypes.CDLL:
    for file, text in files.items():
        (folder / file).write_text(text)
    return shared(folder / "function.c", "-O2")


@pytest.mark.parametrize("name", ROBOTS)
def test_sines_are_computed_in_a_separate_sweep(name: str) -> None:
    first, *others = inverse(name).sweeps
    assert not first.initial
    assert all(angle_of(step) for step in first.steps if step.outputs)
    assert not any(
        row.op in ("sin", "cos") for sweep in others for step in sweep.steps for row in step.rows
    )


@pytest.mark.parametrize("name", ROBOTS)
def test_functions_with_blocks_of_sines_compute_the_recursion(tmp_path: Path, name: str) -> None:
    recursion, files = inverse(name), texts(name)
    assert "_turns turn" in files["function.c"]
    assert compare(recursion, files["function.c"], files["arm.h"]) == []
    library = build_library(tmp_path, files)
    for state in states(recursion, 2):
        exact = evaluate(recursion, state, DOUBLES)["tau"]
        size = max(map(abs, exact))
        assert called(library, recursion, state)["tau"] == pytest.approx(
            exact, rel=1e-11, abs=1e-12 * size
        )


def test_an_angle_has_the_same_sine_in_any_lane(tmp_path: Path) -> None:
    """Neighbours are an angle beyond the range (whose sine is libm's), infinity, or NaN."""
    recursion = inverse("two blocks")
    library = build_library(tmp_path, texts("two blocks"))
    (state,) = states(recursion, 1)

    def sines(q: list[float]) -> list[float]:
        results, work = (ctypes.c_double * 21)(), (ctypes.c_double * c99.work(recursion))()
        library.arm_inverse_dynamics(
            *((ctypes.c_double * 21)(*values) for values in (q, state["v"], state["a"])),
            results,
            work,
        )
        return [
            number
            for i in range(21)
            for number in work[recursion.work * i : recursion.work * i + 2]
        ]

    near = sines(state["q"])
    for far in (3 * FAR, -FAR - 1, math.inf, math.nan):
        numbers = sines([far if i == 4 else angle for i, angle in enumerate(state["q"])])
        assert numbers[:8] + numbers[10:] == near[:8] + near[10:]
        if abs(far) < math.inf:
            assert math.hypot(*numbers[8:10]) == pytest.approx(1.0, abs=1e-15)
        else:
            assert all(map(math.isnan, numbers[8:10]))


PLANTED = {
    "a lane": ("turn.sine[i - block]", "turn.sine[block - block]"),
    "sine and cosine": ("turn.cosine[", "turn.sine["),
    "an offset in the workspace": ("work[(8*i) + 1] = ", "work[(8*i) + 2] = "),
    "another link's offset in the workspace": ("work[8*i] = ", "work[0] = "),
    "a sign": ("= turn.sine[", "= -turn.sine["),
    "another link's angle": ("arm_inverse_dynamics_1(&q[i]", "arm_inverse_dynamics_1(&q[block]"),
    "another lane for an angle": ("&angle[i - block]", "&angle[0]"),
    "a lane before the first": ("&angle[i - block]", "&angle[block - i]"),
    "a block too short": ("(i < (block + 11))", "(i < (block + 10))"),
    "a block too long": ("block += 11", "block += 12"),
    "a block repeated without end": ("block += 11", "block += 0"),
    "blocks in reverse": ("block += 11", "block -= 11"),
    "beyond the last link": ("&& (i <= 20)", "&& (i <= 21)"),
    "a link left out": ("&& (i <= 20)", "&& (i < 20)"),
    "a condition": ("(i < (block + 11)) && (i <= 20)", "(i < (block + 11)) || (i <= 20)"),
    "an array too short": ("double angle[12]", "double angle[11]"),
    "an array too long": ("double angle[12]", "double angle[13]"),
    "another number of lanes": ("#define arm_ANGLES 12", "#define arm_ANGLES 10"),
    "lanes without an angle": (
        "    for (i = 0; i < 12; ++i) {\n        angle[i] = 0.0;\n    }\n",
        "",
    ),
    "another array": ("arm_sincos(angle)", "arm_sincos(work)"),
    "another function": ("= arm_sincos(angle)", "= arm_cosine(angle)"),
    "another type": ("const arm_turns turn", "const arm_pair turn"),
    "an unknown field": ("turn.sine[", "turn.tangent["),
    "an angle": ("q[0] + table[2]", "q[0] + table[1]"),
    "the sign of an angle": ("q[0] + table[2]", "q[0] - table[2]"),
    "one block only": ("for (block = 0; block <= 20", "for (block = 0; block < 11"),
}


@pytest.mark.parametrize("slip", PLANTED)
def test_read_back_reports_a_planted_error(slip: str) -> None:
    old, new = PLANTED[slip]
    files = texts("two blocks")
    assert old in files["function.c"]
    (sentence, *_) = compare(
        inverse("two blocks"), files["function.c"].replace(old, new, 1), files["arm.h"]
    )
    assert len(sentence) > 20


def test_only_a_step_that_stores_sine_or_cosine_has_an_angle() -> None:
    step = inverse("one block").sweeps[0].steps[0]
    (sine,) = step.outputs
    angle = step.rows[sine.rows[0]].args[0]
    assert angle_of(replace(step, outputs=(Port(SAVED, (1,), (angle,)),))) is None
    assert angle_of(replace(step, outputs=(sine._replace(name="tau"),))) is None
    twice = replace(
        step,
        rows=(*step.rows, step.rows[sine.rows[0]]._replace(args=(sine.rows[0],))),
        outputs=(Port(SAVED, (1,), (len(step.rows),)),),
    )
    assert angle_of(twice) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two blocks", "two kinds"])
def test_analysers_are_silent(tmp_path: Path, name: str) -> None:
    for file, text in texts(name).items():
        (tmp_path / file).write_text(text)
    without = [f"-Wno-{unwanted}" for unwanted in ("unknown-warning-option", *UNWANTED)]
    done = run(
        tool("clang"),
        "-std=c99",
        "-Weverything",
        *without,
        "-Werror",
        "-fsyntax-only",
        tmp_path / "function.c",
    )
    assert (done.returncode, done.stderr) == (0, "")
    done = run(
        "g++",
        "-Wall",
        "-Wextra",
        "-pedantic-errors",
        "-Werror",
        "-x",
        "c++",
        "-fsyntax-only",
        tmp_path / "function.c",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert misra(tmp_path / "function.c") - {"Rule 2.5"} == {
        "Rule 8.9",
        "Rule 9.3",
    }  # cppcheck reports 9.3 by mistake


@pytest.mark.slow
def test_any_changed_digit_is_reported_or_changes_no_result(tmp_path: Path) -> None:
    """A block that begins after the last link computes no sine."""
    recursion, files, generator = inverse("two blocks"), texts("two blocks"), random.Random(4)
    text, (state,) = files["function.c"], states(recursion, 1)
    start, end = text.index("    for (block = 0"), text.index("/* outward")
    digits = [
        start + match.start()
        for match in re.finditer(r"(?<=[\[ (])\d+(?=[\]; ,*)])", text[start:end])
    ]
    expected = called(build_library(tmp_path, files), recursion, state)
    for number, at in enumerate(digits * 3):
        slipped = files | {
            "function.c": text[:at]
            + str((int(text[at]) + generator.randint(1, 9)) % 10)
            + text[at + 1 :]
        }
        if not compare(recursion, slipped["function.c"], files["arm.h"]):
            folder = tmp_path / f"slipped_{number}"
            folder.mkdir()
            assert called(build_library(folder, slipped), recursion, state) == expected, slipped[
                "function.c"
            ][at - 40 : at + 20]
