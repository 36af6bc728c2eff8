"""Long functions split into parts: equal rows and bits, and errors that only parts can have."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

import symgen
from symgen.emission import parts as _parts
from symgen.emission.backends import c99
from symgen.inspection.where import where
from symgen.ir.program import Program
from symgen.machine.building import Build
from symgen.machine.footprint import footprint
from symgen.machine.stack_usage import stack_bytes
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.readback.rows import compare
from symgen.verification.proof import eva
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import ProgramOptions, TextOptions
from tests import mutants_of_c
from tests.shared.c99 import WARNINGS, call, states
from tests.shared.c_programs import forward_dynamics, mass_matrix, scrambled
from tests.shared.robots_for_tests import random_mechanism

FEW = 7
"""Number of statements of a part."""
ARM = c99.Target("arm", Sizes(2, 2, 2))
TEXT_OPTIONS = {
    "plain": TextOptions(),
    "inline": TextOptions("inline"),
    "macro": TextOptions("macro", checked=True),
    "checked": TextOptions("inline", checked=True),
    "loop": TextOptions("auto"),
    "looped": TextOptions("auto", checked=True),
}
CASES = [
    ("scara", "forward_dynamics", "double", "plain"),
    ("scara", "forward_dynamics", "float", "checked"),
    ("puma560", "mass_matrix", "double", "inline"),
    ("puma560", "inverse_dynamics", "float", "macro"),
    ("scara", "mass_matrix_log_determinant", "double", "checked"),
    ("scara", "jacobian", "double", "macro"),
    ("puma560", "forward_dynamics", "double", "loop"),
    ("scara", "mass_matrix", "float", "looped"),
    ("turning", "integrate", "double", "inline"),
    ("turning", "bias_force", "float", "checked"),
]


@cache
def mechanism_of(robot: str) -> Mechanism:
    """Load a robot; "turning" has quaternions: computed angles, and a length to check."""
    return random_mechanism(2, joints=("spherical",)) if robot == "turning" else symgen.load(robot)


@cache
def build_program(robot: str, function: str, real: str) -> Program:
    """Build a function, with a payload on the last link where the function depends on one."""
    mechanism = mechanism_of(robot)
    return build.build_program(
        mechanism, function, None, ProgramOptions(real, payload=mechanism.bodies[-1].name)
    )


def target_of(robot: str, text: TextOptions) -> c99.Target:
    return c99.Target(robot, mechanism_of(robot).sizes, text)


def floors_of(program: Program, text: TextOptions) -> dict[int, Fraction] | None:
    """Arbitrary lower bounds on the divisors."""
    if not text.checked:
        return None
    divisors = {row.args[-1] for row in program.rows if row.op == "div"}
    return {row: Fraction(1, 10**9) for row in divisors if program.rows[row].op != "const"}


def build_library(folder: Path, texts: Mapping[str, str], *flags: str) -> ctypes.CDLL:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    files = [name for name in texts if name.endswith(".c")]
    words = [
        "gcc",
        "-std=c99",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
        *WARNINGS,
        *flags,
        *files,
        "-o",
        "all.so",
        "-lm",
    ]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "all.so"))


@pytest.mark.parametrize(("robot", "function", "real", "way"), CASES)
def test_the_parts_are_the_program_row_for_row_and_bit_for_bit(
    tmp_path: Path, robot: str, function: str, real: str, way: str
) -> None:
    text, program = TEXT_OPTIONS[way], build_program(robot, function, real)
    target, divisor_bounds = target_of(robot, text), floors_of(program, text)
    headers = c99.headers({function: program}, target)
    whole, parted = (
        c99.source(program, target, divisor_bounds),
        c99.source(program, target, divisor_bounds, part=FEW),
    )
    count = parted.count("\nstatic void ")
    assert whole.count("\nstatic void ") == 0
    assert count > 2
    assert re.search(rf"Divided into {count} parts that are called in sequence", parted)
    for source in (whole, parted):
        assert compare(program, source, headers[target.header], divisor_bounds) == []
    arguments = states(program, 5)
    for state in arguments if robot == "turning" else ():
        state["q"] = [0.6, 0.0, 0.0, 0.8, 0.0, -0.28, 0.96, 0.0]
    results = []
    for name, source, level in (
        ("whole", whole, "-O1"),
        ("bare", parted, "-O0"),
        ("parted", parted, "-O2"),
    ):
        compiled = build_library(tmp_path / name, headers | {"one.c": source}, level)
        results.append([call(compiled, program, target, state) for state in arguments])
    assert results[0] == results[1] == results[2]
    assert all(
        value == value for state in results[0] for values in state.values() for value in values
    )
    assert any(value for state in results[0] for values in state.values() for value in values)


@pytest.mark.parametrize("part", [1, 2, 30])
@pytest.mark.parametrize("seed", range(2))
def test_random_programs_in_parts_are_read_back(seed: int, part: int) -> None:
    """Checked texts have the findings of the whole function.

    Read-back cannot distinguish the equal rows of a random Program.
    """
    program = scrambled(seed, 80, ("double", "float")[seed % 2])
    for text in TEXT_OPTIONS.values():
        target = c99.Target("arm", Sizes(3, 3, 3), text)
        divisor_bounds = {} if text.checked else None
        whole, parted = (
            compare(
                program,
                c99.source(program, target, divisor_bounds, part=length),
                checked=divisor_bounds,
            )
            for length in (None, part)
        )
        assert parted == (whole if text.checked else [])


def test_results_in_parts_may_alias_arguments(tmp_path: Path) -> None:
    program = forward_dynamics()
    texts = c99.headers({"forward_dynamics": program}, ARM) | {
        "one.c": c99.source(program, ARM, part=2)
    }
    parted = build_library(tmp_path, texts, "-O1")
    (state,) = states(program, 1)
    expected = call(parted, program, ARM, state)["a"]
    for over in ("q", "v", "tau"):
        arrays = {name: (ctypes.c_double * 2)(*values) for name, values in state.items()}
        parted.arm_forward_dynamics(arrays["q"], arrays["v"], arrays["tau"], arrays[over])
        assert list(arrays[over]) == expected


def test_a_refused_call_of_parts_stores_nothing(tmp_path: Path) -> None:
    target = c99.Target("arm", Sizes(2, 2, 2), TextOptions("inline", checked=True))
    program = forward_dynamics()
    texts = c99.headers({"forward_dynamics": program}, target) | {
        "one.c": c99.source(program, target, part=2)
    }
    parted = build_library(tmp_path, texts, "-O1")
    for q, tau, status in ((0.5, 1.0, 0), (0.5, float("nan"), 1), (1e6, 1.0, 2)):
        arguments = [(ctypes.c_double * 2)(x, x) for x in (q, 0.1, tau)]
        result = (ctypes.c_double * 2)(7, 7)
        assert parted.arm_forward_dynamics(*arguments, result) == status
        assert (list(result) == [7, 7]) is (status != 0)


TEXT = c99.source(forward_dynamics(), ARM, part=5)
PLANTED = {
    "an element overwritten too early": ("    work[4] = k_2;", "    work[2] = k_2;"),
    "an element read before it is stored": (
        "const double c_1 = work[2]",
        "const double c_1 = work[7]",
    ),
    "another element": ("const double c_1 = work[2]", "const double c_1 = work[3]"),
    "an element beyond the array": ("    work[4] = k_2;", "    work[5] = k_2;"),
    "a value that is not saved": ("    work[4] = k_2;\n", ""),
    "parts in another order": (
        "    arm_forward_dynamics_part_2(work);\n    arm_forward_dynamics_part_3(v, tau, work);",
        "    arm_forward_dynamics_part_3(v, tau, work);\n    arm_forward_dynamics_part_2(work);",
    ),
    "a part called twice": (
        "    arm_forward_dynamics_part_2(work);\n",
        "    arm_forward_dynamics_part_2(work);\n" * 2,
    ),
    "a part left out": ("    arm_forward_dynamics_part_2(work);\n", ""),
    "a part without effect": (
        "void arm_forward_dynamics(",
        "static void more(double work[5])\n{\n}\n\nvoid arm_forward_dynamics(",
    ),
    "arguments exchanged": ("_part_3(v, tau, work);", "_part_3(tau, v, work);"),
    "parameters exchanged": (
        "_part_3(const double v[arm_NV], const double tau[arm_NV]",
        "_part_3(const double tau[arm_NV], const double v[arm_NV]",
    ),
    "a longer array": ("_part_2(double work[5])", "_part_2(double work[6])"),
    "an array of another type": ("    double work[5];", "    float work[5];"),
    "a static array": ("    double work[5];", "    static double work[5];"),
    "a part with external linkage": (
        "static void arm_forward_dynamics_part_2",
        "void arm_forward_dynamics_part_2",
    ),
    "a store before a read": (
        "    work[0] = s_2;\n",
        "    work[0] = s_2;\n    const double more = c_1;\n",
    ),
    "a local of another part": ("(23.1*c_1) + g_2", "(23.1*c_2) + g_2"),
    "an operation done again": ("const double c_1 = work[2]", "const double c_1 = cos(q[0])"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_read_back_reports_an_error_between_parts(planted: str) -> None:
    old, new = PLANTED[planted]
    assert compare(forward_dynamics(), TEXT) == []
    assert TEXT.count(old) == 1, TEXT
    assert compare(forward_dynamics(), TEXT.replace(old, new)) != []


def test_too_short_an_array_is_reported() -> None:
    """Read-back reports it although the results can be right by chance."""
    findings = compare(forward_dynamics(), TEXT.replace("work[5]", "work[4]"))
    assert (
        [
            sentence
            for sentence in findings
            if "work[4] is beyond the 4 numbers of that array" in sentence
        ]
        == findings
        != []
    )


def test_a_result_stored_before_an_argument_is_read_is_reported() -> None:
    text = c99.source(mass_matrix(), ARM, part=3)
    early, late = "    M[0] = M_1_1;\n", "    const double c_2 = cos(q[1]);\n"
    assert compare(mass_matrix(), text) == []
    parts = text.split("static void ")
    assert early in parts[-1]
    assert late in parts[1]
    # The third part computes the cosine instead of the second, after the store of a result.
    moved = (
        text.replace(late, "")
        .replace("    work[0] = c_2;\n", "")
        .replace("    const double c_2 = work[0];\n", late)
    )
    moved = moved.replace("_part_2(const double work[1]", "_part_2(const double q[arm_NQ]").replace(
        "_part_2(work", "_part_2(q"
    )
    assert moved.count("    M[3] = 0.35;\n") == 1
    assert any("may alias" in sentence for sentence in compare(mass_matrix(), moved))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fabs(work[0]) >= ", "fabs(work[1]) >= "),
        ("(fabs(work[0]) <= ", "(fabs(work[1]) <= "),
        ("    double work[5];\n\n    int status", "    int status"),
    ],
)
def test_a_check_of_another_element_is_reported(old: str, new: str) -> None:
    target = c99.Target("arm", Sizes(2, 2, 2), TextOptions("inline", checked=True))
    text = c99.source(forward_dynamics(), target, part=5)
    assert compare(forward_dynamics(), text, checked={}) == []
    assert text.count(old) == 1, text
    assert compare(forward_dynamics(), text.replace(old, new), checked={}) != []


def test_only_long_functions_are_split_into_parts() -> None:
    target = c99.Target("arm", Sizes(3, 3, 3))
    short, long = scrambled(1, 1500), scrambled(1, 4500)
    assert len(short.rows) < _parts.LONGEST < len(long.rows)
    assert "_part_" not in c99.source(short, target)
    assert c99.parts(short, target) == (0, 0)
    text = c99.source(long, target)
    count, shared = c99.parts(long, target)
    assert (
        f"Divided into {count} parts that are called in sequence and share work[{shared}],"
        " on the stack.\n"
    ) in text
    assert text.count("\nstatic void ") == count > 3
    lines = [part.count("\n    const ") for part in text.split("\nstatic void ")[1:]]
    assert max(lines) < 2 * _parts.LINES


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits so that functions of the robots are split."""
    monkeypatch.setattr(_parts, "LONGEST", 50)
    monkeypatch.setattr(_parts, "LINES", 20)


@pytest.mark.slow
@pytest.mark.usefixtures("short_parts")
@pytest.mark.parametrize("way", ["plain", "checked", "loop"])
def test_verify_accepts_a_folder_in_parts_and_reports_an_error(tmp_path: Path, way: str) -> None:
    text = TEXT_OPTIONS[way]
    symgen.generate(
        "scara",
        tmp_path / "out",
        ["forward_dynamics", "jacobian"],
        trig=text.trig,
        checked=text.checked,
    )
    source = (tmp_path / "out" / "scara_forward_dynamics.c").read_text()
    count, shared = (
        source.count("\nstatic void "),
        int(re.findall(r"    double work\[(\d+)\];", source)[0]),
    )
    assert (
        f"{8 * shared} bytes for the {count} parts of `scara_forward_dynamics`"
        in (tmp_path / "out" / "README.md").read_text()
    )
    report = symgen.verify(tmp_path / "out", states=2)
    assert report.passed, str(report)
    (tmp_path / "out" / "scara_forward_dynamics.c").write_text(
        source.replace("    work[1] = ", "    work[0] = ", 1)
    )
    assert not symgen.verify(tmp_path / "out", states=2).passed


@pytest.mark.usefixtures("short_parts")
def test_where_shows_the_lines_of_an_entry_in_all_parts() -> None:
    mechanism = symgen.load("scara")
    program = build.build_program(mechanism, "mass_matrix", None, ProgramOptions())
    text = c99.source(program, target_of("scara", TextOptions())).splitlines()
    for what in ("M[0,0]", "M[1,0]"):
        lines, _ = where(mechanism, what)
        runs = re.findall(r"scara_mass_matrix\.c:(\d+)(?:-\d+)?:\n(.*)", lines)
        assert runs
        assert all(text[int(line) - 1] == statement for line, statement in runs)


@pytest.mark.usefixtures("short_parts")
def test_stack_usage_counts_the_largest_part_once() -> None:
    sizes = {"f_part_1": 16, "f_part_2.isra.0": 48, "f": 100, "f_sincos": 8}
    assert (
        stack_bytes(
            "".join(f"a.c:1:2:{name}\t{size}\tstatic\n" for name, size in sizes.items()), "f"
        )
        == 100 + 48 + 8
    )
    assert stack_bytes("", "f") is None
    program, target = (
        build_program("scara", "forward_dynamics", "double"),
        target_of("scara", TextOptions()),
    )
    count, shared = c99.parts(program, target)
    assert count > 3
    stack = footprint(program, target, Build(optimize=0)).stack
    assert stack is not None
    assert 8 * shared < stack < 8 * shared + 2000


@pytest.mark.usefixtures("short_parts")
def test_planted_errors_use_names_of_their_part() -> None:
    text = c99.source(
        build_program("scara", "forward_dynamics", "double"), target_of("scara", TextOptions())
    )
    errors = mutants_of_c.errors(text)
    assert len(errors) > 100
    for error in errors:
        name = re.fullmatch(r"\(?-?([A-Za-z_]\w*)\)?", error.new)
        if name and name[1] not in ("sin", "cos"):
            begun = text.rfind("\n{\n", 0, error.start)
            assert f" {name[1]} = " in text[begun : error.start]


@pytest.mark.usefixtures("short_parts")
def test_an_assumption_for_eva_follows_its_local_variable() -> None:
    program, target = (
        build_program("scara", "forward_dynamics", "double"),
        target_of("scara", TextOptions()),
    )
    divisors = sorted({row.args[-1] for row in program.rows if row.op == "div"})
    bounds = {"forward_dynamics": dict.fromkeys(divisors, Fraction(1, 9))}
    texts, admitted = eva.sources({"forward_dynamics": program}, target, bounds, {})
    lines = texts["scara_forward_dynamics.c"].splitlines()
    assert len(admitted["forward_dynamics"]) == len(divisors) > 0
    for line in admitted["forward_dynamics"]:
        places = [n for n, code in enumerate(lines) if code.strip() == f"//@ admit {line};"]
        assert places
        assert all(f" {line.split()[0]} = " in lines[n - 1] for n in places)


SAVED_NAMES: Callable[[str], list[str]] = re.compile(r"work\[\d+\] = (\w+);").findall


def test_only_values_that_a_later_part_reads_are_saved() -> None:
    text = c99.source(
        build_program("scara", "forward_dynamics", "double"),
        target_of("scara", TextOptions()),
        part=FEW,
    )
    parts = text.split("\nstatic void ")[1:]
    for n, part in enumerate(parts):
        for name in SAVED_NAMES(part):
            assert any(f"    const double {name} = work[" in later for later in parts[n + 1 :]), (
                name
            )
