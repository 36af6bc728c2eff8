"""Static analysers and sanitizers have nothing to say on the C of the built-in robots, in double and in float.

The tools come from Debian (`make firmware-tools`). One that is missing is a skip with a reason, and a failure where
SYMGEN_FIRMWARE_TOOLS=required says that they are there; then each tool also sees all robots, which takes three minutes.
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
"""What the slow tools see: some of each kind, and everything where the tools are required."""

UNWANTED_IN_CPP = UNWANTED | {
    "c++98-compat": "the header is C++17",
    "pre-c++17-compat": "so are the words that C++17 brought",
}
"""What is taken out of it besides for the C++ header, and why."""


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """double/ROBOT is the committed C; float/ROBOT is made here, with sine and cosine as macros."""
    place = tmp_path_factory.mktemp("generated")
    (place / "double").symlink_to(FOLDER)
    for robot in ROBOTS:
        symgen.generate(robot, place / "float" / robot, real="float", trig="macro", wrap=["cpp17"])
    return place


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


# What a function takes of the stack, by the target's compiler: `symgen.machine.targets` states what it may.


def stack_warnings(folder: Path, target: str, place: Path, function: str) -> str:
    """What the target's compiler says of one function when its frame must keep to the bound; "" when it keeps to it."""
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
        place / "one.o",
    )
    assert (done.returncode == 0) == (done.stderr == "")
    return done.stderr


@pytest.mark.parametrize("target", targets.names())
@pytest.mark.parametrize("robot", ROBOTS if REQUIRED else ("panda", "scara"))
def test_frames_keep_to_the_bound_of_the_target(
    generated: Path, tmp_path: Path, robot: str, target: str
) -> None:
    wanted = json.loads(
        (generated / "float" / robot / "manifest.json").read_text(encoding="utf-8")
    )["functions"]
    for function in (
        wanted if REQUIRED else ("forward_dynamics", "inverse_dynamics", "interbody_forces")
    ):
        assert stack_warnings(generated / "float" / robot, target, tmp_path, function) == ""


def test_panda_in_float_on_a_cortex_m4f_may_take_512_bytes() -> None:
    assert targets.find("cortex-m4f").frame("float", 7, 7) == 512
    assert targets.find("cortex-m4f").frame("double", 14, 15) == 2 * 2 * 512 + 8


@pytest.mark.parametrize("target", ["cortex-m7", "host"])
def test_double_keeps_to_the_bound_where_the_fpu_has_it(tmp_path: Path, target: str) -> None:
    """As the C is written for that target: the loop of sines is of the host only."""
    functions = ["forward_dynamics", "interbody_forces"]
    symgen.generate(
        "panda", tmp_path / "panda", functions, real="double", target=target, evidence=False
    )
    for function in functions:
        assert stack_warnings(tmp_path / "panda", target, tmp_path, function) == ""


@pytest.mark.parametrize("target", targets.names())
def test_a_planted_frame_is_seen(generated: Path, tmp_path: Path, target: str) -> None:
    """An array that is written before it is known which element is read."""
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


# The C++ header: each function called once, under clang's every warning and under its sanitizers.


def calls_of_all(folder: Path) -> str:
    """A program of C++ that calls every function of the header, with zeros."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    lines = []
    for function, described in manifest["functions"].items():
        sizes = [math.prod(argument["shape"]) for argument in described["arguments"]]
        given = ", ".join(f"std::array<{folder.name}::real, {size}>{{}}" for size in sizes)
        lines.append(f"    static_cast<void>({folder.name}::{function}({given}));\n")
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
    """The self-test runs under each: every function, at three states, and with each result over each argument."""
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


# MISRA C:2012: what the addon reports is what docs/how-to/misra.md lists, no more and no less.


def deviations(title: str) -> dict[str, str]:
    """{rule: its reason} of the table under a heading of the chapter."""
    chapter = (ROOT / "docs" / "how-to" / "misra.md").read_text(encoding="utf-8")
    section = chapter.partition(f"### {title}\n")[2].partition("\n#")[0]
    rows = re.findall(
        r"^\| (\d+) \| (Rule|Dir) ([\d.]+) \| \w+ \| (.+?) \|$", section, re.MULTILINE
    )
    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
    return {f"{kind} {number}": reason for _, kind, number, reason in rows}


EITHER = [(robot, REALS[i % 2]) for i, robot in enumerate(ROBOTS)]
"""Each robot in one of the types: to the rules these are two names."""


@pytest.mark.parametrize(("robot", "real"), EITHER if REQUIRED else [("scara", "double")])
def test_the_deviations_from_misra_are_those_listed(generated: Path, robot: str, real: str) -> None:
    files = sorted((generated / real / robot).glob("*.c"))
    loops = any("_turns turn" in file.read_text() for file in files)
    assert misra(*files) == set(deviations("Reported by cppcheck")) - (
        set() if loops else {"Rule 9.3"}
    )


def test_the_functions_alone_deviate_from_no_rule_that_is_checked(generated: Path) -> None:
    assert misra(*(generated / "float" / "planar_arm").glob("*_[b-l]*.c")) == set()
    assert misra(*(FOLDER / "panda").glob("*_forward_dynamics.c")) == {
        "Rule 9.3"
    }  # a misreading: see the list


def test_the_deviations_that_cppcheck_does_not_see_are_there(generated: Path) -> None:
    """What is on the second list is on it for a reason that can be found in the text."""
    header = (FOLDER / "planar_point_mass" / "planar_point_mass.h").read_text()
    symbols = re.findall(r"^\w+_API void (\w+)\(", header, re.MULTILINE)
    macros = re.findall(
        r"^#define \w+\(", (generated / "float" / "scara" / "scara.h").read_text(), re.MULTILINE
    )
    found = {
        "Rule 5.1": len({symbol[:31] for symbol in symbols}) < len(symbols),
        "Rule 8.6": "extern const char scara_double_has_8_bytes"
        in (FOLDER / "scara" / "scara.h").read_text(),
        "Dir 4.6": "double" in (FOLDER / "scara" / "scara.h").read_text(),
        "Dir 4.9": bool(macros),
    }
    assert set(deviations("Not looked at by cppcheck")) == {
        rule for rule, there in found.items() if there
    }


# The tools can see: each planted error is one that a generated function could hold.

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
       for statement in ("out[0] = 1.0/zero; out[1] = unset[0];", "out[0] = unset[0]; out[2 + (int)zero] = 1.0;"))],
)  # fmt: skip
def test_a_planted_error_is_seen(tmp_path: Path, sanitizer: str, statement: str) -> None:
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


def test_a_planted_deviation_is_seen(tmp_path: Path) -> None:
    text = (FOLDER / "planar_arm" / "planar_arm_forward_dynamics.c").read_text()
    shutil.copy(FOLDER / "planar_arm" / "planar_arm.h", tmp_path)
    (tmp_path / "planar_arm_forward_dynamics.c").write_text(
        text.replace("1.75 + (2.0*t2)", "1.75 + 2.0*t2")
    )
    assert misra(tmp_path / "planar_arm_forward_dynamics.c") == {"Rule 12.1"}
