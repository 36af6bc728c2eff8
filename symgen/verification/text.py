"""(b) The emitted C, parsed back, is the Program row for row, each literal its constant rounded once."""

from __future__ import annotations

from collections.abc import Mapping

from symgen.emission import printer
from symgen.emission.target import Target
from symgen.ir.levelled import Levelled
from symgen.ir.program import Bound, Program
from symgen.ir.recursion import Form, Recursion
from symgen.ir.segmented import Segmented
from symgen.verification.report import Check


def check_text(
    program: Form,
    text: str,
    label: str,
    target: Target,
    header: str = "",
    sincos: str = "",
    checked: Mapping[int, Bound] | None = None,
    seen: str = "",
) -> Check:
    """Counts the differences that `symgen.readback.rows.compare`, or that of `looped`, finds; the first one is the detail.

    `text` is NAME_<function>.c; `header` and `sincos`, when given, are NAME.h and NAME_sincos.h; `checked` and `seen` as
    `symgen.readback.rows.compare` has them. NAME_sincos.h is no Program: its words must be those that are printed now.
    """
    from symgen.readback import looped, segmented
    from symgen.readback.preprocessor import disguises, without_comments
    from symgen.readback.rows import compare

    if isinstance(program, Recursion):
        differences = looped.compare(program, text, header, seen, target.checked)
    elif isinstance(program, Segmented | Levelled):
        differences = segmented.compare(
            program, text, printer().source(program, target), target.name, header
        )
    else:
        assert isinstance(program, Program)
        differences = compare(program, text, header, checked, seen)
    differences += [f"{target.sincos}: {sentence}" for sentence in disguises(sincos)]
    if (
        sincos
        and without_comments(sincos).split()
        != without_comments(printer().sincos(program.real, target)).split()
    ):
        differences.append(f"{target.sincos} is not the sine and cosine that symgen prints")
    return Check(
        "text",
        label,
        float(len(differences)),
        0.0,
        " row(s) that differ",
        "; ".join(differences[:1]),
    )
