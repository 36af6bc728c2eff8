"""Loops over links for many states: each state has the bits of the function for one state.

Read-back reports each error planted in the text.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.emission import looped_lanes, printer
from symgen.ir.loops import SAVED, Form, LoopProgram
from symgen.ir.program import Program
from symgen.machine import kernels
from symgen.machine.solver import Solver
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.loops import recursion
from symgen.readback.batches import BatchText, compare
from symgen.support.errors import StateError
from symgen.verification.blocks import BlockFiles, check_blocks
from symgen.verification.compiled import compiled_runners, print_sources
from symgen.verification.exact_results import ExactResults
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.target import Target
from tests.shared.c99 import WARNINGS
from tests.shared.recursions import TOYS, sizes
from tests.shared.robots_for_tests import random_mechanism

compile_now = partial(symgen.compile, blocks="now")
"""Compile functions for blocks of states in the first call that has many states."""
METHODS = {
    "forward_dynamics": "riccati",
    "mass_matrix_solve": "riccati",
    "inverse_dynamics": "newton_euler",
    "mass_matrix_log_determinant_gradient": "riccati",
    "mass_matrix_log_determinant": "riccati",
    "link_poses": "kinematics",
    "interbody_forces": "riccati",
    "center_of_mass": "composite_body",
    "centroidal_momentum": "newton_euler",
    "integrate": "kinematics",
    "difference": "kinematics",
}
TEXT_OPTIONS = {
    "auto": TextOptions("auto", batch=True),
    "libm": TextOptions("libm", checked=True, batch=True),
    "inline": TextOptions("inline", checked=True, batch=True),
    "auto, checked": TextOptions("auto", checked=True, batch=True),
}
CHAIN = "ur5"


@cache
def load_robot(robot: str) -> Mechanism:
    return (
        random_mechanism(3, 3, joints=("spherical", "planar"))
        if robot == "planes"
        else symgen.load(robot)
    )


@cache
def loops(robot: str, function: str, real: str = "double") -> LoopProgram:
    return recursion(load_robot(robot), function, METHODS[function]).in_real(real)


def block_failures(
    robot: str,
    functions: tuple[str, ...],
    text: TextOptions,
    slip: tuple[str, str] | None = None,
    real: str = "double",
    more: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return failures that `verify` reports for functions of many states.

    `slip` (old, new) changes the text of the first function; `more` replaces arguments.
    """
    mechanism = load_robot(robot)
    target, forms = (
        Target("arm", mechanism.sizes, text),
        {function: loops(robot, function, real) for function in functions},
    )
    truth = ExactResults(mechanism, 3, 1)
    headers, printed = printer().headers(forms, target), printer().batches(forms, target)
    runners = compiled_runners(
        forms, print_sources(forms, target, {function: {} for function in forms}), headers, target
    )
    files = dict(printed)
    if slip:
        name = target.batch_file(functions[0])
        assert slip[0] in printed[name]
        files[name] = printed[name].replace(*slip, 1)

    def arguments(form: Form) -> dict[str, Any]:
        return truth.arguments(form.function, truth.floats) | dict(more or {})

    checks = check_blocks(forms, BlockFiles(files, headers, target), arguments, runners)
    return [f"{check.subject}: {check.detail}" for check in checks if not check.passed]


FEW = ("mass_matrix_log_determinant", "link_poses", "integrate")
"""Functions that differ in what sweeps read, in results of links, and in final carries."""


@pytest.mark.parametrize(
    ("robot", "functions", "way", "real"),
    [
        pytest.param(
            CHAIN,
            ("forward_dynamics", "center_of_mass", "difference", *FEW),
            "auto",
            "double",
            marks=pytest.mark.slow,
        ),
        pytest.param(CHAIN, FEW, "libm", "float", marks=pytest.mark.slow),
        pytest.param("quadruped", FEW, "inline", "double", marks=pytest.mark.slow),
        pytest.param(
            "quadruped",
            ("mass_matrix_solve", "integrate"),
            "auto, checked",
            "double",
            marks=pytest.mark.slow,
        ),
        ("scara", ("mass_matrix_solve",), "auto", "float"),
        pytest.param(
            "planes", ("integrate", "link_poses"), "auto, checked", "float", marks=pytest.mark.slow
        ),
    ],
)
def test_many_states_have_the_bits_of_one(
    robot: str, functions: tuple[str, ...], way: str, real: str
) -> None:
    """A chain, a tree on a floating base, and link classes with different numbers of sines."""
    assert block_failures(robot, functions, TEXT_OPTIONS[way], real=real) == []


@pytest.mark.slow
def test_each_angle_takes_the_sine_that_one_state_takes() -> None:
    """The rotation of a floating base has one angle, whose sine is libm's in one state."""
    states = ExactResults(symgen.load("quadruped"), 21, 1).floats
    more = {name: states[name] for name in ("q", "v")} | {"dt": np.linspace(1, 4, 21)}
    for way in ("auto", "auto, checked"):
        assert block_failures("quadruped", ("integrate",), TEXT_OPTIONS[way], more=more) == []


@pytest.mark.slow
@pytest.mark.parametrize("toy", TOYS)
def test_toys_of_carries_and_joins_have_the_bits_of_one_state(toy: str) -> None:
    """Products over children, results of an inner link, link classes of different widths."""
    form = TOYS[toy]()
    target, generator = Target("arm", sizes(form), TEXT_OPTIONS["libm"]), np.random.default_rng(5)
    arguments = {port.name: generator.uniform(-2, 2, (5, port.size)) for port in form.inputs}
    forms = {form.function: form}
    headers, batches = printer().headers(forms, target), printer().batches(forms, target)
    runners = compiled_runners(
        forms, print_sources(forms, target, {form.function: {}}), headers, target
    )
    assert [
        check.detail
        for check in check_blocks(
            forms, BlockFiles(batches, headers, target), lambda _: arguments, runners
        )
    ] == [""]


@pytest.mark.slow
@pytest.mark.parametrize("robot", [CHAIN, "quadruped"])
def test_no_step_saves_a_value_where_it_reads_one(robot: str) -> None:
    """In C the two `restrict` arrays must not overlap."""
    for function in METHODS:
        form = loops(robot, function)
        for sweep in form.sweeps:
            for step, first in zip(sweep.steps, sweep.saved_at, strict=True):
                size = next((port.size for port in step.outputs if port.name == SAVED), 0)
                assert not saved_values_read(step) & {*range(first, first + size)}, function


def saved_values_read(step: Program) -> set[int]:
    """Return the indices of its link's saved values that a step reads."""
    saved_ports = [index for index, port in enumerate(step.inputs) if port.name == SAVED]
    return {row.value[1] for row in step.rows if row.op == "input" and row.value[0] in saved_ports}


SLIPS = {
    "another sign": ("] + (", "] - ("),
    "another element": ("carry[0][lane]", "carry[1][lane]"),
    "another constant": ("table[3]", "table[4]"),
    "another table": ("table[6][13] = {\n    {1.0", "table[6][13] = {\n    {2.0"),
    "another offset in the workspace": ("&work[17*i]", "&work[16*i]"),
    "another start": ("carry[3][lane] = 0.0", "carry[3][lane] = 1.0"),
    "another joint of the first link": ("_2_base(&v[0]", "_2_base(&v[1]"),
    "one link fewer": ("i <= 5; ++i", "i <= 4; ++i"),
    "a reversed sweep": ("i = 5; i >= 1; --i", "i = 1; i <= 5; ++i"),
    "another carry buffer": ("next_carry = carry;", "next_carry = written;"),
    "the previous carry buffer": ("carry = written;", "carry = next_carry;"),
    "another step": ("&q[first*q_state]", "&q[first]"),
    "another array": ("(*)[8])&work[816]", "(*)[8])&work[815]"),
    "a shorter loop": ("lane < 8; ++lane", "lane < 7; ++lane"),
    "a macro": ("#include <math.h>", "#include <math.h>\n#define lane 0"),
    "a table for each lane": (
        "const double table[restrict 13]",
        "const double table[restrict 13][8]",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_an_error_in_the_text_is_reported(slip: str) -> None:
    old, new = SLIPS[slip]
    assert block_failures(CHAIN, ("forward_dynamics",), TEXT_OPTIONS["auto"], (old, new))


# -- the folder ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_folder_with_functions_for_many_states_verifies_and_runs_clean(tmp_path: Path) -> None:
    """The compiler gives no warning and the self-test passes under sanitizers."""
    out = tmp_path / "quadruped"
    symgen.generate(
        "quadruped",
        out,
        ["mass_matrix_solve", "center_of_mass"],
        batch=True,
        checked=True,
        form="looped",
    )
    report = symgen.verify(out)
    assert report.passed
    assert len(report.of("blocks")) == 2
    assert symgen.verify(
        out, functions=["center_of_mass"], states=1
    ).passed  # the other function needs a larger array
    assert "bit for bit" in str(report)
    sources = [path.name for path in sorted(out.glob("*.c"))]
    words = [
        "gcc",
        "-std=c99",
        "-O1",
        "-ffp-contract=off",
        *WARNINGS,
        "-Dquadruped_NO_CLONES",
        "-fsanitize=address,undefined",
        "-Dquadruped_SELFTEST",
    ]
    subprocess.run([*words, *sources, "-o", str(tmp_path / "selftest"), "-lm"], cwd=out, check=True)
    done = subprocess.run([tmp_path / "selftest"], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("2 passed, 0 failed\n")
    assert "quadruped_BATCH_WORK" in (out / "README.md").read_text()
    header = out / "quadruped_batch.h"
    header.write_text(re.sub(r"(BATCH_WORK) \d+", r"\1 100", header.read_text()))
    assert not symgen.verify(out, functions=["center_of_mass"], states=1).passed


@pytest.mark.slow
def test_verify_reports_a_missing_link_of_a_long_chain(tmp_path: Path) -> None:
    out = tmp_path / "long"
    symgen.generate("planar_point_mass:130", out, ["inverse_dynamics"], batch=True, form="looped")
    assert symgen.verify(out).passed
    text = out / "planar_point_mass_inverse_dynamics_batch.c"
    text.write_text(text.read_text().replace("i <= 129", "i <= 128", 1))
    assert [check.passed for check in symgen.verify(out).of("blocks")] == [False]


# -- in Python -------------------------------------------------------------------------------------


def random_arrays(count: int, solver: Solver) -> list[Any]:
    return [np.random.default_rng(k).normal(size=(count, solver.nv)) for k in range(3)]


def test_solvers_compute_blocks_with_the_bits_of_one_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "ROWS_BEFORE_BLOCKS", 0)
    solver = compile_now(CHAIN, ["forward_dynamics"], form="looped")
    q, v, tau = random_arrays(21, solver)
    expected = np.array([solver.forward_dynamics(*state) for state in zip(q, v, tau, strict=True)])
    for threads in (1, 3):
        np.testing.assert_array_equal(solver.forward_dynamics(q, v, tau, threads=threads), expected)
    across = solver.forward_dynamics(q.T.copy(), v.T.copy(), tau.T.copy(), layout="soa")
    np.testing.assert_array_equal(across.T, expected)


def test_each_state_has_its_own_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "ROWS_BEFORE_BLOCKS", 0)
    solver = compile_now(CHAIN, ["forward_dynamics"], form="looped", checked=True, trig="inline")
    q, v, tau = random_arrays(21, solver)
    expected = solver.forward_dynamics(q, v, tau)
    q[3, 2], q[7, 5], v[11, 0] = np.nan, 1e9, 1e200
    out, status = np.full(q.shape, 7.0), np.full(21, 9, np.intc)
    with pytest.raises(
        StateError, match="at state 3 and 2 more: an argument is infinite or not a number"
    ):
        solver.forward_dynamics(q, v, tau)
    solver.forward_dynamics(q, v, tau, out=out, status=status)
    assert {k: int(status[k]) for k in np.flatnonzero(status)} == {3: 1, 7: 2, 11: 6}
    assert (out[[3, 7, 11]] == 7.0).all()
    accepted = np.flatnonzero(status == 0)
    np.testing.assert_array_equal(out[accepted], expected[accepted])


CALLER = """\
#include <stdio.h>
#include "ur5_batch.h"
#include "ur5.h"
int main(void)
{
    static double q[11*6], v[11*6], tau[11*6], a[11*6] = { 5.0 }, work[ur5_BATCH_WORK];
    int status[11];
    int refused = ur5_forward_dynamics_batch(11, q, v, tau, a, work, ur5_BATCH_WORK - 1, status);
    printf("%d %d %d %g;", refused, status[0], status[10] == ur5_NO_WORK, a[0]);
    printf("%d", ur5_forward_dynamics_batch(11, q, v, tau, a, work, ur5_BATCH_WORK - 1, 0));
    printf(" %d %d", ur5_forward_dynamics_batch(-1, q, v, tau, a, work, 0, status),
           ur5_forward_dynamics_batch(11, q, v, tau, a, work, ur5_BATCH_WORK, status));
    return 0;
}
"""


@pytest.mark.slow
def test_too_small_a_workspace_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "ur5"
    symgen.generate("ur5", out, ["forward_dynamics"], batch=True, checked=True, form="looped")
    (out / "caller.c").write_text(CALLER)
    words = ["gcc", "-std=c99", "-O1", "-fsanitize=address,undefined", "-Dur5_NO_CLONES"]
    subprocess.run(
        [*words, "caller.c", "ur5_forward_dynamics_batch.c", "-o", "caller", "-lm"],
        cwd=out,
        check=True,
    )
    done = subprocess.run([out / "caller"], capture_output=True, text=True, check=True)
    no_work = int((out / "ur5.h").read_text().split("ur5_NO_WORK")[1].split()[0])
    assert done.stdout == f"11 {no_work} 1 5;11 0 0"


@pytest.mark.parametrize("toy", [name for name in TOYS if TOYS[name]().columns])
def test_the_stated_stack_holds_the_arrays_of_a_block_and_its_largest_step(toy: str) -> None:
    """Carries and the columns of a joint are local arrays of the function that calls the steps."""
    form = TOYS[toy]()
    target = Target("arm", sizes(form), TEXT_OPTIONS["libm"])
    facts = looped_lanes.function(form, target)
    text = printer().batches({form.function: form}, target)[target.batch_file(form.function)]
    block = text[text.index("_block(") :]
    carries = re.findall(r"double carry_\d+\[2\]\[(\d+)\]\[(\d+)\]", block)
    columns = re.findall(r"double column\[(\d+)\]\[(\d+)\]", block)
    assert carries
    assert columns
    numbers = sum(2 * int(count) * int(lanes) for count, lanes in carries)
    numbers += max(int(count) * int(lanes) for count, lanes in columns)
    assert facts["stack"] >= 8 * numbers + max(step["bytes"] for step in facts["steps"])


@pytest.mark.parametrize("robot", [CHAIN, "scara"])
def test_an_error_in_any_step_is_read_back(robot: str) -> None:
    """The error is planted in each step of every link class."""
    form, target = (
        loops(robot, "inverse_dynamics"),
        Target("arm", symgen.load(robot).sizes, TEXT_OPTIONS["auto"]),
    )
    files = printer().batches({"inverse_dynamics": form}, target)
    text = files[target.batch_file("inverse_dynamics")]
    headers = files[target.lanes_file], files[target.batch_header]
    assert compare(form, BatchText(text, *headers), "arm", False, {}) == []
    steps = [
        match.start()
        for match in re.finditer(r"static void arm_inverse_dynamics_lanes_\w+\(", text)
    ]
    assert len(steps) >= 2 * len(form.link_classes)
    for begin in steps:
        store = re.compile(r"\b(?!work\b)(\w+)\[\d+\]\[lane\] = ").search(text, begin)
        assert store is not None
        slipped = f"{text[: store.end()]}2.0*{text[store.end() :]}"
        failures = compare(form, BatchText(slipped, *headers), "arm", False, {})
        assert failures, text[begin : begin + 60]


UNWRITTEN = {
    "on the stack": ("_batch.c", "next_carry[9][lane] = seen_33", "next_carry[8][lane] = seen_33"),
    "in the array of many states": (
        "_batch.c",
        "new_saved[0][lane] = 1.0;",
        "if (table[0] > 1.0) { new_saved[0][lane] = 1.0; }",
    ),
    "in the array of one state": (
        ".c",
        "new_saved[0] = 1.0;",
        "if (table[0] > 1.0) { new_saved[0] = 1.0; }",
    ),
}
"""File, correct text and error: another link or sweep reads a value that was never stored."""


@pytest.mark.slow
@pytest.mark.parametrize("checked", [False, True])
def test_the_self_test_reports_a_read_of_a_value_that_was_never_stored(
    tmp_path: Path, checked: bool
) -> None:
    out = tmp_path / "arm"
    symgen.generate(
        "planar_arm", out, ["forward_dynamics"], batch=True, checked=checked, form="looped"
    )

    def passes() -> bool:
        words = ["gcc", "-std=c99", "-O0", "-ffp-contract=off", "-w", "-Dplanar_arm_SELFTEST"]
        words += ["-Dplanar_arm_NO_CLONES", *map(str, out.glob("*.c"))]
        subprocess.run([*words, "-o", str(tmp_path / "selftest"), "-lm"], check=True)
        return subprocess.run([tmp_path / "selftest"], stdout=subprocess.DEVNULL).returncode == 0

    assert passes()
    for file, sound, error in UNWRITTEN.values():
        source = out / f"planar_arm_forward_dynamics{file}"
        text = source.read_text()
        assert sound in text
        source.write_text(text.replace(sound, error, 1))
        assert not passes()
        source.write_text(text)
