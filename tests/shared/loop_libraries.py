"""Shared libraries of loop programs, and calls of them."""

from __future__ import annotations

import ctypes
import random
import subprocess
from pathlib import Path

from symgen.emission.backends import c99
from symgen.ir.loops import LoopProgram
from tests.shared.c99 import WARNINGS

REAL = {"double": ctypes.c_double, "float": ctypes.c_float}


def called(
    library: ctypes.CDLL, recursion: LoopProgram, arguments: dict[str, list[float]]
) -> dict[str, list[float]]:
    real = REAL[recursion.real]
    c_arguments = [(real * port.size)(*arguments[port.name]) for port in recursion.inputs]
    results = {port.name: (real * port.size)() for port in recursion.outputs}
    work = (real * c99.work(recursion))(*[float("nan")] * c99.work(recursion))
    getattr(library, f"arm_{recursion.function}")(*c_arguments, *results.values(), work)
    return {name: list(values) for name, values in results.items()}


def states(recursion: LoopProgram, count: int) -> list[dict[str, list[float]]]:
    pick = random.Random(3)
    return [
        {p.name: [pick.uniform(-2, 2) for _ in range(p.size)] for p in recursion.inputs}
        for _ in range(count)
    ]


def shared(file: Path, *flags: str) -> ctypes.CDLL:
    library = file.with_suffix(".so")
    command = [
        "gcc",
        "-std=c99",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
        *WARNINGS,
        *flags,
        file,
        "-o",
        library,
        "-lm",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))
