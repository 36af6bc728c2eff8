"""Static analysers and sanitizers report no fault in the C of built-in robots, in double and float.

The tools come from Debian (`make firmware-tools`). A test whose tool is missing is skipped with the
reason. With SYMGEN_FIRMWARE_TOOLS=required it fails instead, and each tool analyses all robots,
which takes three minutes.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import pytest

import symgen
from symgen.machine import targets
from symgen.machine.firmware import BASE_FLAGS
from tests.golden import FOLDER
from tests.shared.analysers import (
    REALS,
    REQUIRED,
    ROBOTS,
    SANITIZERS,
    UNWANTED,
    built,
    misra,
    tool,
)
from tests.shared.c99 import WARNINGS
from tests.shared.folders import run

pytestmark = pytest.mark.firmware

ROOT = Path(__file__).resolve().parents[2]
SOME = (("planar_point_mass", "double"), ("scara", "double"), ("planar_arm", "float"))
SLOW = tuple((robot, real) for robot in ROBOTS for real in REALS) if REQUIRED else SOME
"""Robots and real types for the slow tools: all where the tools are required, else a few."""

UNWANTED_IN_CPP = UNWANTED | {
    "c++98-compat": "the header is C++17",
    "pre-c++17-compat": "the header uses keywords of C++17",
}
"""Further warnings of clang that are disabled for the C++ header, each with its reason."""


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The committed C as double/ROBOT, and float/ROBOT generated with sine and cosine as macros."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "double").symlink_to(FOLDER)
    for robot in ROBOTS:
        symgen.generate(robot, folder / "float" / robot, real="float", trig="macro", wrap=["cpp17"])
    return folder


@pytest.mark.parametrize(("robot", "real"), SLOW)
def test_gcc_and_its_analyzer_are_silent(
    generated: Path, tmp_path: Path, robot: str, real: str
) -> None:
    main = f"-D{robot}_SELFTEST"
    for quiet in ((main,), (main, f"-D{robot}_NO_STDIO"), ()):
        files = sorted(
            (generated / real / robot).glob("*.c" if quiet == (main,) else "*_selftest.c")
        )
        done = run("gcc", "-std=c99", *WARNINGS, *quiet, "-fanalyzer", "-c", *files, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_clang_with_every_warning_is_silent(generated: Path, robot: str, real: str) -> None:
    without = [f"-Wno-{name}" for name in ("unknown-warning-option", *UNWANTED)]
    files = sorted((generated / real / robot).glob("*.c"))
    for main, seen in ((f"-D{robot}_SELFTEST", files), (f"-D{robot}_NO_STDIO", files[-1:])):
        done = run(
            tool("clang"),
            "-std=c99",
            "-Weverything",
            *without,
            main,
            "-Werror",
            "-fsyntax-only",
            *seen,
        )
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("real", "compiles"), [("double", False), ("float", True)])
def test_double_does_not_compile_for_avr_where_it_has_4_bytes(
    generated: Path, real: str, compiles: bool
) -> None:
    """clang's target avr: float has 4 bytes there, and double has 4 as well."""
    header = generated / real / "scara" / "scara.h"
    done = run(
        tool("clang"),
        "--target=avr",
        "-mmcu=atmega328",
        "-std=c99",
        "-fsyntax-only",
        "-x",
        "c",
        header,
    )
    assert (done.returncode == 0) == compiles
    assert ("scara_double_has_8_bytes" in done.stderr) != compiles


# Stack usage by the target's compiler; `symgen.machine.targets` states the bound.


def stack_warnings(folder: Path, target: str, output: Path, function: str) -> str:
    """Return the compiler's warning where a function's frame exceeds the bound, else ""."""
    machine = targets.find(target)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    described = manifest["functions"][function]
    results = (
        described["result"] if isinstance(described["result"], list) else [described["result"]]
    )
    bound = machine.frame(
        manifest["real"], manifest["nv"], sum(math.prod(result["shape"]) for result in results)
    )
    done = run(
        tool(machine.compiler),
        *BASE_FLAGS,
        *machine.flags,
        "-O2",
        f"-Wstack-usage={bound}",
        "-Werror",
        "-c",
        folder / described["file"],
        "-o",
        output / "one.o",
    )
    assert (done.returncode == 0) == (done.stderr == "")
    return done.stderr


@pytest.mark.parametrize("target", targets.names())
@pytest.mark.parametrize("robot", ROBOTS if REQUIRED else ("panda", "scara"))
def test_frames_stay_within_the_targets_bound(
    generated: Path, tmp_path: Path, robot: str, target: str
) -> None:
    functions = json.loads(
        (generated / "float" / robot / "manifest.json").read_text(encoding="utf-8")
    )["functions"]
    for function in (
        functions if REQUIRED else ("forward_dynamics", "inverse_dynamics", "interbody_forces")
    ):
        assert stack_warnings(generated / "float" / robot, target, tmp_path, function) == ""


def test_panda_in_float_on_a_cortex_m4f_may_take_512_bytes() -> None:
    assert targets.find("cortex-m4f").frame("float", 7, 7) == 512
    assert targets.find("cortex-m4f").frame("double", 14, 15) == 2 * 2 * 512 + 8


@pytest.mark.parametrize("target", ["cortex-m7", "host"])
def test_frames_in_double_stay_within_the_bound_where_the_fpu_has_double(
    tmp_path: Path, target: str
) -> None:
    """The C is generated for the target: only the host's C has a loop of sines."""
    functions = ["forward_dynamics", "interbody_forces"]
    symgen.generate(
        "panda", tmp_path / "panda", functions, real="double", target=target, evidence=False
    )
    for function in functions:
        assert stack_warnings(tmp_path / "panda", target, tmp_path, function) == ""


@pytest.mark.parametrize("target", targets.names())
def test_too_large_a_frame_is_reported(generated: Path, tmp_path: Path, target: str) -> None:
    """A planted volatile array of 400 numbers enlarges the frame."""
    folder = tmp_path / "scara"
    shutil.copytree(generated / "float" / "scara", folder)
    source = folder / "scara_mass_matrix.c"
    text = source.read_text(encoding="utf-8")
    spoilt = text.replace("{\n", "{\n    volatile float kept[400] = {q[0]};\n", 1).replace(
        " M[0] = ", " M[0] = kept[0] + ", 1
    )
    assert spoilt.count("kept") == 2
    source.write_text(spoilt, encoding="utf-8")
    assert "stack usage" in stack_warnings(folder, target, tmp_path, "mass_matrix")


# The C++ header: each function is called once, with all warnings of clang and with its sanitizers.


def calls_of_all(folder: Path) -> str:
    """Return a C++ program that calls every function of the header with zeros."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    lines = []
    for function, described in manifest["functions"].items():
        sizes = [math.prod(argument["shape"]) for argument in described["arguments"]]
        arguments = ", ".join(f"std::array<{folder.name}::real, {size}>{{}}" for size in sizes)
        lines.append(f"    static_cast<void>({folder.name}::{function}({arguments}));\n")
    return f'#include "{folder.name}.hpp"\nint main()\n{{\n{"".join(lines)}    return 0;\n}}\n'


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("robot", ROBOTS if REQUIRED else ("panda",))
def test_the_cpp_header_is_clean_under_every_warning_of_clang(
    generated: Path, tmp_path: Path, robot: str, standard: str
) -> None:
    without = [f"-Wno-{name}" for name in ("unknown-warning-option", *UNWANTED_IN_CPP)]
    folder = generated / "float" / robot
    (tmp_path / "use.cpp").write_text(calls_of_all(folder), encoding="utf-8")
    done = run(
        tool("clang++"),
        f"-std={standard}",
        "-Weverything",
        *without,
        "-Werror",
        f"-I{folder}",
        "-fsyntax-only",
        tmp_path / "use.cpp",
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("sanitizer", [name for name in SANITIZERS if name.startswith("clang")])
def test_sanitizers_are_silent_on_the_cpp_header(
    generated: Path, tmp_path: Path, sanitizer: str
) -> None:
    compiler, *flags = SANITIZERS[sanitizer]
    folder = generated / "float" / "scara"
    sources = [path for path in sorted(folder.glob("*.c")) if not path.name.endswith("_selftest.c")]
    built(run(tool(compiler), "-std=c99", "-O1", *flags, "-c", *sources, cwd=tmp_path))
    (tmp_path / "use.cpp").write_text(calls_of_all(folder), encoding="utf-8")
    built(
        run(
            tool("clang++"),
            "-std=c++17",
            "-O1",
            *flags,
            f"-I{folder}",
            "use.cpp",
            *tmp_path.glob("*.o"),
            "-o",
            "use",
            "-lm",
            cwd=tmp_path,
        )
    )
    done = run(tmp_path / "use")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize(("robot", "real"), SLOW)
def test_sanitizers_are_silent(
    generated: Path, tmp_path: Path, robot: str, real: str, sanitizer: str
) -> None:
    """The self-test calls every function at three states, and with results aliasing arguments."""
    compiler, *flags = SANITIZERS[sanitizer]
    files = sorted((generated / real / robot).glob("*.c"))
    built(
        run(
            tool(compiler),
            "-std=c99",
            "-O1",
            "-ffp-contract=off",
            f"-D{robot}_SELFTEST",
            *flags,
            *files,
            "-o",
            tmp_path / "selftest",
            "-lm",
        )
    )
    done = run(tmp_path / "selftest")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(" passed, 0 failed\n")


# MISRA C:2012: the addon reports exactly the deviations that docs/how-to/misra.md lists.


def deviations(title: str) -> dict[str, str]:
    """Return the reason for each rule from the table under a heading of the chapter."""
    chapter = (ROOT / "docs" / "how-to" / "misra.md").read_text(encoding="utf-8")
    section = chapter.partition(f"### {title}\n")[2].partition("\n#")[0]
    rows = re.findall(
        r"^\| (\d+) \| (Rule|Dir) ([\d.]+) \| \w+ \| (.+?) \|$", section, re.MULTILINE
    )
    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
    return {f"{kind} {number}": reason for _, kind, number, reason in rows}


EITHER = [(robot, REALS[i % 2]) for i, robot in enumerate(ROBOTS)]
"""Each robot in one real type: MISRA's rules do not depend on the type."""


@pytest.mark.parametrize(("robot", "real"), EITHER if REQUIRED else [("scara", "double")])
def test_the_deviations_from_misra_are_those_listed(generated: Path, robot: str, real: str) -> None:
    files = sorted((generated / real / robot).glob("*.c"))
    loops = any("_turns turn" in file.read_text() for file in files)
    assert misra(*files) == set(deviations("Reported by cppcheck")) - (
        set() if loops else {"Rule 9.3"}
    )


def test_functions_without_the_self_test_deviate_from_no_checked_rule(generated: Path) -> None:
    assert misra(*(generated / "float" / "planar_arm").glob("*_[b-l]*.c")) == set()
    assert misra(*(FOLDER / "panda").glob("*_forward_dynamics.c")) == {
        "Rule 9.3"
    }  # reported by mistake: see the list


def test_deviations_that_cppcheck_cannot_report_exist_in_the_text(generated: Path) -> None:
    """Each rule of the second list has its reason in the text."""
    header = (FOLDER / "planar_point_mass" / "planar_point_mass.h").read_text()
    symbols = re.findall(r"^\w+_API void (\w+)\(", header, re.MULTILINE)
    macros = re.findall(
        r"^#define \w+\(", (generated / "float" / "scara" / "scara.h").read_text(), re.MULTILINE
    )
    deviates = {
        "Rule 5.1": len({symbol[:31] for symbol in symbols}) < len(symbols),
        "Rule 8.6": "extern const char scara_double_has_8_bytes"
        in (FOLDER / "scara" / "scara.h").read_text(),
        "Dir 4.6": "double" in (FOLDER / "scara" / "scara.h").read_text(),
        "Dir 4.9": bool(macros),
    }
    assert set(deviations("Not looked at by cppcheck")) == {
        rule for rule, there in deviates.items() if there
    }


# Each tool reports a planted error that a generated function could contain.

PLANTED = """
#include <math.h>
void planted(const double q[2], double out[2]);
void planted(const double q[2], double out[2])
{{
    double unset[2];
    const double zero = q[0] - q[0];
    unset[0] = zero;
    {statement}
}}
int main(void)
{{
    double q[2] = {{1.0, 2.0}};
    double out[2];
    planted(q, out);
    return out[0] > 1.0 ? 1 : 0;
}}
"""


@pytest.mark.parametrize(
    ("sanitizer", "statement"),
    [("clang: memory", "out[0] = unset[1]; out[1] = unset[0];"),
     *((name, statement) for name in SANITIZERS if name != "clang: memory"
       for statement in ("out[0] = 1.0/zero; out[1] = unset[0];",
                         "out[0] = unset[0]; out[2 + (int)zero] = 1.0;"))],
)  # fmt: skip
def test_sanitizers_report_a_planted_error(tmp_path: Path, sanitizer: str, statement: str) -> None:
    (tmp_path / "planted.c").write_text(PLANTED.format(statement=statement))
    compiler, *flags = SANITIZERS[sanitizer]
    built(
        run(
            tool(compiler),
            "-std=c99",
            "-O0",
            *flags,
            tmp_path / "planted.c",
            "-o",
            tmp_path / "planted",
            "-lm",
        )
    )
    done = run(tmp_path / "planted")
    assert done.returncode != 0
    assert "Sanitizer" in done.stderr or "runtime error" in done.stderr


def test_cppcheck_reports_a_planted_deviation(tmp_path: Path) -> None:
    text = (FOLDER / "planar_arm" / "planar_arm_forward_dynamics.c").read_text()
    shutil.copy(FOLDER / "planar_arm" / "planar_arm.h", tmp_path)
    (tmp_path / "planar_arm_forward_dynamics.c").write_text(
        text.replace("1.75 + (2.0*t2)", "1.75 + 2.0*t2")
    )
    assert misra(tmp_path / "planar_arm_forward_dynamics.c") == {"Rule 12.1"}
