"""Table of registers, stack and spills of kernels, for `docs/how-to/cuda.md`.

`python -m tests.cuda_sheet` compiles, measures and rewrites the table.

ptxas reports registers, stack and spills, which depend only on the version of nvcc; the seconds
depend on this machine. No GPU is needed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import symgen
from tests.shared.cuda_tools import ONE_ROUNDING, CudaMissing, compiled, nvcc

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "cuda.md"
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"
ARCHITECTURE = "sm_90"
KERNELS = (
    ("panda", "inverse_dynamics"),
    ("panda", "mass_matrix"),
    ("panda", "forward_dynamics"),
    ("panda", "forward_dynamics_derivatives"),
    ("quadruped", "forward_dynamics"),
    ("quadruped", "forward_dynamics_derivatives"),
)


def row(robot: str, function: str, real: str) -> str:
    """Return one row for a kernel; for a function in parts, maximal registers and total spills."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / robot
        manifest = symgen.generate(
            robot, folder, [function], real, name=robot, wrap=["cuda"], functions_only=True
        )
        start = perf_counter()
        ptxas_output = compiled(
            folder / f"{robot}_{function}_cuda.cu",
            Path(temporary) / "made.o",
            ONE_ROUNDING,
            architecture=ARCHITECTURE,
        )
        seconds = perf_counter() - start
        part_count = (folder / f"{robot}_{function}.cuh").read_text().count("__noinline__ void")
    counts = manifest["functions"][function]["operations"]
    operations = sum(counts[op] for op in ("mul", "add", "div"))
    registers = max(map(int, re.findall(r"Used (\d+) registers", ptxas_output)))
    stack = max(map(int, re.findall(r"(\d+) bytes stack frame", ptxas_output)))
    spilled = sum(map(int, re.findall(r"(\d+) bytes spill stores", ptxas_output)))
    figures = (operations, part_count or 1, registers, stack, spilled, f"{seconds:.1f}")
    return f"| {robot} | `{function}` | {real} | {' | '.join(map(str, figures))} |"


def main() -> int:
    try:
        version_text = subprocess.run(
            [str(nvcc()), "--version"], capture_output=True, text=True, check=True
        ).stdout
    except CudaMissing as missing:
        print(f"cuda_sheet: {missing}", file=sys.stderr)
        return 2
    version = re.findall(r"V(\d+\.\d+\.\d+)", version_text)[0]
    lines = [
        (
            f"By nvcc {version} for {ARCHITECTURE} with `{ONE_ROUNDING}`; `python -m"
            " tests.cuda_sheet` rewrites this table:"
        ),
        "",
        (
            "| robot | function | real | operations | parts | registers | stack, bytes | spilled,"
            " bytes | seconds |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        row(robot, function, real) for robot, function in KERNELS for real in ("double", "float")
    ]
    before, after_begin = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(
        f"{before}{BEGIN}" + "\n".join([*lines, ""]) + END + after_begin.split(END)[1],
        encoding="utf-8",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
