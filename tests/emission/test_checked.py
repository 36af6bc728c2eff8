"""`--checked`: every status is provoked, results stay as they were, and the text is the Program and its checks, no less."""

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


def target(trig: str = "inline", name: str = "arm", size: int = 2) -> c99.Target:
    return c99.Target(name, Sizes(size, size, size), TextOptions(trig, checked=True))


def called(
    library: ctypes.CDLL, program: Program, own: c99.Target, arguments: dict[str, list[float]]
) -> tuple[int, bool]:
    """(the status, whether any byte of a result changed)."""
    real = {"double": ctypes.c_double, "float": ctypes.c_float}[program.real]
    given = [(real * port.size)(*arguments[port.name]) for port in program.inputs]
    results = [
        ctypes.create_string_buffer(UNTOUCHED * port.size * ctypes.sizeof(real))
        for port in program.outputs
    ]
    before = [bytes(result) for result in results]
    function = getattr(library, own.symbol(program.function))
    function.restype = ctypes.c_int
    status = function(*given, *results)
    return status, [bytes(result) for result in results] != before


def divided(real: str) -> Program:
    """g = sin(q0 + q1)/q0, log(q1): an angle that is computed, and divisors that are arguments."""
    b = Builder("gravity_force", [vector("q")], real)
    q0, q1 = b.input(0, 0), b.input(0, 1)
    b.step("angle")
    turned = b.op("sin", b.op("add", q0, q1))
    return b.program([Port("g", (2,), (b.op("div", turned, q0), b.op("log", q1)))])


@pytest.mark.parametrize("flags", [("-O0",), ("-O2",)])
@pytest.mark.parametrize("real", REALS)
def test_every_status_is_provoked(real: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    program, own = divided(real), target()
    library = build(tmp_path, {"gravity_force": program}, own, *flags)
    least = {"double": 2.0**-1022, "float": 2.0**-126}[real]
    largest = {"double": math.ldexp(2 - 2.0**-52, 1023), "float": math.ldexp(2 - 2.0**-23, 127)}[
        real
    ]
    for q, status in [
        ([1.0, 2.0], OK), ([-1.0, 2.0], OK), ([least, 2.0], OK), ([-least, 2.0], OK), ([2.0, least], OK),
        ([math.nan, 2.0], NOT_FINITE), ([1.0, math.nan], NOT_FINITE), ([math.inf, 2.0], NOT_FINITE),
        ([1.0, -math.inf], NOT_FINITE), ([math.inf, -math.inf], NOT_FINITE), ([0.0, math.nan], NOT_FINITE),
        ([RANGE - 1.0, 1.0], OK), ([RANGE + 1.0, 2.0], OUT_OF_RANGE), ([-RANGE - 3.0, 2.0], OUT_OF_RANGE),
        ([0.0, RANGE*2.0], OUT_OF_RANGE), ([largest, largest], OUT_OF_RANGE),
        ([0.0, 2.0], DIVISOR), ([-0.0, 2.0], DIVISOR), ([least/2, 2.0], DIVISOR), ([1.0, 0.0], DIVISOR), ([1.0, -2.0], DIVISOR),
    ]:  # fmt: skip
        assert called(library, program, own, {"q": q}) == (status, status == OK), q


@pytest.mark.parametrize("trig", TRIG)
@pytest.mark.parametrize("real", REALS)
def test_every_element_of_every_argument_counts(real: str, trig: str, tmp_path: Path) -> None:
    found = programs(
        symgen.load("scara"),
        ["forward_dynamics", "gravity_force", "mass_matrix_and_bias"],
        ProgramOptions(real),
    )
    own = target(trig, "scara", 4)
    library = build(tmp_path, found, own, "-O2")
    for program in found.values():
        fine = {port.name: [0.5] * port.size for port in program.inputs}
        assert called(library, program, own, fine) == (OK, True)
        for port in program.inputs:
            for k in range(port.size):
                for bad in (math.nan, math.inf, -math.inf):
                    spoilt = fine | {port.name: [bad if i == k else 0.5 for i in range(port.size)]}
                    assert called(library, program, own, spoilt) == (NOT_FINITE, False)
        far = fine | {"q": [RANGE * 1.5] * 4}
        turned = trig == "inline" and program.operations["sin"] + program.operations["cos"] > 0
        assert called(library, program, own, far) == (
            (OUT_OF_RANGE, False) if turned else (OK, True)
        )


@pytest.mark.parametrize("real", REALS)
def test_a_certified_bound_is_what_is_compared_with(real: str, tmp_path: Path) -> None:
    program, own = divided(real), target()
    rows = {
        program.rows[i].value[1]: i
        for i in range(len(program.rows))
        if program.rows[i].op == "input"
    }
    floors = {rows[0]: Fraction(1, 2), rows[1]: Fraction(1, 4)}
    source = c99.source(program, own, floors)
    assert compare(program, source, checked=floors) == []
    assert compare(program, source, checked={}) != []
    for name, text in (c99.headers({"gravity_force": program}, own) | {"one.c": source}).items():
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
        assert called(library, program, own, {"q": q}) == (status, status == OK)


PLANTED = {
    "an argument left out": (r" \+\s+\(0\.0\*tau\[1\]\)", ""),
    "an argument twice": (r"\(0\.0\*tau\[1\]\)", "(0.0*tau[0])"),
    "another zero": (r"0\.0\*tau\[1\]", "1.0*tau[1]"),
    "an angle left out": (r" &&\s+\(fabs\(q\[3\]\) <= 32768\.0\)", ""),
    "another range": (r"\(fabs\(q\[3\]\) <= 32768\.0\)", "(fabs(q[3]) <= 65536.0)"),
    "a range of one side": (r"\(fabs\(q\[3\]\) <= 32768\.0\)", "(q[3] <= 32768.0)"),
    "the other way": (r"!\(none >= 0\.0\)", "!(none <= 0.0)"),
    "a check upside down": (r"!\(none >= 0\.0\)", "(none >= 0.0)"),
    "a status of another type": (r"int status", "long status"),
    "another status": (r"status = panda_DIVISOR", "status = panda_OK"),
    "an ok that is none": (r"int status = panda_OK", "int status = panda_DIVISOR"),
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
    "results upside down": (r"!\((\(\(0\.0\*out_a_0\))", r"(\1"),
    "results of another status": (r"status = panda_RESULT_NOT_FINITE", "status = panda_OK"),
    "results not checked": (
        r"} else if \(!\(\(\(0\.0\*out.*?\) >=\s+0\.0\)\) {\n.*?\n        } else",
        "} else",
    ),
    "no check": (r"} else if \(!\((\(fabs\(q.*?\n)*?.*?status = panda_OUT_OF_RANGE;\n", ""),
}


@cache
def printed() -> tuple[Program, str, str]:
    """Panda's forward dynamics, its C and its header."""
    (program,) = programs(symgen.load("panda"), ["forward_dynamics"], ProgramOptions()).values()
    own = target("inline", "panda", 7)
    return program, c99.source(program, own), c99.header({"forward_dynamics": program}, own)


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_slip_is_read_back(what: str) -> None:
    program, source, header = printed()
    broken = re.sub(
        PLANTED[what][0],
        PLANTED[what][1],
        source,
        count=1,
        flags=re.DOTALL if what in ("no check", "results not checked") else 0,
    )
    assert broken != source
    assert compare(program, broken, header, checked={}) != []


def test_without_a_slip_nothing_is_reported_and_a_status_of_another_value_is() -> None:
    program, source, header = printed()
    assert compare(program, source, header, checked={}) == []
    assert (
        compare(program, source, header.replace("panda_DIVISOR 3", "panda_DIVISOR 0"), checked={})
        != []
    )


def hidden(real: str) -> Program:
    """g = q0/(q1 q1), atan2(q0 q0, 1): an infinite number on the way, and a finite one in the end."""
    b = Builder("gravity_force", [vector("q")], real)
    q0, q1 = b.input(0, 0), b.input(0, 1)
    b.step("product")
    results = b.op("div", q0, b.op("mul", q1, q1)), b.op("atan2", b.op("mul", q0, q0), b.const(1))
    return b.program([Port("g", (2,), results)])


@pytest.mark.parametrize("real", REALS)
def test_a_result_that_only_looks_finite_is_refused(real: str, tmp_path: Path) -> None:
    program, own = hidden(real), target()
    huge = {"double": 1e200, "float": 1e30}[real]
    source = c99.source(program, own)
    assert compare(program, source, checked={}) == []
    for name in re.findall(r"\(0\.0f?\*(\w+)\)", source):
        assert compare(
            program,
            re.sub(rf"\(0\.0f?\*{name}\) \+\s+| \+\s+\(0\.0f?\*{name}\)", "", source, count=1),
            checked={},
        )
    library = build(tmp_path, {"gravity_force": program}, own, "-O2")
    for q, status in (
        ([1.0, 2.0], OK),
        ([1.0, huge], RESULT_NOT_FINITE),
        ([huge, 2.0], RESULT_NOT_FINITE),
    ):
        assert called(library, program, own, {"q": q}) == (status, status == OK), q


def unlike(seed: int, count: int, size: int) -> np.ndarray[Any, Any]:
    """Numbers of either sign, each as likely to be near 1e-37 as near 1e37."""
    pick = np.random.default_rng(seed)
    return pick.choice([-1.0, 1.0], (count, size)) * 10.0 ** pick.uniform(-37, 38, (count, size))


@pytest.mark.parametrize("cut", [False, True])
def test_results_that_are_stored_are_finite(
    cut: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finite arguments out of all proportion, of each function, in one piece and in parts."""
    if cut:
        monkeypatch.setattr(parts, "LONGEST", 10)
        monkeypatch.setattr(parts, "LINES", 10)
    found = programs(symgen.load("planar_arm"), None, ProgramOptions("float"))
    own = target("libm", "arm", 2)
    library, seen = build(tmp_path, found, own, "-O1"), set()
    for program in found.values():
        assert compare(program, c99.source(program, own), checked={}) == []
        function = getattr(library, own.symbol(program.function))
        arguments = [unlike(k, 100, port.size) for k, port in enumerate(program.inputs)]
        for state in range(100):
            given = [
                (ctypes.c_float * port.size)(*drawn[state])
                for port, drawn in zip(program.inputs, arguments, strict=True)
            ]
            results = [
                (ctypes.c_float * port.size)(*[math.nan] * port.size) for port in program.outputs
            ]
            status = function(*given, *results)
            stored = [x for result in results for x in result]
            assert all(map(math.isfinite if status == OK else math.isnan, stored)), (
                program.function,
                state,
            )
            seen.add(status)
    assert seen == {OK, RESULT_NOT_FINITE}


def test_checked_and_unchecked_are_not_taken_for_each_other() -> None:
    program = divided("double")
    plain, checked = (
        c99.source(program, c99.Target("arm", Sizes(2, 2, 2), TextOptions(checked=own)))
        for own in (False, True)
    )
    assert compare(program, plain) == compare(program, checked, checked={}) == []
    assert compare(program, plain, checked={}) != []
    assert compare(program, checked) != []


# In the folder


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("generated")
    some = ["inverse_dynamics", "forward_dynamics", "gravity_force", "mass_matrix_log_determinant"]
    for robot, real, trig, functions in (
        ("panda", "float", "inline", some),
        ("scara", "double", "libm", None),
    ):
        symgen.generate(
            robot,
            place / robot,
            functions,
            real,
            trig=trig,
            checked=True,
            wrap=["cpp17"],
            target="cortex-m4f",
            evidence=False,
        )
    return place


@pytest.mark.parametrize("robot", [pytest.param("panda", marks=pytest.mark.firmware), "scara"])
def test_the_folder_verifies_and_its_self_test_passes(generated: Path, robot: str) -> None:
    report = verify(generated / robot, ["forward_dynamics", "mass_matrix_log_determinant"], 4)
    assert report.passed, str(report)
    assert selftest(generated / robot).stdout.endswith(" passed, 0 failed\n")


def test_what_is_printed_verifies_without_a_folder() -> None:
    report = verify("scara", ["forward_dynamics"], 4, real="float", trig="inline", checked=True)
    assert report.passed, str(report)


def test_the_self_test_sees_checks_that_the_compiler_took_away(generated: Path) -> None:
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


def test_without_the_option_nothing_changes(tmp_path: Path) -> None:
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
def test_the_wrapper_passes_the_status_on(generated: Path, tmp_path: Path, standard: str) -> None:
    (tmp_path / "main.cpp").write_text(MAIN)
    c = [path for path in sorted((generated / "scara").glob("*.c")) if "selftest" not in path.name]
    assert command("gcc", "-std=c99", "-c", *c, cwd=tmp_path).returncode == 0
    warnings = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic-errors", "-Werror")
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    flags = (standard, *warnings, f"-I{generated / 'scara'}")
    built = command(tool("g++"), *flags, "main.cpp", *objects, "-o", "main", "-lm", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert command(tmp_path / "main").returncode == 0


def test_the_readme_says_what_a_call_returns(generated: Path) -> None:
    said = (generated / "panda" / "README.md").read_text()
    without = {"NOT_UNIT", "NO_WORK"}  # it has no quaternion, and goes round no loops
    assert {status for status in STATUSES if f"`panda_{status}`" in said} == {*STATUSES} - without
    assert "int panda_forward_dynamics(" in (generated / "panda" / "panda.h").read_text()


# In Python


def test_the_solver_says_why() -> None:
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
    for ask, said in [
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
        with pytest.raises(StateError, match=said) as error:
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
