"""Layout of the blocks of a derived paper: one matrix, or one equation for each entry if it is wide."""

from __future__ import annotations

from collections.abc import Iterator

from symgen.inspection.canonical import Canonical, Quotient
from symgen.inspection.harmonic_text import LINE_COLUMNS, latex_lines
from symgen.inspection.multiangle import MultiAngle
from symgen.inspection.printing import align_latex, visible_width

DENOMINATOR = r"\mathrm{den}"
WIDEST_MATRIX, WIDEST_FRACTION = 110, 80
"""Most visible characters of a row; LaTeX sets them smaller than the text, to the width of a page."""
CONTINUED, BESIDE = r"& \quad ", r",\qquad "
MOST_LINES = 25
"""Most lines of one formula, so that several formulas fit a page."""


def block_equations(label: str, block: Canonical) -> Iterator[str]:
    """Yield LaTeX equations that define a block and are about as wide as a page.

    A block that is wider is written as one equation for each entry that is not zero, short ones side
    by side and long sums in several lines. An entry with a long denominator is preceded by an
    equation for `den`.
    """
    if _width(block) <= (WIDEST_MATRIX if block.shape else LINE_COLUMNS):
        yield f"{label} = {block.text('latex', full=True)}"
        return
    row: list[str] = []
    for equation in _entry_equations(label, block):
        if isinstance(equation, str):
            if row and visible_width(BESIDE.join([*row, equation])) > LINE_COLUMNS:
                yield BESIDE.join(row)
                row = []
            row.append(equation)
            continue
        if row:
            yield BESIDE.join(row)
            row = []
        yield from map(align_latex, equation)
    if row:
        yield BESIDE.join(row)


def _entry_equations(label: str, block: Canonical) -> Iterator[str | list[list[str]]]:
    """Yield the equation of each entry that is not zero, and of its denominator if that is long: in
    one line, or as the lines of the parts of a long sum.
    """
    denominator: MultiAngle | None = None
    columns = block.shape[1] if block.shape else 1
    for n, entry in enumerate(block.entries):
        indices = f"{n}" if columns == 1 else f"{n // columns},{n % columns}"
        name = rf"[{label}]_{{{indices}}}" if block.shape else label
        if isinstance(entry, MultiAngle):
            if entry.terms:
                yield _broken(f"{name} = ", latex_lines(entry), "")
        elif _width_of_entry(entry) <= WIDEST_FRACTION:
            yield f"{name} = {entry.text('latex', full=True)}"
        else:
            if entry.denominator != denominator:
                denominator = entry.denominator
                yield _broken(rf"{DENOMINATOR} = ", latex_lines(denominator), "")
            start = rf"{name} = \tfrac{{1}}{{{DENOMINATOR}}} ("
            yield _broken(start, latex_lines(entry.numerator), ")")


def _broken(start: str, lines: list[str], end: str) -> str | list[list[str]]:
    """Return one equation as one line, or as parts of at most MOST_LINES lines."""
    lines = [start + lines[0], *lines[1:]]
    lines[-1] += end
    if len(lines) == 1:
        return lines[0]
    aligned = [f"& {lines[0]}", *(CONTINUED + line for line in lines[1:])]
    return [aligned[n : n + MOST_LINES] for n in range(0, len(aligned), MOST_LINES)]


def _width(block: Canonical) -> int:
    """Return the visible characters of the widest line of a block."""
    widths = [_width_of_entry(entry) for entry in block.entries]
    columns = block.shape[1] if block.shape else 1
    return sum(2 + max(widths[column::columns]) for column in range(columns))


def _width_of_entry(entry: MultiAngle | Quotient) -> int:
    forms = (entry,) if isinstance(entry, MultiAngle) else (entry.numerator, entry.denominator)
    return max(visible_width(form.text("latex", full=True)) for form in forms)
