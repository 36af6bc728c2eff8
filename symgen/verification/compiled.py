"""The printed C, compiled unchanged and called through ctypes: the text that the text check reads is the text that runs here."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.ir.program import Bound, Program
from symgen.machine.compilers import find_compiler
from symgen.reference.precision import Array
from symgen.support.errors import BuildError
from symgen.verification.evaluating import Results, Runner
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

FLAGS = ("-std=c99", "-ffp-contract=off", "-fPIC")
LONG = 2000
"""Rows of a function beyond which it is compiled without optimisation. gcc then takes a second for 20 000 rows, and a quarter of
a minute at -O1. Optimisation does not change what is computed.
"""
_TIMEOUT = 600
_MARGIN = 1024
"""Elements behind each array, since a text under test may index past its end."""


def require_compiler() -> None:
    """Raises BuildError, with a way out, where there is no C compiler."""
    find_compiler()


def texts(
    programs: Mapping[str, Form], target: Target, floors: Mapping[str, Mapping[int, Bound]]
) -> dict[str, str]:
    """The C of every Program by function, as the backend prints it."""
    return {
        name: printer().source(program, target, floors.get(name))
        for name, program in programs.items()
    }


def compiled_runners(
    programs: Mapping[str, Form],
    printed: Mapping[str, str],
    headers: Mapping[str, str],
    target: Target,
) -> dict[str, Runner]:
    """One callable per function, from the texts `printed`.

    `headers` are the files that they include; NAME.h declares what the Programs take, so that a text with other parameters is
    refused before it is called.
    Raises BuildError where the compiler refuses a text.
    """
    with tempfile.TemporaryDirectory(prefix="symgen-verify-") as name:
        folder = Path(name)
        for file, text in headers.items():
            (folder / file).write_text(text, encoding="utf-8")
        for function in programs:
            (folder / target.file(function)).write_text(printed[function], encoding="utf-8")
        with ThreadPoolExecutor(max_workers=2) as pool:
            words = {
                f: [*FLAGS, _level(program), "-c", target.file(f), "-o", f"{target.symbol(f)}.o"]
                for f, program in programs.items()
            }
            objects = list(
                pool.map(lambda f: _run(folder, words[f], f"{target.symbol(f)}.o"), programs)
            )
        library = _run(folder, ["-shared", *objects, "-o", "all.so", "-lm"], "all.so")
        try:
            loaded = ctypes.CDLL(str(folder / library))  # stays mapped after the folder is deleted
            return {
                name: _runner(program, getattr(loaded, target.symbol(name)), target.checked)
                for name, program in programs.items()
            }
        except (OSError, AttributeError) as error:
            what = str(error).rpartition(": ")[2]
            raise BuildError(
                f"the compiled C cannot be called ({what}); generate it again"
            ) from None


def preprocessed(
    printed: Mapping[str, str], headers: Mapping[str, str], target: Target
) -> dict[str, str]:
    """What the compiler's own preprocessor makes of every text, with lines that tell which file each part is from.

    <math.h> is left empty: nothing of the machine's is wanted in it. A text that the preprocessor refuses gives its sentence as
    C that nobody can read.
    """
    with tempfile.TemporaryDirectory(prefix="symgen-verify-") as name:
        folder = Path(name)
        (folder / "system").mkdir()
        (folder / "system" / "math.h").touch()
        for file, text in headers.items():
            (folder / file).write_text(text, encoding="utf-8")
        found = {}
        for function, text in printed.items():
            (folder / target.file(function)).write_text(text, encoding="utf-8")
            words = [
                "-std=c99",
                "-nostdinc",
                "-isystem",
                "system",
                "-E",
                target.file(function),
                "-o",
                "seen.i",
            ]
            try:
                found[function] = (folder / _run(folder, words, "seen.i")).read_text(
                    encoding="utf-8", errors="replace"
                )
            except BuildError as error:
                found[function] = f"#error {error}"
        return found


def _level(program: Form) -> str:
    return "-O0" if isinstance(program, Program) and len(program.rows) > LONG else "-O1"


def run_compiler(folder: Path, arguments: Sequence[str]) -> str:
    """Run the C compiler in a folder; return the first error that it reports, empty where it succeeds."""
    done = subprocess.run(
        [*find_compiler(), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if not done.returncode:
        return ""
    errors = (line for line in done.stderr.splitlines() if "error" in line)
    return next(errors, done.stderr.strip()[:200])


def _run(folder: Path, arguments: list[str], made: str) -> str:
    if error := run_compiler(folder, arguments):
        raise BuildError(
            f"the C compiler refuses the generated text: {error}; report it with the robot description"
        )
    return made


def _runner(program: Form, call: Any, checked: bool = False) -> Runner:
    real = np.dtype(REALS[program.real].numpy)
    call.restype = None

    def run(arguments: Mapping[str, Array]) -> Results:
        count = len(arguments[program.inputs[0].name])
        buffers = {
            port.name: np.zeros(port.size + _MARGIN, dtype=real)
            for port in (*program.inputs, *program.outputs)
        }
        size = printer().work(program, checked)
        work = np.full(size + _MARGIN, np.nan, dtype=real)
        pointers: list[Any] = [
            ctypes.c_void_p(buffer.ctypes.data)
            for buffer in (*buffers.values(), *([work] if size else []))
        ]
        pointers += [ctypes.c_int(size)] if size and checked else []
        results = {port.name: np.zeros((count, port.size), dtype=real) for port in program.outputs}
        for state in range(count):
            for port in program.inputs:
                buffers[port.name][: port.size] = arguments[port.name][state].reshape(-1)
            for port in program.outputs:
                buffers[port.name][: port.size] = (
                    np.nan
                )  # an element that the C does not write stays visible
            call(*pointers)
            for port in program.outputs:
                results[port.name][state] = buffers[port.name][: port.size]
        return {
            port.name: results[port.name].reshape(count, *port.shape) for port in program.outputs
        }

    return run
