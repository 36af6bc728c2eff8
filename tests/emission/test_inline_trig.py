"""`--trig inline`: the error is proved and measured to be at most two units in the last place.

Every angle takes the same instructions.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import random
import re
import shutil
from fractions import Fraction
from functools import cache
from pathlib import Path

import flint
import numpy as np
import pytest

import symgen
from symgen.cli import main
from symgen.delivery.verifying import verify
from symgen.emission.backends import c99
from symgen.emission.sincos import RANGE, ULPS
from symgen.machine import targets
from symgen.machine.cost import OPTIMIZE, Source, measure
from symgen.machine.emulation import Toolchain
from symgen.machine.firmware import BASE_FLAGS
from symgen.pipeline.build import program
from symgen.readback.rows import compare
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.sines import CONSTANTS
from tests.shared.analysers import SANITIZERS, UNWANTED, misra, tool
from tests.shared.c99 import WARNINGS
from tests.shared.firmware_tools import make, need
from tests.shared.folders import cmake, selftest
from tests.shared.folders import run as command
from tests.sincos_constants import constants
from tests.sincos_proof import PRECISION, Machine, Proof, prove, run, statements, text

pytestmark = pytest.mark.firmware

REALS = ("float", "double")
TYPES = {"float": (np.float32, ctypes.c_float), "double": (np.float64, ctypes.c_double)}
CALLER = """#include "arm_sincos.h"
void many(long count, const REAL *x, REAL *sine, REAL *cosine);
void many(long count, const REAL *x, REAL *sine, REAL *cosine)
{
    long i;
    for (i = 0; i < count; ++i) {
        const arm_pair found = arm_sincos(x[i]);
        sine[i] = found.sine;
        cosine[i] = found.cosine;
    }
}
"""
FUSED = ("-O2", "-ffp-contract=fast", "-mfma")


@cache
def proof_of(real: str) -> Proof:
    return prove(text(real), real)


def build_library(folder: Path, real: str, *flags: str, source: str = "") -> ctypes.CDLL:
    (folder / "arm_sincos.h").write_text(source or text(real))
    (folder / "many.c").write_text(CALLER.replace("REAL", real))
    done = command(
        "gcc",
        "-std=c99",
        *WARNINGS,
        "-ffp-contract=off",
        *flags,
        "-shared",
        "-fPIC",
        folder / "many.c",
        "-o",
        folder / "many.so",
        "-lm",
    )
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "many.so"))


def sines_and_cosines(
    library: ctypes.CDLL, real: str, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    numpy, c = TYPES[real]
    x, sine, cosine = (
        np.ascontiguousarray(x, dtype=numpy),
        np.empty(len(x), numpy),
        np.empty(len(x), numpy),
    )
    pointers = (a.ctypes.data_as(ctypes.POINTER(c)) for a in (x, sine, cosine))
    library.many(ctypes.c_long(len(x)), *pointers)
    return sine, cosine


def largest_error(real: str, x: np.ndarray, computed: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the largest error in units in the last place of the exact value."""
    worst, bits, least = 0.0, PRECISION[real], {"float": -149, "double": -1074}[real]
    with flint.ctx.workprec(200):
        for angle, *both in zip(x.tolist(), *(f.tolist() for f in computed), strict=True):
            exact = flint.arb(angle)
            for got, want in zip(both, (exact.sin(), exact.cos()), strict=True):
                unit = max(math.frexp(float(want))[1] - bits, least)
                worst = (
                    max(worst, float(abs(want - got) * flint.arb(2) ** -unit))
                    if got == got
                    else math.inf
                )
    return worst


def near_quarter_turns(real: str) -> np.ndarray:
    """Floating-point numbers next to k·π/2 for every k within the range, with both signs."""
    numpy = TYPES[real][0]
    with flint.ctx.workprec(200):
        near = np.array(
            [float(flint.arb.pi() / 2 * k) for k in range(1, proof_of(real).most + 1)]
        ).astype(numpy)
    near = np.concatenate([near, np.nextafter(near, numpy(0)), np.nextafter(near, numpy(np.inf))])
    near = near[near <= RANGE]
    return np.concatenate([near, -near])


def all_binades(real: str, each: int) -> np.ndarray:
    """Random numbers of every binade, subnormal ones too, the ends of the range, and zero."""
    numpy = TYPES[real][0]
    generator = random.Random(5)
    lowest = {"float": -149, "double": -1074}[real]
    numbers = [
        generator.choice((-1, 1)) * math.ldexp(1 + generator.random(), e)
        for e in range(lowest, 15)
        for _ in range(each)
    ]
    ends = [
        0.0,
        RANGE,
        -RANGE,
        math.ldexp(1, lowest),
        *(s * math.pi / 4 * k for k in range(-9, 10) for s in (1 - 1e-7, 1, 1 + 1e-7)),
    ]
    return np.array(numbers + ends).astype(numpy)


def test_the_constants_are_those_that_the_command_computes() -> None:
    assert {real: constants(real) for real in CONSTANTS} == CONSTANTS


@pytest.mark.parametrize("real", REALS)
def test_the_bound_is_proved(real: str) -> None:
    proof = proof_of(real)
    assert proof.units <= ULPS
    assert proof.most == math.ceil(RANGE * 2 / math.pi)


SLIPS = {
    "a coefficient of the sine": ("-0.16666654f", "-0.16666604f"),
    "a coefficient of the cosine": ("0.041666653f", "0.041667653f"),
    "a part of pi/2 left out": ("6.223372e-14f", "0.0f"),
    "a part of pi/2": ("6.070877e-11f", "6.070977e-11f"),
}


@pytest.mark.parametrize("what", ["a coefficient of the cosine", "a part of pi/2 left out"])
def test_a_wrong_constant_breaks_the_proof(what: str) -> None:
    assert text("float").count(SLIPS[what][0]) == 1
    assert prove(text("float").replace(*SLIPS[what]), "float").units > ULPS


@pytest.mark.parametrize("what", SLIPS)
def test_a_wrong_constant_exceeds_the_bound_when_measured(what: str, tmp_path: Path) -> None:
    library = build_library(tmp_path, "float", source=text("float").replace(*SLIPS[what]))
    x = np.concatenate([near_quarter_turns("float")[:40000], all_binades("float", 30)])
    assert largest_error("float", x, sines_and_cosines(library, "float", x)) > ULPS


@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), FUSED], ids=" ".join)
@pytest.mark.parametrize("real", REALS)
def test_measured_errors_stay_within_the_bound(
    real: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    if flags == FUSED and " fma " not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor does not fuse a*b + c")
    library = build_library(tmp_path, real, *flags)
    for x in (near_quarter_turns(real), all_binades(real, {"float": 60, "double": 20}[real])):
        assert largest_error(real, x, sines_and_cosines(library, real, x)) <= proof_of(real).units


@pytest.mark.parametrize("real", REALS)
def test_the_proofs_arithmetic_gives_the_bits_of_the_c(real: str, tmp_path: Path) -> None:
    """The proof rounds exact rational numbers."""
    machine, printed = Machine(real), statements(text(real))
    x = np.concatenate([all_binades(real, 0), near_quarter_turns(real)[::997]])
    computed = sines_and_cosines(build_library(tmp_path, real), real, x)
    for angle, sine, cosine in zip(x.tolist(), *(f.tolist() for f in computed), strict=True):
        values = run(printed, machine, {"x": Fraction(angle)}, "found.cosine")
        assert (float(values["found.sine"]), float(values["found.cosine"])) == (sine, cosine)


@pytest.mark.parametrize("real", REALS)
def test_zeros_keep_their_sign_and_nonfinite_angles_give_nan(real: str, tmp_path: Path) -> None:
    for flags in (("-O0",), ("-O2",)):
        sine, cosine = sines_and_cosines(
            build_library(tmp_path, real, *flags),
            real,
            np.array([0.0, -0.0, math.nan, math.inf, -math.inf]),
        )
        assert (list(sine[:2]), list(np.signbit(sine[:2])), list(cosine[:2])) == (
            [0, 0],
            [False, True],
            [1, 1],
        )
        assert np.isnan([*sine[2:], *cosine[2:]]).all()


EXHAUSTIVE = """#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "arm_sincos.h"
static double units(double got, double want)
{
    int e;
    (void)frexp(want, &e);
    return fabs(got - want)/ldexp(1.0, e - 24 > -149 ? e - 24 : -149);
}
int main(void)
{
    double worst[2] = {0.0, 0.0};
    uint32_t bits;
    for (bits = 1; bits <= 0x47000000u; ++bits) {
        float x;
        arm_pair found;
        double off[2];
        memcpy(&x, &bits, sizeof x);
        found = arm_sincos(x);
        off[0] = units((double)found.sine, sin((double)x));
        off[1] = units((double)found.cosine, cos((double)x));
        worst[0] = off[0] > worst[0] ? off[0] : worst[0];
        worst[1] = off[1] > worst[1] ? off[1] : worst[1];
    }
    printf("%.6f %.6f\\n", worst[0], worst[1]);
    return 0;
}
"""


@pytest.mark.skipif(
    not os.environ.get("SYMGEN_EXHAUSTIVE"),
    reason="takes two minutes or more; SYMGEN_EXHAUSTIVE=1 runs it",
)
def test_the_bound_holds_for_every_float(tmp_path: Path) -> None:
    """All 1.2e9 positive floats up to 2^15 are compared with the host's sine in double.

    Negative floats give the opposite sine and the same cosine.
    """
    (tmp_path / "arm_sincos.h").write_text(text("float"))
    (tmp_path / "all.c").write_text(EXHAUSTIVE)
    done = command(
        "gcc", "-O2", "-ffp-contract=off", tmp_path / "all.c", "-o", tmp_path / "all", "-lm"
    )
    assert done.returncode == 0, done.stderr
    worst = [float(word) for word in command(tmp_path / "all").stdout.split()]
    print(worst)
    assert max(worst) <= proof_of("float").units


# Generated folders


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated")
    for robot, real in (("panda", "float"), ("planar_arm", "double")):
        functions = (
            ["forward_dynamics", "gravity_force", "jacobian", "mass_matrix"]
            if robot == "panda"
            else None
        )
        symgen.generate(
            robot,
            folder / robot,
            functions,
            real,
            trig="inline",
            target="cortex-m4f",
            evidence=False,
        )
    return folder


@pytest.mark.parametrize("robot", ["panda", "planar_arm"])
def test_the_folder_passes_verify_and_its_self_test(generated: Path, robot: str) -> None:
    report = verify(generated / robot, ["forward_dynamics", "gravity_force"], 4)
    assert report.passed, str(report)
    assert selftest(generated / robot).stdout.endswith(" passed, 0 failed\n")


def test_sine_and_cosine_of_an_angle_take_one_call() -> None:
    dynamics = program("panda", "forward_dynamics", real="float")
    source = c99.source(dynamics, c99.Target("panda", Sizes(7, 7, 7), TextOptions("inline")))
    assert source.count("panda_sincos(") == dynamics.operations["sin"] == 6
    assert not re.search(r"\b(sin|cos)f?\(", source)


def test_a_function_without_a_sine_does_not_include_the_sine_header() -> None:
    mass_matrix = program("planar_point_mass", "mass_matrix")
    target = c99.Target(
        "planar_point_mass", Sizes(*[mass_matrix.inputs[0].size] * 3), TextOptions("inline")
    )
    angles = mass_matrix.operations["sin"] + mass_matrix.operations["cos"]
    assert (target.sincos_file in c99.source(mass_matrix, target)) == (angles > 0)
    assert (target.sincos_file in c99.headers({"mass_matrix": mass_matrix}, target)) == (angles > 0)
    scara = program("scara", "gravity_force")
    assert "sincos" not in c99.source(
        scara, c99.Target("scara", Sizes(4, 4, 4), TextOptions("inline"))
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [("0.041666653f", "0.041666953f"), ("(turned*sine) - (across*cosine)", "turned*sine")],
)
def test_verify_rejects_a_changed_sine_in_the_folder(
    generated: Path, tmp_path: Path, old: str, new: str
) -> None:
    folder = tmp_path / "panda"
    shutil.copytree(generated / "panda", folder)
    path = folder / "panda_sincos.h"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    report = verify(folder, ["gravity_force"], 2)
    assert [check.kind for check in report.checks if not check.passed][:1] == ["text"]


@pytest.mark.parametrize(("old", "new"), [
    ("turn_1.sine", "turn_1.cosine"), ("turn_2.cosine", "turn_1.cosine"),
    ("panda_sincos(q[2])", "panda_sincos(q[1])"),
    ("panda_sincos(q[2])", "panda_sincos(q[2] + q[2])"),
    ("const panda_pair turn_2", "panda_pair turn_2"),
    ("panda_sincos(q[2])", "other_sincos(q[2])"), ("turn_1.sine", "turn_1.tangent"),
    ("    const panda_pair turn_2",
     "    const panda_pair turn_9 = panda_sincos(v[0]);\n    const panda_pair turn_2"),
    ('#include "panda_sincos.h"', '#include "panda_cosines.h"'),
    ("#define panda_sincos panda_mass", "#define panda_pair panda_mass"),
])  # fmt: skip
def test_read_back_reports_an_error_in_the_text(old: str, new: str) -> None:
    mass_matrix = program("panda", "mass_matrix", real="float")
    source = c99.source(mass_matrix, c99.Target("panda", Sizes(7, 7, 7), TextOptions("inline")))
    assert compare(mass_matrix, source) == []
    assert old in source
    assert compare(mass_matrix, source.replace(old, new, 1)) != []


def test_the_solver_with_inline_sines_equals_libms() -> None:
    inline, libm = (
        symgen.compile("panda", ["forward_dynamics"], trig=trig) for trig in ("inline", "libm")
    )
    q, v, tau = np.linspace(-2, 2, 7), np.linspace(1, -1, 7), np.linspace(-20, 20, 7)
    np.testing.assert_allclose(
        inline.forward_dynamics(q, v, tau), libm.forward_dynamics(q, v, tau), rtol=1e-12
    )


@pytest.mark.parametrize("robot", ["panda", "planar_arm"])
def test_compilers_and_analysers_are_silent(generated: Path, tmp_path: Path, robot: str) -> None:
    files = sorted((generated / robot).glob("*.c"))
    done = command("gcc", "-std=c99", *WARNINGS, "-fanalyzer", "-c", *files[:4], cwd=tmp_path)
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
    assert (
        misra(*(file for file in files if re.search("forward_dynamics|jacobian", file.name)))
        == set()
    )


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_sanitizers_are_silent(generated: Path, tmp_path: Path, sanitizer: str) -> None:
    compiler, *flags = SANITIZERS[sanitizer]
    files = sorted((generated / "planar_arm").glob("*.c"))
    done = command(
        tool(compiler),
        "-std=c99",
        "-O1",
        "-ffp-contract=off",
        "-Dplanar_arm_SELFTEST",
        *flags,
        *files,
        "-o",
        tmp_path / "selftest",
        "-lm",
    )
    assert done.returncode == 0, done.stderr
    done = command(tmp_path / "selftest")
    assert (done.returncode, done.stderr) == (0, "")


# Microcontrollers


def test_the_self_test_passes_on_a_target(generated: Path, tmp_path: Path) -> None:
    need("cortex-m4f")
    done = make(generated / "planar_arm", "run", f"BUILD={tmp_path}")
    assert done.returncode == 0, done.stdout


HARD_FLOAT = [
    (name, real)
    for name in targets.names()
    if targets.find(name).counter
    for real in REALS
    if real == "float" or not targets.find(name).double_in_software
]


@pytest.mark.parametrize("function", ["forward_dynamics", "forward_kinematics"])
@pytest.mark.parametrize(("target", "real"), HARD_FLOAT)
def test_every_state_takes_the_same_instructions(target: str, real: str, function: str) -> None:
    need(target)
    (cost,) = measure(
        symgen.load("panda"),
        [program("panda", function, real=real)],
        target,
        12,
        source=Source(TextOptions("inline")),
    ).costs
    assert cost.instructions[0] == cost.instructions[1]
    assert cost.alone == cost.instructions
    assert (cost.undefined, cost.ram, cost.libm_calls) == ((), 0, 0)


@pytest.mark.parametrize(("target", "real"), HARD_FLOAT)
def test_machine_code_has_no_conditional_branch(target: str, real: str, tmp_path: Path) -> None:
    need(target)
    dynamics, names = (
        program("panda", "forward_dynamics", real=real),
        c99.Target("panda", Sizes(7, 7, 7), TextOptions("inline")),
    )
    for name, source in (
        c99.headers({"forward_dynamics": dynamics}, names) | {"one.c": c99.source(dynamics, names)}
    ).items():
        (tmp_path / name).write_text(source)
    tools = Toolchain(targets.find(target), tmp_path)
    tools.compile("one.c", "one.o", *BASE_FLAGS, OPTIMIZE)
    words = set(
        re.findall(
            r"^ +[0-9a-f]+:\t[0-9a-f ]+\t(\S+)", tools.tool("objdump", "-d", "one.o"), re.MULTILINE
        )
    )
    assert len(words) > 10
    arm = r"(b(eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)|it[te]*|cbn?z)(\.[nw])?"
    assert not {
        word for word in words if re.fullmatch(rf"{arm}|(c\.)?b(eq|ne|lt|ge|gt|le)(u|z)?", word)
    }


PRINTING = """#include <stdint.h>
#include <stdio.h>
#include "arm_sincos.h"
static uint32_t hash = 2166136261u;
static void mix(REAL x)
{
    union { REAL number; unsigned char bytes[sizeof(REAL)]; } shown;
    unsigned i;
    shown.number = x;
    for (i = 0; i < sizeof x; ++i) {
        hash = (hash ^ shown.bytes[i])*16777619u;
    }
}
int main(void)
{
    uint32_t state = 1;
    int i;
    for (i = 0; i < 4000; ++i) {
        REAL x;
        arm_pair found;
        state = state*1664525u + 1013904223u;
        x = (REAL)((int32_t)state)*(REAL)(1.0/65536)*(REAL)1.5707964;
        x = (i % 2) ? x/(REAL)8192 : x/(REAL)2;
        found = arm_sincos(x);
        mix(found.sine);
        mix(found.cosine);
    }
    printf("%08lx\\n", (unsigned long)hash);
    return 0;
}
"""


@pytest.mark.parametrize(("target", "real"), HARD_FLOAT)
def test_a_target_computes_the_bits_of_this_machine(target: str, real: str, tmp_path: Path) -> None:
    need(target)
    (tmp_path / "arm_sincos.h").write_text(text(real))
    (tmp_path / "print.c").write_text(PRINTING.replace("REAL", real))
    done = command(
        "gcc",
        "-std=c99",
        "-O1",
        "-ffp-contract=off",
        tmp_path / "print.c",
        "-o",
        tmp_path / "here",
        "-lm",
    )
    assert done.returncode == 0, done.stderr
    tools = Toolchain(targets.find(target), tmp_path)
    for level in ("-O0", "-O2"):
        tools.compile("print.c", "print.o", *BASE_FLAGS, level)
        tools.link("print.elf", "print.o")
        assert tools.run("print.elf") == command(tmp_path / "here").stdout


def test_panda_fits_the_documented_cost_on_a_cortex_m4f(as_users_have_them: None) -> None:
    """`docs/reference/microcontroller-costs.md` states the cost with default options.

    A longer search saves 5 operations and costs 15 instructions.
    """
    need("cortex-m4f")
    functions = [program("panda", "forward_dynamics", real="float")]
    inline, libm = (
        measure(
            symgen.load("panda"), functions, "cortex-m4f", 12, source=Source(TextOptions(trig))
        ).costs[0]
        for trig in ("inline", "libm")
    )
    assert inline.instructions[1] <= 2085 < libm.instructions[0]
    assert libm.flash <= 7000
    assert libm.stack <= 512
    assert libm.alone[1] <= 1688
    assert inline.flash <= 7208
    assert inline.stack <= 520


def test_the_cost_command_measures_equal_instructions_for_all_states(
    capsys: pytest.CaptureFixture[str],
) -> None:
    need("cortex-m4f")
    assert (
        main(
            [
                "cost",
                "planar_arm",
                "--target",
                "cortex-m4f",
                "--trig",
                "inline",
                "-f",
                "mass_matrix",
                "--json",
            ]
        )
        == 0
    )
    (facts,) = json.loads(capsys.readouterr().out)["functions"]
    assert facts["instructions"][0] == facts["instructions"][1]


def test_cmake_does_not_install_the_sine_header(generated: Path, tmp_path: Path) -> None:
    folder, build = generated / "planar_arm", tmp_path / "build"
    cmake("-S", folder, "-B", build, f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'there'}")
    cmake("--build", build)
    cmake("--install", build)
    assert [path.name for path in (tmp_path / "there" / "include").iterdir()] == ["planar_arm.h"]
