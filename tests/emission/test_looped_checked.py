"""Checked loops over links: what they refuse they say, and store nothing; the text is read back with each slip reported."""

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
from symgen.pipeline.loops import recursion
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
"""What stands in results before a call."""


@cache
def loops(robot: str, function: str) -> LoopProgram:
    return recursion(symgen.load(robot), function, METHODS[function])


def aimed(robot: str, trig: str) -> c99.Target:
    return c99.Target("arm", symgen.load(robot).sizes, TextOptions(trig, checked=True))


def printed(robot: str, function: str, trig: str) -> tuple[str, str]:
    """The text, and that of its header."""
    one, target = loops(robot, function), aimed(robot, trig)
    return c99.source(one, target), c99.headers({function: one}, target)["arm.h"]


@pytest.mark.parametrize("trig", ["libm", "auto", "inline"])
@pytest.mark.parametrize("robot", ROBOTS)
def test_what_is_compared_is_what_is_owed(robot: str, trig: str) -> None:
    for function in METHODS:
        text, header = printed(robot, function, trig)
        assert compare(loops(robot, function), text, header, checked=True) == []
        assert compare(loops(robot, function), text, header) != []


SLIPS = {
    "a smaller array": ("if (size < 617)", "if (size < 616)"),
    "a larger one": ("if (size < 617)", "if (size > 617)"),
    "no room": ("if (size < 617) {\n        status = arm_NO_WORK;\n    } else {", "{"),
    "another status": ("status = arm_NOT_FINITE", "status = arm_NOT_UNIT"),
    "an argument left out": ("none + (0.0*tau[i])", "none"),
    "an element left out": (
        "i <= 18; ++i) {\n            none",
        "i <= 17; ++i) {\n            none",
    ),
    "another zero": ("none >= 0.0", "none >= -1.0"),
    "a quaternion": ("(q[6]*q[6])", "(q[5]*q[6])"),
    "a longer one": ("- 1.0) <= 9.5", "- 1.0) <= 1.5"),
    "a divisor": ("fabs(guard[0]) >= 2.2", "fabs(guard[0]) >= 1.2"),
    "its sign": ("(fabs(guard[0]) >= ", "(guard[0] >= "),
    "another divisor": ("(fabs(guard[4]) >=", "(fabs(guard[3]) >="),
    "the rest": ("status = arm_DIVISOR", "status = arm_OK"),
    "on it goes": ("(status == arm_OK) && (i >= 0)", "i >= 0"),
    "stored all the same": ("(status == arm_OK) && (i <= 17)", "i <= 17"),
    "stored at once": ("&work[arm_forward_dynamics_v[i] + 599]", "&a[arm_forward_dynamics_v[i]]"),
    "not stored": ("a[i] = work[599 + i];", ""),
    "all is well": ("return status;", "return arm_OK;"),
    "a place behind the end": ("(size < 617) ? work : ", ""),
    "so it may be": ("(size < 617) ? work", "(size < 78) ? work"),
    "an infinite divisor": (" && ((0.0*guard[0]) >= 0.0)", ""),
    "a result left out": ("none + (0.0*work[599 + i])", "none"),
    "another result": ("none + (0.0*work[599 + i])", "none + (0.0*work[599])"),
    "results of another status": ("status = arm_RESULT_NOT_FINITE", "status = arm_OK"),
    "begins otherwise": ("int status = arm_OK", "int status = arm_DIVISOR"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_seen(slip: str) -> None:
    text, header = printed("quadruped", "forward_dynamics", "libm")
    old, new = SLIPS[slip]
    assert old in text
    assert compare(
        loops("quadruped", "forward_dynamics"), text.replace(old, new, 1), header, checked=True
    )


def test_an_angle_may_be_too_large_for_the_sine() -> None:
    text, header = printed("scara", "forward_dynamics", "inline")
    for old, new in (
        ("<= 32768.0", "<= 65536.0"),
        ("status = arm_OUT_OF_RANGE", "status = arm_DIVISOR"),
    ):
        assert old in text
        assert compare(
            loops("scara", "forward_dynamics"), text.replace(old, new, 1), header, checked=True
        )


def built(folder: Path, one: LoopProgram, robot: str, trig: str) -> Any:
    folder.mkdir(exist_ok=True)
    target = aimed(robot, trig)
    for name, text in (
        c99.headers({one.function: one}, target) | {"function.c": c99.source(one, target)}
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
    return getattr(ctypes.CDLL(str(folder / "function.so")), f"arm_{one.function}")


def call(
    function: Any, one: LoopProgram, given: dict[str, list[float]], less: int = 0
) -> tuple[str, dict[str, list[float]]]:
    """The status and the results; the caller's array has `less` numbers too few, and ends where it is said to end."""
    need = c99.work(one, True)
    arguments = [(ctypes.c_double * port.size)(*given[port.name]) for port in one.inputs]
    results = {
        port.name: (ctypes.c_double * port.size)(*[NEVER] * port.size) for port in one.outputs
    }
    work = (ctypes.c_double * need)(*[NEVER] * need)
    status = function(*arguments, *results.values(), work, need - less)
    if less:
        assert set(work) == {NEVER}
    return STATUSES[status], {name: list(values) for name, values in results.items()}


def state_of(one: LoopProgram) -> dict[str, list[float]]:
    pick = np.random.default_rng(5)
    found = {port.name: pick.uniform(-1, 1, port.size) for port in one.inputs}
    for name in ("q", "q_next"):
        for first in one.quaternions if name in found else ():
            found[name][first : first + 4] /= np.linalg.norm(found[name][first : first + 4])
    return {name: [float(x) for x in values] for name, values in found.items()}


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
def test_it_says_why_and_stores_nothing(
    tmp_path: Path, robot: str, function: str, trig: str
) -> None:
    one = loops(robot, function)
    found, state = built(tmp_path / "c", one, robot, trig), state_of(one)
    status, results = call(found, one, state)
    assert status == "OK"
    if trig == "libm":
        assert results == evaluate(one, state, DOUBLES)
    wrong: list[tuple[str, dict[str, list[float]], int]] = [("NO_WORK", state, 1)]
    for port in one.inputs:
        for x in (float("inf"), float("nan")):
            wrong.append(("NOT_FINITE", state | {port.name: [*state[port.name][:-1], x]}, 0))
    if one.quaternions:
        wrong.append(("NOT_UNIT", state | {"q": [x * 1.001 for x in state["q"]]}, 0))
    if trig == "inline":
        wrong.append(("OUT_OF_RANGE", state | {"q": [1e6, *state["q"][1:]]}, 0))
    for why, given, less in wrong:
        status, results = call(found, one, given, less)
        assert status == why
        assert {x for values in results.values() for x in values} == {NEVER}


@pytest.mark.firmware
@pytest.mark.parametrize(
    ("robot", "function", "trig"),
    [("quadruped", "forward_dynamics", "libm"), ("scara", "forward_dynamics", "inline")],
)
def test_one_rule_of_misra_is_broken(tmp_path: Path, robot: str, function: str, trig: str) -> None:
    """8.9, as of loops that are not checked."""
    one, target = loops(robot, function), aimed(robot, trig)
    for name, text in (
        c99.headers({function: one}, target) | {"function.c": c99.source(one, target)}
    ).items():
        (tmp_path / name).write_text(text)
    assert misra(tmp_path / "function.c") == {"Rule 8.9"}


@pytest.mark.parametrize("link", [0, 5])
def test_a_divisor_that_vanishes_is_refused(tmp_path: Path, link: int) -> None:
    """Of a link that weighs nothing, the first one and the last."""
    one = loops("ur5", "forward_dynamics")
    tables = [
        tuple(Fraction(0) for _ in row) if i >= link else row for i, row in enumerate(one.constants)
    ]
    light = replace(one, constants=tuple(tables))
    status, results = call(built(tmp_path / "c", light, "ur5", "libm"), light, state_of(light))
    assert (status, set(results["a"])) == ("DIVISOR", {NEVER})


def test_a_step_that_does_more_than_take_sines_gives_its_angles() -> None:
    one = loops("ur5", "forward_dynamics")
    first = one.sweeps[0]
    more = Port("a", (1,), first.steps[0].outputs[0].rows[:1])
    odd = replace(first.steps[0], outputs=(*first.steps[0].outputs, more))
    late = replace(one, stages=(replace(first, steps=(odd,)), *one.sweeps[1:]))
    text = c99.source(late, aimed("ur5", "inline"))
    assert compare(late, text, checked=True) == []
    assert compare(late, text.replace("<= 32768.0", "<= 32769.0", 1), checked=True)


def test_a_step_of_an_angle_stands_in_the_head_once() -> None:
    text, _ = printed("ur5", "forward_dynamics", "inline")
    steps = re.findall(r"^ \*   (arm_forward_dynamics_\d), .*1 sin", text, re.MULTILINE)
    assert steps == ["arm_forward_dynamics_1"]


def test_a_text_must_refuse_compilers_that_know_no_infinity() -> None:
    text, header = printed("ur5", "inverse_dynamics", "libm")
    longer, shorter = (
        preprocessor.refusal(checked).replace("NAME", "arm") for checked in (True, False)
    )
    plain = text.replace(longer, shorter)
    first, *_ = compare(loops("ur5", "inverse_dynamics"), plain, header, checked=True)
    assert first == "the text does not refuse -ffinite-math-only"


def test_generate_gives_it_and_verify_judges_it(tmp_path: Path) -> None:
    """And the self-test, with sanitizers; one that forgets what it owes fails."""
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


def test_the_solver_raises_or_tells() -> None:
    arm = symgen.compile("ur5", ["forward_dynamics"], form="looped", checked=True)
    zero, bad = np.zeros(6), np.array([0, 0, np.nan, 0, 0, 0])
    with pytest.raises(StateError, match="infinite or not a number"):
        arm.forward_dynamics(bad, zero, zero)
    status = np.zeros(2, np.intc)
    found = arm.forward_dynamics(np.stack([zero, bad]), zero, zero, status=status)
    assert status.tolist() == [0, 1]
    plain = symgen.compile("ur5", ["forward_dynamics"], form="looped")
    assert found[0].tolist() == plain.forward_dynamics(zero, zero, zero).tolist()
