"""Rows of equal or opposite value as one quantity, and the rows that compute it differently."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from symgen.ir.program import Program

Operand = tuple[int, int]
"""(quantity, sign)."""
Operands = tuple[int, ...]


class Quantities:
    """Quantities of a Program; each is identified by its first row.

    `of` and `sign` hold quantity and sign of each row; `values` are the rows modulo a prime. `ways`
    are rows that compute a quantity differently, if there are several; `constants` are quantities
    that are 0, 1, or a constant of the Program. `reads` are the operands of each row, and `users`
    the quantities that a quantity is an operand of, in any way.
    """

    def __init__(self, program: Program, values: Sequence[int], prime: int) -> None:
        rows = self.rows = program.rows
        self.of: list[int] = []
        self.sign: list[int] = []
        self.constants: dict[int, Fraction] = {}
        self.repeated = False
        """True if a value is computed twice, or if a row uses the result of a negation."""
        self._alike: dict[int, list[int]] = {}
        """Rows of each quantity that several rows compute, its first row first."""
        self._opposites: list[int] = []
        """Rows that negate another."""
        alike, first_row_of = self._alike, dict[int, int]()
        find_or_add, append_quantity, append_sign = (
            first_row_of.setdefault,
            self.of.append,
            self.sign.append,
        )
        for i, (x, (op, args, value, _, _)) in enumerate(zip(values, rows, strict=True)):
            y = prime - x
            c = find_or_add(x if x < y else y, i)
            if op == "neg":  # the opposite of any quantity
                self._opposites.append(i)
                append_quantity(self.of[args[0]])
                append_sign(-self.sign[args[0]])
                continue
            s = 1 if values[c] == x else -1
            append_quantity(c)
            append_sign(s)
            if c != i:
                alike.setdefault(c, [c]).append(i)
            if op == "const":
                self.constants.setdefault(c, s * value)
        self.repeated |= (
            self._find_units(first_row_of, values) or bool(alike) or self._takes_signs()
        )
        self.ways = self._find_ways()

    @cached_property
    def reads(self) -> list[Operands]:
        of = self.of
        return [
            (of[args[0]], of[args[1]]) if len(args) == 2 else tuple([of[a] for a in args])
            for _, args, _, _, _ in self.rows
        ]

    @cached_property
    def users(self) -> list[list[int]]:
        users: list[list[int]] = [[] for _ in self.rows]
        for operands, user in zip(self.reads, self.of, strict=True):
            for a in operands:
                users[a].append(user)
        return users

    def set_apart(self, separate: Collection[int]) -> None:
        """Make some of the rows in `ways`, none of them first, quantities of their own."""
        of, sign, changed = self.of, self.sign, set(separate)
        for i in separate:
            of[i], sign[i] = i, 1
        for i in self._opposites:
            a = self.rows[i][1][0]
            if a in changed:
                of[i], sign[i] = of[a], -sign[a]
                changed.add(i)
        for i, (_, args, _, _, _) in enumerate(self.rows):
            if i in changed or not changed.isdisjoint(args):
                self.reads[i] = tuple([of[a] for a in args])
                for a in self.reads[i]:
                    self.users[a].append(of[i])
        remaining = {c: [i for i in rows if i not in changed] for c, rows in self._alike.items()}
        self._alike = dict(
            sorted(
                [(c, rows) for c, rows in remaining.items() if len(rows) > 1],
                key=lambda group: group[1][1],
            )
        )
        self.ways = self._find_ways()

    def _find_units(self, first_row_of: Mapping[int, int], values: Sequence[int]) -> bool:
        """Record quantities that are 0 or ±1 as constants; return whether there are any that were
        not.
        """
        units = [x for x in (0, 1) if x in first_row_of and first_row_of[x] not in self.constants]
        for x in units:
            self.constants[first_row_of[x]] = Fraction(x if values[first_row_of[x]] == x else -x)
        return bool(units)

    def _takes_signs(self) -> bool:
        """Return whether a row uses the result of a negation."""
        return any(self.rows[a][0] == "neg" for row in self.rows for a in row[1])

    def _find_ways(self) -> dict[int, list[int]]:
        """Return rows that compute a quantity differently, for each quantity with at least two."""
        alike = self._alike.items()
        ways = {c: self._distinct_rows(c, rows) for c, rows in alike if c not in self.constants}
        return {c: rows for c, rows in ways.items() if len(rows) > 1}

    def operands(self, row: int) -> list[Operand]:
        """Return the signed operands of a row; the second of a difference has a minus."""
        op, args = self.rows[row][0], self.rows[row][1]
        result = [(self.of[a], self.sign[a]) for a in args]
        if op == "sub":
            result[1] = (result[1][0], -result[1][1])
        return result

    def _distinct_rows(self, c: int, equal_rows: list[int]) -> list[int]:
        """Return the rows of a quantity that are different operations, or have different operands,
        and do not use the quantity itself.
        """
        row_by_operation: dict[object, int] = {}
        for row in equal_rows:
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
            row_by_operation.setdefault(key, row)
        return list(row_by_operation.values())
