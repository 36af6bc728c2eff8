"""(b, f) The emitted C, parsed back, equals the Program row for row; each literal is its constant
rounded once.

For a GPU, each device function is read back as a Program or as loops; the kernel around it and its
launch are interpreted thread by thread (`symgen.readback.kernels`). Nothing runs on a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from symgen.ir.loops import Form
from symgen.ir.program import Bound
from symgen.verification.report import Check
from symgen.vocabulary.target import Target


@dataclass(frozen=True)
class Source:
    """The C of one function: NAME_<function>.c and, for a folder, NAME.h and NAME_sincos.h.

    `preprocessed` is the output of the compiler's preprocessor, if it was requested.
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
    """Return the check that counts the differences that the readers of rows or of loops report; the
    first is the detail.

    `checked` are the certified bounds of divisors, as in `symgen.readback.rows.compare`.
    """
    from symgen.readback import loops, sines
    from symgen.readback.rows import compare

    if program.looped:
        # Attributes of functions over lanes are not C99, and the reader parses C99 only.
        preprocessed = "" if program.part_count else source.preprocessed
        differences = loops.compare(
            program, source.text, source.header, preprocessed, target.checked
        )
    else:
        differences = compare(program, source.text, source.header, checked, source.preprocessed)
    if source.sincos:
        several = target.text.trig == "auto"
        sentences = sines.compare(source.sincos, target.name, program.real, several)
        differences += [f"{target.sincos_file}: {sentence}" for sentence in sentences]
    return Check(
        "text",
        label,
        float(len(differences)),
        0.0,
        " row(s) that differ",
        "; ".join(differences[:1]),
    )


def check_device(
    programs: Mapping[str, Form],
    texts: Mapping[str, str],
    header: str,
    target: Target,
    divisor_bounds: Mapping[str, Mapping[int, Bound]],
) -> list[Check]:
    """Return one check for each function.

    `texts` are the GPU files by name, `header` is NAME.h, `divisor_bounds` the certified bounds of
    divisors by function.
    """
    checks = []
    for function, program in programs.items():
        differences = _device_differences(
            program, texts, header, target, divisor_bounds.get(function, {})
        )
        checks.append(
            Check(
                "device",
                f"{function}={program.method}",
                float(len(differences)),
                0.0,
                " difference(s)",
                "; ".join(differences[:1]),
            )
        )
    return checks


def _device_differences(
    program: Form,
    texts: Mapping[str, str],
    header: str,
    target: Target,
    divisor_bounds: Mapping[int, Bound],
) -> list[str]:
    """Return the differences between the GPU files of a function and its Program or loops."""
    from symgen.readback import kernels, sines
    from symgen.readback.device import Names

    function = program.function
    needed = [target.cuda_header, target.device_file(function), target.kernel_file(function)]
    takes_sines = f'#include "{target.cuda_sincos_file}"' in texts.get(needed[1], "")
    for file in (*needed, *[target.cuda_sincos_file] * takes_sines):
        if file not in texts:
            return [f"{file} is missing"]
    differences = []
    if takes_sines:
        text, trig = texts[target.cuda_sincos_file], target.text.trig
        sentences = sines.compare_device(text, target.name, program.real, trig)
        differences = [f"{target.cuda_sincos_file}: {sentence}" for sentence in sentences]
    names = Names(target.name, target.symbol(function))
    bounded = target.text.trig == "inline"
    options = kernels.Options(target.checked, bounded, divisor_bounds)
    text_of_gpu = kernels.CudaText(
        texts[needed[1]], texts[needed[2]], texts[target.cuda_header], header
    )
    return differences or kernels.compare(program, text_of_gpu, names, options)
