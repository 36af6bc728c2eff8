"""libFuzzer looks for a state at which the C divides by zero, leaves its arrays, or answers with no number: it finds none.

Bytes become positions inside and around the joints' ranges, rates, forces and accelerations of the size that a robot has.
Each result must be stored, and finite. SYMGEN_FUZZ_SECONDS says for how long, by default 2 s, and 20 s where
SYMGEN_FIRMWARE_TOOLS=required. The tool is clang's (`make firmware-tools`).
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
"""Positions reach beyond the middle of a joint's range by this many times half of it."""
RATE, FORCE = 20, 200
"""Largest of v (rad/s, m/s) and of a, and of tau (N·m, N)."""

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

static void fill({real} *x, int count, const {real} *centre, const {real} *half, const uint8_t **data, size_t *size)
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


def spans(robot: str) -> dict[str, list[tuple[float, float]]]:
    """(middle, half) of each element of each argument; a joint without a range turns twice, or slides 2 m, either way."""
    positions = []
    for joint in load(robot).joints:
        low, high = joint.limits.lower, joint.limits.upper
        wide = 2.0 if joint.kind == "prismatic" else 4 * math.pi
        known = low is not None and high is not None and low < high and joint.kind != "continuous"
        middle, half = (
            (float(low + high) / 2, AROUND * float(high - low) / 2) if known else (0.0, wide)
        )
        positions.append((middle, half))
    return {"q": positions} | {
        name: [(0.0, float(most))] * len(positions)
        for name, most in (("v", RATE), ("a", RATE), ("tau", FORCE))
    }


def harness(folder: Path) -> str:
    """Calls every function of the folder at the state that the bytes mean."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    real, given = manifest["real"], spans(folder.name)
    arguments, calls = [], []
    for name, elements in given.items():
        for kind, numbers in zip(("middle", "half"), zip(*elements, strict=True), strict=True):
            arguments.append(
                f"    static const {real} {name}_{kind}[] = {{{', '.join(f'({real}){x!r}' for x in numbers)}}};"
            )
        arguments.append(f"    {real} {name}[{len(elements)}];")
        arguments.append(
            f"    fill({name}, {len(elements)}, {name}_middle, {name}_half, &data, &size);"
        )
    for name, function in manifest["functions"].items():
        result, size = f"{name}_result", math.prod(function["result"]["shape"])
        calls.append(f"    {real} {result}[{size}];\n    spoil({result}, {size});")
        calls.append(
            f"    {function['symbol']}({', '.join(a['name'] for a in function['arguments'])}, {result});"
        )
        calls.append(f"    expect_finite({result}, {size});")
    return HARNESS.format(
        robot=folder.name, real=real, arguments="\n".join(arguments), calls="\n".join(calls)
    )


def generated(robot: str, real: str, place: Path) -> Path:
    symgen.generate(robot, place / robot, real=real, functions=FUNCTIONS)
    (place / robot / f"{robot}_selftest.c").unlink()
    return place / robot


def fuzz(folder: Path, seconds: int) -> subprocess.CompletedProcess[str]:
    """The fuzzer, built from the folder's C and run; seeded, so that it tries the same states as far as it comes."""
    program = folder.parent / "fuzz"
    (folder.parent / "fuzz.c").write_text(harness(folder), encoding="utf-8")
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


def test_nothing_is_found_on_panda(tmp_path: Path) -> None:
    done = fuzz(generated("panda", "float", tmp_path), SECONDS)
    assert done.returncode == 0, done.stderr
    (tried,) = re.findall(r"stat::number_of_executed_units: +(\d+)", done.stderr)
    assert int(tried) > 1000


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("robot", [name for name in ROBOTS if REQUIRED or name == "scara"])
def test_nothing_is_found_on_any_robot(robot: str, real: str, tmp_path: Path) -> None:
    done = fuzz(generated(robot, real, tmp_path), max(SECONDS // 10, 1))
    assert done.returncode == 0, done.stderr


LAST = r"(    a\[3\] = )(.*);"
"""The store that forward dynamics of scara ends with."""


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (r"\1(\2)/v[2];", "division by zero"),  # at rest
        (r"\1\2; a[v[0] > 10.0f ? 4 : 3] = tau[3];", "stack-buffer-overflow"),  # fast
        (r"\1sqrtf(q[0] + 1.0f);", "deadly signal"),  # in a part of the range
        (r"(void)tau;", "deadly signal"),  # never stored
    ],
)
def test_a_planted_error_is_found(statement: str, said: str, tmp_path: Path) -> None:
    folder = generated("scara", "float", tmp_path)
    source = folder / "scara_forward_dynamics.c"
    text = source.read_text(encoding="utf-8")
    spoilt = re.sub(LAST, statement, text)
    assert spoilt != text
    source.write_text(spoilt, encoding="utf-8")
    done = fuzz(folder, 10)
    assert done.returncode != 0
    assert said in done.stderr
