"""(e) Functions for blocks of states: their C is read back lane by lane, and their results equal
those for one state bit for bit.

The other checks verify the functions for one state. Here the texts for one state and those for
blocks are compiled separately, the latter with the optimization that vectorizes their loops. Both
are called at the same states: a number that is no multiple of the block size, in both memory
layouts.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.ir.program import Bound
from symgen.reference.precision import Array
from symgen.support.errors import BuildError
from symgen.verification import compiled
from symgen.verification.compiled import run_compiler
from symgen.verification.evaluating import Runner
from symgen.verification.report import Check
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

Drawn = Callable[[Form], Mapping[str, Array]]
"""Function that returns the arguments of a function by name: arrays with one row a state."""
FLAGS = (*compiled.FLAGS, "-O2")
MORE = 5
"""Number of states beyond whole blocks; drawn states are used again."""


@dataclass(frozen=True)
class BlockFiles:
    """Files of the functions for blocks of states by name, and the `headers` that they include."""

    texts: Mapping[str, str]
    headers: Mapping[str, str]
    target: Target
    divisor_bounds: Mapping[str, Mapping[int, Bound]] = field(default_factory=dict)
    """Certified bounds of divisors, by function and row."""


def check_blocks(
    programs: Mapping[str, Form],
    files: BlockFiles,
    drawn: Drawn,
    runners: Mapping[str, Runner],
    uncompiled: str = "",
) -> list[Check]:
    """Return one check for each function.

    `drawn` returns the arguments of a function. `runners` are the compiled functions for one state;
    if it is empty, the bits are not judged, and `uncompiled` is the reason.
    """
    target = files.target
    differences = {function: read_block(program, files) for function, program in programs.items()}
    # A text that differs from the Program may write anywhere in memory, so it is not called.
    correct = (
        {function: program for function, program in programs.items() if not differences[function]}
        if runners
        else {}
    )
    if correct:
        try:
            with tempfile.TemporaryDirectory(prefix="symgen-verify-") as folder:
                loaded = _compile_library(Path(folder), correct, files)
                for function, program in correct.items():
                    call = getattr(loaded, f"{target.symbol(function)}_strided")
                    arguments = drawn(program)
                    differences[function] += _bit_differences(
                        program, arguments, runners[function](arguments), call, target
                    )
        except BuildError as error:
            differences = {
                function: [*sentences, str(error)] for function, sentences in differences.items()
            }
    return [
        Check(
            "blocks",
            f"{function}={program.method}",
            float(len(differences[function])),
            0.0,
            " difference(s)",
            "; ".join(differences[function][:1]),
            "" if runners else uncompiled,
        )
        for function, program in programs.items()
    ]


def read_block(program: Form, files: BlockFiles) -> list[str]:
    """Return the differences between the text for blocks of states and the Program or loops."""
    from symgen.readback import batches

    texts, target = files.texts, files.target
    file = target.batch_file(program.function)
    if file not in texts:
        return [f"{file} is missing"]
    header = texts.get(target.batch_header, "")
    text = batches.BatchText(texts[file], texts.get(target.lanes_file, ""), header)
    divisor_bounds = files.divisor_bounds.get(program.function, {})
    return batches.compare(program, text, target.name, target.checked, divisor_bounds)


def _compile_library(folder: Path, programs: Mapping[str, Form], files: BlockFiles) -> Any:
    """Return all functions compiled into one library. Raises BuildError if the compiler refuses a
    text.
    """
    for name, text in {**files.headers, **files.texts}.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [files.target.batch_file(function) for function in programs]
    if error := run_compiler(folder, [*FLAGS, "-shared", *sources, "-o", "all.so", "-lm"]):
        raise BuildError(f"the C compiler refuses the text of many states: {error}")
    return ctypes.CDLL(str(folder / "all.so"))  # stays mapped after the folder is deleted


def _bit_differences(
    program: Form,
    arguments: Mapping[str, Array],
    expected: Mapping[str, Array],
    call: Any,
    target: Target,
) -> list[str]:
    """Return a sentence for each result whose bits differ from the result for one state, in either
    layout.
    """
    real, checked, needs = (
        np.dtype(REALS[program.real].numpy),
        target.checked,
        printer().driver(program, target)["needs"],
    )
    count = len(next(iter(arguments.values())))
    states = np.arange(2 * printer().lanes(program.real) + MORE) % count
    call.restype = ctypes.c_ssize_t if checked else None
    sentences = []
    for layout in ("state by state", "element by element"):
        call_arguments: list[Any] = [ctypes.c_ssize_t(len(states))]
        arrays = {}
        for port in (*program.inputs, *program.outputs):
            rows = np.full(
                (len(states), port.size), np.nan, real
            )  # an element that the C does not write stays NaN
            if port in program.inputs:
                rows[...] = arguments[port.name][states].reshape(rows.shape)
            array = rows if layout == "state by state" else np.ascontiguousarray(rows.T)
            arrays[port.name] = array if layout == "state by state" else array.T
            steps = (port.size, 1) if layout == "state by state" else (1, len(states))
            call_arguments += [ctypes.c_void_p(array.ctypes.data), *map(ctypes.c_ssize_t, steps)]
        workspace = np.full(needs, np.nan, real)
        workspace_arguments = (
            [ctypes.c_void_p(workspace.ctypes.data), *([ctypes.c_int(needs)] if checked else [])]
            if needs
            else []
        )
        call(*call_arguments, *workspace_arguments, *([ctypes.c_void_p(None)] if checked else []))
        for port in program.outputs:
            single = expected[port.name].astype(real).reshape(count, port.size)[states]
            equal = (single == arrays[port.name]) | (np.isnan(single) & np.isnan(arrays[port.name]))
            differing = int((~equal).any(axis=1).sum())
            if differing:
                sentences.append(
                    f"{port.name} of {differing} of {len(states)} states, {layout}, differs in bits"
                    " from the function of one state"
                )
    return sentences
