"""The printed C, compiled unchanged and called through ctypes: the text check reads the same text
that runs here.
"""

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
from symgen.ir.program import Bound
from symgen.machine.compilers import find_compiler
from symgen.reference.precision import Array
from symgen.support.errors import BuildError
from symgen.verification.evaluating import Results, Runner
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

FLAGS = ("-std=c99", "-ffp-contract=off", "-fPIC")
LONG = 2000
"""Number of rows above which a function is compiled with -O0: gcc then takes a second for 20 000
rows, and fifteen seconds at -O1. The optimization level does not change the results.
"""
_TIMEOUT = 600
_MARGIN = 1024
"""Extra elements behind each array, since a text under test may index past its end."""


def require_compiler() -> None:
    """Raise BuildError with a remedy if there is no C compiler."""
    find_compiler()


def print_sources(
    programs: Mapping[str, Form], target: Target, divisor_bounds: Mapping[str, Mapping[int, Bound]]
) -> dict[str, str]:
    """Return the C of every Program by function, as the backend prints it."""
    return {
        name: printer().source(program, target, divisor_bounds.get(name))
        for name, program in programs.items()
    }


def compiled_runners(
    programs: Mapping[str, Form],
    printed: Mapping[str, str],
    headers: Mapping[str, str],
    target: Target,
) -> dict[str, Runner]:
    """Return one callable for each function, from the texts `printed`.

    `headers` are the files that they include. NAME.h declares the prototypes, so that the compiler
    refuses a text with other parameters before it is called. Raises BuildError if the compiler
    refuses a text.
    """
    with tempfile.TemporaryDirectory(prefix="symgen-verify-") as name:
        folder = Path(name)
        for file, text in headers.items():
            (folder / file).write_text(text, encoding="utf-8")
        for function in programs:
            (folder / target.c_file(function)).write_text(printed[function], encoding="utf-8")
        with ThreadPoolExecutor(max_workers=2) as pool:
            commands = {
                f: [
                    *FLAGS,
                    _optimization_level(program),
                    "-c",
                    target.c_file(f),
                    "-o",
                    f"{target.symbol(f)}.o",
                ]
                for f, program in programs.items()
            }
            objects = list(
                pool.map(lambda f: _compile(folder, commands[f], f"{target.symbol(f)}.o"), programs)
            )
        library = _compile(folder, ["-shared", *objects, "-o", "all.so", "-lm"], "all.so")
        try:
            loaded = ctypes.CDLL(str(folder / library))  # stays mapped after the folder is deleted
            return {
                name: _ctypes_runner(program, getattr(loaded, target.symbol(name)), target.checked)
                for name, program in programs.items()
            }
        except (OSError, AttributeError) as error:
            reason = str(error).rpartition(": ")[2]
            raise BuildError(
                f"the compiled C cannot be called ({reason}); generate it again"
            ) from None


def preprocess(
    printed: Mapping[str, str], headers: Mapping[str, str], target: Target
) -> dict[str, str]:
    """Return the output of the compiler's preprocessor for every text, with line markers that name
    the source file.

    <math.h> is replaced by an empty file, so that no system declarations appear. A text that the
    preprocessor refuses becomes an #error line, which the reader rejects.
    """
    with tempfile.TemporaryDirectory(prefix="symgen-verify-") as name:
        folder = Path(name)
        (folder / "system").mkdir()
        (folder / "system" / "math.h").touch()
        for file, text in headers.items():
            (folder / file).write_text(text, encoding="utf-8")
        outputs = {}
        for function, text in printed.items():
            (folder / target.c_file(function)).write_text(text, encoding="utf-8")
            arguments = [
                "-std=c99",
                "-nostdinc",
                "-isystem",
                "system",
                "-E",
                target.c_file(function),
                "-o",
                "seen.i",
            ]
            try:
                outputs[function] = (folder / _compile(folder, arguments, "seen.i")).read_text(
                    encoding="utf-8", errors="replace"
                )
            except BuildError as error:
                outputs[function] = f"#error {error}"
        return outputs


def _optimization_level(program: Form) -> str:
    return "-O0" if not program.looped and len(program.rows) > LONG else "-O1"


def run_compiler(folder: Path, arguments: Sequence[str]) -> str:
    """Run the C compiler in a folder. Return its first error message, empty on success."""
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


def _compile(folder: Path, arguments: list[str], output: str) -> str:
    """Run the compiler and return the name of the output file. Raises BuildError if the compiler
    refuses the text.
    """
    if error := run_compiler(folder, arguments):
        raise BuildError(
            f"the C compiler refuses the generated text: {error}; report it with the robot"
            " description"
        )
    return output


def _ctypes_runner(program: Form, call: Any, checked: bool = False) -> Runner:
    """Return a function that calls the compiled C state by state through ctypes."""
    real = np.dtype(REALS[program.real].numpy)
    call.restype = None

    def run(arguments: Mapping[str, Array]) -> Results:
        count = len(arguments[program.inputs[0].name])
        buffers = {
            port.name: np.zeros(port.size + _MARGIN, dtype=real)
            for port in (*program.inputs, *program.outputs)
        }
        size = printer().work(program, checked)
        workspace = np.full(size + _MARGIN, np.nan, dtype=real)
        pointers: list[Any] = [
            ctypes.c_void_p(buffer.ctypes.data)
            for buffer in (*buffers.values(), *([workspace] if size else []))
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
