"""libFuzzer finds no state at which the C divides by zero, leaves its arrays, or stores no finite
number.

The harness turns bytes into positions inside and around the joint ranges, and into realistic rates,
forces and accelerations. SYMGEN_FUZZ_SECONDS sets the duration: by default 2 s, and 20 s with
SYMGEN_FIRMWARE_TOOLS=required. The fuzzer is part of clang (`make firmware-tools`).
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
from pathlib import Path

import pytest

import symgen
from symgen import load
from tests.shared.analysers import REQUIRED, ROBOTS, built, tool
from tests.shared.folders import run

pytestmark = pytest.mark.firmware

FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
SECONDS = int(os.environ.get("SYMGEN_FUZZ_SECONDS", "20" if REQUIRED else "2"))
FLAGS = (
    "-g",
    "-O1",
    "-ffp-contract=off",
    "-fno-sanitize-recover=all",
    "-fsanitize=fuzzer,address,undefined,float-divide-by-zero,float-cast-overflow,integer",
)
AROUND = 1.25
"""Half-width of tested positions, as a multiple of half a joint's range."""
RATE, FORCE = 20, 200
"""Largest rates v (rad/s, m/s) and accelerations a; largest forces tau (N·m, N)."""

HARNESS = """
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include "{robot}.h"

/* The next two bytes as a number in [-1, 1]; zeros behind the end. */
static {real} next(const uint8_t **data, size_t *size)
{{
    uint8_t byte[2] = {{0, 0}};
    for (int i = 0; i < 2 && *size > 0; ++i, ++*data, --*size)
        byte[i] = **data;
    return ({real})((byte[0] | byte[1] << 8) - ((byte[1] & 128) ? 65536 : 0))/({real})32768;
}}

static void fill({real} *x, int count, const {real} *centre, const {real} *half,
                 const uint8_t **data, size_t *size)
{{
    for (int i = 0; i < count; ++i)
        x[i] = centre[i] + half[i]*next(data, size);
}}

/* NaN, so that what is never stored does not pass. */
static void spoil({real} *x, int count)
{{
    for (int i = 0; i < count; ++i)
        x[i] = ({real})NAN;
}}

static void expect_finite(const {real} *x, int count)
{{
    for (int i = 0; i < count; ++i)
        if (!isfinite(x[i]))
            abort();
}}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{{
{arguments}
{calls}
    return 0;
}}
"""


def argument_spans(robot: str) -> dict[str, list[tuple[float, float]]]:
    """Return (middle, half-width) of each element of each argument.

    A joint without a range turns twice, or slides 2 m, in either direction.
    """
    positions = []
    for joint in load(robot).joints:
        low, high = joint.limits.lower, joint.limits.upper
        half_width = 2.0 if joint.kind == "prismatic" else 4 * math.pi
        limited = low is not None and high is not None and low < high and joint.kind != "continuous"
        middle, half = (
            (float(low + high) / 2, AROUND * float(high - low) / 2)
            if limited
            else (0.0, half_width)
        )
        positions.append((middle, half))
    return {"q": positions} | {
        name: [(0.0, float(most))] * len(positions)
        for name, most in (("v", RATE), ("a", RATE), ("tau", FORCE))
    }


def harness_text(folder: Path) -> str:
    """Return C that calls every function of the folder at the state encoded by the bytes."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    real, spans = manifest["real"], argument_spans(folder.name)
    arguments, calls = [], []
    for name, elements in spans.items():
        for kind, numbers in zip(("middle", "half"), zip(*elements, strict=True), strict=True):
            arguments.append(
                f"    static const {real} {name}_{kind}[] ="
                f" {{{', '.join(f'({real}){x!r}' for x in numbers)}}};"
            )
        arguments.append(f"    {real} {name}[{len(elements)}];")
        arguments.append(
            f"    fill({name}, {len(elements)}, {name}_middle, {name}_half, &data, &size);"
        )
    for name, function in manifest["functions"].items():
        result, size = f"{name}_result", math.prod(function["result"]["shape"])
        calls.append(f"    {real} {result}[{size}];\n    spoil({result}, {size});")
        calls.append(
            f"    {function['symbol']}({', '.join(a['name'] for a in function['arguments'])},"
            f" {result});"
        )
        calls.append(f"    expect_finite({result}, {size});")
    return HARNESS.format(
        robot=folder.name, real=real, arguments="\n".join(arguments), calls="\n".join(calls)
    )


def generate_folder(robot: str, real: str, parent: Path) -> Path:
    symgen.generate(robot, parent / robot, real=real, functions=FUNCTIONS)
    (parent / robot / f"{robot}_selftest.c").unlink()
    return parent / robot


def fuzz(folder: Path, seconds: int) -> subprocess.CompletedProcess[str]:
    """Build the fuzzer from the folder's C and run it with a fixed seed."""
    program = folder.parent / "fuzz"
    (folder.parent / "fuzz.c").write_text(harness_text(folder), encoding="utf-8")
    built(
        run(
            tool("clang"),
            "-std=c99",
            *FLAGS,
            f"-I{folder}",
            folder.parent / "fuzz.c",
            *sorted(folder.glob("*.c")),
            "-o",
            program,
            "-lm",
        )
    )
    return run(
        program,
        "-seed=1",
        "-max_len=128",
        f"-max_total_time={seconds}",
        "-print_final_stats=1",
        "-verbosity=1",
        f"-artifact_prefix={folder.parent}/",
    )


def test_fuzzing_panda_finds_no_error(tmp_path: Path) -> None:
    done = fuzz(generate_folder("panda", "float", tmp_path), SECONDS)
    assert done.returncode == 0, done.stderr
    (tried,) = re.findall(r"stat::number_of_executed_units: +(\d+)", done.stderr)
    assert int(tried) > 1000


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("robot", [name for name in ROBOTS if REQUIRED or name == "scara"])
def test_fuzzing_any_robot_finds_no_error(robot: str, real: str, tmp_path: Path) -> None:
    done = fuzz(generate_folder(robot, real, tmp_path), max(SECONDS // 10, 1))
    assert done.returncode == 0, done.stderr


LAST_STORE = r"(    a\[3\] = )(.*);"
"""Pattern of the last store in forward dynamics of scara."""


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (r"\1(\2)/v[2];", "division by zero"),  # at rest
        (r"\1\2; a[v[0] > 10.0f ? 4 : 3] = tau[3];", "stack-buffer-overflow"),  # fast
        (r"\1sqrtf(q[0] + 1.0f);", "deadly signal"),  # in a part of the range
        (r"(void)tau;", "deadly signal"),  # never stored
    ],
)
def test_fuzzing_finds_a_planted_error(statement: str, message: str, tmp_path: Path) -> None:
    folder = generate_folder("scara", "float", tmp_path)
    source = folder / "scara_forward_dynamics.c"
    text = source.read_text(encoding="utf-8")
    spoilt = re.sub(LAST_STORE, statement, text)
    assert spoilt != text
    source.write_text(spoilt, encoding="utf-8")
    done = fuzz(folder, 10)
    assert done.returncode != 0
    assert message in done.stderr
