"""Times of forward dynamics of long chains: serial, in segments and level by level.

`python -m tests.segments` prints nanoseconds per link.

A time is the best of several whole calls, taken in turns. The C is also compiled for each
instruction set separately, without clones. Threads are those of OpenMP; each thread has its own
groups of segments.
"""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from symgen.emission.backends import c99
from symgen.ir.loops import LoopProgram
from symgen.pipeline.loops import recursion
from symgen.pipeline.loops.constraint_force_scan import build_scan as levelled
from symgen.pipeline.loops.riccati_segments import build_parts as segmented
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.target import Target
from tests.shared.robots_for_tests import random_mechanism

GROUP = 8
"""Number of segments in a group, one per lane of a vector of doubles."""
SETS = {"default": "-DNONE", "AVX2": "-mavx2", "AVX-512": "-mavx512f"}
"""Compiler flag of each instruction set, used when clones are left out."""


def written(folder: Path, form: LoopProgram, trig: str = "auto") -> Path:
    """Write the C of a function and its headers; return the path of the C file."""
    folder.mkdir(exist_ok=True)
    target = aimed(form, trig)
    for name, text in (
        c99.headers({form.function: form}, target) | {"function.c": c99.source(form, target)}
    ).items():
        (folder / name).write_text(text)
    return folder / "function.c"


def aimed(form: LoopProgram, trig: str) -> Target:
    """Return the target of the C of a form."""
    n = len(form)
    return Target(
        "arm",
        Sizes(*(n if name in ("NQ", "NV", "NB") else 1 for name in Sizes._fields)),
        TextOptions(trig),
    )


def built(file: Path, *flags: str, function: str = "forward_dynamics") -> Any:
    """Compile a file and return its function."""
    library = file.with_name(f"function_{abs(hash(flags))}.so")
    command = [
        "gcc",
        "-std=c99",
        "-O2",
        "-ffp-contract=off",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-shared",
        "-fPIC",
    ]
    done = subprocess.run(
        [*command, *flags, str(file), "-o", str(library), "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return getattr(ctypes.CDLL(str(library)), f"arm_{function}")


def call(function: Any, form: LoopProgram, state: dict[str, list[float]]) -> list[float]:
    """Return the results of a call; the workspace begins at a cache line."""
    arrays = _arrays(form, state)
    function(*arrays)
    return list(arrays[-2])


def _arrays(form: LoopProgram, state: dict[str, list[float]]) -> list[Any]:
    n, size = len(form), c99.work(form)
    buffer = (ctypes.c_double * (size + 8))()
    off = -ctypes.addressof(buffer) % 64
    return [
        *((ctypes.c_double * n)(*state[port.name]) for port in form.inputs),
        (ctypes.c_double * n)(),
        (ctypes.c_double * size).from_buffer(buffer, off),
    ]


def state_of(n: int) -> dict[str, list[float]]:
    """Draw a state of a chain of n joints."""
    pick = random.Random(n)
    return {name: [pick.uniform(-1, 1) for _ in range(n)] for name in ("q", "v", "tau")}


def main(counts: list[int]) -> None:
    """Print one line for each length and instruction set."""
    with tempfile.TemporaryDirectory() as temporary:
        for n in counts:
            mechanism, state = random_mechanism(n, 1), state_of(n)
            serial, segmented_form = (
                recursion(mechanism, "forward_dynamics", "riccati"),
                segmented(mechanism, 8),
            )
            files = [
                written(Path(temporary) / f"{kind}{n}", form)
                for kind, form in (("serial", serial), ("parted", segmented_form))
            ]
            functions = {
                "looped, serial": (built(files[0]), serial),
                "segments, clones": (built(files[1]), segmented_form),
            }
            levelled_form = levelled(mechanism, 8)
            functions["levels, clones"] = (
                built(written(Path(temporary) / f"levels{n}", levelled_form)),
                levelled_form,
            )
            cpu_flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
            for name, flag in SETS.items():
                if name == "AVX-512" and "avx512f" not in cpu_flags:
                    continue
                functions[f"segments, {name}"] = (
                    built(files[1], "-Darm_NO_CLONES", flag),
                    segmented_form,
                )
            calls = [
                (name, function, _arrays(form, state))
                for name, (function, form) in functions.items()
            ]
            best = dict.fromkeys(functions, float("inf"))
            for _ in range(6):
                for (
                    name,
                    function,
                    arrays,
                ) in (
                    calls
                ):  # several calls in a row, so that the arrays of this function are in the cache
                    best[name] = min(best[name], *(_timed(function, arrays) for _ in range(15)))
            for name, seconds in best.items():
                share = seconds / best["looped, serial"]
                print(
                    f"N = {n:5}  {name:18} {seconds * 1e9 / n:6.1f} ns a link, {share:.2f} of"
                    " serial",
                    flush=True,
                )
            for groups in (2, 4, 8):
                if n >= 4 * GROUP * groups:
                    _by_threads(
                        Path(temporary) / f"groups{groups}_{n}",
                        segmented(mechanism, GROUP * groups),
                        state,
                        groups,
                    )


def _by_threads(
    folder: Path, form: LoopProgram, state: dict[str, list[float]], groups: int
) -> None:
    """Print one line for each number of threads, up to the numbers of groups and processors."""
    function, arrays = built(written(folder, form), "-fopenmp"), _arrays(form, state)
    omp = ctypes.CDLL("libgomp.so.1")  # loaded together with the function
    times = {}
    for threads in (t for t in (1, 2, 4, 8) if t <= min(groups, os.cpu_count() or 1)):
        omp.omp_set_num_threads(threads)
        times[threads] = min(_timed(function, arrays) for _ in range(400))
        print(
            f"N = {len(form):5}  {form.part_count:2} segments, {threads}"
            f" thread{'s' * (threads > 1):1} {times[threads] * 1e9 / len(form):6.1f} ns a link,"
            f" {times[threads] / times[1]:.2f} of one thread",
            flush=True,
        )


def _timed(function: Any, arrays: list[Any]) -> float:
    began = time.perf_counter()
    function(*arrays)
    return time.perf_counter() - began


if __name__ == "__main__":
    main([int(x) for x in sys.argv[1:]] or [512, 4096])
