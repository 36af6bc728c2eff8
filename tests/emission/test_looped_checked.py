"""Checked loops over links: a refused call returns the reason and stores no result.

Read-back reports each error planted in the text.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import cli
from symgen.emission.backends import c99
from symgen.ir.loops import LoopProgram, evaluate
from symgen.ir.program import Port
from symgen.pipeline.loops import recursion as build_recursion
from symgen.readback import preprocessor
from symgen.readback.loops import compare
from symgen.readback.required_checks import STATUSES
from symgen.support.errors import StateError
from symgen.vocabulary.options import TextOptions
from tests.shared.analysers import ADDRESSES, misra
from tests.shared.c99 import WARNINGS
from tests.shared.c_programs import DOUBLES
from tests.shared.folders import run

METHODS = {
    "forward_dynamics": "riccati",
    "inverse_dynamics": "newton_euler",
    "mass_matrix_log_determinant": "riccati",
    "center_of_mass": "composite_body",
    "integrate": "kinematics",
    "difference": "kinematics",
}
ROBOTS = ("ur5", "quadruped", "scara")
NEVER = 77.0
"""Value of results before a call."""


@cache
def loops(robot: str, function: str) -> LoopProgram:
    return build_recursion(symgen.load(robot), function, METHODS[function])


def checked_target(robot: str, trig: str) -> c99.Target:
    return c99.Target("arm", symgen.load(robot).sizes, TextOptions(trig, checked=True))


def print_c(robot: str, function: str, trig: str) -> tuple[str, str]:
    """Return the C text of the function and that of its header."""
    recursion, target = loops(robot, function), checked_target(robot, trig)
    return c99.source(recursion, target), c99.headers({function: recursion}, target)["arm.h"]


@pytest.mark.slow
@pytest.mark.parametrize("trig", ["libm", "auto", "inline"])
@pytest.mark.parametrize("robot", ROBOTS)
def test_the_text_has_every_required_check(robot: str, trig: str) -> None:
    for function in METHODS:
        text, header = print_c(robot, function, trig)
        assert compare(loops(robot, function), text, header, checked=True) == []
        assert compare(loops(robot, function), text, header) != []


SLIPS = {
    "a smaller array": ("if (size < 617)", "if (size < 616)"),
    "a larger array": ("if (size < 617)", "if (size > 617)"),
    "no check of the workspace": (
        "if (size < 617) {\n        status = arm_NO_WORK;\n    } else {",
        "{",
    ),
    "another status": ("status = arm_NOT_FINITE", "status = arm_NOT_UNIT"),
    "an argument left out": ("none + (0.0*tau[i])", "none"),
    "an element left out": (
        "i <= 18; ++i) {\n            none",
        "i <= 17; ++i) {\n            none",
    ),
    "another zero": ("none >= 0.0", "none >= -1.0"),
    "a quaternion": ("(q[6]*q[6])", "(q[5]*q[6])"),
    "a longer quaternion": ("- 1.0) <= 9.5", "- 1.0) <= 1.5"),
    "a divisor": ("fabs(guard[0]) >= 2.2", "fabs(guard[0]) >= 1.2"),
    "a divisor's sign": ("(fabs(guard[0]) >= ", "(guard[0] >= "),
    "another divisor": ("(fabs(guard[4]) >=", "(fabs(guard[3]) >="),
    "the status of a divisor": ("status = arm_DIVISOR", "status = arm_OK"),
    "a loop that continues after a fault": ("(status == arm_OK) && (i >= 0)", "i >= 0"),
    "results stored after a fault": ("(status == arm_OK) && (i <= 17)", "i <= 17"),
    "a result stored too early": (
        "&work[arm_forward_dynamics_first_v[i] + 599]",
        "&a[arm_forward_dynamics_first_v[i]]",
    ),
    "a result not stored": ("a[i] = work[599 + i];", ""),
    "a status that is always OK": ("return status;", "return arm_OK;"),
    "an address beyond the workspace": ("(size < 617) ? work : ", ""),
    "a smaller bound of an address": ("(size < 617) ? work", "(size < 78) ? work"),
    "an infinite divisor": (" && ((0.0*guard[0]) >= 0.0)", ""),
    "a result left out": ("none + (0.0*work[599 + i])", "none"),
    "another result": ("none + (0.0*work[599 + i])", "none + (0.0*work[599])"),
    "results of another status": ("status = arm_RESULT_NOT_FINITE", "status = arm_OK"),
    "another initial status": ("int status = arm_OK", "int status = arm_DIVISOR"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_read_back_reports_a_planted_error(slip: str) -> None:
    text, header = print_c("quadruped", "forward_dynamics", "libm")
    old, new = SLIPS[slip]
    assert old in text
    assert compare(
        loops("quadruped", "forward_dynamics"), text.replace(old, new, 1), header, checked=True
    )


@pytest.mark.slow
def test_a_wrong_range_of_angles_is_reported() -> None:
    text, header = print_c("scara", "forward_dynamics", "inline")
    for old, new in (
        ("<= 32768.0", "<= 65536.0"),
        ("status = arm_OUT_OF_RANGE", "status = arm_DIVISOR"),
    ):
        assert old in text
        assert compare(
            loops("scara", "forward_dynamics"), text.replace(old, new, 1), header, checked=True
        )


def compile_checked(folder: Path, recursion: LoopProgram, robot: str, trig: str) -> Any:
    folder.mkdir(exist_ok=True)
    target = checked_target(robot, trig)
    for name, text in (
        c99.headers({recursion.function: recursion}, target)
        | {"function.c": c99.source(recursion, target)}
    ).items():
        (folder / name).write_text(text)
    done = run(
        "gcc",
        "-std=c99",
        "-O2",
        "-ffp-contract=off",
        *WARNINGS,
        "-shared",
        "-fPIC",
        folder / "function.c",
        "-o",
        folder / "function.so",
        "-lm",
    )
    assert done.returncode == 0, done.stderr
    return getattr(ctypes.CDLL(str(folder / "function.so")), f"arm_{recursion.function}")


def call(
    function: Any, recursion: LoopProgram, state: dict[str, list[float]], less: int = 0
) -> tuple[str, dict[str, list[float]]]:
    """Return the status and the results; the caller's workspace is `less` numbers too short."""
    need = c99.work(recursion, True)
    arguments = [(ctypes.c_double * port.size)(*state[port.name]) for port in recursion.inputs]
    results = {
        port.name: (ctypes.c_double * port.size)(*[NEVER] * port.size) for port in recursion.outputs
    }
    work = (ctypes.c_double * need)(*[NEVER] * need)
    status = function(*arguments, *results.values(), work, need - less)
    if less:
        assert set(work) == {NEVER}
    return STATUSES[status], {name: list(values) for name, values in results.items()}


def state_of(recursion: LoopProgram) -> dict[str, list[float]]:
    generator = np.random.default_rng(5)
    state = {port.name: generator.uniform(-1, 1, port.size) for port in recursion.inputs}
    for name in ("q", "q_next"):
        for first in recursion.quaternions if name in state else ():
            state[name][first : first + 4] /= np.linalg.norm(state[name][first : first + 4])
    return {name: [float(x) for x in values] for name, values in state.items()}


@pytest.mark.parametrize(
    ("robot", "function", "trig"),
    [
        ("quadruped", "forward_dynamics", "libm"),
        ("ur5", "forward_dynamics", "inline"),
        ("ur5", "center_of_mass", "auto"),
        ("quadruped", "integrate", "libm"),
        ("scara", "mass_matrix_log_determinant", "inline"),
    ],
)
def test_a_refused_call_returns_the_reason_and_stores_nothing(
    tmp_path: Path, robot: str, function: str, trig: str
) -> None:
    recursion = loops(robot, function)
    function_in_c, state = (
        compile_checked(tmp_path / "c", recursion, robot, trig),
        state_of(recursion),
    )
    status, results = call(function_in_c, recursion, state)
    assert status == "OK"
    if trig == "libm":
        assert results == evaluate(recursion, state, DOUBLES)
    wrong: list[tuple[str, dict[str, list[float]], int]] = [("NO_WORK", state, 1)]
    for port in recursion.inputs:
        for x in (float("inf"), float("nan")):
            wrong.append(("NOT_FINITE", state | {port.name: [*state[port.name][:-1], x]}, 0))
    if recursion.quaternions:
        wrong.append(("NOT_UNIT", state | {"q": [x * 1.001 for x in state["q"]]}, 0))
    if trig == "inline":
        wrong.append(("OUT_OF_RANGE", state | {"q": [1e6, *state["q"][1:]]}, 0))
    for why, arguments, less in wrong:
        status, results = call(function_in_c, recursion, arguments, less)
        assert status == why
        assert {x for values in results.values() for x in values} == {NEVER}


@pytest.mark.firmware
@pytest.mark.parametrize(
    ("robot", "function", "trig"),
    [("quadruped", "forward_dynamics", "libm"), ("scara", "forward_dynamics", "inline")],
)
def test_misra_reports_rule_8_9_alone(tmp_path: Path, robot: str, function: str, trig: str) -> None:
    """Unchecked loops break rule 8.9 too; `test_looped_c` gives the reason."""
    recursion, target = loops(robot, function), checked_target(robot, trig)
    for name, text in (
        c99.headers({function: recursion}, target) | {"function.c": c99.source(recursion, target)}
    ).items():
        (tmp_path / name).write_text(text)
    assert misra(tmp_path / "function.c") == {"Rule 8.9"}


@pytest.mark.parametrize("link", [0, 5])
def test_a_zero_divisor_is_refused(tmp_path: Path, link: int) -> None:
    """All links from `link` on have zero mass and inertia."""
    recursion = loops("ur5", "forward_dynamics")
    tables = [
        tuple(Fraction(0) for _ in row) if i >= link else row
        for i, row in enumerate(recursion.constants)
    ]
    light = replace(recursion, constants=tuple(tables))
    status, results = call(
        compile_checked(tmp_path / "c", light, "ur5", "libm"), light, state_of(light)
    )
    assert (status, set(results["a"])) == ("DIVISOR", {NEVER})


def test_angles_are_checked_in_a_step_with_results_besides_sines() -> None:
    recursion = loops("ur5", "forward_dynamics")
    first = recursion.sweeps[0]
    more = Port("a", (1,), first.steps[0].outputs[0].rows[:1])
    odd = replace(first.steps[0], outputs=(*first.steps[0].outputs, more))
    late = replace(recursion, stages=(replace(first, steps=(odd,)), *recursion.sweeps[1:]))
    text = c99.source(late, checked_target("ur5", "inline"))
    assert compare(late, text, checked=True) == []
    assert compare(late, text.replace("<= 32768.0", "<= 32769.0", 1), checked=True)


def test_the_opening_comment_lists_a_step_of_angles_once() -> None:
    text, _ = print_c("ur5", "forward_dynamics", "inline")
    steps = re.findall(r"^ \*   (arm_forward_dynamics_\d), .*1 sin", text, re.MULTILINE)
    assert steps == ["arm_forward_dynamics_1"]


def test_a_checked_text_must_refuse_finite_math_only() -> None:
    text, header = print_c("ur5", "inverse_dynamics", "libm")
    longer, shorter = (
        preprocessor.refusal(checked).replace("NAME", "arm") for checked in (True, False)
    )
    plain = text.replace(longer, shorter)
    first, *_ = compare(loops("ur5", "inverse_dynamics"), plain, header, checked=True)
    assert first == "the text does not refuse -ffinite-math-only"


@pytest.mark.slow
def test_generate_writes_checked_loops_and_verify_reports_a_missing_check(tmp_path: Path) -> None:
    """The self-test passes under sanitizers and fails with a wrong status."""
    folder = tmp_path / "dog"
    symgen.generate(
        "quadruped",
        folder,
        ["mass_matrix_solve", "difference"],
        name="dog",
        form="looped",
        checked=True,
    )
    assert "dog_mass_matrix_solve(q, b, x, work, dog_WORK);" in (folder / "README.md").read_text()
    assert "`dog_NO_WORK` | 5 |" in (folder / "README.md").read_text()
    assert cli.main(["verify", str(folder), "--states", "2"]) == 0
    files = sorted(map(str, folder.glob("*.c")))
    words = [
        "gcc",
        "-std=c99",
        "-O1",
        "-ffp-contract=off",
        "-Ddog_SELFTEST",
        *WARNINGS,
        *ADDRESSES,
        *files,
        "-lm",
        "-o",
    ]
    assert run(*words, tmp_path / "st").returncode == 0
    assert run(tmp_path / "st").stdout.endswith("2 passed, 0 failed\n")
    file = folder / "dog_difference.c"
    file.write_text(file.read_text().replace("status = dog_NO_WORK", "status = dog_OK", 1))
    assert run(*words, tmp_path / "st").returncode == 0
    assert "difference: FAILED" in run(tmp_path / "st").stdout
    assert cli.main(["verify", str(folder), "--states", "2"]) == 1


def test_the_solver_raises_an_error_or_stores_the_status() -> None:
    arm = symgen.compile("ur5", ["forward_dynamics"], form="looped", checked=True)
    zero, bad = np.zeros(6), np.array([0, 0, np.nan, 0, 0, 0])
    with pytest.raises(StateError, match="infinite or not a number"):
        arm.forward_dynamics(bad, zero, zero)
    status = np.zeros(2, np.intc)
    accelerations = arm.forward_dynamics(np.stack([zero, bad]), zero, zero, status=status)
    assert status.tolist() == [0, 1]
    plain = symgen.compile("ur5", ["forward_dynamics"], form="looped")
    assert accelerations[0].tolist() == plain.forward_dynamics(zero, zero, zero).tolist()
