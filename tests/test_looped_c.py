"""A Recursion in C: bit for bit what it is over floats, clean under every warning, and read back with each slip reported."""

from __future__ import annotations

import ctypes
import random
import subprocess
from pathlib import Path

import pytest

from symgen.backends import c99
from symgen.errors import RequestError
from symgen.options import TRIG, TextOptions
from symgen.recursion import Recursion, evaluate
from tests.c_programs import DOUBLES
from tests.recursions import TOYS, sizes
from tests.test_c99 import WARNINGS
from tests.test_clean_c import ADDRESSES, UNWANTED, misra, tool

REAL = {"double": ctypes.c_double, "float": ctypes.c_float}


def target(recursion: Recursion, trig: str = "libm") -> c99.Target:
    return c99.Target("arm", sizes(recursion), TextOptions(trig))


def written(folder: Path, recursion: Recursion, trig: str = "libm") -> Path:
    """The file of the function, beside its headers."""
    own = target(recursion, trig)
    for name, text in (c99.headers({recursion.function: recursion}, own) | {"function.c": c99.source(recursion, own)}).items():
        (folder / name).write_text(text)
    return folder / "function.c"


def called(library: ctypes.CDLL, recursion: Recursion, arguments: dict[str, list[float]]) -> dict[str, list[float]]:
    real = REAL[recursion.real]
    given = [(real * port.size)(*arguments[port.name]) for port in recursion.inputs]
    results = {port.name: (real * port.size)() for port in recursion.outputs}
    work = (real * c99.work(recursion))(*[float("nan")] * c99.work(recursion))
    getattr(library, f"arm_{recursion.function}")(*given, *results.values(), work)
    return {name: list(values) for name, values in results.items()}


def states(recursion: Recursion, count: int) -> list[dict[str, list[float]]]:
    pick = random.Random(3)
    return [{p.name: [pick.uniform(-2, 2) for _ in range(p.size)] for p in recursion.inputs} for _ in range(count)]


def shared(file: Path, *flags: str) -> ctypes.CDLL:
    library = file.with_suffix(".so")
    command = ["gcc", "-std=c99", "-ffp-contract=off", "-shared", "-fPIC", *WARNINGS, *flags, str(file), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("toy", TOYS)
def test_bits_are_those_of_the_recursion(tmp_path: Path, toy: str, flags: str) -> None:
    recursion = TOYS[toy]()
    library = shared(written(tmp_path, recursion), flags)
    for state in states(recursion, 5):
        assert called(library, recursion, state) == evaluate(recursion, state, DOUBLES)


@pytest.mark.parametrize("trig", TRIG)
@pytest.mark.parametrize("real", REAL)
def test_every_sine_is_near(tmp_path: Path, real: str, trig: str) -> None:
    recursion = TOYS["tree of three classes"](real)
    library = shared(written(tmp_path, recursion, trig), "-O1")
    near = {"double": 1e-13, "float": 1e-4}[real]
    for state in states(recursion, 3):
        for name, exact in evaluate(recursion, state, DOUBLES).items():
            assert called(library, recursion, state)[name] == pytest.approx(exact, rel=near, abs=near)
