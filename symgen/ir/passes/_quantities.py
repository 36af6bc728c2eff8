"""Rows of equal or opposite value as one quantity, and the rows that say how it is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from symgen.ir.program import Program

Operand = tuple[int, int]
"""(quantity, sign)."""


class Quantities:
    """A quantity is called by its first row.

    `of` and `sign` say of each row which quantity it is; `values` are the rows modulo a prime. The rows of `apart` are quantities
    of their own. `ways` are rows that compute a quantity differently, where there are several; `constants` are those that are
    0, 1, or a constant of the Program.
    """

    def __init__(
        self,
        program: Program,
        values: Sequence[int],
        prime: int,
        apart: frozenset[int] = frozenset(),
    ) -> None:
        rows = self.rows = program.rows
        self.apart = apart
        self.of: list[int] = []
        self.sign: list[int] = []
        self.constants: dict[int, Fraction] = {}
        self.repeated = False
        """Whether anything is computed twice, or takes its sign from a row of its own."""
        alike: dict[int, list[int]] = {}
        known: dict[int, int] = {}
        find, put, signed = known.setdefault, self.of.append, self.sign.append
        for i, x in enumerate(values):
            y = prime - x
            c = find(x if x < y else y, i) if i not in apart else i
            s = 1 if c == i or values[c] == x else -1
            op, args = rows[i][0], rows[i][1]
            if op == "neg":  # even of a row that stands apart
                c, s = self.of[args[0]], -self.sign[args[0]]
            elif op == "const":
                self.constants.setdefault(c, s * rows[i].value)
            put(c)
            signed(s)
            if c != i and op != "neg":
                alike.setdefault(c, [c]).append(i)
        self.repeated |= self._find_units(known, values) or bool(alike) or self._takes_signs()
        self.ways = self._several(alike)

    def _find_units(self, known: Mapping[int, int], values: Sequence[int]) -> bool:
        """Record quantities that are 0 or ±1 as constants; True if there are any that were not."""
        units = [x for x in (0, 1) if x in known and known[x] not in self.constants]
        for x in units:
            self.constants[known[x]] = Fraction(x if values[known[x]] == x else -x)
        return bool(units)

    def _takes_signs(self) -> bool:
        """True if a row takes the sign of an operand from a row of its own."""
        return any(self.rows[a][0] == "neg" for row in self.rows for a in row[1])

    def _several(self, alike: Mapping[int, list[int]]) -> dict[int, list[int]]:
        """The rows that compute a quantity differently, by quantity, where there are at least two."""
        ways = {c: self._different(c, rows) for c, rows in alike.items() if c not in self.constants}
        return {c: rows for c, rows in ways.items() if len(rows) > 1}

    def operands(self, row: int) -> list[Operand]:
        """With a minus before the second for a difference."""
        op, args = self.rows[row][0], self.rows[row][1]
        found = [(self.of[a], self.sign[a]) for a in args]
        if op == "sub":
            found[1] = (found[1][0], -found[1][1])
        return found

    def _different(self, c: int, alike: list[int]) -> list[int]:
        """Those of the rows that are not the same operation on the same operands, and need not c itself."""
        found: dict[object, int] = {}
        for row in alike:
            op = self.rows[row][0]
            operands = self.operands(row)
            if c in [a for a, _ in operands]:
                continue
            if op in ("add", "sub"):
                key: object = ("add", tuple(sorted([(a, s * self.sign[row]) for a, s in operands])))
            elif op == "mul":
                key = (op, tuple(sorted([a for a, _ in operands])))
            else:
                key = (op, tuple([a for a, _ in operands]))
            found.setdefault(key, row)
        return list(found.values())
