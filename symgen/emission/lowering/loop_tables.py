"""Tables of a loop function in C: the constants of links, initial carries, and numbers of links
such as their parents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import NamedTuple

from symgen.emission.c_text import WIDTH, C
from symgen.ir.loops import CONSTANTS, INITIAL_CARRY, LoopProgram
from symgen.vocabulary.reals import REALS

SHORT_LIMIT = 2**15
"""Lower bound on the numbers that a short does not hold in C."""
BYTES = {"short": 2, "int": 4, **{name: real.size for name, real in REALS.items()}}


class Table(NamedTuple):
    """A static table of the text; each row is text, which may have several lines."""

    kind: str
    name: str
    size: tuple[int, ...]
    rows: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """The bytes that the table takes."""
        return prod(self.size) * BYTES[self.kind]


class LoopTables:
    """The tables of a loop form, in the order in which the statements of its function first name
    them.

    The constants of links come first, one table for each of the `read_classes`, whose steps read
    them.
    """

    def __init__(self, form: LoopProgram, symbol: str, read_classes: Collection[int]) -> None:
        self.form, self.symbol = form, symbol
        self.tables: dict[str, Table] = {}
        for c in sorted(read_classes):
            rows = [row for row, of in zip(form.constants, form.class_of, strict=True) if of == c]
            if rows and rows[0]:
                text = tuple(f"{{{_listed(self._literals(row), 6)}}}" for row in rows)
                self._add(form.real, self.constants(c), (len(rows), len(rows[0])), text)

    def constants(self, c: int) -> str:
        """Return the name of the table of the constants of one class."""
        return f"{self.symbol}_{CONSTANTS}" + (
            f"_{c + 1}" if len(self.form.link_classes) > 1 else ""
        )

    def rows(self) -> str:
        """Return the name of the table with each link's row in the constants of its class."""
        counts, rows = Counter[int](), []
        for c in self.form.class_of:
            rows.append(counts[c])
            counts[c] += 1
        return self.integers(f"{CONSTANTS}_row", rows)

    def last_children(self) -> str:
        """Return the name of the table of the child with the highest number, of the base and of
        each link; -1 for a leaf.
        """
        last_child = {parent: link for link, parent in enumerate(self.form.parents)}
        links = range(-1, len(self.form))
        return self.integers("last_child", [last_child.get(link, -1) for link in links])

    def initial_carry(self, s: int) -> str:
        """Return the name of the table of the initial carry of a sweep."""
        sweep = self.form.sweeps[s]
        values = self._literals(sweep.initial)
        name = f"{self.symbol}_{INITIAL_CARRY}_{s + 1}"
        return self._add(self.form.real, name, (len(values),), (_listed(values, 4),))

    def integers(self, suffix: str, values: Sequence[int]) -> str:
        """Return the name of a table of integers."""
        kind = "short" if max(map(abs, values)) < SHORT_LIMIT else "int"
        text = _listed(map(str, values), 4)
        return self._add(kind, f"{self.symbol}_{suffix}", (len(values),), (text,))

    def _add(self, kind: str, name: str, size: tuple[int, ...], rows: tuple[str, ...]) -> str:
        self.tables[name] = Table(kind, name, size, rows)
        return name

    def _literals(self, numbers: Iterable[Fraction]) -> list[str]:
        return [C.literal(number, REALS[self.form.real]) for number in numbers]


def _listed(numbers: Iterable[str], indent: int) -> str:
    """Return numbers with commas between them, over lines of that indentation."""
    lines: list[str] = []
    for number in ", ".join(numbers).split():
        if lines and len(lines[-1]) + 1 + len(number) <= WIDTH - indent:
            lines[-1] += f" {number}"
        else:
            lines.append(number)
    return f"\n{' ' * indent}".join(lines)
