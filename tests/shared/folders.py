"""Generated folders, built and run by CMake or by a compiler alone."""

from __future__ import annotations

import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from symgen.delivery.cases import SelfTestCase
from symgen.ir.program import Program, evaluate
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.vocabulary.poses import X_AXIS, Shift
from tests.shared.c99 import WARNINGS
from tests.shared.c_programs import DOUBLES


def mechanism(name: str = "arm") -> Mechanism:
    down = (Shift((Fraction(0), Fraction(0), Fraction("-0.5"))),)
    point_masses = [Part(link, down, Fraction(2)) for link in ("upper", "lower")]
    return Mechanism(
        name,
        (
            Joint("shoulder", "revolute", -1, (), X_AXIS),
            Joint("elbow", "revolute", 0, down, X_AXIS),
        ),
        tuple(Body(point_mass.link, (point_mass,)) for point_mass in point_masses),
        (Frame("upper", 0), Frame("lower", 1)),
        source_sha256="5ha",
    )


def cases(programs: dict[str, Program], tolerance: float = 1e-12) -> list[SelfTestCase]:
    cases_in_turn = []
    for function, program in programs.items():
        for k in range(3):
            arguments = tuple(
                tuple((7 * (i + j + k) % 11 - 5) / 4 for i in range(p.size))
                for j, p in enumerate(program.inputs)
            )
            values = evaluate(
                program,
                {p.name: a for p, a in zip(program.inputs, arguments, strict=True)},
                DOUBLES,
            )
            results = tuple(tuple(values[p.name]) for p in program.outputs)
            cases_in_turn.append(
                SelfTestCase(
                    function,
                    arguments,
                    results,
                    tuple((tolerance,) * len(result) for result in results),
                )
            )
    return cases_in_turn


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(c) for c in command], cwd=cwd, capture_output=True, text=True, check=False
    )


def with_main(folder: Path) -> str:
    """The flag by which the self-test of a folder is more than nothing."""
    (test,) = folder.glob("*_selftest.c")
    return f"-D{test.stem.removesuffix('_selftest')}_SELFTEST"


def selftest(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    sources = sorted(folder.glob("*.c"))
    built = run(
        "gcc",
        "-std=c99",
        "-O1",
        *WARNINGS,
        with_main(folder),
        *flags,
        *sources,
        "-o",
        folder.parent / "selftest",
        "-lm",
    )
    assert built.returncode == 0, built.stderr
    return run(folder.parent / "selftest")


def cmake(*arguments: str | Path) -> None:
    done = run(binary("cmake"), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def binary(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        wheel = pytest.importorskip("cmake")
        path = str(Path(wheel.CMAKE_BIN_DIR) / name)
    return path
