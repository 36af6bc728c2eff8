"""Functions for many states: the bits of one state alone, whatever the count, the neighbours, the layout and the threads."""

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
from symgen.verification.truth import Truth
from symgen.vocabulary.functions import BY_DEFAULT
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.target import Target
from tests.shared.c99 import WARNINGS
from tests.shared.robots_for_tests import random_mechanism

compile_now = partial(symgen.compile, blocks="now")
"""Blocks of states are compiled in the call that makes them worth it."""
WAYS = {
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
    """ "turning" has quaternions; "pendulum" turns by one angle, whose sine is <math.h>'s."""
    if robot == "turning":
        return random_mechanism(2, joints=("spherical",))
    return (
        symgen.load("planar_arm", lock={"joint2": "pi/3"})
        if robot == "pendulum"
        else symgen.load(robot)
    )


@cache
def programs_of(robot: str, real: str) -> dict[str, Program]:
    """All that is made by default of an arm, and some that are made on request, with a payload where they feel one."""
    mechanism = mechanism_of(robot)
    options = ProgramOptions(real, payload=mechanism.bodies[-1].name)
    asked = dict.fromkeys((*(BY_DEFAULT if robot == ARM else NAMES), *MORE))
    wanted = [name for name in asked if build.refusal(mechanism, name, options.payload) is None]
    return build.programs(mechanism, wanted, options)


def target_of(robot: str, text: TextOptions) -> Target:
    return Target(robot, mechanism_of(robot).sizes, text)


def read_back(program: Program, files: Mapping[str, str], target: Target) -> list[str]:
    text = files[target.batch_file(program.function)]
    read = BatchText(text, files[target.lanes], files[target.batch])
    return compare(program, read, target.name, target.checked, {})


def drawn_from(truth: Truth) -> Drawn:
    return lambda form: truth.arguments(form.function, truth.floats)


def checked_blocks(
    robot: str,
    programs: Mapping[str, Program],
    text: TextOptions,
    given: Mapping[str, str] | None = None,
) -> list[str]:
    """What the check of `verify` finds wrong."""
    target, mechanism = target_of(robot, text), mechanism_of(robot)
    truth = Truth(mechanism, 3, 1, payload=mechanism.bodies[-1].name)
    floors: dict[str, dict[int, Fraction]] = {function: {} for function in programs}
    headers, own = printer().headers(programs, target), printer().batches(programs, target)
    runners = compiled_runners(programs, print_sources(programs, target, floors), headers, target)
    found = check_blocks(
        programs, BlockFiles(given or own, headers, target), drawn_from(truth), runners
    )
    return [f"{check.subject}: {check.detail}" for check in found if not check.passed]


# -- the text ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("robot", "real"), [("scara", "double"), ("turning", "float"), ("pendulum", "double")]
)
def test_a_lane_is_the_program(robot: str, real: str, way: str) -> None:
    target, programs = target_of(robot, WAYS[way]), programs_of(robot, real)
    files = printer().batches(programs, target)
    for function, program in programs.items():
        assert read_back(program, files, target) == [], function


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
    assert checked_blocks(robot, some, WAYS[way]) == []


def test_long_functions_go_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few statements a part, in loops of their own."""
    monkeypatch.setattr(parts, "LONGEST_OF_MANY", 50)
    monkeypatch.setattr(parts, "LINES_OF_MANY", 20)
    for way in ("auto", "inline, checked"):
        programs = {
            name: programs_of("scara", "double")[name]
            for name in ("forward_dynamics", "mass_matrix")
        }
        target = target_of("scara", WAYS[way])
        files = printer().batches(programs, target)
        assert (
            files[target.batch_file("forward_dynamics")].count(
                "static void scara_forward_dynamics_lanes_"
            )
            > 1
        )
        for program in programs.values():
            assert read_back(program, files, target) == []
        assert checked_blocks("scara", programs, WAYS[way]) == []


@pytest.mark.parametrize("lines", [3, 5, 8])
def test_sines_may_be_read_in_several_loops(lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part ends between the sines of a block where these are many; each loop reads the same array of them."""
    monkeypatch.setattr(parts, "LONGEST_OF_MANY", 50)
    monkeypatch.setattr(parts, "LINES_OF_MANY", lines)
    made, target = (
        symgen.program("ur5", "forward_dynamics"),
        Target("ur5", symgen.load("ur5").sizes, WAYS["auto"]),
    )
    files = printer().batches({made.function: made}, target)
    file = target.batch_file(made.function)
    text = files[file]
    loops = text.split("for (lane = 0;")
    readers = [loop for loop in loops if "turn.cosine[" in loop]
    assert len(readers) > 1
    assert read_back(made, files, target) == []
    place = re.search(r"turn\.cosine\[(\d+) \+ lane\]", readers[-1])
    assert place is not None
    wrong = readers[-1].replace(place[0], "turn.cosine[lane]")
    slipped = files | {file: text.replace(readers[-1], wrong)}
    assert read_back(made, slipped, target) != []


def test_long_functions_are_compiled_by_fewer_passes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In the folder and for Python, with the bits of one state alone; each part stays a function of its own."""
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
    q, v, tau = (drawn(20, 4, seed=k) for k in range(3))
    np.testing.assert_array_equal(solver.forward_dynamics(q, v, tau), one_by_one(solver, q, v, tau))
    fewer = [
        next(word for word in command if word.endswith(".c"))
        for command in commands
        if {*building.FEWER} <= {*command}
    ]
    assert fewer == [f"scara_{long}_batch.c"]

    out = tmp_path / "scara"
    symgen.generate("scara", out, [long, short], batch=True)
    said = f'set_source_files_properties({fewer[0]} PROPERTIES\n    COMPILE_OPTIONS "{";".join(building.FEWER)}")'
    assert said in (out / "CMakeLists.txt").read_text()
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
    "a lane that is not its own": ("v[0][lane]", "v[0][0]", ""),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_the_text_is_seen(slip: str) -> None:
    old, new, where = SLIPS[slip]
    program, text = programs_of("scara", "double")["forward_dynamics"], WAYS["auto"]
    target = target_of("scara", text)
    files = printer().batches({"forward_dynamics": program}, target)
    name = target.batch_file("forward_dynamics")
    at = files[name].index(old, files[name].index(where) if where else 0)
    given = files | {name: files[name][:at] + new + files[name][at + len(old) :]}
    assert checked_blocks("scara", {"forward_dynamics": program}, text, given)


def test_other_bits_are_seen() -> None:
    """A text that is what symgen prints, of another Program: the rows agree with it, the bits do not with the function."""
    program = programs_of("scara", "double")["forward_dynamics"]
    at = next(
        i for i, row in enumerate(program.rows) if row.op == "const" and row.value not in (0, 1)
    )
    rows = tuple(
        row._replace(value=row.value + Fraction(1, 2**40)) if i == at else row
        for i, row in enumerate(program.rows)
    )
    other = program.with_rows(rows, program.outputs)
    target = target_of("scara", WAYS["auto"])
    headers, own = (
        printer().headers({"forward_dynamics": other}, target),
        printer().batches({"forward_dynamics": other}, target),
    )
    truth = Truth(mechanism_of("scara"), 3, 1, payload=mechanism_of("scara").bodies[-1].name)
    single = print_sources({"forward_dynamics": program}, target, {"forward_dynamics": {}})
    runners = compiled_runners({"forward_dynamics": program}, single, headers, target)
    found = check_blocks(
        {"forward_dynamics": other},
        BlockFiles(own, headers, target),
        drawn_from(truth),
        runners,
    )
    assert [
        "differs in bits from the function of one state" in check.detail for check in found
    ] == [True]


def test_a_text_without_a_block_is_refused_in_a_sentence() -> None:
    program, target = (
        programs_of("scara", "double")["forward_dynamics"],
        target_of("scara", WAYS["auto"]),
    )
    files = printer().batches({"forward_dynamics": program}, target)
    file = target.batch_file("forward_dynamics")
    slipped = files | {file: files[file].replace("_block(", "_blocks(")}
    assert read_back(program, slipped, target) == [
        "there is no function scara_forward_dynamics_block"
    ]


# -- the folder -------------------------------------------------------------------------------------------------------------


def test_a_folder_of_many_states(tmp_path: Path) -> None:
    """Generated, verified with a slip in a header, warned of nothing by the compiler, and its self-test run under sanitizers."""
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
    "states across are no states across": (
        "(lanes == 8) && (state == 1)",
        "(lanes == 8) && (state != 1)",
    ),
    "lanes of states across": ("to[k][lane] = own[lane]", "to[k][lane] = own[0]"),
    "no lane": (
        "lane < 8; ++lane) {\n                to",
        "lane >= 8; ++lane) {\n                to",
    ),
    "the last state of a part of a block": (
        "(lane < lanes) ? lane : (lanes - 1)",
        "(lane < 1) ? lane : (lanes - 1)",
    ),
    "the step of the states": (": (lanes - 1))*state]", ": (lanes - 1))]"),
    "the step of the elements": ("to[k][lane] = own[k*element]", "to[k][lane] = own[k]"),
}
"""Errors in what reads states into the lanes."""
STORES = {
    "a part of a block": (
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
    "they are counted": ("++refused;", "--refused;"),
    "the status of another lane": ("status[lane] = found[lane]", "status[lane] = found[0]"),
    "no status": ("status != 0", "status == 0"),
}
FOLDERS: dict[str, tuple[dict[str, Any], dict[str, tuple[str, str]]]] = {
    "unrolled": ({}, LOADS | STORES),
    "looped and checked": ({"form": "looped", "checked": True}, REFUSED),
}


class SelfTest:
    """The self-test of a folder with one function for many states, built again with each error that is planted."""

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
        kept = (self.out / file).read_text()
        assert old in kept, old
        (self.out / file).write_text(kept.replace(old, new, 1))
        passed = self.passes()
        (self.out / file).write_text(kept)
        return passed


@pytest.mark.parametrize("kind", FOLDERS)
def test_the_self_test_sees_slips_in_blocks(tmp_path: Path, kind: str) -> None:
    """Whole blocks, parts of one, both layouts, refused states (`python -m tests.mutants_of_blocks` plants every error)."""
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


def test_the_self_test_compares_states_of_a_free_base(tmp_path: Path) -> None:
    """Their quaternions keep their length, which checked functions look at."""
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


# -- in Python --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solver() -> Solver:
    return compile_now(ARM, ["forward_dynamics", "mass_matrix", "kinetic_energy"])


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first of several states on."""
    monkeypatch.setattr(kernels, "FEW", 0)


def drawn(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def one_by_one(solver: Solver, *arrays: Any) -> Any:
    return np.array([solver.forward_dynamics(*state) for state in zip(*arrays, strict=True)])


@pytest.mark.usefixtures("blocks")
def test_any_count_slice_and_thread_gives_the_same_bits(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    q, v, tau = (drawn(100, 4, seed=k) for k in range(3))
    wanted = one_by_one(solver, q, v, tau)
    for count in (0, 1, 7, 8, 9, 16, 31, 100):
        np.testing.assert_array_equal(
            solver.forward_dynamics(q[:count], v[:count], tau[:count]), wanted[:count]
        )
    monkeypatch.setattr(kernels, "FIRST_SHARE", 1)
    monkeypatch.setattr(batch, "SHARE", 1e-9)
    told: list[tuple[int, int]] = []
    for threads in (1, 2, 5):
        found = solver.forward_dynamics(
            q, v, tau, threads=threads, progress=lambda *so_far: told.append(so_far)
        )
        np.testing.assert_array_equal(found, wanted)
        assert told[-1] == (100, 100)


@pytest.mark.usefixtures("blocks")
def test_states_are_read_where_they_stand(solver: Solver) -> None:
    q, v, tau = (drawn(12, 3, 4, seed=k) for k in range(3))
    wanted = solver.forward_dynamics(q, v, tau)
    np.testing.assert_array_equal(
        wanted[5, 2], solver.forward_dynamics(q[5, 2], v[5, 2], tau[5, 2])
    )
    swapped = solver.forward_dynamics(*(np.asfortranarray(x) for x in (q, v, tau)))
    np.testing.assert_array_equal(swapped, wanted)
    np.testing.assert_array_equal(
        solver.forward_dynamics(q[::-2], v[::-2], tau[::-2]), wanted[::-2]
    )
    np.testing.assert_array_equal(
        solver.forward_dynamics(q[:, :1], v[0, 0], tau[:, 1])[3, 3],  # (12, 1) beside (12)
        solver.forward_dynamics(q[3, 0], v[0, 0], tau[3, 1]),
    )
    across = [np.ascontiguousarray(np.moveaxis(x, -1, 0)) for x in (q, v, tau)]
    found = solver.forward_dynamics(*across, layout="soa")
    assert found.shape == (4, 12, 3)
    np.testing.assert_array_equal(np.moveaxis(found, 0, -1), wanted)
    masses, energies = (
        solver.mass_matrix(across[0], layout="soa"),
        solver.kinetic_energy(across[0], across[1], layout="soa"),
    )
    assert masses.shape == (4, 4, 12, 3)
    assert energies.shape == (12, 3)
    np.testing.assert_array_equal(masses[1, 2, 7, 1], solver.mass_matrix(q[7, 1])[1, 2])
    out = np.empty((4, 12, 3))
    assert solver.forward_dynamics(*across, out=out, layout="soa") is out
    np.testing.assert_array_equal(out, found)
    out[...] = across[2]
    over = solver.forward_dynamics(*across[:2], out, out=out, layout="soa")  # state by state
    np.testing.assert_array_equal(over, found)
    memory = np.empty(12 * 3 * 4 + 8)
    memory[8:] = tau.ravel()
    ahead, behind = memory[:-8].reshape(12, 3, 4), memory[8:].reshape(12, 3, 4)
    np.testing.assert_array_equal(solver.forward_dynamics(q, v, behind, out=ahead), wanted)


class OnlyDlpack:
    """An array that knows nothing but DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **words: Any) -> Any:
        return self.array.__dlpack__(**words)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.usefixtures("blocks")
def test_arrays_of_others(solver: Solver) -> None:
    q = drawn(20, 4)
    np.testing.assert_array_equal(solver.mass_matrix(OnlyDlpack(q)), solver.mass_matrix(q))
    np.testing.assert_array_equal(solver.mass_matrix(memoryview(q)), solver.mass_matrix(q))


@pytest.mark.usefixtures("blocks")
def test_a_status_for_each_state() -> None:
    solver = compile_now(ARM, ["forward_dynamics"], checked=True)
    plain = compile_now(ARM, ["forward_dynamics"])
    q, v, tau = (drawn(21, 4, seed=k) for k in range(3))
    wanted = plain.forward_dynamics(q, v, tau)
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
    np.testing.assert_array_equal(np.delete(out, [3, 5, 20], 0), np.delete(wanted, [3, 5, 20], 0))
    one = np.full((), 9, np.intc)
    solver.forward_dynamics(q[0], v[0], tau[0], status=one)
    assert one == 0
    with pytest.raises(
        ArgumentError,
        match=r"the statuses go into a contiguous, writable int32 array of shape \(21,\)",
    ):
        solver.forward_dynamics(q, v, tau, status=np.zeros(20, np.intc))


def test_few_states_compile_nothing_more(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until so many have come together that a block of them pays."""
    kernel = compile_now(ARM, ["mass_matrix"])._kernels["mass_matrix"]
    called: list[int] = []
    library = kernel._many
    monkeypatch.setattr(kernel, "_many", lambda: called.append(1) or (library and library()))
    for _ in range(2):
        kernel.long_road((drawn(20, 4),), None)
    assert not called
    monkeypatch.setattr(kernels, "FEW", 50 * kernel.program.length)
    kernel.long_road((drawn(20, 4),), None)
    assert called == [1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threads": 0}, "threads is 0; it must be the number of parallel threads, 1 or more"),
        ({"threads": 1.5}, "threads is 1.5"),
        ({"layout": "aso"}, "did you mean 'soa'|'aos'"),
        ({"layout": "soa"}, r"q has shape \(5, 4\); layout 'soa' needs \(4, \.\.\.\)"),
    ],
)
def test_what_cannot_be_is_said(solver: Solver, options: dict[str, Any], said: str) -> None:
    with pytest.raises(symgen.SymgenError, match=said):
        solver.forward_dynamics(drawn(5, 4), drawn(5, 4), drawn(5, 4), **options)


def test_an_exception_of_one_thread_ends_the_others() -> None:
    done: list[int] = []

    def run(begin: int, end: int) -> None:
        if begin == 16:
            raise MemoryError
        done.append(begin)

    with pytest.raises(MemoryError):
        batch.in_slices(run, 10**9, 16, 2)
    assert len(done) < 10**6


def test_threads_end_together() -> None:
    """No slice is longer than half of a thread's part of the rest, and none is missed; what is one slice has one thread."""
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
def test_bits_do_not_hang_on_how_it_is_compiled(options: dict[str, Any]) -> None:
    """As long as a*b + c is not contracted, one state alone has those of many."""
    solver = compile_now(ARM, ["forward_dynamics"], **options)
    solver.prepare("forward_dynamics")
    q, v, tau = (drawn(19, 4, seed=k) for k in range(3))
    np.testing.assert_array_equal(solver.forward_dynamics(q, v, tau), one_by_one(solver, q, v, tau))


def test_contraction_has_one_kind_of_bits() -> None:
    """A block of one state and one of many are the same text then too."""
    fused = compile_now(ARM, ["forward_dynamics"], contract=True, native=True)
    q, v, tau = (drawn(19, 4, seed=k) for k in range(3))
    whole = fused.forward_dynamics(q, v, tau)
    for k in (0, 8, 18):
        np.testing.assert_array_equal(
            fused.forward_dynamics(q[k : k + 1], v[k : k + 1], tau[k : k + 1])[0], whole[k]
        )


def test_the_sources_of_a_library_are_found_again(tmp_path: Path) -> None:
    """A second process opens what the first has compiled for blocks: nothing is derived, nothing compiled."""
    code = (
        "import sys, numpy as np, symgen\n"
        f"s = symgen.compile('{ARM}', ['mass_matrix'], blocks='now')\n"
        "import symgen.machine.kernels as k; k.FEW = 0\n"
        "print(s.mass_matrix(np.ones((40, 4)))[39, 0, 0], 'symgen.pipeline.derive' in sys.modules)\n"
    )
    environment = {"SYMGEN_CACHE": str(tmp_path), "PATH": "/usr/bin:/bin"}
    words = [sys.executable, "-c", code]
    first, second = (
        subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert first.split()[0] == second.split()[0]
    assert second.split()[1] == "False"
