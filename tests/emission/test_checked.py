"""`--checked`: every status occurs, refused calls keep results, and the text has every check."""

from __future__ import annotations

import ctypes
import math
import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.delivery.verifying import verify
from symgen.emission import parts
from symgen.emission.backends import c99
from symgen.emission.checks import STATUSES
from symgen.emission.sincos import RANGE
from symgen.ir.program import Port, Program
from symgen.pipeline.build import programs
from symgen.readback.rows import compare
from symgen.support.errors import StateError, SymgenError
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TRIG, ProgramOptions, TextOptions
from tests.shared.analysers import SANITIZERS, UNWANTED, misra, tool
from tests.shared.c99 import WARNINGS, build
from tests.shared.c_programs import Builder, vector
from tests.shared.firmware_tools import make, need
from tests.shared.folders import run as command
from tests.shared.folders import selftest, with_main

REALS = ("double", "float")
OK, NOT_FINITE, OUT_OF_RANGE, DIVISOR = range(4)
RESULT_NOT_FINITE = 6
UNTOUCHED = b"\xa5"


def checked_target(trig: str = "inline", name: str = "arm", size: int = 2) -> c99.Target:
    return c99.Target(name, Sizes(size, size, size), TextOptions(trig, checked=True))


def call_checked(
    library: ctypes.CDLL, program: Program, target: c99.Target, arguments: dict[str, list[float]]
) -> tuple[int, bool]:
    """Call a checked function; return its status and True if a byte of a result changed."""
    real = {"double": ctypes.c_double, "float": ctypes.c_float}[program.real]
    arguments_in_c = [(real * port.size)(*arguments[port.name]) for port in program.inputs]
    results = [
        ctypes.create_string_buffer(UNTOUCHED * port.size * ctypes.sizeof(real))
        for port in program.outputs
    ]
    before = [bytes(result) for result in results]
    function = getattr(library, target.symbol(program.function))
    function.restype = ctypes.c_int
    status = function(*arguments_in_c, *results)
    return status, [bytes(result) for result in results] != before


def program_with_divisors(real: str) -> Program:
    """g = sin(q0 + q1)/q0, log(q1): a computed angle, and arguments as divisors."""
    b = Builder("gravity_force", [vector("q")], real)
    q0, q1 = b.input(0, 0), b.input(0, 1)
    b.step("angle")
    turned = b.op("sin", b.op("add", q0, q1))
    return b.program([Port("g", (2,), (b.op("div", turned, q0), b.op("log", q1)))])


@pytest.mark.parametrize("flags", [("-O0",), ("-O2",)])
@pytest.mark.parametrize("real", REALS)
def test_each_status_is_returned_for_its_fault(
    real: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    program, target = program_with_divisors(real), checked_target()
    library = build(tmp_path, {"gravity_force": program}, target, *flags)
    least = {"double": 2.0**-1022, "float": 2.0**-126}[real]
    largest = {"double": math.ldexp(2 - 2.0**-52, 1023), "float": math.ldexp(2 - 2.0**-23, 127)}[
        real
    ]
    for q, status in [
        ([1.0, 2.0], OK), ([-1.0, 2.0], OK), ([least, 2.0], OK), ([-least, 2.0], OK),
        ([2.0, least], OK),
        ([math.nan, 2.0], NOT_FINITE), ([1.0, math.nan], NOT_FINITE), ([math.inf, 2.0], NOT_FINITE),
        ([1.0, -math.inf], NOT_FINITE), ([math.inf, -math.inf], NOT_FINITE),
        ([0.0, math.nan], NOT_FINITE),
        ([RANGE - 1.0, 1.0], OK), ([RANGE + 1.0, 2.0], OUT_OF_RANGE),
        ([-RANGE - 3.0, 2.0], OUT_OF_RANGE),
        ([0.0, RANGE*2.0], OUT_OF_RANGE), ([largest, largest], OUT_OF_RANGE),
        ([0.0, 2.0], DIVISOR), ([-0.0, 2.0], DIVISOR), ([least/2, 2.0], DIVISOR),
        ([1.0, 0.0], DIVISOR), ([1.0, -2.0], DIVISOR),
    ]:  # fmt: skip
        assert call_checked(library, program, target, {"q": q}) == (status, status == OK), q


@pytest.mark.parametrize("trig", TRIG)
@pytest.mark.parametrize("real", REALS)
def test_a_nonfinite_element_of_any_argument_is_refused(
    real: str, trig: str, tmp_path: Path
) -> None:
    built = programs(
        symgen.load("scara"),
        ["forward_dynamics", "gravity_force", "mass_matrix_and_bias"],
        ProgramOptions(real),
    )
    target = checked_target(trig, "scara", 4)
    library = build(tmp_path, built, target, "-O2")
    for program in built.values():
        fine = {port.name: [0.5] * port.size for port in program.inputs}
        assert call_checked(library, program, target, fine) == (OK, True)
        for port in program.inputs:
            for k in range(port.size):
                for bad in (math.nan, math.inf, -math.inf):
                    spoilt = fine | {port.name: [bad if i == k else 0.5 for i in range(port.size)]}
                    assert call_checked(library, program, target, spoilt) == (NOT_FINITE, False)
        far = fine | {"q": [RANGE * 1.5] * 4}
        limited = trig == "inline" and program.operations["sin"] + program.operations["cos"] > 0
        assert call_checked(library, program, target, far) == (
            (OUT_OF_RANGE, False) if limited else (OK, True)
        )


@pytest.mark.parametrize("real", REALS)
def test_divisors_are_compared_with_their_certified_bounds(real: str, tmp_path: Path) -> None:
    program, target = program_with_divisors(real), checked_target()
    rows = {
        program.rows[i].value[1]: i
        for i in range(len(program.rows))
        if program.rows[i].op == "input"
    }
    divisor_bounds = {rows[0]: Fraction(1, 2), rows[1]: Fraction(1, 4)}
    source = c99.source(program, target, divisor_bounds)
    assert compare(program, source, checked=divisor_bounds) == []
    assert compare(program, source, checked={}) != []
    for name, text in (c99.headers({"gravity_force": program}, target) | {"one.c": source}).items():
        (tmp_path / name).write_text(text)
    done = command(
        "gcc",
        "-std=c99",
        *WARNINGS,
        "-shared",
        "-fPIC",
        tmp_path / "one.c",
        "-o",
        tmp_path / "one.so",
        "-lm",
    )
    assert done.returncode == 0, done.stderr
    library = ctypes.CDLL(str(tmp_path / "one.so"))
    for q, status in [
        ([0.5, 0.25], OK),
        ([0.49, 0.25], DIVISOR),
        ([0.5, 0.24], DIVISOR),
        ([-0.5, 0.25], DIVISOR),
    ]:
        assert call_checked(library, program, target, {"q": q}) == (status, status == OK)


PLANTED = {
    "an argument left out": (r" \+\s+\(0\.0\*tau\[1\]\)", ""),
    "an argument twice": (r"\(0\.0\*tau\[1\]\)", "(0.0*tau[0])"),
    "another zero": (r"0\.0\*tau\[1\]", "1.0*tau[1]"),
    "an angle left out": (r" &&\s+\(fabs\(q\[3\]\) <= 32768\.0\)", ""),
    "another range": (r"\(fabs\(q\[3\]\) <= 32768\.0\)", "(fabs(q[3]) <= 65536.0)"),
    "a one-sided range": (r"\(fabs\(q\[3\]\) <= 32768\.0\)", "(q[3] <= 32768.0)"),
    "a reversed comparison": (r"!\(none >= 0\.0\)", "!(none <= 0.0)"),
    "a check inverted": (r"!\(none >= 0\.0\)", "(none >= 0.0)"),
    "a status of another type": (r"int status", "long status"),
    "another status": (r"status = panda_DIVISOR", "status = panda_OK"),
    "a check without a status": (r"status = panda_DIVISOR;", ""),
    "a store beside a status": (r"(status = panda_DIVISOR;)", r"\1 a[0] = 0.0;"),
    "an initial status of failure": (r"int status = panda_OK", "int status = panda_DIVISOR"),
    "a status that is not returned": (r"return status;", "return panda_OK;"),
    "a store too early": (
        r"(\n        const double turn_1|\n        const panda_pair turn_1)",
        r"\n        a[0] = 0.0;\1",
    ),
    "a divisor left out": (r"\(fabs\(\w+\) >= 2\.2250738585072014e-308\) &&\s+", ""),
    "another bound": (r">= 2\.2250738585072014e-308\)", ">= 2.2250738585072014e-309)"),
    "a store beside the checks": (r"\n    return status", "\n    a[0] = 0.0;\n    return status"),
    "a result left out": (r"\(0\.0\*out_a_3\) \+\s+", ""),
    "an infinite divisor": (r" \+\s+\(0\.0\*D_1\)\) >=", ") >="),
    "the check of results inverted": (r"!\((\(\(0\.0\*out_a_0\))", r"(\1"),
    "results of another status": (r"status = panda_RESULT_NOT_FINITE", "status = panda_OK"),
    "results not checked": (
        r"} else if \(!\(\(\(0\.0\*out.*?\) >=\s+0\.0\)\) {\n.*?\n        } else",
        "} else",
    ),
    "no check": (r"} else if \(!\((\(fabs\(q.*?\n)*?.*?status = panda_OUT_OF_RANGE;\n", ""),
}


@cache
def panda_texts() -> tuple[Program, str, str]:
    """Panda's forward dynamics: Program, C source and header."""
    (program,) = programs(symgen.load("panda"), ["forward_dynamics"], ProgramOptions()).values()
    target = checked_target("inline", "panda", 7)
    return program, c99.source(program, target), c99.header({"forward_dynamics": program}, target)


@pytest.mark.parametrize("what", PLANTED)
def test_read_back_reports_a_planted_error(what: str) -> None:
    program, source, header = panda_texts()
    broken = re.sub(
        PLANTED[what][0],
        PLANTED[what][1],
        source,
        count=1,
        flags=re.DOTALL if what in ("no check", "results not checked") else 0,
    )
    assert broken != source
    assert compare(program, broken, header, checked={}) != []


def test_read_back_accepts_correct_text_and_reports_a_wrong_status_value() -> None:
    program, source, header = panda_texts()
    assert compare(program, source, header, checked={}) == []
    assert (
        compare(program, source, header.replace("panda_DIVISOR 3", "panda_DIVISOR 0"), checked={})
        != []
    )


def program_with_hidden_infinity(real: str) -> Program:
    """g = q0/(q1 q1), atan2(q0 q0, 1): infinite intermediate values give finite results."""
    b = Builder("gravity_force", [vector("q")], real)
    q0, q1 = b.input(0, 0), b.input(0, 1)
    b.step("product")
    results = b.op("div", q0, b.op("mul", q1, q1)), b.op("atan2", b.op("mul", q0, q0), b.const(1))
    return b.program([Port("g", (2,), results)])


@pytest.mark.parametrize("real", REALS)
def test_a_finite_result_of_infinite_intermediate_values_is_refused(
    real: str, tmp_path: Path
) -> None:
    program, target = program_with_hidden_infinity(real), checked_target()
    huge = {"double": 1e200, "float": 1e30}[real]
    source = c99.source(program, target)
    assert compare(program, source, checked={}) == []
    for name in re.findall(r"\(0\.0f?\*(\w+)\)", source):
        assert compare(
            program,
            re.sub(rf"\(0\.0f?\*{name}\) \+\s+| \+\s+\(0\.0f?\*{name}\)", "", source, count=1),
            checked={},
        )
    library = build(tmp_path, {"gravity_force": program}, target, "-O2")
    for q, status in (
        ([1.0, 2.0], OK),
        ([1.0, huge], RESULT_NOT_FINITE),
        ([huge, 2.0], RESULT_NOT_FINITE),
    ):
        assert call_checked(library, program, target, {"q": q}) == (status, status == OK), q


def widely_spread(seed: int, count: int, size: int) -> np.ndarray[Any, Any]:
    """Numbers of both signs with magnitudes log-uniform from 1e-37 to 1e38."""
    generator = np.random.default_rng(seed)
    signs = generator.choice([-1.0, 1.0], (count, size))
    return signs * 10.0 ** generator.uniform(-37, 38, (count, size))


@pytest.mark.slow
@pytest.mark.parametrize("cut", [False, True])
def test_results_that_are_stored_are_finite(
    cut: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments span the range of float; functions are whole or split into parts."""
    if cut:
        monkeypatch.setattr(parts, "LONGEST", 10)
        monkeypatch.setattr(parts, "LINES", 10)
    built = programs(symgen.load("planar_arm"), None, ProgramOptions("float"))
    target = checked_target("libm", "arm", 2)
    library, seen = build(tmp_path, built, target, "-O1"), set()
    for program in built.values():
        assert compare(program, c99.source(program, target), checked={}) == []
        function = getattr(library, target.symbol(program.function))
        arguments = [widely_spread(k, 100, port.size) for k, port in enumerate(program.inputs)]
        for state in range(100):
            inputs = [
                (ctypes.c_float * port.size)(*values[state])
                for port, values in zip(program.inputs, arguments, strict=True)
            ]
            results = [
                (ctypes.c_float * port.size)(*[math.nan] * port.size) for port in program.outputs
            ]
            status = function(*inputs, *results)
            stored = [x for result in results for x in result]
            assert all(map(math.isfinite if status == OK else math.isnan, stored)), (
                program.function,
                state,
            )
            seen.add(status)
    assert seen == {OK, RESULT_NOT_FINITE}


def test_read_back_tells_checked_text_from_unchecked() -> None:
    program = program_with_divisors("double")
    plain, checked = (
        c99.source(program, c99.Target("arm", Sizes(2, 2, 2), TextOptions(checked=checks)))
        for checks in (False, True)
    )
    assert compare(program, plain) == compare(program, checked, checked={}) == []
    assert compare(program, plain, checked={}) != []
    assert compare(program, checked) != []


# Generated folders


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated")
    names = ["inverse_dynamics", "forward_dynamics", "gravity_force", "mass_matrix_log_determinant"]
    for robot, real, trig, functions in (
        ("panda", "float", "inline", names),
        ("scara", "double", "libm", None),
    ):
        symgen.generate(
            robot,
            folder / robot,
            functions,
            real,
            trig=trig,
            checked=True,
            wrap=["cpp17"],
            target="cortex-m4f",
            evidence=False,
        )
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("robot", [pytest.param("panda", marks=pytest.mark.firmware), "scara"])
def test_the_folder_passes_verify_and_its_self_test(generated: Path, robot: str) -> None:
    report = verify(generated / robot, ["forward_dynamics", "mass_matrix_log_determinant"], 4)
    assert report.passed, str(report)
    assert selftest(generated / robot).stdout.endswith(" passed, 0 failed\n")


def test_checked_functions_verify_without_a_folder() -> None:
    report = verify("scara", ["forward_dynamics"], 4, real="float", trig="inline", checked=True)
    assert report.passed, str(report)


@pytest.mark.slow
def test_the_self_test_fails_where_fast_math_removes_checks(generated: Path) -> None:
    folder = generated / "scara"
    sources = sorted(folder.glob("*.c"))
    build = (
        "gcc",
        "-std=c99",
        "-O2",
        "-ffast-math",
        with_main(folder),
        *sources,
        "-o",
        folder.parent / "fast",
        "-lm",
    )
    assert "leave out -ffast-math" in command(*build).stderr
    built = command(*build[:1], "-Dscara_UNVERIFIED", *build[1:])
    assert built.returncode == 0, built.stderr
    assert " 0 failed" not in command(folder.parent / "fast").stdout


@pytest.mark.firmware
def test_the_self_test_passes_on_a_target(generated: Path, tmp_path: Path) -> None:
    need("cortex-m4f")
    done = make(generated / "panda", "run", f"BUILD={tmp_path}")
    assert done.returncode == 0, done.stdout


def test_unchecked_is_the_default(tmp_path: Path) -> None:
    symgen.generate("scara", tmp_path / "one")
    symgen.generate("scara", tmp_path / "two", checked=False)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
        assert "status" not in path.read_text() or path.suffix == ".toml"


@pytest.mark.firmware
@pytest.mark.parametrize("robot", ["panda", "scara"])
def test_compilers_and_analysers_are_silent(generated: Path, tmp_path: Path, robot: str) -> None:
    files = sorted((generated / robot).glob("*.c"))
    assert files[-1].name == f"{robot}_selftest.c"
    main = with_main(generated / robot)
    done = command(
        "gcc", "-std=c99", *WARNINGS, main, "-fanalyzer", "-c", *files[:2], files[-1], cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    without = [f"-Wno-{name}" for name in ("unknown-warning-option", *UNWANTED)]
    done = command(
        tool("clang"),
        "-std=c99",
        "-Weverything",
        *without,
        main,
        "-Werror",
        "-fsyntax-only",
        *files,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        misra(
            *(
                file
                for file in files
                if re.search(r"forward_dynamics|gravity|log_determinant.c", file.name)
            )
        )
        == set()
    )
    if robot == "scara":
        assert misra(
            *(file for file in files if re.search(r"forward_dynamics|selftest", file.name))
        ) == {"Rule 21.6"}


@pytest.mark.firmware
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_sanitizers_are_silent(generated: Path, tmp_path: Path, sanitizer: str) -> None:
    compiler, *flags = SANITIZERS[sanitizer]
    files = sorted((generated / "scara").glob("*.c"))
    done = command(
        tool(compiler),
        "-std=c99",
        "-O1",
        "-ffp-contract=off",
        "-Dscara_SELFTEST",
        *flags,
        *files,
        "-o",
        tmp_path / "selftest",
        "-lm",
    )
    assert done.returncode == 0, done.stderr
    done = command(tmp_path / "selftest")
    assert (done.returncode, done.stderr) == (0, "")


MAIN = """
#include <cmath>
#include "scara.hpp"
int main()
{
    std::array<double, 4> q{0.1, 0.2, 0.3, 0.4}, v{}, tau{};
    const auto fine = scara::forward_dynamics(q, v, tau);
    const auto both = scara::mass_matrix_and_bias(q, v);
    const auto det = scara::mass_matrix_determinant(q);
    if (!fine || !both || !det || !(det.value > 0.0) || !(both.value.M[0] > 0.0)) { return 1; }
    q[2] = NAN;
    const auto bad = scara::forward_dynamics(q, v, tau);
    if (bad || bad.status != scara::not_finite || !(std::fabs(bad.value[0]) <= 0.0)) { return 2; }
#ifdef __cpp_lib_span
    if (scara::forward_dynamics(q, v, tau, tau) != scara::not_finite) { return 3; }
#endif
    return scara::ok;
}
"""


@pytest.mark.firmware
@pytest.mark.parametrize("standard", ["-std=c++17", "-std=c++20"])
def test_the_cpp_wrapper_returns_the_status(generated: Path, tmp_path: Path, standard: str) -> None:
    (tmp_path / "main.cpp").write_text(MAIN)
    c = [path for path in sorted((generated / "scara").glob("*.c")) if "selftest" not in path.name]
    assert command("gcc", "-std=c99", "-c", *c, cwd=tmp_path).returncode == 0
    warnings = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic-errors", "-Werror")
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    flags = (standard, *warnings, f"-I{generated / 'scara'}")
    built = command(tool("g++"), *flags, "main.cpp", *objects, "-o", "main", "-lm", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert command(tmp_path / "main").returncode == 0


def test_the_readme_lists_the_statuses_that_a_call_returns(generated: Path) -> None:
    readme = (generated / "panda" / "README.md").read_text()
    without = {"NOT_UNIT", "NO_WORK"}  # panda has no quaternion, and its functions have no loops
    assert {status for status in STATUSES if f"`panda_{status}`" in readme} == {*STATUSES} - without
    assert "int panda_forward_dynamics(" in (generated / "panda" / "panda.h").read_text()


# Python


def test_the_solver_raises_a_state_error_with_the_reason() -> None:
    solver = symgen.compile("scara", ["forward_dynamics"], trig="inline", checked=True)
    plain = symgen.compile("scara", ["forward_dynamics"], trig="inline")
    q, v, tau = np.full(4, 0.5), np.full(4, 0.1), np.ones(4)
    assert np.array_equal(solver.forward_dynamics(q, v, tau), plain.forward_dynamics(q, v, tau))
    many: Any = np.tile(q, (5, 1))
    assert np.array_equal(
        solver.forward_dynamics(many, v, tau), plain.forward_dynamics(many, v, tau)
    )
    many[3, 0] = math.nan
    out = np.full((5, 4), 7.0)
    for ask, message in [
        (
            lambda: solver.forward_dynamics(q * math.nan, v, tau),
            "forward_dynamics refuses its arguments: an argument is infinite",
        ),
        (lambda: solver.forward_dynamics(list(q), v, tau * math.inf), "infinite or not a number"),
        (lambda: solver.forward_dynamics(q * 1e6, v, tau), "an angle is beyond 32768 rad"),
        (
            lambda: solver.forward_dynamics(q, v * 1e200, tau),
            "too large for the real type; use smaller arguments",
        ),
        (lambda: solver.forward_dynamics(many, v, tau, out=out), "at state 3: an argument"),
        (solver.bind("forward_dynamics", q * math.nan, v, tau, np.empty(4)), "infinite"),
    ]:
        with pytest.raises(StateError, match=message) as error:
            ask()
        assert isinstance(error.value, SymgenError)
    assert (out[3] == 7.0).all()
    assert (out[[0, 1, 2, 4]] != 7.0).all()


TWO_LINKS = """name = "two"
gravity = [0, -9.81, 0]
convention = "dh"
[[row]]
a = 1
mass = 0
[[row]]
a = 1
mass = 1
"""


def test_a_massless_link_divides_by_zero_where_the_arm_is_stretched(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO_LINKS)
    solver = symgen.compile(tmp_path / "two.toml", ["forward_dynamics"], checked=True)
    assert np.isfinite(solver.forward_dynamics([0.3, 0.5], [0, 0], [1, 1])).all()
    with pytest.raises(StateError, match="a divisor is too small"):
        solver.forward_dynamics([0.3, 0.0], [0, 0], [1, 1])
