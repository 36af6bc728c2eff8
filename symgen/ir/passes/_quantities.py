"""Rows of equal or opposite value as one quantity, and the rows that say how it is computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from symgen.ir.program import Program

Operand = tuple[int, int]
"""(quantity, sign)."""
Operands = tuple[int, ...]


class Quantities:
    """A quantity is called by its first row.

    `of` and `sign` say of each row which quantity it is; `values` are the rows modulo a prime. `ways` are rows that compute a
    quantity differently, where there are several; `constants` are those that are 0, 1, or a constant of the Program. `reads` are
    the quantities that each row is computed from, and `users` what each quantity is part of, in one way or another.
    """

    def __init__(self, program: Program, values: Sequence[int], prime: int) -> None:
        rows = self.rows = program.rows
        self.of: list[int] = []
        self.sign: list[int] = []
        self.constants: dict[int, Fraction] = {}
        self.repeated = False
        """Whether anything is computed twice, or takes its sign from a row of its own."""
        self._alike: dict[int, list[int]] = {}
        """Rows that hold a quantity which an earlier row holds, behind that one."""
        self._opposites: list[int] = []
        """Rows that take the opposite of another."""
        alike, known = self._alike, dict[int, int]()
        find, put, signed = known.setdefault, self.of.append, self.sign.append
        for i, (x, (op, args, value, _, _)) in enumerate(zip(values, rows, strict=True)):
            y = prime - x
            c = find(x if x < y else y, i)
            if op == "neg":  # of whatever the row is that it takes the opposite of
                self._opposites.append(i)
                put(self.of[args[0]])
                signed(-self.sign[args[0]])
                continue
            s = 1 if c == i or values[c] == x else -1
            put(c)
            signed(s)
            if c != i:
                alike.setdefault(c, [c]).append(i)
            if op == "const":
                self.constants.setdefault(c, s * value)
        self.repeated |= self._find_units(known, values) or bool(alike) or self._takes_signs()
        self.ways = self._several()

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
        for read, user in zip(self.reads, self.of, strict=True):
            for a in read:
                users[a].append(user)
        return users

    def set_apart(self, some: Collection[int]) -> None:
        """Make quantities of their own of some of the `ways` that are no first rows."""
        of, sign, changed = self.of, self.sign, set(some)
        for i in some:
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
        rest = {c: [i for i in rows if i not in changed] for c, rows in self._alike.items()}
        self._alike = dict(
            sorted(
                [(c, rows) for c, rows in rest.items() if len(rows) > 1], key=lambda one: one[1][1]
            )
        )
        self.ways = self._several()

    def _find_units(self, known: Mapping[int, int], values: Sequence[int]) -> bool:
        """Record quantities that are 0 or ±1 as constants; True if there are any that were not."""
        units = [x for x in (0, 1) if x in known and known[x] not in self.constants]
        for x in units:
            self.constants[known[x]] = Fraction(x if values[known[x]] == x else -x)
        return bool(units)

    def _takes_signs(self) -> bool:
        """True if a row takes the sign of an operand from a row of its own."""
        return any(self.rows[a][0] == "neg" for row in self.rows for a in row[1])

    def _several(self) -> dict[int, list[int]]:
        """The rows that compute a quantity differently, by quantity, where there are at least two."""
        alike = self._alike.items()
        ways = {c: self._different(c, rows) for c, rows in alike if c not in self.constants}
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
