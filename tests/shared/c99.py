"""Compiler flags, states and calls for tests of generated C."""

from __future__ import annotations

import ctypes
import random
import subprocess
from pathlib import Path

from symgen.emission.backends import c99
from symgen.ir.program import Program

WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wdouble-promotion",
    "-Wfloat-conversion",
    "-pedantic-errors",
    "-Werror",
]


def build(
    folder: Path, programs: dict[str, Program], target: c99.Target, *flags: str
) -> ctypes.CDLL:
    """Compile the header and the sources into a shared library and load it."""
    for name, text in c99.headers(programs, target).items():
        (folder / name).write_text(text)
    files = []
    for name, program in programs.items():
        files.append(folder / target.c_file(name))
        files[-1].write_text(c99.source(program, target))
    library = folder / f"lib{len(list(folder.iterdir()))}.so"
    flags = ("-std=c99", "-ffp-contract=off", "-shared", "-fPIC", *WARNINGS, *flags)
    command = ["gcc", *flags, *map(str, files), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


def call(
    library: ctypes.CDLL, program: Program, target: c99.Target, arguments: dict[str, list[float]]
) -> dict[str, list[float]]:
    real = {"double": ctypes.c_double, "float": ctypes.c_float}[program.real]
    c_arguments = [(real * port.size)(*arguments[port.name]) for port in program.inputs]
    results = {port.name: (real * port.size)() for port in program.outputs}
    getattr(library, target.symbol(program.function))(*c_arguments, *results.values())
    return {name: list(values) for name, values in results.items()}


def states(program: Program, count: int, seed: int = 0) -> list[dict[str, list[float]]]:
    pick = random.Random(seed)
    return [
        {p.name: [pick.uniform(-2, 2) for _ in range(p.size)] for p in program.inputs}
        for _ in range(count)
    ]
