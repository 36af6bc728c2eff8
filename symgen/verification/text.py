"""(b) The emitted C, parsed back, is the Program row for row, each literal its constant rounded once."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symgen.backends import printer, wrapper
from symgen.backends._target import Target
from symgen.ir import Program
from symgen.verification.report import LINES, Check


def check_text(program: Program, text: str, label: str, target: Target, header: str = "", sincos: str = "",
               checked: Mapping[int, Fraction] | None = None) -> Check:
    """Counts the differences that `symgen.readback.rows.compare` finds; the first one is the detail.

    `text` is NAME_<function>.c; `header` and `sincos`, when given, are NAME.h and NAME_sincos.h; `checked` as
    `symgen.readback.rows.compare` has it. NAME_sincos.h is no Program: its words must be those that are printed now.
    """
    from symgen.readback.disguise import disguises, without_comments
    from symgen.readback.rows import compare

    differences = compare(program, text, header, checked)
    differences += [f"{target.sincos}: {sentence}" for sentence in disguises(sincos)]
    if sincos and without_comments(sincos).split() != without_comments(printer().sincos(program.real, target)).split():
        differences.append(f"{target.sincos} is not the sine and cosine that symgen prints")
    return Check("text", label, float(len(differences)), 0.0, " row(s) that differ", "; ".join(differences[:1]))


def check_wrapper(backend: str, text: str, programs: Mapping[str, Program], target: Target) -> Check:
    """Counts the lines of a wrapper's header that differ from what is printed now. Comments may differ."""
    found_in = wrapper(backend)
    expected, found = _lines(found_in.header(programs, target)), _lines(text)
    wrong = [f"line {n}: {line.strip()}" for (n, line), (_, other) in zip(found, expected, strict=False) if line != other]
    missed = len(wrong) + abs(len(found) - len(expected))
    return Check("text", found_in.file(target), float(missed), 0.0, LINES, "; ".join(wrong[:1]))


def _lines(text: str) -> list[tuple[int, str]]:
    """The lines with their numbers, without those that are comments."""
    return [(n, line) for n, line in enumerate(text.splitlines(), 1) if not line.lstrip().startswith("//")]
