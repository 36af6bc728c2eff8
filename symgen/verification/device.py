"""(f) The functions for a GPU: each device function is read back as a Program; what stands around it is what is printed now.

Nothing is run: no GPU is asked for. The kernels hold no arithmetic but that of places in memory, so their words are compared.
"""

from __future__ import annotations

from collections.abc import Mapping

from symgen.emission.target import Target
from symgen.ir.program import Bound, Program
from symgen.support.errors import ProgramError
from symgen.verification.blocks import other_lines
from symgen.verification.report import Check

PROTOTYPE = r"(int \w+_cuda(_strided)?|__global__ void \w+_kernel)\([\w *,]*\);"
"""What NAME_cuda.h may declare of functions that were not asked for."""


def check_device(
    programs: Mapping[str, Program],
    texts: Mapping[str, str],
    printed: Mapping[str, str],
    target: Target,
    floors: Mapping[str, Mapping[int, Bound]],
) -> list[Check]:
    """One check a function. `texts` are the files for a GPU by name, `printed` those that symgen prints now, `floors` the
    certified bounds of divisors by function.
    """
    found = []
    for function, program in programs.items():
        wrong = _read_back(program, texts, printed, target, floors.get(function, {}))
        found.append(
            Check(
                "device",
                f"{function}={program.method}",
                float(len(wrong)),
                0.0,
                " difference(s)",
                "; ".join(wrong[:1]),
            )
        )
    return found


def _read_back(
    program: Program,
    texts: Mapping[str, str],
    printed: Mapping[str, str],
    target: Target,
    floors: Mapping[int, Bound],
) -> list[str]:
    """What keeps the text from being the Program, within a frame that is printed now."""
    from symgen.readback.device import device
    from symgen.readback.preprocessor import disguises, without_comments
    from symgen.readback.rows import compare

    own, around = (
        target.device(program.function),
        [target.kernel(program.function), target.turns_on_gpu],
    )
    needed = [file for file in (target.cuda, own, *around) if file in printed]
    missing = [file for file in needed if file not in texts]
    if missing:
        return [f"{missing[0]} is not there"]
    found = [f"{file}: {sentence}" for file in needed for sentence in disguises(texts[file])]
    if other_lines(texts[target.cuda], printed[target.cuda], PROTOTYPE):
        found.append(f"{target.cuda} is not what symgen prints")
    found += [
        f"{file} is not what symgen prints"
        for file in around
        if file in needed
        and without_comments(texts[file]).split() != without_comments(printed[file]).split()
    ]
    bounded, symbol = target.text.trig == "inline", target.symbol(program.function)
    try:
        read, now = (
            device(one[own], target.name, symbol, bounded, target.checked)
            for one in (texts, printed)
        )
    except ProgramError as error:
        return [*found, str(error)]
    found += compare(program, read.text, checked=floors if target.checked else None)
    return (
        found
        if read.frame == now.frame
        else [*found, f"{own} is not what symgen prints before and behind the function"]
    )
