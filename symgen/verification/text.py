"""(b) The emitted C, parsed back, is the Program row for row, each literal its constant rounded once."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symgen.ir import Program
from symgen.verification.report import Check


def check_text(program: Program, text: str, label: str, header: str = "", sincos: str = "",
               checked: Mapping[int, Fraction] | None = None) -> Check:
    """Counts the differences that `symgen.readback.compare` finds; the first one is the detail.

    `text` is NAME_<function>.c; `header` and `sincos`, when given, are NAME.h and NAME_sincos.h; `checked` as
    `symgen.readback.compare` has it.
    """
    from symgen.readback import compare

    differences = [str(difference) for difference in compare(program, text, header, sincos, checked)]
    return Check("text", label, float(len(differences)), 0.0, " row(s) that differ", "; ".join(differences[:1]))
