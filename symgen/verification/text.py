"""(b, f) The emitted C, parsed back, is the Program row for row, each literal its constant rounded once.

Of the functions for a GPU each device function is read back as a Program; the text around it is the text that is printed now.
Nothing is run: no GPU is asked for. The kernels hold no arithmetic but that of places in memory, so their words are compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from symgen.ir.loops import Form, LoopProgram
from symgen.ir.program import Bound, Program
from symgen.support.errors import ProgramError
from symgen.verification.report import Check
from symgen.vocabulary.target import Target

PROTOTYPE = r"(int \w+_cuda(_strided)?|__global__ void \w+_kernel)\([\w *,]*\);"
"""What NAME_cuda.h may declare of functions that were not asked for."""


@dataclass(frozen=True)
class Source:
    """The C of one function: NAME_<function>.c and, where they are a folder's, NAME.h and NAME_sincos.h.

    `preprocessed` is the C as the compiler's preprocessor shows it, where that is asked for.
    """

    text: str
    header: str = ""
    sincos: str = ""
    preprocessed: str = ""


def check_text(
    program: Form,
    source: Source,
    label: str,
    target: Target,
    checked: Mapping[int, Bound] | None = None,
) -> Check:
    """Count the differences that `symgen.readback.rows.compare`, or that of `loops`, finds; the first one is the detail.

    `checked` are the bounds that divisors are compared with, as `symgen.readback.rows.compare` has them.
    """
    from symgen.readback import loops, sines
    from symgen.readback.rows import compare

    if isinstance(program, LoopProgram):
        # Attributes of functions over lanes are no C99, which is what is parsed.
        preprocessed = "" if program.part_count else source.preprocessed
        differences = loops.compare(
            program, source.text, source.header, preprocessed, target.checked
        )
    else:
        assert isinstance(program, Program)
        differences = compare(program, source.text, source.header, checked, source.preprocessed)
    if source.sincos:
        several = target.text.trig == "auto"
        wrong = sines.compare(source.sincos, target.name, program.real, several)
        differences += [f"{target.sincos}: {sentence}" for sentence in wrong]
    return Check(
        "text",
        label,
        float(len(differences)),
        0.0,
        " row(s) that differ",
        "; ".join(differences[:1]),
    )


def check_device(
    programs: Mapping[str, Program],
    texts: Mapping[str, str],
    printed: Mapping[str, str],
    target: Target,
    floors: Mapping[str, Mapping[int, Bound]],
) -> list[Check]:
    """Make one check a function. `texts` are the files for a GPU by name, `printed` those that symgen prints now, `floors` the
    certified bounds of divisors by function.
    """
    checks = []
    for function, program in programs.items():
        wrong = _device_differences(program, texts, printed, target, floors.get(function, {}))
        checks.append(
            Check(
                "device",
                f"{function}={program.method}",
                float(len(wrong)),
                0.0,
                " difference(s)",
                "; ".join(wrong[:1]),
            )
        )
    return checks


def _device_differences(
    program: Program,
    texts: Mapping[str, str],
    printed: Mapping[str, str],
    target: Target,
    floors: Mapping[int, Bound],
) -> list[str]:
    """What keeps the text from being the Program, within a frame that is printed now."""
    from symgen.readback.device import device
    from symgen.readback.rows import compare

    function = program.function
    file, kernel = target.device(function), target.kernel(function)
    needed = [name for name in (target.cuda, file, kernel, target.turns_on_gpu) if name in printed]
    missing = [name for name in needed if name not in texts]
    if missing:
        return [f"{missing[0]} is not there"]
    differences = _frame_differences(needed, file, texts, printed, target)
    bounded, symbol = target.text.trig == "inline", target.symbol(function)
    try:
        read, now = (
            device(files[file], target.name, symbol, bounded, target.checked)
            for files in (texts, printed)
        )
    except ProgramError as error:
        return [*differences, str(error)]
    differences += compare(program, read.text, checked=floors if target.checked else None)
    if read.frame != now.frame:
        differences.append(f"{file} is not what symgen prints before and behind the function")
    return differences


def _frame_differences(
    needed: Sequence[str],
    function_file: str,
    texts: Mapping[str, str],
    printed: Mapping[str, str],
    target: Target,
) -> list[str]:
    """Differences of the `needed` files around the function from those that are printed now."""
    from symgen.readback.preprocessor import disguises, without_comments

    differences = [f"{file}: {sentence}" for file in needed for sentence in disguises(texts[file])]
    if other_lines(texts[target.cuda], printed[target.cuda], PROTOTYPE):
        differences.append(f"{target.cuda} is not what symgen prints")
    for file in needed:
        words, words_now = (without_comments(files[file]).split() for files in (texts, printed))
        if file not in (target.cuda, function_file) and words != words_now:
            differences.append(f"{file} is not what symgen prints")
    return differences


def other_lines(given: str, printed: str, more: str) -> bool:
    """Whether a header lacks a line that is printed now, or has another that is no `more`: a function that was not asked for."""
    own, wanted = _lines(given), _lines(printed)
    return not set(wanted) <= set(own) or not all(
        line in wanted or re.fullmatch(more, line) for line in own
    )


def _lines(text: str) -> list[str]:
    from symgen.readback.preprocessor import without_comments

    return [line.strip() for line in without_comments(text).splitlines() if line.strip()]
