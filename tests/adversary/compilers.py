"""Generated folders, built by every compiler at every level: no warnings, equal bits, self-test
passes.

Without contraction, C fixes each rounding and the order of operations. All builds of one folder
must therefore agree in every bit, also with -march=native. Contracted builds may differ in the last
bits, but must pass the self-test. `-ffast-math` lets the compiler reorder sums; the text must
refuse it, or the self-test must fail. A try is one build of one folder.
"""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np

import symgen
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.reference.precision import Array
from symgen.reference.states import draw_derivative_arguments, draw_states
from symgen.support.errors import SymgenError
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target
from tests.adversary import Failure, _differentials, _robots

WORD = (
    "The folder gives the same verdict with gcc and clang at -O0 to -O3, the same bits without"
    " contraction, and no warning; -ffast-math is refused or said."
)

COMPILERS = ("gcc", "clang")
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
NATIVE = ((), ("-march=native", "-fno-tree-slp-vectorize"))
"""Flags of native builds; without the second, gcc 12 at -O2 fuses operations into vfmaddsub."""
OFF = ("-ffp-contract=off",)
CONTRACTED = (
    ("-ffp-contract=fast", "-march=native"),
    ("-march=native",),
    ("-ffp-contract=off", "-march=native"),
    (),
)
"""Flags that may contract a*b + c; () is the default of the compiler."""
WARNINGS = (
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wdouble-promotion",
    "-Wfloat-conversion",
    "-pedantic-errors",
    "-Werror",
)
LOOSE = (("-O2", "-ffast-math"), ("-Ofast",), ("-O0", "-ffast-math"))
TEST = ("-Darm_SELFTEST", "-Darm_NO_STDIO", "-shared", "-fPIC")
BUILT_IN = ("planar_arm", "scara", "puma560")
STATES = 8
DERIVED = 0.4
"""Fraction of functions of which a derivative is built."""


@dataclass
class Folder:
    """A generated folder, its Programs, and the bits of the results of its first build."""

    path: Path
    name: str
    mechanism: Mechanism
    programs: dict[str, Program]
    what: str
    states: dict[str, Array]
    first: dict[str, bytes] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, str | bytes]:
        contents: dict[str, str | bytes] = {
            path.name: path.read_bytes()
            for path in self.path.iterdir()
            if path.suffix in (".c", ".h")
        }
        return {
            **contents,
            "robot.py": _robots.as_python(self.mechanism),
            "asked.txt": self.what + "\n",
        }


def tries(seed: int) -> Iterator[Failure | None]:
    """Try one build at each step; the seed decides which builds of a folder, and in which order."""
    for count in itertools.count():
        random = Random(f"compilers/{seed}/{count}")
        with tempfile.TemporaryDirectory(prefix="symgen-compilers-") as temporary:
            folder = _generated(random, Path(temporary) / "folder")
            if folder is None:
                continue
            compilers = [name for name in COMPILERS if shutil.which(name)] or ["cc"]
            builds = [
                (name, level, *native)
                for name in compilers
                for level in LEVELS
                for native in NATIVE
            ]
            for words in random.sample(builds, 6):
                yield _built(folder, words, OFF, the_same=True)
            yield _built(
                folder,
                (random.choice(compilers), random.choice(LEVELS)),
                random.choice(CONTRACTED),
                the_same=False,
            )
            yield _loosened(folder, (random.choice(compilers), *random.choice(LOOSE)))


def _generated(random: Random, path: Path) -> Folder | None:
    """Generate a random folder; None if symgen refuses."""
    name = random.choice(BUILT_IN) if random.random() < 0.15 else None
    mechanism = symgen.load(name) if name else _robots.mechanism(random)
    options, text = _robots.options(random, mechanism)
    functions = random.sample([*FUNCTIONS], 2)
    derivative_names = [
        _differentials.some(
            random, function, _differentials.relevant_arguments(mechanism, options), ("jvp", "vjp")
        )
        for function in functions
    ]
    functions = [
        derivative if derivative is not None and random.random() < DERIVED else function
        for function, derivative in zip(functions, derivative_names, strict=True)
    ]
    try:
        functions = [
            function
            for function in functions
            if build.refusal(mechanism, function, options.payload) is None
        ]
        symgen.generate(
            mechanism,
            path,
            functions,
            real=options.real,
            name="arm",
            frame=options.frame,
            payload=options.payload,
            wrench=options.wrench,
            jacobian_frame=options.jacobian_frame,
            jacobian_order=options.jacobian_order,
            trig=text.trig,
            checked=text.checked,
        )
        programs = {
            function: build.build_program(mechanism, function, None, options)
            for function in functions
        }
    except SymgenError:
        return None
    description = f"{mechanism.name}: {', '.join(functions)} with {options} and {text}"
    states = {
        key: values.astype(float)
        for key, values in draw_states(
            mechanism, STATES, random.randrange(1000), options.payload, options.wrench
        ).items()
    }
    for program in programs.values():
        missing = {port.name: port.shape for port in program.inputs if port.name not in states}
        states |= {
            key: values.astype(float)
            for key, values in draw_derivative_arguments(missing, STATES).items()
        }
    return Folder(path, "arm", mechanism, programs, description, states)


def _built(
    folder: Folder, words: tuple[str, ...], contraction: tuple[str, ...], *, the_same: bool
) -> Failure | None:
    """Judge one build: warnings, self-test, and equality of bits with the first build."""
    build_description = f"{' '.join((*words, *contraction))} of {folder.what}"
    library = f"build{len(list(folder.path.glob('*.so')))}.so"
    sources = sorted(path.name for path in folder.path.glob("*.c"))
    compiler_error = _run(
        folder, *words, *contraction, "-std=c99", *WARNINGS, *TEST, *sources, "-o", library, "-lm"
    )
    if compiler_error is not None:
        return Failure(
            f"{build_description} does not compile without a warning: {compiler_error}",
            folder.files,
        )
    loaded = ctypes.CDLL(str(folder.path / library))
    if loaded.main() != 0:
        return Failure(f"the self-test fails: {build_description}", folder.files)
    if not the_same:
        return None
    bits = _bits(folder, loaded)
    folder.first = folder.first or bits
    wrong = [function for function, value in bits.items() if value != folder.first[function]]
    return (
        Failure(
            f"{', '.join(wrong)} has other bits than the first build gave: {build_description}",
            folder.files,
        )
        if wrong
        else None
    )


def _loosened(folder: Folder, words: tuple[str, ...]) -> Failure | None:
    """Judge a build with reordered sums: the text must refuse it or the self-test must fail."""
    sources = sorted(path.name for path in folder.path.glob("*.c"))
    compiler_error = _run(folder, *words, "-std=c99", *TEST, *sources, "-o", "loose.so", "-lm")
    if compiler_error is not None:
        return (
            None
            if "-ffast-math" in compiler_error
            else Failure(f"{' '.join(words)} ends with: {compiler_error}", folder.files)
        )
    if ctypes.CDLL(str(folder.path / "loose.so")).main() != 0:
        return None
    return Failure(f"{' '.join(words)} is neither refused nor said: {folder.what}", folder.files)


def _run(folder: Folder, *words: str) -> str | None:
    """Run a command; return its error message, or None if it succeeds."""
    completed = subprocess.run(
        words,
        cwd=folder.path,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )
    lines = [line for line in (completed.stderr + completed.stdout).splitlines() if line.strip()]
    return (
        None
        if completed.returncode == 0
        else next((line for line in lines if "error" in line), str(lines[:1]))
    )


def _bits(folder: Folder, loaded: ctypes.CDLL) -> dict[str, bytes]:
    """Return the bytes of all results of every function at the states."""
    bits = {}
    target = Target(folder.name, folder.mechanism.nq, folder.mechanism.nv, TextOptions())
    for function, program in folder.programs.items():
        call, real, gathered = (
            getattr(loaded, target.symbol(function)),
            np.dtype(REALS[program.real].numpy),
            b"",
        )
        for k in range(STATES):
            c_arguments = [
                np.ascontiguousarray(folder.states[port.name][k].reshape(-1), dtype=real)
                for port in program.inputs
            ]
            out = [np.zeros(port.size, dtype=real) for port in program.outputs]
            call(*(ctypes.c_void_p(array.ctypes.data) for array in (*c_arguments, *out)))
            gathered += b"".join(array.tobytes() for array in out)
        bits[function] = gathered
    return bits
