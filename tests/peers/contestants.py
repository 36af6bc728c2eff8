"""One function of one robot by one peer with one set of flags: a library with the loops of
`loops.h`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from symgen.benchmarks.peers import mujoco, pinocchio
from symgen.description.canonical import to_toml
from symgen.mechanism.mechanism import Mechanism
from tests.peers.building import (
    HERE,
    LIBRARIES,
    OUT,
    PINOCCHIO,
    SITE,
    MissingError,
    compile_once,
    emitter,
    headers,
    stored,
)

PLAIN = {
    "inverse_dynamics": ("q", "v", "a"),
    "forward_dynamics": ("q", "v", "tau"),
    "mass_matrix": ("q",),
    "inverse_mass_matrix": ("q",),
}
DERIVATIVES = {
    "inverse_dynamics_derivatives": ("q", "v", "a"),
    "forward_dynamics_derivatives": ("q", "v", "tau"),
}
"""Three matrices each, in one call: by q, by v, and M or its inverse."""
FUNCTIONS = {**PLAIN, **DERIVATIVES}
"""Timed functions with their arguments, in the order of FUNCTION in `mujoco.c` and in Pinocchio's
two programs.
"""
NATIVE = ("-march=native",)
COUNTED = ("-march=x86-64-v3",)
"""In place of NATIVE where instructions are counted: valgrind knows no wider ones."""
GENERATORS = ("CasADi", "CppADCodeGen")
CROWD = 65536
"""States at once, where everybody shares them out."""
WAYS = {
    "-O2": ("-O2",),
    "-O3 native": ("-O3", *NATIVE),
    "-O3 native, no SLP": ("-O3", *NATIVE, "-fno-tree-slp-vectorize"),
}
"""Compilers and flags of the generators' C, all with contraction; the fastest result of each
counts.
"""
LOOPS = HERE / "loops.h"
SHARED = ("-shared", "-fPIC", "-Wl,-Bsymbolic", f"-I{HERE}")


@dataclass(frozen=True)
class Contestant:
    """A library, and the seconds that gcc took for its function."""

    peer: str
    way: str
    library: Path
    seconds: float

    @property
    def who(self) -> str:
        return f"{self.peer}, {self.way}"


@dataclass(frozen=True)
class Emitted:
    """Output of a generator: its path, bytes of C, and seconds since the description was read."""

    path: Path
    seconds: float
    text: int


def generated(mechanism: Mechanism, functions: Iterable[str] = PLAIN, *more: str) -> Emitted:
    """symgen's folder of PLAIN or of DERIVATIVES, with more words for `symgen generate`."""
    requested = list(functions)
    toml = stored(f"{mechanism.name}.toml", to_toml(mechanism).encode())
    package = HERE.parents[1]
    sources = [
        path
        for folder_name in ("symgen", "templates")
        for path in sorted((package / folder_name).rglob("*"))
        if path.is_file()
    ]
    words = [*(word for name in requested for word in ("-f", name)), *more]
    folder, seconds = compile_once(
        mechanism.name,
        [sys.executable, "-m", "symgen", "generate", toml, "-o", OUT, *words],
        [toml, *(path for path in sources if "__pycache__" not in path.parts)],
        package,
    )
    return Emitted(
        folder,
        seconds,
        sum(len((folder / f"{mechanism.name}_{name}.c").read_bytes()) for name in requested),
    )


def emitted(mechanism: Mechanism, function: str, peer: str) -> Emitted:
    """A generator's file of one function."""
    if peer == "CppADCodeGen" and function in DERIVATIVES:
        raise MissingError(
            "the function is not written by it here: its template takes minutes more to compile"
        )
    name = {"CasADi": "emit_casadi", "CppADCodeGen": "emit_cppad"}[peer] + (
        "_derivatives" if function in DERIVATIVES else ""
    )
    program, model = emitter(name), _model(mechanism)
    path, seconds = compile_once(
        f"{function}.c", [program, model, function, f"{function}.c"], [program, model]
    )
    return Emitted(path, seconds, len(path.read_bytes()))


def _model(mechanism: Mechanism) -> Path:
    """Pinocchio's model of the robot, as its own text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.txt"
        try:
            pinocchio.built(mechanism)[0].saveToText(str(path))
        except ImportError:
            raise MissingError("not installed (pin)") from None
        return stored("model.txt", path.read_bytes())


def _binary(mechanism: Mechanism) -> Path:
    """MuJoCo's."""
    try:
        import mujoco as mj

        model = mujoco.built(mechanism)
    except ImportError:
        raise MissingError("not installed (mujoco)") from None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mjb"
        mj.mj_saveModel(model, str(path))
        return stored("model.mjb", path.read_bytes())


def symgens(
    mechanism: Mechanism, function: str, wide: tuple[str, ...] = NATIVE
) -> Iterator[Contestant]:
    """The folder by the flags of its own CMake file as it stands, and with its contraction for this
    machine.
    """
    folder, name = (
        generated(mechanism, PLAIN if function in PLAIN else DERIVATIVES).path,
        mechanism.name,
    )
    source = folder / f"{name}_{function}.c"
    sizes = (
        f"-DNQ={mechanism.nq}",
        f"-DNV={mechanism.nv}",
        f"-DWITH={len(FUNCTIONS[function]) - 1}",
        f"-DRESULTS={3 if function in DERIVATIVES else 1}",
    )
    for variant, compile_options in (
        ("default", ()),
        ("native, contracted", (f"-D{name}_CONTRACT=ON", f"-DCMAKE_C_FLAGS={' '.join(wide)}")),
    ):
        dependencies = [source, *sorted(folder.glob("*.h"))]
        built, seconds = compile_once(
            "function.o",
            ["gcc", *_own_flags(folder, compile_options)[source.name], "-c", source, "-o", OUT],
            dependencies,
        )
        library, _ = compile_once(
            "symgen.so",
            [
                "gcc",
                "-O3",
                *SHARED,
                f"-I{folder}",
                *sizes,
                f'-DHEADER="{name}.h"',
                f"-DFUNCTION={name}_{function}",
                HERE / "symgen.c",
                built,
                "-lm",
                "-o",
                OUT,
            ],
            [HERE / "symgen.c", LOOPS, built],
        )
        yield Contestant("symgen", variant, library, seconds)


def blocks(mechanism: Mechanism, function: str) -> Iterator[Contestant]:
    """The folder's blocks of states, in the ways of `symgens`, the states one after another and
    element by element.
    """
    folder, name = generated(mechanism, PLAIN, "--batch").path, mechanism.name
    source = folder / f"{name}_{function}_batch.c"
    result = mechanism.nv**2 if "mass_matrix" in function else mechanism.nv
    for variant, compile_options in (
        ("default", ()),
        ("native, contracted", (f"-D{name}_CONTRACT=ON", f"-DCMAKE_C_FLAGS={' '.join(NATIVE)}")),
    ):
        built, seconds = compile_once(
            "batch.o",
            ["gcc", *_own_flags(folder, compile_options)[source.name], "-c", source, "-o", OUT],
            [source, *sorted(folder.glob("*.h"))],
        )
        for across, layout in enumerate(("one after another", "element by element")):
            words = (
                f"-DNQ={mechanism.nq}",
                f"-DNV={mechanism.nv}",
                f"-DWITH={len(FUNCTIONS[function]) - 1}",
                f"-DRESULT={result}",
                f"-DACROSS={across}",
                f'-DHEADER="{name}_batch.h"',
                f"-DFUNCTION={name}_{function}_strided",
            )
            adapter = HERE / "symgen_batch.c"
            library, _ = compile_once(
                "batch.so",
                ["gcc", "-O3", *SHARED, f"-I{folder}", *words, adapter, built, "-lm", "-o", OUT],
                [adapter, built],
            )
            yield Contestant("symgen", f"blocks, {variant}, {layout}", library, seconds)


@lru_cache(maxsize=64)
def _own_flags(folder: Path, compile_options: tuple[str, ...]) -> dict[str, list[str]]:
    """File → flags that CMake compiles it by."""
    with tempfile.TemporaryDirectory() as build:
        subprocess.run(
            [
                str(Path(sys.executable).with_name("cmake")),
                "-S",
                str(folder),
                "-B",
                build,
                *compile_options,
                "-DCMAKE_C_COMPILER=gcc",
                "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
            ],
            check=True,
            capture_output=True,
        )
        commands = json.loads((Path(build) / "compile_commands.json").read_text())
    return {
        Path(command["file"]).name: command["command"].split()[
            1 : command["command"].split().index("-o")
        ]
        for command in commands
    }


def generators(
    mechanism: Mechanism,
    function: str,
    peer: str,
    variants: dict[str, tuple[str, ...]] = WAYS,
    more: tuple[str, ...] = (),
) -> Iterator[Contestant]:
    """One of GENERATORS, in every way; `more` are flags of the loops."""
    emitted_path = emitted(mechanism, function, peer).path
    adapter = HERE / {"CasADi": "casadi.c", "CppADCodeGen": "cppad.c"}[peer]
    sizes = (f"-DNQ={mechanism.nq}", f"-DNV={mechanism.nv}")
    for variant, flags in variants.items():
        compiled, seconds = compile_once(
            "function.o", ["gcc", *flags, "-fPIC", "-c", emitted_path, "-o", OUT], [emitted_path]
        )
        library, _ = compile_once(
            f"{adapter.stem}.so",
            [
                "gcc",
                "-O3",
                *more,
                *SHARED,
                *sizes,
                f"-DFUNCTION={function}",
                adapter,
                compiled,
                "-lm",
                "-o",
                OUT,
            ],
            [adapter, LOOPS, compiled],
        )
        yield Contestant(peer, variant, library, seconds)


def libraries(
    mechanism: Mechanism, function: str, wide: tuple[str, ...] = NATIVE, more: tuple[str, ...] = ()
) -> dict[str, Iterator[Contestant]]:
    """Pinocchio and MuJoCo; `more` are flags of the loops."""
    return {
        "Pinocchio C++": _pinocchio(mechanism, function, (*wide, *more)),
        "MuJoCo": _mujoco(mechanism, function, more),
    }


def _function_index_flag(function: str) -> str:
    return f"-DFUNCTION={list(FUNCTIONS).index(function)}"


def _pinocchio(mechanism: Mechanism, function: str, wide: tuple[str, ...]) -> Iterator[Contestant]:
    source = HERE / ("pinocchio_derivatives.cpp" if function in DERIVATIVES else "pinocchio.cpp")
    model, adapter = _model(mechanism), HERE / "pinocchio.c"
    model_object, _ = compile_once(
        "pinocchio.o",
        [
            "g++",
            "-O3",
            "-DNDEBUG",
            *wide,
            *PINOCCHIO,
            f"-I{HERE}",
            "-fPIC",
            "-c",
            source,
            "-o",
            OUT,
        ],
        [source, LOOPS, *headers(source.stem)],
    )
    adapter_object, _ = compile_once(
        "asked.o",
        [
            "gcc",
            "-fPIC",
            _function_index_flag(function),
            f'-DMODEL="{model}"',
            "-c",
            adapter,
            "-o",
            OUT,
        ],
        [adapter],
    )
    library, _ = compile_once(
        "pinocchio.so",
        [
            "g++",
            *wide,
            "-shared",
            "-Wl,-Bsymbolic",
            model_object,
            adapter_object,
            "-o",
            OUT,
            *LIBRARIES,
        ],
        [model_object, adapter_object],
    )
    yield Contestant("Pinocchio C++", "-O3 native", library, 0.0)


def _mujoco(mechanism: Mechanism, function: str, more: tuple[str, ...]) -> Iterator[Contestant]:
    if function == "inverse_mass_matrix" or function in DERIVATIVES:
        raise MissingError("has no such function")
    model, source = _binary(mechanism), HERE / "mujoco.c"
    engine = next((SITE / "mujoco").glob("libmujoco.so*"))
    library, seconds = compile_once(
        "mujoco.so",
        [
            "gcc",
            "-O3",
            *more,
            *SHARED,
            f"-I{SITE / 'mujoco' / 'include'}",
            _function_index_flag(function),
            f'-DMODEL="{model}"',
            source,
            engine,
            f"-Wl,-rpath,{engine.parent}",
            "-o",
            OUT,
        ],
        [source, LOOPS, model],
    )
    yield Contestant("MuJoCo", "the wheel's library", library, seconds)
