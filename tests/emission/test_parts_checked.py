"""Checked chains in parts, for one state and many: refused calls return the reason.

Accepted states have the bits of the evaluation.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.emission.backends import c99
from symgen.ir.loops import LoopProgram, evaluate
from symgen.machine import kernels
from symgen.readback.required_checks import STATUSES
from tests.segments import aimed
from tests.shared.c_programs import DOUBLES
from tests.shared.constraint_force_scan import levels as force_levels
from tests.shared.planar_scan import levels
from tests.shared.planar_segments import chain_in_parts
from tests.shared.riccati_segments import chain_in_parts as riccati_parts

FORMS = {
    "fixman:segments": lambda: chain_in_parts("masses", 16),
    "fixman:parallel": lambda: levels("masses", 16),
    "riccati:segments": lambda: riccati_parts(33, 8),
    "constraint_force:parallel": lambda: force_levels("chain", 8),
}
"""Cases: two groups of segments, segments of two lengths, and padding after the chain's end."""
NEVER = 77.0
"""Value of the results before a call."""
STATES = 11
"""Number of states: one full block and one partial block."""


@cache
def form_of(method: str) -> LoopProgram:
    return FORMS[method]()


def build_library(folder: Path, form: LoopProgram, trig: str, *flags: str) -> ctypes.CDLL:
    """Compile the functions for one state and for many."""
    target = aimed(form, trig)
    target = replace(target, text=replace(target.text, checked=True, batch=True))
    folder.mkdir(exist_ok=True)
    for name, text in c99.texts({form.function: form}, target).items():
        (folder / name).write_text(text)
    sources = sorted(map(str, folder.glob("*.c")))
    words = ["gcc", "-std=c99", "-O0", "-ffp-contract=off", "-Wall", "-Wextra", "-pedantic"]
    words += ["-Werror", "-Darm_NO_CLONES", "-shared", "-fPIC", *flags, *sources]
    library = folder / "functions.so"
    subprocess.run([*words, "-o", library, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def state_of(form: LoopProgram, seed: int = 5) -> dict[str, list[float]]:
    generator = np.random.default_rng(seed)
    return {
        port.name: [float(x) for x in generator.uniform(-1, 1, port.size)] for port in form.inputs
    }


def call_single(
    library: ctypes.CDLL, form: LoopProgram, state: dict[str, list[float]], less: int = 0
) -> tuple[str, list[float]]:
    """Return one state's status and results; the caller's workspace is `less` numbers too short."""
    need, n = c99.work(form, True), len(form)
    arguments = [(ctypes.c_double * n)(*state[port.name]) for port in form.inputs]
    result, work = (ctypes.c_double * n)(*[NEVER] * n), (ctypes.c_double * (need - less))()
    function = getattr(library, f"arm_{form.function}")
    status = function(*arguments, result, work, need - less)
    return STATUSES[status], list(result)


def call_many(
    library: ctypes.CDLL, form: LoopProgram, states: Sequence[dict[str, list[float]]], less: int = 0
) -> tuple[int, list[str], np.ndarray[Any, Any]]:
    """Return the number of refused states, all statuses, and the results.

    Arguments have one row per element.
    """
    count, n = len(states), len(form)
    driver = c99.driver(form, replace(aimed(form, "libm")))
    size = driver["needs"] - less
    arrays = [
        np.ascontiguousarray(np.array([state[port.name] for state in states]).T)
        for port in form.inputs
    ]
    result, work = np.full((count, n), NEVER), np.zeros(size)
    status = np.full(count, -1, dtype=np.intc)
    words: list[Any] = [ctypes.c_ssize_t(count)]
    for array, steps in [*((a, (1, count)) for a in arrays), (result, (n, 1))]:
        words += [array.ctypes.data_as(ctypes.c_void_p), *map(ctypes.c_ssize_t, steps)]
    words += [work.ctypes.data_as(ctypes.c_void_p), size, status.ctypes.data_as(ctypes.c_void_p)]
    function = getattr(library, f"arm_{form.function}_strided")
    function.restype = ctypes.c_ssize_t
    return function(*words), [STATUSES[k] for k in status], result


@pytest.mark.parametrize(
    ("method", "trig"),
    [
        ("fixman:segments", "libm"),
        ("fixman:segments", "inline"),
        ("fixman:parallel", "inline"),
        ("riccati:segments", "libm"),
        ("constraint_force:parallel", "libm"),
    ],
)
def test_each_state_has_a_status_and_the_bits_of_one_state(
    tmp_path: Path, method: str, trig: str
) -> None:
    form = form_of(method)
    library, name = build_library(tmp_path / "c", form, trig), form.outputs[0].name
    states = [state_of(form, k) for k in range(STATES)]
    if trig == "libm":
        assert call_single(library, form, states[0]) == (
            "OK",
            evaluate(form, states[0], DOUBLES)[name],
        )
    last = form.inputs[-1].name
    wrong = {2: ("NOT_FINITE", {"q": [*states[2]["q"][:-1], float("inf")]})}
    wrong |= {5: ("NOT_FINITE", {last: [float("nan"), *states[5][last][1:]]})}
    wrong |= {9: ("RESULT_NOT_FINITE", {last: [1.7e308 * (-1) ** k for k in range(len(form))]})}
    if trig == "inline":
        for at, link in ((3, 0), (10, len(form) - 1)):
            q = [*states[at]["q"]]
            q[link] = 1e6
            wrong |= {at: ("OUT_OF_RANGE", {"q": q})}
    for at, (_, spoilt) in wrong.items():
        states[at] |= spoilt
    refused, statuses, results = call_many(library, form, states)
    assert refused == len(wrong)
    for at, state in enumerate(states):
        status, single_results = call_single(library, form, state)
        assert status == statuses[at] == wrong.get(at, ("OK",))[0]
        assert list(results[at]) == single_results
        assert (status == "OK") == (NEVER not in single_results)
    assert call_single(library, form, states[0], 1) == ("NO_WORK", [NEVER] * len(form))
    refused, statuses, results = call_many(library, form, states, 1)
    assert (refused, set(statuses)) == (STATES, {"NO_WORK"})
    assert (results == NEVER).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fixman:segments", "fixman:parallel"])
def test_a_zero_divisor_in_a_part_is_refused(tmp_path: Path, method: str) -> None:
    """Massless links: all, the outer half, or a few in the middle."""
    form = form_of(method)
    n = len(form)
    for first, last in ((0, n + 1), (n // 2, n + 1), (n // 2 - 2, n // 2 + 3)):
        rows = enumerate(form.constants)
        constants = tuple(
            tuple(Fraction(0) for _ in row) if first <= i < last else row for i, row in rows
        )
        light = replace(form, constants=constants)
        library = build_library(tmp_path / f"{first}_{last}", light, "libm")
        assert call_single(library, light, state_of(light)) == ("DIVISOR", [NEVER] * n)
        refused, statuses, results = call_many(library, light, [state_of(light)] * 3)
        assert (refused, set(statuses)) == (3, {"DIVISOR"})
        assert (results == NEVER).all()


@pytest.mark.slow
def test_generate_writes_checked_chains_and_verify_reports_a_missing_check(tmp_path: Path) -> None:
    folder = tmp_path / "arm"
    functions = ["mass_matrix_solve=fixman:segments"]
    symgen.generate("planar_point_mass:33", folder, functions, name="arm", checked=True, batch=True)
    assert symgen.verify(folder, states=2).passed
    words = ["gcc", "-std=c99", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    words += ["-Darm_SELFTEST", "-Darm_NO_CLONES", *map(str, folder.glob("*.c"))]
    subprocess.run([*words, "-o", tmp_path / "selftest", "-lm"], check=True)
    done = subprocess.run([tmp_path / "selftest"], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("1 passed, 0 failed\n")
    text = folder / "arm_mass_matrix_solve_batch.c"
    text.write_text(text.read_text().replace("arm_DIVISOR : status[lane]", "arm_DIVISOR : 0", 1))
    assert [check.passed for check in symgen.verify(folder, states=2).of("blocks")] == [False]


def test_solvers_compute_blocks_with_the_bits_of_one_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "ROWS_BEFORE_BLOCKS", 0)
    functions = ["mass_matrix_solve=fixman:segments"]
    solver = symgen.compile("planar_point_mass:33", functions, blocks="now")
    generator = np.random.default_rng(1)
    q, b = (generator.normal(size=(STATES, 33)) for _ in range(2))
    expected = np.array([solver.mass_matrix_solve(*state) for state in zip(q, b, strict=True)])
    np.testing.assert_array_equal(solver.mass_matrix_solve(q, b), expected)
    across = solver.mass_matrix_solve(q.T.copy(), b.T.copy(), layout="soa")
    np.testing.assert_array_equal(across.T, expected)
