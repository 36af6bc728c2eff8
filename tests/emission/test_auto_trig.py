"""`--trig auto`: each angle has symgen's sine within its range and libm's beyond it.

The bits of an angle's sine depend neither on its neighbours nor on vectorisation.
"""

from __future__ import annotations

import ctypes
import math
import platform
import re
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pycparser import c_ast, c_generator, c_parser

import symgen
from symgen.delivery.verifying import verify
from symgen.emission.backends import c99
from symgen.emission.sincos import RANGE, lanes
from symgen.ir.program import Port, Program
from symgen.pipeline.build import program
from symgen.readback.preprocessor import without_comments
from symgen.readback.rows import compare
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from tests.shared.analysers import SANITIZERS, UNWANTED, built, misra, tool
from tests.shared.c99 import WARNINGS
from tests.shared.c_programs import Builder, vector
from tests.shared.folders import run as command
from tests.shared.folders import selftest

REALS = ("float", "double")
NUMPY = {"float": np.float32, "double": np.float64}
ONE = TextOptions("inline")
ALL = TextOptions("auto")
BUILDS = (
    "gcc -O0",
    "gcc -O2",
    "gcc -O3",
    "gcc -O2 -fno-tree-vectorize",
    "gcc -O3 -march=native",
    "clang -O3 -march=native",
)
CALLER = """#include <math.h>
#define arm_ANGLES COUNT
#include "arm_sincos.h"
void many(long count, const REAL *x, REAL *sine, REAL *cosine);
void many(long count, const REAL *x, REAL *sine, REAL *cosine)
{
    long k;
    for (k = 0; k < count; k += arm_ANGLES) {
        int i;
        const arm_turns found = arm_sincos(x + k);
        for (i = 0; i < arm_ANGLES; ++i) {
            sine[k + i] = found.sine[i];
            cosine[k + i] = found.cosine[i];
        }
    }
}
"""
SINGLE = """#include <math.h>
#include "one_sincos.h"
void many(long count, const REAL *x, REAL *sine, REAL *cosine);
void many(long count, const REAL *x, REAL *sine, REAL *cosine)
{
    long k;
    for (k = 0; k < count; ++k) {
        const one_pair own = one_sincos(x[k]);
        const int near = FABS(x[k]) <= (REAL)32768;
        sine[k] = near ? own.sine : SIN(x[k]);
        cosine[k] = near ? own.cosine : COS(x[k]);
    }
}
"""


def text(real: str, options: TextOptions = ALL, name: str = "arm") -> str:
    return c99.sincos(real, c99.Target(name, Sizes(1, 1, 1), options))


def compiled_library(
    folder: Path, real: str, source: str, how: str = "gcc -O0", count: int = 8
) -> ctypes.CDLL:
    compiler, *flags = how.split()
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    folder.mkdir(exist_ok=True)
    suffix = "f" if real == "float" else ""
    words = {"REAL": real, "COUNT": str(count)} | {
        name.upper(): f"{name}{suffix}" for name in ("fabs", "sin", "cos")
    }
    for word, meaning in words.items():
        source = re.sub(rf"\b{word}\b", meaning, source)
    (folder / "arm_sincos.h").write_text(text(real))
    (folder / "one_sincos.h").write_text(text(real, ONE, "one"))
    (folder / "many.c").write_text(source)
    done = command(
        compiler,
        "-std=c99",
        *WARNINGS,
        "-ffp-contract=off",
        *flags,
        "-shared",
        "-fPIC",
        folder / "many.c",
        "-o",
        folder / f"many{count}.so",
        "-lm",
    )
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / f"many{count}.so"))


def sine_and_cosine_bits(library: ctypes.CDLL, x: np.ndarray) -> np.ndarray:
    """Return the bits of all sines, then of all cosines; every NaN is replaced by 7."""
    both = np.empty((2, len(x)), x.dtype)
    library.many(
        ctypes.c_long(len(x)),
        *(ctypes.c_void_p(a.ctypes.data) for a in (np.ascontiguousarray(x), *both)),
    )
    return np.where(np.isnan(both), both.dtype.type(7), both).view(
        np.uint32 if x.dtype == np.float32 else np.uint64
    )


@cache
def angles(real: str) -> np.ndarray:
    """Test angles in random order, with both signs.

    They cover every binade (subnormal numbers included), both sides of the range's edge, and a
    million angles within the range.
    """
    kind, generator = NUMPY[real], np.random.default_rng(7)
    info = np.finfo(kind)
    lowest, highest = (-149, 128) if real == "float" else (-1074, 1024)
    binades = np.ldexp(
        1 + generator.random((highest - lowest - 1) * 8),
        np.repeat(np.arange(lowest, highest - 1), 8),
    )
    edge = [kind(RANGE)]
    for end in (0, np.inf):
        for _ in range(4):
            edge.append(np.nextafter(edge[-1] if end else edge[0], kind(end)))
    ends = np.array(
        [
            0,
            math.ldexp(1, lowest),
            info.tiny,
            info.max,
            math.inf,
            math.nan,
            2 * math.pi * 50000,
            math.pi / 2,
        ],
        kind,
    )
    near = generator.uniform(-RANGE, RANGE, 10**6)
    x = np.concatenate(
        [
            binades.astype(kind),
            np.array(edge, kind),
            ends,
            near.astype(kind),
            (near / RANGE * 4).astype(kind),
        ]
    )
    x = np.concatenate([x, -x])
    generator.shuffle(x)
    few = np.zeros(
        (2 * len(edge) + 1, 48), kind
    )  # an angle at the edge among zeros, and a NaN beside an angle beyond the range
    few[:-1, 5] = [*edge, *(-angle for angle in edge)]
    few[-1, :2] = kind(math.nan), kind(-1e12)
    return np.concatenate([x[: len(x) // 48 * 48], few.ravel()])


@cache
def single_angle_bits(real: str) -> np.ndarray:
    """Bits of the sines and cosines of a function of one angle; libm's beyond the range.

    The compiler optimises nothing.
    """
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return sine_and_cosine_bits(compiled_library(Path(folder), real, SINGLE), angles(real))


@pytest.mark.parametrize("real", REALS)
def test_the_loop_has_the_statements_that_are_proved_for_one_angle(real: str) -> None:
    """`emission/test_inline_trig` proves the statements for one angle x."""

    def body(source: str, loop_index: int) -> list[str]:
        plain = re.sub(r"^ *#.*?$", "", without_comments(source), flags=re.MULTILINE).replace(
            "arm_ANGLES", "4"
        )
        items = c_parser.CParser().parse(plain).ext[-1].body.block_items
        statements = (
            items
            if loop_index < 0
            else [item for item in items if isinstance(item, c_ast.DoWhile)][
                loop_index
            ].stmt.block_items
        )
        return [c_generator.CGenerator().visit(item) for item in statements]

    loop, single = body(text(real), 0), body(text(real, ONE), -1)[1:-1]
    assert loop[0] == f"const {real} x = angle[i]"
    assert [line.replace("[i]", "") for line in loop[1:-2]] == single
    assert len(single) > 18


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("how", BUILDS)
def test_the_bits_of_an_angle_do_not_depend_on_its_neighbours(
    how: str, real: str, tmp_path: Path
) -> None:
    bits = sine_and_cosine_bits(compiled_library(tmp_path, real, CALLER, how), angles(real))
    wrong = (bits != single_angle_bits(real)).any(axis=0)
    assert not wrong.any(), angles(real)[wrong][:5]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 12])
def test_bits_do_not_depend_on_the_number_of_angles(count: int, tmp_path: Path) -> None:
    bits = sine_and_cosine_bits(
        compiled_library(tmp_path, "double", CALLER, "gcc -O2", count), angles("double")
    )
    assert (bits == single_angle_bits("double")).all()


SLIPS = {
    "the edge of the loop's range is too large": ("(sizes <= 32768.0)", "(sizes <= 32769.0)"),
    "the edge of one angle's range is too large": (
        "(fabs(angle[i]) <= 32768.0)",
        "(fabs(angle[i]) <= 32768.000001)",
    ),
    "all angles take libm's sine where one does": (
        "            if (!(fabs(angle[i]) <= 32768.0)) {",
        "            if (1) {",
    ),
    "NaN counts as within the range": ("!(sizes <= 32768.0)", "sizes > 32768.0"),
    "the sum takes signed angles": ("sizes += fabs(x)", "sizes += x"),
    "libm's cosine is not stored": (
        "found.cosine[i] = cos(angle[i])",
        "found.cosine[i] = found.cosine[i]",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_an_error_in_the_arithmetic_changes_bits(
    slip: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, (old, new) = text("double"), SLIPS[slip]
    assert whole.count(old) == 1
    monkeypatch.setitem(
        globals(),
        "text",
        lambda real, options=ALL, name="arm": (
            whole.replace(old, new)
            if name == "arm"
            else c99.sincos(real, c99.Target(name, Sizes(1, 1, 1), options))
        ),
    )
    assert (
        sine_and_cosine_bits(compiled_library(tmp_path, "double", CALLER), angles("double"))
        != single_angle_bits("double")
    ).any()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="vectors of 16 bytes")
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("robot", ["panda", "scara", "quadruped"])
def test_gcc_vectorises_the_loop_for_any_processor(robot: str, real: str, tmp_path: Path) -> None:
    version = command("gcc", "--version").stdout.splitlines()[0]
    if int(re.findall(r"(\d+)\.\d", version)[-1]) < 12:
        pytest.skip("older versions vectorise at -O3 only")
    poses, target = program(robot, "link_poses", real=real), c99.Target("arm", Sizes(1, 1, 1), ALL)
    for name, source in (
        c99.headers({"link_poses": poses}, target) | {"one.c": c99.source(poses, target)}
    ).items():
        (tmp_path / name).write_text(source)
    done = command(
        "gcc",
        "-std=c99",
        "-O2",
        "-ffp-contract=off",
        "-fopt-info-vec",
        "-c",
        "one.c",
        "-o",
        "one.o",
        cwd=tmp_path,
    )
    assert "arm_sincos.h" in done.stderr, done.stderr
    assert "loop vectorized using 16 byte vectors" in done.stderr


# Whole functions


@pytest.mark.parametrize(
    ("robot", "count"), [("planar_arm", 0), ("scara", 0), ("panda", 6), ("free_body", 0)]
)
def test_a_function_has_one_loop_for_all_its_angles(robot: str, count: int) -> None:
    mass_matrix, target = program(robot, "mass_matrix"), c99.Target("arm", Sizes(1, 1, 1), ALL)
    source = c99.source(mass_matrix, target)
    assert source.count("arm_sincos(") == bool(count)
    assert source.count(" cos(") <= mass_matrix.operations["cos"] * (
        not count
    )  # a single angle takes libm's cosine
    assert (f"#define arm_ANGLES {count}\n" in source) == ("arm_sincos.h" in source) == bool(count)
    assert [lanes(n, "double") for n in range(1, 6)] == [2, 2, 4, 4, 6]
    assert [lanes(n, "float") for n in range(1, 6)] == [4, 4, 4, 4, 8]


def test_a_wheel_after_fifty_thousand_turns_has_the_right_acceleration() -> None:
    q, v, tau = (
        np.array([2 * math.pi * 50000 + 0.3, 0.7]),
        np.array([1.0, -2.0]),
        np.array([3.0, 1.0]),
    )
    auto, libm, inline = (
        symgen.compile("planar_arm", ["forward_dynamics"], trig=trig)
        for trig in ("auto", "libm", "inline")
    )
    expected = libm.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(auto.forward_dynamics(q, v, tau), expected, rtol=1e-13)
    assert not np.allclose(
        inline.forward_dynamics(q * 1e9, v, tau), libm.forward_dynamics(q * 1e9, v, tau), rtol=1e-3
    )
    np.testing.assert_allclose(
        auto.forward_dynamics(q * 1e9, v, tau), libm.forward_dynamics(q * 1e9, v, tau), rtol=1e-13
    )
    assert np.isnan(auto.forward_dynamics(np.array([math.inf, 0.7]), v, tau)).all()
    positions = q.copy()  # the result overwrites the argument
    auto.bind("forward_dynamics", positions, v, tau, positions)()
    assert (positions == auto.forward_dynamics(q, v, tau)).all()


def test_checked_functions_take_angles_of_any_size() -> None:
    solver = symgen.compile("planar_arm", ["forward_dynamics"], trig="auto", checked=True)
    plain = symgen.compile("planar_arm", ["forward_dynamics"], trig="libm")
    q, v, tau = np.array([1e12, -4e5]), np.array([1.0, -2.0]), np.array([3.0, 1.0])
    np.testing.assert_allclose(
        solver.forward_dynamics(q, v, tau), plain.forward_dynamics(q, v, tau), rtol=1e-13
    )
    with pytest.raises(symgen.support.errors.StateError, match="infinite or not a number"):
        solver.forward_dynamics(np.array([math.nan, 0.0]), v, tau)


def nested() -> Program:
    """Results sin(x0), cos(sin(x0)) and cos(x0 + x1)."""
    b = Builder("gravity_force", [vector("q", 2)], "double")
    x = [b.input(0, k) for k in range(2)]
    first = b.op("sin", x[0])
    rows = (first, b.op("cos", first), b.op("cos", b.op("add", x[0], x[1])))
    return b.program([Port("g", (3,), rows)])


def test_an_angle_computed_from_a_sine_takes_libms_cosine(tmp_path: Path) -> None:
    target = c99.Target("arm", Sizes(2, 2, 2), ALL)
    source = c99.source(nested(), target)
    assert compare(nested(), source) == []
    assert (len(re.findall(r"\bcos\(", source)), source.count("#define arm_ANGLES 2\n")) == (1, 1)


@pytest.mark.parametrize(("old", "new"), [
    ("turn.sine[0]", "turn.cosine[0]"), ("turn.sine[0]", "turn.sine[1]"),
    ("turn.sine[5]", "turn.sine[6]"), ("turn.sine[0]", "turn.sine[00]"),
    ("turn.sine[0]", "angle[0]"), ("turn.sine[0]", "turn.tangent[0]"),
    ("angle[panda_ANGLES] = {q[1], q[2]", "angle[panda_ANGLES] = {q[2], q[1]"),
    ("angle[panda_ANGLES] = {q[1], q[2]", "angle[panda_ANGLES] = {q[1], q[1]"),
    (", 0.0f, 0.0f}", ", 0.0f}"), (", 0.0f, 0.0f}", ", 0.0f, q[0]}"),
    (", 0.0f, 0.0f}", ", 0.0f, 1.0f}"), (", t1, 0.0f", ", 0.0f, t1"),
    ("#define panda_ANGLES 8", "#define panda_ANGLES 7"), ("#define panda_ANGLES 8\n", ""),
    ("#define panda_ANGLES 8", "#define panda_ANGLES 8\n#define panda_ANGLES 6"),
    ("const float angle[panda_ANGLES]", "const float angle[6]"),
    ("const float angle[", "float angle["),
    ("const float angle[", "const double angle["), ("const panda_turns turn", "panda_turns turn"),
    ("const panda_turns turn", "const panda_pair turn"), ("panda_sincos(angle)", "panda_sincos(q)"),
    ("panda_sincos(angle)", "other_sincos(angle)"),
    ("panda_sincos(angle)", "panda_sincos(angle + 0)"),
    ("    const panda_turns turn",
     "    const panda_turns turn_2 = panda_sincos(angle);\n    const panda_turns turn"),
    ("    const panda_turns turn",
     "    const float more[panda_ANGLES] = {q[0]};\n    const panda_turns turn"),
    ('#include "panda_sincos.h"', '#include "panda_cosines.h"'),
])  # fmt: skip
def test_read_back_reports_an_error_in_the_text(old: str, new: str) -> None:
    mass_matrix = program("panda", "mass_matrix", real="float")
    source = c99.source(mass_matrix, c99.Target("panda", Sizes(7, 7, 7), ALL))
    assert compare(mass_matrix, source) == []
    assert old in source
    assert compare(mass_matrix, source.replace(old, new, 1)) != []


# Generated folders


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated")
    functions = ["forward_dynamics", "link_poses"]
    symgen.generate("planar_arm", folder / "planar_arm", functions, trig="auto", wrap=["cpp17"])
    symgen.generate("scara", folder / "scara", functions, "float", trig="auto", checked=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["planar_arm", "scara"])
def test_the_folder_passes_verify_and_its_self_test(generated: Path, robot: str) -> None:
    report = verify(generated / robot, None, 4)
    assert report.passed, str(report)
    assert selftest(generated / robot).stdout.endswith(" passed, 0 failed\n")
    assert "OUT_OF_RANGE" not in (generated / robot / f"{robot}.h").read_text()
    assert f"`{robot}_sincos.h`" in (generated / robot / "README.md").read_text()


@pytest.mark.parametrize(
    ("old", "new"), [("0.041666653f", "0.041666953f"), ("sizes <= 32768.0f", "sizes <= 42768.0f")]
)
def test_verify_rejects_a_changed_sine_in_the_folder(
    generated: Path, tmp_path: Path, old: str, new: str
) -> None:
    folder = tmp_path / "scara"
    shutil.copytree(generated / "scara", folder)
    path = folder / "scara_sincos.h"
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))
    report = verify(folder, ["link_poses"], 2)
    assert [check.kind for check in report.checks if not check.passed][:1] == ["text"]


@pytest.mark.firmware
@pytest.mark.parametrize("robot", ["planar_arm", "scara"])
def test_compilers_and_analysers_are_silent(generated: Path, tmp_path: Path, robot: str) -> None:
    files = sorted((generated / robot).glob("*.c"))
    done = command("gcc", "-std=c99", "-O2", *WARNINGS, "-fanalyzer", "-c", *files, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    without = [f"-Wno-{name}" for name in ("unknown-warning-option", *UNWANTED)]
    done = command(
        tool("clang"),
        "-std=c99",
        "-Weverything",
        *without,
        f"-D{robot}_SELFTEST",
        "-Werror",
        "-fsyntax-only",
        *files,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert misra(
        *(file for file in files if re.search("forward_dynamics|link_poses", file.name))
    ) == {"Rule 9.3"}


@pytest.mark.firmware
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_sanitizers_are_silent(generated: Path, tmp_path: Path, sanitizer: str) -> None:
    compiler, *flags = SANITIZERS[sanitizer]
    files = sorted((generated / "scara").glob("*.c"))
    built(
        command(
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
    )
    done = command(tmp_path / "selftest")
    assert (done.returncode, done.stderr) == (0, "")
