"""`python -m tests.segments`: what forward dynamics of a long chain takes a link, serial, in segments and level by level.

The times are those of whole calls, the best of several, one after the other in turns; a clone of the C for each set of
instructions is asked for by itself. Threads are OpenMP's, each with groups of segments of its own.
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
"""Segments of a group: the lanes of a vector of doubles."""
SETS = {"default": "-DNONE", "AVX2": "-mavx2", "AVX-512": "-mavx512f"}
"""What a compiler is told where the clones are left out."""


def written(folder: Path, form: LoopProgram, trig: str = "auto") -> Path:
    """The C of a function beside its headers."""
    folder.mkdir(exist_ok=True)
    target = aimed(form, trig)
    for name, text in (
        c99.headers({form.function: form}, target) | {"function.c": c99.source(form, target)}
    ).items():
        (folder / name).write_text(text)
    return folder / "function.c"


def aimed(form: LoopProgram, trig: str) -> Target:
    """For whom its C is."""
    n = len(form)
    return Target(
        "arm",
        Sizes(*(n if name in ("NQ", "NV", "NB") else 1 for name in Sizes._fields)),
        TextOptions(trig),
    )


def built(file: Path, *flags: str, function: str = "forward_dynamics") -> Any:
    """The function, compiled."""
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
    """What it gives; the work array begins at a line of the cache."""
    arrays = _arrays(form, state)
    function(*arrays)
    return list(arrays[-2])


def _arrays(form: LoopProgram, state: dict[str, list[float]]) -> list[Any]:
    n, size = len(form), c99.work(form)
    whole = (ctypes.c_double * (size + 8))()
    off = -ctypes.addressof(whole) % 64
    return [
        *((ctypes.c_double * n)(*state[port.name]) for port in form.inputs),
        (ctypes.c_double * n)(),
        (ctypes.c_double * size).from_buffer(whole, off),
    ]


def state_of(n: int) -> dict[str, list[float]]:
    """A state of a chain."""
    pick = random.Random(n)
    return {name: [pick.uniform(-1, 1) for _ in range(n)] for name in ("q", "v", "tau")}


def main(counts: list[int]) -> None:
    """Print a line a length and a set of instructions."""
    with tempfile.TemporaryDirectory() as place:
        for n in counts:
            mechanism, state = random_mechanism(n, 1), state_of(n)
            serial, parted = (
                recursion(mechanism, "forward_dynamics", "riccati"),
                segmented(mechanism, 8),
            )
            files = [
                written(Path(place) / f"{kind}{n}", form)
                for kind, form in (("serial", serial), ("parted", parted))
            ]
            functions = {
                "looped, serial": (built(files[0]), serial),
                "segments, clones": (built(files[1]), parted),
            }
            tiers = levelled(mechanism, 8)
            functions["levels, clones"] = built(written(Path(place) / f"levels{n}", tiers)), tiers
            known = Path("/proc/cpuinfo").read_text(encoding="utf-8")
            for name, flag in SETS.items():
                if name == "AVX-512" and "avx512f" not in known:
                    continue
                functions[f"segments, {name}"] = built(files[1], "-Darm_NO_CLONES", flag), parted
            ready = [
                (name, function, _arrays(form, state))
                for name, (function, form) in functions.items()
            ]
            best = dict.fromkeys(functions, float("inf"))
            for _ in range(6):
                for (
                    name,
                    function,
                    arrays,
                ) in ready:  # several calls of each, so that its own arrays are in the cache
                    best[name] = min(best[name], *(_timed(function, arrays) for _ in range(15)))
            for name, seconds in best.items():
                share = seconds / best["looped, serial"]
                print(
                    f"N = {n:5}  {name:18} {seconds * 1e9 / n:6.1f} ns a link, {share:.2f} of serial",
                    flush=True,
                )
            for groups in (2, 4, 8):
                if n >= 4 * GROUP * groups:
                    _by_threads(
                        Path(place) / f"groups{groups}_{n}",
                        segmented(mechanism, GROUP * groups),
                        state,
                        groups,
                    )


def _by_threads(
    folder: Path, form: LoopProgram, state: dict[str, list[float]], groups: int
) -> None:
    """Print a line a number of threads that the groups can be shared out to; this machine's processors at most."""
    function, arrays = built(written(folder, form), "-fopenmp"), _arrays(form, state)
    omp = ctypes.CDLL("libgomp.so.1")  # which that has loaded
    times = {}
    for threads in (t for t in (1, 2, 4, 8) if t <= min(groups, os.cpu_count() or 1)):
        omp.omp_set_num_threads(threads)
        times[threads] = min(_timed(function, arrays) for _ in range(400))
        print(
            f"N = {len(form):5}  {form.part_count:2} segments, {threads} thread{'s' * (threads > 1):1} "
            f"{times[threads] * 1e9 / len(form):6.1f} ns a link, {times[threads] / times[1]:.2f} of one thread",
            flush=True,
        )


def _timed(function: Any, arrays: list[Any]) -> float:
    began = time.perf_counter()
    function(*arrays)
    return time.perf_counter() - began


if __name__ == "__main__":
    main([int(x) for x in sys.argv[1:]] or [512, 4096])
