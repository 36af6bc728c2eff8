"""Tables of a loop function in C: link constants, initial carries, and integers about links."""

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
"""Least number that a short in C may be unable to represent."""
BYTES = {"short": 2, "int": 4, **{name: real.size for name, real in REALS.items()}}


class Table(NamedTuple):
    """Static table of a file; each row is a text of one line or several."""

    kind: str
    name: str
    size: tuple[int, ...]
    rows: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """The size of the table in bytes."""
        return prod(self.size) * BYTES[self.kind]


class LoopTables:
    """Tables of a loop form, in the order in which the statements of its function first use them.

    The first tables have the link constants, one for each of the `read_classes`: link classes whose
    steps read their constants.
    """

    def __init__(self, form: LoopProgram, symbol: str, read_classes: Collection[int]) -> None:
        self.form, self.symbol = form, symbol
        self.tables: dict[str, Table] = {}
        for c in sorted(read_classes):
            constants = zip(form.constants, form.class_of, strict=True)
            rows = [row for row, link_class in constants if link_class == c]
            if rows and rows[0]:
                text = tuple(f"{{{_listed(self._literals(row), 6)}}}" for row in rows)
                self._add(form.real, self.constants(c), (len(rows), len(rows[0])), text)

    def constants(self, c: int) -> str:
        """Return the name of the table with the constants of class `c`."""
        return f"{self.symbol}_{CONSTANTS}" + (
            f"_{c + 1}" if len(self.form.link_classes) > 1 else ""
        )

    def rows(self) -> str:
        """Add the table with each link's row in the constants of its class; return its name."""
        counts, rows = Counter[int](), []
        for c in self.form.class_of:
            rows.append(counts[c])
            counts[c] += 1
        return self.integers(f"{CONSTANTS}_row", rows)

    def last_children(self) -> str:
        """Add the table with the last child of the base and of each link; return its name.

        The last child has the highest number; that of a leaf is -1.
        """
        last_child = {parent: link for link, parent in enumerate(self.form.parents)}
        links = range(-1, len(self.form))
        return self.integers("last_child", [last_child.get(link, -1) for link in links])

    def initial_carry(self, s: int) -> str:
        """Add the table with the initial carry of sweep `s`; return its name."""
        sweep = self.form.sweeps[s]
        values = self._literals(sweep.initial)
        name = f"{self.symbol}_{INITIAL_CARRY}_{s + 1}"
        return self._add(self.form.real, name, (len(values),), (_listed(values, 4),))

    def integers(self, suffix: str, values: Sequence[int]) -> str:
        """Add a table of integers; return its name."""
        kind = "short" if max(map(abs, values)) < SHORT_LIMIT else "int"
        text = _listed(map(str, values), 4)
        return self._add(kind, f"{self.symbol}_{suffix}", (len(values),), (text,))

    def _add(self, kind: str, name: str, size: tuple[int, ...], rows: tuple[str, ...]) -> str:
        """Add a table; return its name."""
        self.tables[name] = Table(kind, name, size, rows)
        return name

    def _literals(self, numbers: Iterable[Fraction]) -> list[str]:
        """Return the literals of numbers."""
        return [C.literal(number, REALS[self.form.real]) for number in numbers]


def _listed(numbers: Iterable[str], indent: int) -> str:
    """Return numbers with commas between them, on lines with the indentation `indent`."""
    lines: list[str] = []
    for number in ", ".join(numbers).split():
        if lines and len(lines[-1]) + 1 + len(number) <= WIDTH - indent:
            lines[-1] += f" {number}"
        else:
            lines.append(number)
    return f"\n{' ' * indent}".join(lines)
