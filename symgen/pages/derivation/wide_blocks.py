"""Layout of the blocks of a derived paper: one matrix, or one equation for each entry if it is
wide.
"""

from __future__ import annotations

from collections.abc import Iterator

from symgen.inspection.canonical import Canonical, Quotient
from symgen.inspection.harmonic_text import LINE_COLUMNS, latex_lines
from symgen.inspection.multiangle import MultiAngle
from symgen.inspection.printing import align_latex, visible_width

DENOMINATOR = r"\mathrm{den}"
WIDEST_MATRIX, WIDEST_FRACTION = 110, 80
"""Largest width, in visible characters, of a matrix and of a fraction in one line. LaTeX sets a
wide matrix smaller than the text, to the width of the page.
"""
CONTINUATION, SEPARATOR = r"& \quad ", r",\qquad "
"""LaTeX before each further line of a sum, and between equations side by side."""
MOST_LINES = 25
"""Largest number of lines of one formula, so that several formulas fit a page."""


def block_equations(label: str, block: Canonical) -> Iterator[str]:
    """Yield LaTeX equations that define a block and are about as wide as a page.

    A narrow block is one matrix. A wider block has one equation for each entry that is not zero:
    short equations stand side by side, and long sums have several lines. An equation for `den`
    precedes an entry with a long fraction, unless the entry before has the same denominator.
    """
    if _width(block) <= (WIDEST_MATRIX if block.shape else LINE_COLUMNS):
        yield f"{label} = {block.text('latex', full=True)}"
        return
    side_by_side: list[str] = []
    for equation in _entry_equations(label, block):
        if isinstance(equation, str):
            joined = SEPARATOR.join([*side_by_side, equation])
            if side_by_side and visible_width(joined) > LINE_COLUMNS:
                yield SEPARATOR.join(side_by_side)
                side_by_side = []
            side_by_side.append(equation)
            continue
        if side_by_side:
            yield SEPARATOR.join(side_by_side)
            side_by_side = []
        yield from map(align_latex, equation)
    if side_by_side:
        yield SEPARATOR.join(side_by_side)


def _entry_equations(label: str, block: Canonical) -> Iterator[str | list[list[str]]]:
    """Yield the equation of each entry that is not zero, after that of its denominator if the
    fraction is long.

    An equation is a string, or a list of parts if it has several lines (`_equation_parts`).
    """
    denominator: MultiAngle | None = None
    columns = block.shape[1] if block.shape else 1
    for k, entry in enumerate(block.entries):
        indices = f"{k}" if columns == 1 else f"{k // columns},{k % columns}"
        name = rf"[{label}]_{{{indices}}}" if block.shape else label
        if isinstance(entry, MultiAngle):
            if entry.terms:
                yield _equation_parts(f"{name} = ", latex_lines(entry), "")
        elif _width_of_entry(entry) <= WIDEST_FRACTION:
            yield f"{name} = {entry.text('latex', full=True)}"
        else:
            if entry.denominator != denominator:
                denominator = entry.denominator
                yield _equation_parts(rf"{DENOMINATOR} = ", latex_lines(denominator), "")
            start = rf"{name} = \tfrac{{1}}{{{DENOMINATOR}}} ("
            yield _equation_parts(start, latex_lines(entry.numerator), ")")


def _equation_parts(start: str, lines: list[str], end: str) -> str | list[list[str]]:
    """Return `start`, `lines` and `end` as one equation: a string if it has one line, else the
    lines of each part, at most MOST_LINES.
    """
    lines = [start + lines[0], *lines[1:]]
    lines[-1] += end
    if len(lines) == 1:
        return lines[0]
    aligned = [f"& {lines[0]}", *(CONTINUATION + line for line in lines[1:])]
    return [aligned[first : first + MOST_LINES] for first in range(0, len(aligned), MOST_LINES)]


def _width(block: Canonical) -> int:
    """Return the width of a block in visible characters: its columns and 2 between them."""
    widths = [_width_of_entry(entry) for entry in block.entries]
    columns = block.shape[1] if block.shape else 1
    return sum(2 + max(widths[column::columns]) for column in range(columns))


def _width_of_entry(entry: MultiAngle | Quotient) -> int:
    """Return the visible characters of an entry; a fraction is as wide as its wider part."""
    forms = (entry,) if isinstance(entry, MultiAngle) else (entry.numerator, entry.denominator)
    return max(visible_width(form.text("latex", full=True)) for form in forms)
