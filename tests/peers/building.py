"""Compiled files in a cache, keyed by the content of their inputs, with the seconds of their
compilation.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterable
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from symgen.benchmarks.bench import processor

HERE = Path(__file__).parent
KEPT = HERE.parents[1] / "build" / "peers"
SITE = Path(sysconfig.get_path("purelib"))
PREFIX = SITE / "cmeel.prefix"
"""Folder of the headers and libraries of the wheels of Pinocchio, CppAD and Eigen."""
CASADI = SITE / "casadi"
OUT = "<out>"

PINOCCHIO = (
    "-std=c++17",
    f"-isystem{PREFIX / 'include'}",
    f"-isystem{PREFIX / 'include' / 'eigen3'}",
    # As Pinocchio's own build files have them: it has more types of joints than boost counts to.
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=10",
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
)
LIBRARIES = (f"-L{PREFIX / 'lib'}", "-lboost_serialization", f"-Wl,-rpath,{PREFIX / 'lib'}")


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of the compilers and of the compiled libraries."""
    versions_of = {
        "gcc": subprocess.run(
            ["gcc", "--version"], capture_output=True, text=True, check=True
        ).stdout.splitlines()[0]
    }
    for name in (
        "pin",
        "casadi",
        "cmeel-cppad",
        "cmeel-cppadcodegen",
        "cmeel-eigen",
        "mujoco",
        "jax",
    ):
        try:
            versions_of[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions_of[name] = "not installed"
    return versions_of


class MissingError(Exception):
    """A peer is not usable on this machine; the message gives the missing tool or library."""


def compile_once(
    name: str, command: Iterable[str | Path], reads: Iterable[Path] = (), where: Path | None = None
) -> tuple[Path, float]:
    """(the file or folder `name` that a command writes, the seconds that it took when it ran): once
    for the same text and files.

    The command writes it in cached_folder of OUT, or as `name` in the folder that it runs in, which
    is `where` or an empty one. MissingError where it fails, with its words.
    """
    words = [str(word) for word in command]
    # The key does not depend on the repository's folder, except for a path that is compiled in.
    apart = [
        word if word.startswith("-DMODEL=") else word.replace(str(HERE.parents[1]), "")
        for word in words
    ]
    compiling = {
        name: version for name, version in versions().items() if name != "jax"
    }  # jax compiles no code here
    digest = hashlib.sha256(json.dumps([apart, compiling, processor()]).encode())
    for path in reads:
        digest.update(path.read_bytes())
    cached_folder = KEPT / digest.hexdigest()[:16]
    file, seconds = cached_folder / name, cached_folder / "seconds.json"
    if not seconds.is_file():
        cached_folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached_folder) as folder:
            fresh = Path(folder) / name
            began = time.perf_counter()
            _run([word.replace(OUT, str(fresh)) for word in words], where or Path(folder))
            seconds_taken = time.perf_counter() - began
            os.replace(fresh, file)
        seconds.write_text(json.dumps(round(seconds_taken, 3)))
    return file, float(json.loads(seconds.read_text()))


def stored(name: str, content: bytes) -> Path:
    """A file with that content."""
    file = KEPT / hashlib.sha256(content).hexdigest()[:16] / name
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as fresh:
            fresh.write(content)
        os.replace(fresh.name, file)
    return file


def _run(command: list[str], where: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=where, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise MissingError(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        words = (
            [line for line in done.stderr.splitlines() if "error" in line.lower()]
            or done.stderr.splitlines()
            or ["no word"]
        )
        raise MissingError(f"{Path(command[0]).name} failed: {words[0][:200]}")


def emitter(name: str) -> Path:
    """The program `name`.cpp of this folder, which writes C. Minutes, once."""
    if not (PREFIX / "include" / "pinocchio").is_dir():
        raise MissingError("the headers of Pinocchio are not installed (pin)")
    if name.startswith("emit_casadi"):
        if not (CASADI / "include").is_dir():
            raise MissingError("not installed (casadi)")
        more = [f"-isystem{CASADI / 'include'}", f"-L{CASADI}", "-lcasadi", f"-Wl,-rpath,{CASADI}"]
    else:
        if not (PREFIX / "include" / "cppad" / "cg.hpp").is_file():
            raise MissingError("not installed (cmeel-cppad, cmeel-cppadcodegen)")
        more = ["-lcppad_lib"]
    if not (PREFIX / "include" / "eigen3").is_dir():
        raise MissingError("the headers of Eigen are not installed (cmeel-eigen)")
    source = HERE / f"{name}.cpp"
    return compile_once(
        name,
        ["g++", "-O0", *PINOCCHIO, source, "-o", OUT, *LIBRARIES, *more],
        [source, *headers(name)],
    )[0]


def headers(name: str) -> list[Path]:
    """Return the headers that a C++ program of this folder includes."""
    more = {
        "emit_casadi_derivatives": ["derivatives.hpp", "emit_casadi.cpp"],
        "pinocchio_derivatives": ["derivatives.hpp"],
    }
    return [HERE / header for header in ["models.hpp", *more.get(name, [])]]
