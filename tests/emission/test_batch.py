"""Functions for many states: each state has the bits of the function for one state.

Count of states, neighbours, layout and threads make no difference.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.emission import parts, printer
from symgen.ir.program import Program
from symgen.machine import batch, building, kernels
from symgen.machine.solver import Solver
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.readback.batches import BatchText, compare
from symgen.support.errors import ArgumentError, StateError
from symgen.verification.blocks import BlockFiles, Drawn, check_blocks
from symgen.verification.compiled import compiled_runners, print_sources
from symgen.verification.exact_results import ExactResults
from symgen.vocabulary.functions import BY_DEFAULT
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.target import Target
from tests.shared.c99 import WARNINGS
from tests.shared.robots_for_tests import random_mechanism

compile_now = partial(symgen.compile, blocks="now")
"""Compile functions for blocks of states in the first call that has many states."""
TEXT_OPTIONS = {
    "auto": TextOptions("auto", batch=True),
    "libm": TextOptions(batch=True),
    "inline": TextOptions("inline", batch=True),
    "checked": TextOptions("auto", checked=True, batch=True),
    "macro": TextOptions("macro", checked=True, batch=True),
    "inline, checked": TextOptions("inline", checked=True, batch=True),
}
MORE = ("forward_dynamics:jvp", "inverse_dynamics_derivatives", "step", "regressor", "integrate")
ARM, NAMES = "scara", ("forward_dynamics", "mass_matrix", "kinetic_energy", "forward_kinematics")


@cache
def mechanism_of(robot: str) -> Mechanism:
    """Load a robot; "turning" has quaternions; "pendulum" has one angle, with <math.h>'s sine."""
    if robot == "turning":
        return random_mechanism(2, joints=("spherical",))
    return (
        symgen.load("planar_arm", lock={"joint2": "pi/3"})
        if robot == "pendulum"
        else symgen.load(robot)
    )


@cache
def programs_of(robot: str, real: str) -> dict[str, Program]:
    """Programs of a robot: for the arm all default functions, for every robot `MORE`.

    Functions that depend on a payload have one.
    """
    mechanism = mechanism_of(robot)
    options = ProgramOptions(real, payload=mechanism.bodies[-1].name)
    requested = dict.fromkeys((*(BY_DEFAULT if robot == ARM else NAMES), *MORE))
    available = [
        name for name in requested if build.refusal(mechanism, name, options.payload) is None
    ]
    return build.programs(mechanism, available, options)


def target_of(robot: str, text: TextOptions) -> Target:
    return Target(robot, mechanism_of(robot).sizes, text)


def read_back(program: Program, files: Mapping[str, str], target: Target) -> list[str]:
    text = files[target.batch_file(program.function)]
    read = BatchText(text, files[target.lanes_file], files[target.batch_header])
    return compare(program, read, target.name, target.checked, {})


def arguments_from(truth: ExactResults) -> Drawn:
    return lambda form: truth.arguments(form.function, truth.floats)


def block_failures(
    robot: str,
    programs: Mapping[str, Program],
    text: TextOptions,
    files: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the failures that `verify`'s check of functions for many states reports."""
    target, mechanism = target_of(robot, text), mechanism_of(robot)
    truth = ExactResults(mechanism, 3, 1, payload=mechanism.bodies[-1].name)
    divisor_bounds: dict[str, dict[int, Fraction]] = {function: {} for function in programs}
    headers, printed = printer().headers(programs, target), printer().batches(programs, target)
    runners = compiled_runners(
        programs, print_sources(programs, target, divisor_bounds), headers, target
    )
    checks = check_blocks(
        programs, BlockFiles(files or printed, headers, target), arguments_from(truth), runners
    )
    return [f"{check.subject}: {check.detail}" for check in checks if not check.passed]


# -- the text --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", TEXT_OPTIONS)
@pytest.mark.parametrize(
    ("robot", "real"),
    [
        pytest.param("scara", "double", marks=pytest.mark.slow),
        pytest.param("turning", "float", marks=pytest.mark.slow),
        ("pendulum", "double"),
    ],
)
def test_each_lane_computes_the_program(robot: str, real: str, way: str) -> None:
    target, programs = target_of(robot, TEXT_OPTIONS[way]), programs_of(robot, real)
    files = printer().batches(programs, target)
    for function, program in programs.items():
        assert read_back(program, files, target) == [], function


@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot", "real", "way"),
    [
        ("turning", "double", "auto"),
        ("scara", "float", "checked"),
        ("pendulum", "double", "inline"),
        ("pendulum", "float", "libm"),
    ],
)
def test_many_states_have_the_bits_of_one(robot: str, real: str, way: str) -> None:
    programs = programs_of(robot, real)
    some = {name: programs[name] for name in (*NAMES, *MORE) if name in programs}
    assert block_failures(robot, some, TEXT_OPTIONS[way]) == []


@pytest.mark.slow
def test_a_long_function_is_split_into_parts_with_the_same_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each part is a loop of a few statements."""
    monkeypatch.setattr(parts, "LONGEST_OF_MANY", 50)
    monkeypatch.setattr(parts, "LINES_OF_MANY", 20)
    for way in ("auto", "inline, checked"):
        programs = {
            name: programs_of("scara", "double")[name]
            for name in ("forward_dynamics", "mass_matrix")
        }
        target = target_of("scara", TEXT_OPTIONS[way])
        files = printer().batches(programs, target)
        assert (
            files[target.batch_file("forward_dynamics")].count(
                "static void scara_forward_dynamics_lanes_"
            )
            > 1
        )
        for program in programs.values():
            assert read_back(program, files, target) == []
        assert block_failures("scara", programs, TEXT_OPTIONS[way]) == []


@pytest.mark.slow
@pytest.mark.parametrize("lines", [3, 5, 8])
def test_sines_may_be_read_in_several_loops(lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a block may end between the sines. Loops share one array of sines."""
    monkeypatch.setattr(parts, "LONGEST_OF_MANY", 50)
    monkeypatch.setattr(parts, "LINES_OF_MANY", lines)
    dynamics, target = (
        symgen.program("ur5", "forward_dynamics"),
        Target("ur5", symgen.load("ur5").sizes, TEXT_OPTIONS["auto"]),
    )
    files = printer().batches({dynamics.function: dynamics}, target)
    file = target.batch_file(dynamics.function)
    text = files[file]
    loops = text.split("for (lane = 0;")
    readers = [loop for loop in loops if "turn.cosine[" in loop]
    assert len(readers) > 1
    assert read_back(dynamics, files, target) == []
    cosine = re.search(r"turn\.cosine\[(\d+) \+ lane\]", readers[-1])
    assert cosine is not None
    wrong = readers[-1].replace(cosine[0], "turn.cosine[lane]")
    slipped = files | {file: text.replace(readers[-1], wrong)}
    assert read_back(dynamics, slipped, target) != []


@pytest.mark.slow
def test_long_functions_are_compiled_by_fewer_passes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Both CMake and Python's compilation do so; each part stays a separate C function.

    The bits remain those of the function for one state.
    """
    long, short = "forward_dynamics", "kinetic_energy"
    monkeypatch.setattr(parts, "LONGEST_OF_MANY", 50)
    monkeypatch.setattr(parts, "LINES_OF_MANY", 10)
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path))
    commands: list[list[str]] = []
    run = building._run
    monkeypatch.setattr(
        building, "_run", lambda command, folder: commands.append(command) or run(command, folder)
    )
    solver = compile_now("scara", [long, short])
    solver.prepare(long)
    solver.prepare(short)
    q, v, tau = (random_array(20, 4, seed=k) for k in range(3))
    np.testing.assert_array_equal(
        solver.forward_dynamics(q, v, tau), single_state_results(solver, q, v, tau)
    )
    fewer = [
        next(word for word in command if word.endswith(".c"))
        for command in commands
        if {*building.BLOCK_FLAGS} <= {*command}
    ]
    assert fewer == [f"scara_{long}_batch.c"]

    out = tmp_path / "scara"
    symgen.generate("scara", out, [long, short], batch=True)
    properties = (
        f"set_source_files_properties({fewer[0]} PROPERTIES\n"
        f'    COMPILE_OPTIONS "{";".join(building.BLOCK_FLAGS)}")'
    )
    assert properties in (out / "CMakeLists.txt").read_text()
    subprocess.run(
        ["gcc", "-std=c99", "-O2", "-Dscara_NO_CLONES", "-c", fewer[0], "-o", tmp_path / "o"],
        cwd=out,
        check=True,
    )
    symbols = subprocess.run(
        ["nm", tmp_path / "o"], capture_output=True, text=True, check=True
    ).stdout
    assert (
        symbols.count(f" t scara_{long}_lanes_")
        == (out / fewer[0]).read_text().count(f"static void scara_{long}_lanes_")
        > 1
    )


SLIPS = {
    "another sine": ("turn.sine[lane]", "turn.cosine[lane]", ""),
    "another angle": ("= q[1][lane];", "= q[0][lane];", ""),
    "another sign": (" + ", " - ", "const double"),
    "another element": ("v[0][lane]", "v[1][lane]", ""),
    "another result": ("a[2][lane] = ", "a[1][lane] = ", ""),
    "a shorter loop": ("lane < 8; ++lane", "lane < 7; ++lane", ""),
    "another block": ("q_block, v_block", "v_block, q_block", ""),
    "another step": ("&q[first*q_state]", "&q[first]", ""),
    "a tail that is too long": ("< 8) ?", "< 4) ?", ""),
    "a macro": ("#include <math.h>", "#include <math.h>\n#define lane 0", ""),
    "another lane": ("v[0][lane]", "v[0][0]", ""),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_an_error_in_the_text_is_reported(slip: str) -> None:
    old, new, where = SLIPS[slip]
    program, text = programs_of("scara", "double")["forward_dynamics"], TEXT_OPTIONS["auto"]
    target = target_of("scara", text)
    files = printer().batches({"forward_dynamics": program}, target)
    name = target.batch_file("forward_dynamics")
    at = files[name].index(old, files[name].index(where) if where else 0)
    changed = files | {name: files[name][:at] + new + files[name][at + len(old) :]}
    assert block_failures("scara", {"forward_dynamics": program}, text, changed)


@pytest.mark.slow
def test_bits_that_differ_from_the_single_state_function_are_reported() -> None:
    """The text is printed correctly from another Program, one of whose constants is changed.

    Only its bits differ from those of the function for one state.
    """
    program = programs_of("scara", "double")["forward_dynamics"]
    at = next(
        i for i, row in enumerate(program.rows) if row.op == "const" and row.value not in (0, 1)
    )
    rows = tuple(
        row._replace(value=row.value + Fraction(1, 2**40)) if i == at else row
        for i, row in enumerate(program.rows)
    )
    changed = program.with_rows(rows, program.outputs)
    target = target_of("scara", TEXT_OPTIONS["auto"])
    headers, batches = (
        printer().headers({"forward_dynamics": changed}, target),
        printer().batches({"forward_dynamics": changed}, target),
    )
    truth = ExactResults(mechanism_of("scara"), 3, 1, payload=mechanism_of("scara").bodies[-1].name)
    single = print_sources({"forward_dynamics": program}, target, {"forward_dynamics": {}})
    runners = compiled_runners({"forward_dynamics": program}, single, headers, target)
    checks = check_blocks(
        {"forward_dynamics": changed},
        BlockFiles(batches, headers, target),
        arguments_from(truth),
        runners,
    )
    assert [
        "differs in bits from the function of one state" in check.detail for check in checks
    ] == [True]


def test_a_text_without_a_block_function_is_refused_with_the_functions_name() -> None:
    program, target = (
        programs_of("scara", "double")["forward_dynamics"],
        target_of("scara", TEXT_OPTIONS["auto"]),
    )
    files = printer().batches({"forward_dynamics": program}, target)
    file = target.batch_file("forward_dynamics")
    slipped = files | {file: files[file].replace("_block(", "_blocks(")}
    assert read_back(program, slipped, target) == [
        "there is no function scara_forward_dynamics_block"
    ]


# -- the folder ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_folder_with_functions_for_many_states_verifies_and_runs_clean(tmp_path: Path) -> None:
    """The compiler gives no warning and the self-test passes under sanitizers.

    `verify` reports an error planted in a header.
    """
    out = tmp_path / "scara"
    symgen.generate("scara", out, NAMES, batch=True, checked=True, wrap=["cpp17"])
    assert symgen.verify(out).passed
    sources = [path.name for path in sorted(out.glob("*.c"))]
    assert {f"scara_{name}_batch.c" for name in NAMES} < set(sources)
    words = [
        "gcc",
        "-std=c99",
        "-O1",
        "-ffp-contract=off",
        *WARNINGS,
        "-fsanitize=address,undefined",
        "-Dscara_SELFTEST",
    ]
    subprocess.run([*words, *sources, "-o", str(tmp_path / "selftest"), "-lm"], cwd=out, check=True)
    done = subprocess.run([tmp_path / "selftest"], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("4 passed, 0 failed\n")
    unrun = symgen.verify(out, ["mass_matrix"], compiled=False)
    assert [check.verdict for check in unrun.of("blocks")] == ["not judged"]
    assert "bit for bit" not in str(unrun)
    header = out / "scara_lanes.h"
    header.write_text(header.read_text().replace("to[k][lane] = own[k]", "to[k][lane] = own[0]"))
    report = symgen.verify(out, ["mass_matrix"])
    (check,) = report.of("blocks")
    assert check.verdict == "failed"
    assert "does not hold all arguments of one state" in check.detail
    with pytest.raises(ArgumentError, match="leave out --batch, or --target"):
        symgen.generate("scara", tmp_path / "m4", NAMES, batch=True, target="cortex-m4f")


LOADS = {
    "adjacent states take the path of strided states": (
        "(lanes == 8) && (state == 1)",
        "(lanes == 8) && (state != 1)",
    ),
    "one lane of adjacent states": ("to[k][lane] = own[lane]", "to[k][lane] = own[0]"),
    "no lane": (
        "lane < 8; ++lane) {\n                to",
        "lane >= 8; ++lane) {\n                to",
    ),
    "the last state of a partial block": (
        "(lane < lanes) ? lane : (lanes - 1)",
        "(lane < 1) ? lane : (lanes - 1)",
    ),
    "the step of the states": (": (lanes - 1))*state]", ": (lanes - 1))]"),
    "the step of the elements": ("to[k][lane] = own[k*element]", "to[k][lane] = own[k]"),
}
"""Errors in the code that reads states into the lanes."""
STORES = {
    "a partial block": (
        "lanes; ++lane) {\n            double *own",
        "8; ++lane) {\n            double *own",
    ),
    "elements across": ("own[k*element] = from[k][lane]", "own[k] = from[k][lane]"),
    "one lane more": (
        "lane < 8; ++lane) {\n                own",
        "lane < 9; ++lane) {\n                own",
    ),
    "states across": ("own[lane] = from[k][lane]", "own[lane] = from[k][0]"),
}
REFUSED = {
    "a refused state is stored": (
        "if (status[lane] == 0) {",
        "if (status[lane] == status[lane]) {",
    ),
    "no state is stored": ("if (status[lane] == 0) {", "if (status[0] == 0) {"),
    "refused states are counted down": ("++refused;", "--refused;"),
    "the status of another lane": ("status[lane] = found[lane]", "status[lane] = found[0]"),
    "no status": ("status != 0", "status == 0"),
}
FOLDERS: dict[str, tuple[dict[str, Any], dict[str, tuple[str, str]]]] = {
    "unrolled": ({}, LOADS | STORES),
    "looped and checked": ({"form": "looped", "checked": True}, REFUSED),
}


class SelfTest:
    """Self-test of a folder with one function for many states, rebuilt with each planted error."""

    def __init__(self, out: Path, function: str, **options: Any) -> None:
        symgen.generate("planar_arm", out, [function], batch=True, **options)
        self.out, self.blocks = out, f"planar_arm_{function}_batch"
        self._run(
            "gcc",
            "-c",
            "-Dplanar_arm_SELFTEST",
            f"planar_arm_{function}.c",
            "planar_arm_selftest.c",
        )

    def _run(self, compiler: str, *words: str) -> None:
        subprocess.run(
            [compiler, "-std=c99", "-ffp-contract=off", "-Dplanar_arm_NO_CLONES", *words],
            cwd=self.out,
            check=True,
        )

    def passes(self) -> bool:
        self._run("gcc", "-c", f"{self.blocks}.c")
        self._run("gcc", *(path.name for path in self.out.glob("*.o")), "-o", "selftest", "-lm")
        done = subprocess.run(
            [self.out / "selftest"], capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode == 0

    def passes_with(self, file: str, old: str, new: str) -> bool:
        original = (self.out / file).read_text()
        assert old in original, old
        (self.out / file).write_text(original.replace(old, new, 1))
        passed = self.passes()
        (self.out / file).write_text(original)
        return passed


@pytest.mark.slow
@pytest.mark.parametrize("kind", FOLDERS)
def test_the_self_test_reports_planted_errors_in_blocks(tmp_path: Path, kind: str) -> None:
    """It covers full and partial blocks, both layouts, and refused states.

    `python -m tests.mutants_of_blocks` plants every error.
    """
    options, slips = FOLDERS[kind]
    test = SelfTest(tmp_path, "inverse_dynamics", **options)
    assert test.passes()
    assert [
        what
        for what, (old, new) in slips.items()
        if test.passes_with("planar_arm_lanes.h", old, new)
    ] == []
    driver = {
        "q_state, q_element, 2": "v_state, q_element, 2",
        "tau_element);": "tau_state);",
        "first) < 8)": "first) < 7)",
        "(count - first) : 8": "(count - first) : 9",
    }
    assert [
        old for old, new in driver.items() if test.passes_with(f"{test.blocks}.c", old, new)
    ] == []


@pytest.mark.slow
def test_the_self_test_compares_states_of_a_free_base(tmp_path: Path) -> None:
    """The quaternions keep unit length, which checked functions verify."""
    out = tmp_path / "quadruped"
    symgen.generate("quadruped", out, ["gravity_force", "difference"], batch=True, checked=True)
    sources = [path.name for path in sorted(out.glob("*.c"))]
    words = [
        "gcc",
        "-std=c99",
        "-ffp-contract=off",
        *WARNINGS,
        "-Dquadruped_NO_CLONES",
        "-Dquadruped_SELFTEST",
        *sources,
    ]
    for more in ([], ["-Dquadruped_CONTRACTED"]):
        subprocess.run([*words, *more, "-o", "selftest", "-lm"], cwd=out, check=True)
        done = subprocess.run([out / "selftest"], capture_output=True, text=True, check=False)
        assert done.stdout.endswith("2 passed, 0 failed\n"), done.stdout


# -- in Python -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solver() -> Solver:
    return compile_now(ARM, ["forward_dynamics", "mass_matrix", "kinetic_energy"])


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use functions for blocks from two states on."""
    monkeypatch.setattr(kernels, "ROWS_BEFORE_BLOCKS", 0)


def random_array(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def single_state_results(solver: Solver, *arrays: Any) -> Any:
    return np.array([solver.forward_dynamics(*state) for state in zip(*arrays, strict=True)])


@pytest.mark.usefixtures("blocks")
def test_any_count_slice_and_thread_gives_the_same_bits(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    q, v, tau = (random_array(100, 4, seed=k) for k in range(3))
    expected = single_state_results(solver, q, v, tau)
    for count in (0, 1, 7, 8, 9, 16, 31, 100):
        np.testing.assert_array_equal(
            solver.forward_dynamics(q[:count], v[:count], tau[:count]), expected[:count]
        )
    monkeypatch.setattr(kernels, "FIRST_SHARE", 1)
    monkeypatch.setattr(batch, "SHARE", 1e-9)
    reports: list[tuple[int, int]] = []
    for threads in (1, 2, 5):
        accelerations = solver.forward_dynamics(
            q, v, tau, threads=threads, progress=lambda *so_far: reports.append(so_far)
        )
        np.testing.assert_array_equal(accelerations, expected)
        assert reports[-1] == (100, 100)


@pytest.mark.usefixtures("blocks")
def test_strided_and_overlapping_arrays_give_the_same_bits(solver: Solver) -> None:
    q, v, tau = (random_array(12, 3, 4, seed=k) for k in range(3))
    expected = solver.forward_dynamics(q, v, tau)
    np.testing.assert_array_equal(
        expected[5, 2], solver.forward_dynamics(q[5, 2], v[5, 2], tau[5, 2])
    )
    swapped = solver.forward_dynamics(*(np.asfortranarray(x) for x in (q, v, tau)))
    np.testing.assert_array_equal(swapped, expected)
    np.testing.assert_array_equal(
        solver.forward_dynamics(q[::-2], v[::-2], tau[::-2]), expected[::-2]
    )
    np.testing.assert_array_equal(
        solver.forward_dynamics(q[:, :1], v[0, 0], tau[:, 1])[3, 3],  # (12, 1) beside (12)
        solver.forward_dynamics(q[3, 0], v[0, 0], tau[3, 1]),
    )
    across = [np.ascontiguousarray(np.moveaxis(x, -1, 0)) for x in (q, v, tau)]
    accelerations = solver.forward_dynamics(*across, layout="soa")
    assert accelerations.shape == (4, 12, 3)
    np.testing.assert_array_equal(np.moveaxis(accelerations, 0, -1), expected)
    masses, energies = (
        solver.mass_matrix(across[0], layout="soa"),
        solver.kinetic_energy(across[0], across[1], layout="soa"),
    )
    assert masses.shape == (4, 4, 12, 3)
    assert energies.shape == (12, 3)
    np.testing.assert_array_equal(masses[1, 2, 7, 1], solver.mass_matrix(q[7, 1])[1, 2])
    out = np.empty((4, 12, 3))
    assert solver.forward_dynamics(*across, out=out, layout="soa") is out
    np.testing.assert_array_equal(out, accelerations)
    out[...] = across[2]
    over = solver.forward_dynamics(*across[:2], out, out=out, layout="soa")  # state by state
    np.testing.assert_array_equal(over, accelerations)
    memory = np.empty(12 * 3 * 4 + 8)
    memory[8:] = tau.ravel()
    ahead, behind = memory[:-8].reshape(12, 3, 4), memory[8:].reshape(12, 3, 4)
    np.testing.assert_array_equal(solver.forward_dynamics(q, v, behind, out=ahead), expected)


class OnlyDlpack:
    """An array whose only interface is DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **words: Any) -> Any:
        return self.array.__dlpack__(**words)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.usefixtures("blocks")
def test_dlpack_arrays_and_memoryviews_are_accepted(solver: Solver) -> None:
    q = random_array(20, 4)
    np.testing.assert_array_equal(solver.mass_matrix(OnlyDlpack(q)), solver.mass_matrix(q))
    np.testing.assert_array_equal(solver.mass_matrix(memoryview(q)), solver.mass_matrix(q))


@pytest.mark.usefixtures("blocks")
def test_each_state_has_its_own_status() -> None:
    solver = compile_now(ARM, ["forward_dynamics"], checked=True)
    plain = compile_now(ARM, ["forward_dynamics"])
    q, v, tau = (random_array(21, 4, seed=k) for k in range(3))
    expected = plain.forward_dynamics(q, v, tau)
    q[[3, 20]], v[5] = np.nan, 1e200
    out, status = np.full((21, 4), 7.0), np.full(21, 9, np.intc)
    with pytest.raises(
        StateError, match="at state 3 and 2 more: an argument is infinite or not a number"
    ):
        solver.forward_dynamics(q, v, tau)
    solver.forward_dynamics(q, v, tau, out=out, status=status, threads=2)
    assert {k: int(status[k]) for k in np.flatnonzero(status)} == {
        3: 1,
        5: 6,
        20: 1,
    }  # the velocity of state 5 overflows
    assert (out[[3, 5, 20]] == 7.0).all()
    np.testing.assert_array_equal(np.delete(out, [3, 5, 20], 0), np.delete(expected, [3, 5, 20], 0))
    single_status = np.full((), 9, np.intc)
    solver.forward_dynamics(q[0], v[0], tau[0], status=single_status)
    assert single_status == 0
    with pytest.raises(
        ArgumentError,
        match=r"the statuses go into a contiguous, writable int32 array of shape \(21,\)",
    ):
        solver.forward_dynamics(q, v, tau, status=np.zeros(20, np.intc))


def test_a_function_for_blocks_is_compiled_only_after_enough_states(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The states of all calls count; compiling pays from `kernels.ROWS_BEFORE_BLOCKS` operations
    on.
    """
    kernel = compile_now(ARM, ["mass_matrix"])._kernels["mass_matrix"]
    called: list[int] = []
    library = kernel._many
    monkeypatch.setattr(kernel, "_many", lambda: called.append(1) or (library and library()))
    for _ in range(2):
        kernel.long_road((random_array(20, 4),), None)
    assert not called
    monkeypatch.setattr(kernels, "ROWS_BEFORE_BLOCKS", 50 * kernel.program.length)
    kernel.long_road((random_array(20, 4),), None)
    assert called == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "threads is 0; it must be the number of parallel threads, 1 or more"),
        ({"threads": 1.5}, "threads is 1.5"),
        ({"layout": "aso"}, "did you mean 'soa'|'aos'"),
        ({"layout": "soa"}, r"q has shape \(5, 4\); layout 'soa' needs \(4, \.\.\.\)"),
    ],
)
def test_invalid_options_are_refused_with_the_reason(
    solver: Solver, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(symgen.SymgenError, match=message):
        solver.forward_dynamics(
            random_array(5, 4), random_array(5, 4), random_array(5, 4), **options
        )


def test_an_exception_in_one_thread_ends_the_others() -> None:
    done: list[int] = []

    def run(begin: int, end: int) -> None:
        if begin == 16:
            raise MemoryError
        done.append(begin)

    with pytest.raises(MemoryError):
        batch.in_slices(run, 10**9, 16, 2)
    assert len(done) < 10**6


def test_slices_shrink_so_that_threads_end_together() -> None:
    """No slice exceeds half of a thread's share of the remaining states; slices cover all states.

    States that fit one slice run in the calling thread.
    """
    slices: list[tuple[int, int]] = []
    workers: set[int] = set()

    def run(begin: int, end: int) -> None:
        slices.append((begin, end))
        workers.add(get_ident())

    states, threads, first = 10**6, 4, 16
    batch.in_slices(run, states, first, threads)
    slices.sort()
    assert [begin for begin, _ in slices] == [0, *(end for _, end in slices[:-1])]
    assert slices[-1][1] == states
    assert all(
        end - begin <= max(first, (states - begin) / (2 * threads)) + batch.BLOCK
        for begin, end in slices
    )
    workers.clear()
    batch.in_slices(run, 31, first, threads)
    assert workers == {get_ident()}


@pytest.mark.parametrize(
    "options",
    [{"native": True, "optimize": 3}, {"real": "float", "trig": "inline"}, {"optimize": 0}],
)
def test_bits_do_not_depend_on_compiler_options(options: dict[str, Any]) -> None:
    """One state has the bits of many states as long as the compiler does not contract a*b + c."""
    solver = compile_now(ARM, ["forward_dynamics"], **options)
    solver.prepare("forward_dynamics")
    q, v, tau = (random_array(19, 4, seed=k) for k in range(3))
    np.testing.assert_array_equal(
        solver.forward_dynamics(q, v, tau), single_state_results(solver, q, v, tau)
    )


def test_contracted_bits_do_not_depend_on_the_number_of_states() -> None:
    """With contraction too, one text computes a block of one state and a block of many."""
    fused = compile_now(ARM, ["forward_dynamics"], contract=True, native=True)
    q, v, tau = (random_array(19, 4, seed=k) for k in range(3))
    whole = fused.forward_dynamics(q, v, tau)
    for k in (0, 8, 18):
        np.testing.assert_array_equal(
            fused.forward_dynamics(q[k : k + 1], v[k : k + 1], tau[k : k + 1])[0], whole[k]
        )


@pytest.mark.slow
def test_a_second_process_reuses_the_library_of_the_first(tmp_path: Path) -> None:
    """The second process derives nothing and compiles nothing: it opens the compiled blocks."""
    code = (
        "import sys, numpy as np, symgen\n"
        f"s = symgen.compile('{ARM}', ['mass_matrix'], blocks='now')\n"
        "import symgen.machine.kernels as k; k.ROWS_BEFORE_BLOCKS = 0\n"
        "print(s.mass_matrix(np.ones((40, 4)))[39, 0, 0],"
        " 'symgen.pipeline.derive' in sys.modules)\n"
    )
    environment = {"SYMGEN_CACHE": str(tmp_path), "PATH": "/usr/bin:/bin"}
    words = [sys.executable, "-c", code]
    first, second = (
        subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert first.split()[0] == second.split()[0]
    assert second.split()[1] == "False"
