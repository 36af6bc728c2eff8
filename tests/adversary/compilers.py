"""Generated folders built by every compiler at every level: the self-test passes, no warning, and the same bits come out.

Without contraction C leaves no freedom: each operation is rounded once, in the order that is written. So all builds of one
folder must agree in every bit, with the processor's own instructions too where the compiler keeps to its flags. Contracted ones
may differ in the last bits, and the self-test must pass all the same. `-ffast-math` gives the compiler leave to change sums: that
is refused, or said, by the folder. A try is one build of one folder.
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
    "The folder gives the same verdict with gcc and clang at -O0 to -O3, the same bits without contraction, and no warning; "
    "-ffast-math is refused or said."
)

COMPILERS = ("gcc", "clang")
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
NATIVE = ((), ("-march=native", "-fno-tree-slp-vectorize"))
"""From -O2 on gcc 12 fuses neighbouring sums and differences into vfmaddsub, whatever -ffp-contract says, unless told not to."""
OFF = ("-ffp-contract=off",)
CONTRACTED = (
    ("-ffp-contract=fast", "-march=native"),
    ("-march=native",),
    ("-ffp-contract=off", "-march=native"),
    (),
)
"""Or perhaps so; () is what the compiler does by itself."""
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
"""Share of functions of which it is a derivative that is built."""


@dataclass
class Folder:
    """A generated folder, the Programs behind it, and the bits that its first build gave."""

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
    """One build a step: a folder goes through all of them, which a seed takes in an order of its own."""
    for count in itertools.count():
        random = Random(f"compilers/{seed}/{count}")
        with tempfile.TemporaryDirectory(prefix="symgen-compilers-") as place:
            folder = _generated(random, Path(place) / "folder")
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
    """None where symgen refuses."""
    name = random.choice(BUILT_IN) if random.random() < 0.15 else None
    made = symgen.load(name) if name else _robots.mechanism(random)
    options, text = _robots.options(random, made)
    asked = random.sample([*FUNCTIONS], 2)
    sloped = [
        _differentials.some(
            random, function, _differentials.relevant_arguments(made, options), ("jvp", "vjp")
        )
        for function in asked
    ]
    asked = [
        slopes if slopes is not None and random.random() < DERIVED else function
        for function, slopes in zip(asked, sloped, strict=True)
    ]
    try:
        asked = [
            function for function in asked if build.refusal(made, function, options.payload) is None
        ]
        symgen.generate(
            made,
            path,
            asked,
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
            function: build.build_program(made, function, None, options) for function in asked
        }
    except SymgenError:
        return None
    what = f"{made.name}: {', '.join(asked)} with {options} and {text}"
    states = {
        key: values.astype(float)
        for key, values in draw_states(
            made, STATES, random.randrange(1000), options.payload, options.wrench
        ).items()
    }
    for program in programs.values():
        missing = {port.name: port.shape for port in program.inputs if port.name not in states}
        states |= {
            key: values.astype(float)
            for key, values in draw_derivative_arguments(missing, STATES).items()
        }
    return Folder(path, "arm", made, programs, what, states)


def _built(
    folder: Folder, words: tuple[str, ...], contraction: tuple[str, ...], *, the_same: bool
) -> Failure | None:
    """The verdict on one build, and whether its bits are those of the first one. The self-test is called in the library."""
    said = f"{' '.join((*words, *contraction))} of {folder.what}"
    library = f"build{len(list(folder.path.glob('*.so')))}.so"
    sources = sorted(path.name for path in folder.path.glob("*.c"))
    whole = _run(
        folder, *words, *contraction, "-std=c99", *WARNINGS, *TEST, *sources, "-o", library, "-lm"
    )
    if whole is not None:
        return Failure(f"{said} does not compile without a warning: {whole}", folder.files)
    loaded = ctypes.CDLL(str(folder.path / library))
    if loaded.main() != 0:
        return Failure(f"the self-test fails: {said}", folder.files)
    if not the_same:
        return None
    bits = _bits(folder, loaded)
    folder.first = folder.first or bits
    wrong = [function for function, value in bits.items() if value != folder.first[function]]
    return (
        Failure(
            f"{', '.join(wrong)} has other bits than the first build gave: {said}", folder.files
        )
        if wrong
        else None
    )


def _loosened(folder: Folder, words: tuple[str, ...]) -> Failure | None:
    """Whether leave to change sums is refused by the text, in words that name it, or seen by the self-test."""
    sources = sorted(path.name for path in folder.path.glob("*.c"))
    said = _run(folder, *words, "-std=c99", *TEST, *sources, "-o", "loose.so", "-lm")
    if said is not None:
        return (
            None
            if "-ffast-math" in said
            else Failure(f"{' '.join(words)} ends with: {said}", folder.files)
        )
    if ctypes.CDLL(str(folder.path / "loose.so")).main() != 0:
        return None
    return Failure(f"{' '.join(words)} is neither refused nor said: {folder.what}", folder.files)


def _run(folder: Folder, *words: str) -> str | None:
    """What went wrong with a command, in its own words; None when nothing did."""
    done = subprocess.run(
        words,
        cwd=folder.path,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return (
        None
        if done.returncode == 0
        else next((line for line in lines if "error" in line), str(lines[:1]))
    )


def _bits(folder: Folder, loaded: ctypes.CDLL) -> dict[str, bytes]:
    """Every result of every function at the states, as it lies in memory."""
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
