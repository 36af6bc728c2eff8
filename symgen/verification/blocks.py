"""(e) The functions for many states: their C is interpreted lane by lane, and the bits are those of the function of one state.

The latter is judged by the other checks. So the texts of one state and those of many are compiled apart, the second with the
optimisation that makes vectors of their loops, and called at the same states: a number of them that no block divides, one after
the other, and element by element.
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
"""The arguments of a function, by name: arrays of as many rows as there are states."""
FLAGS = (*compiled.FLAGS, "-O2")
MORE = 5
"""States beyond whole blocks: those that were drawn are gone through again."""


@dataclass(frozen=True)
class BlockFiles:
    """The files of functions for many states by name, and the `headers` that they include."""

    texts: Mapping[str, str]
    headers: Mapping[str, str]
    target: Target
    floors: Mapping[str, Mapping[int, Bound]] = field(default_factory=dict)
    """The certified bounds of divisors, by function and row."""


def check_blocks(
    programs: Mapping[str, Form],
    files: BlockFiles,
    drawn: Drawn,
    runners: Mapping[str, Runner],
    uncompiled: str = "",
) -> list[Check]:
    """Make one check a function. `drawn` gives states of a function; `runners` are the compiled functions of one state, none where
    nothing is compiled. Then the bits are not judged, and `uncompiled` says why.
    """
    target = files.target
    wrong = {function: read_block(program, files) for function, program in programs.items()}
    # A text that is not what it should be may write anywhere: it is not called.
    sound = (
        {function: program for function, program in programs.items() if not wrong[function]}
        if runners
        else {}
    )
    if sound:
        try:
            with tempfile.TemporaryDirectory(prefix="symgen-verify-") as folder:
                loaded = _compiled(Path(folder), sound, files)
                for function, program in sound.items():
                    call = getattr(loaded, f"{target.symbol(function)}_strided")
                    arguments = drawn(program)
                    wrong[function] += _other_bits(
                        program, arguments, runners[function](arguments), call, target
                    )
        except BuildError as error:
            wrong = {function: [*sentences, str(error)] for function, sentences in wrong.items()}
    return [
        Check(
            "blocks",
            f"{function}={program.method}",
            float(len(wrong[function])),
            0.0,
            " difference(s)",
            "; ".join(wrong[function][:1]),
            "" if runners else uncompiled,
        )
        for function, program in programs.items()
    ]


def read_block(program: Form, files: BlockFiles) -> list[str]:
    """List the differences between the text and the Program, or the loops over links, for many states."""
    from symgen.readback import batches

    texts, target = files.texts, files.target
    file = target.batch_file(program.function)
    if file not in texts:
        return [f"{file} is not there"]
    header = texts.get(target.batch, "")
    text = batches.BatchText(texts[file], texts.get(target.lanes, ""), header)
    floors = files.floors.get(program.function, {})
    return batches.compare(program, text, target.name, target.checked, floors)


def _compiled(folder: Path, programs: Mapping[str, Form], files: BlockFiles) -> Any:
    """Compile all of them into one library; BuildError where the compiler refuses a text."""
    for name, text in {**files.headers, **files.texts}.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [files.target.batch_file(function) for function in programs]
    if error := run_compiler(folder, [*FLAGS, "-shared", *sources, "-o", "all.so", "-lm"]):
        raise BuildError(f"the C compiler refuses the text of many states: {error}")
    return ctypes.CDLL(str(folder / "all.so"))  # stays mapped after the folder is deleted


def _other_bits(
    program: Form,
    arguments: Mapping[str, Array],
    wanted: Mapping[str, Array],
    call: Any,
    target: Target,
) -> list[str]:
    """A sentence for each result that has other bits than the function of one state, in either layout."""
    real, checked, needs = (
        np.dtype(REALS[program.real].numpy),
        target.checked,
        printer().driver(program, target)["needs"],
    )
    count = len(next(iter(arguments.values())))
    states = np.arange(2 * printer().lanes(program.real) + MORE) % count
    call.restype = ctypes.c_ssize_t if checked else None
    found = []
    for layout in ("state by state", "element by element"):
        words: list[Any] = [ctypes.c_ssize_t(len(states))]
        arrays = {}
        for port in (*program.inputs, *program.outputs):
            rows = np.full(
                (len(states), port.size), np.nan, real
            )  # what the C does not write stays visible
            if port in program.inputs:
                rows[...] = arguments[port.name][states].reshape(rows.shape)
            array = rows if layout == "state by state" else np.ascontiguousarray(rows.T)
            arrays[port.name] = array if layout == "state by state" else array.T
            steps = (port.size, 1) if layout == "state by state" else (1, len(states))
            words += [ctypes.c_void_p(array.ctypes.data), *map(ctypes.c_ssize_t, steps)]
        work = np.full(needs, np.nan, real)
        given = (
            [ctypes.c_void_p(work.ctypes.data), *([ctypes.c_int(needs)] if checked else [])]
            if needs
            else []
        )
        call(*words, *given, *([ctypes.c_void_p(None)] if checked else []))
        for port in program.outputs:
            one = wanted[port.name].astype(real).reshape(count, port.size)[states]
            same = (one == arrays[port.name]) | (np.isnan(one) & np.isnan(arrays[port.name]))
            wrong = int((~same).any(axis=1).sum())
            if wrong:
                found.append(
                    f"{port.name} of {wrong} of {len(states)} states, {layout}, has other bits than of one state alone"
                )
    return found
