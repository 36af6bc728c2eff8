"""Rows whose operands have signs: a sum becomes a difference, or the opposite is computed, and no operation is paid for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symgen.ir.program import Row

NEGATIVE = "neg_"
"""Before the name of a quantity whose opposite a row holds."""
SUMS, PRODUCTS = ("add", "sub"), ("mul", "div")
Place = tuple[int, int]
"""(row, sign)."""

_new = tuple.__new__  # rows are made by the ten thousand


class Signed:
    """Collects rows. `taken` are the names that there are."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.rows: list[Row] = []
        self._taken = set(taken)
        self._opposite: dict[int, int] = {}

    def put(
        self,
        op: str,
        operands: list[Place],
        value: Any = None,
        name: str = "",
        step: int = -1,
        wanted: int = 1,
    ) -> Place:
        """The operation on signed operands: the row and its sign, which is `wanted` if that costs nothing.

        Of a sum or a difference, `op` is "add" and the signs say which. `wanted` is the sign that `name` stands for.
        """
        sign = 1
        args = tuple([row for row, _ in operands])
        if op in PRODUCTS:
            sign = operands[0][1] * operands[1][1]
        elif op in SUMS:
            (a, first), (b, second) = operands
            if first == second:
                op, sign = "add", first
            else:  # the one of two differences whose sign is wanted
                op, sign = "sub", wanted
                if first != wanted:
                    args = (b, a)
        elif op == "sin":
            sign = operands[0][1]
        elif op != "cos" and args:
            args = tuple([self.held(one) for one in operands])
        if name and sign != wanted:
            name = self._turned(name)
        self.rows.append(_new(Row, (op, args, value, name, step)))
        return len(self.rows) - 1, sign

    def held(self, place: Place) -> int:
        """The row that holds a quantity with its sign, put where there is none."""
        row, sign = place
        if sign > 0:
            return row
        if row not in self._opposite:
            op, _, value, _, step = self.rows[row]
            self._opposite[row] = len(self.rows)
            self.rows.append(
                Row("const", (), -value, "", step)
                if op == "const"
                else Row("neg", (row,), None, "", step)
            )
        return self._opposite[row]

    def _turned(self, name: str) -> str:
        """The name of the opposite; none where another row has it."""
        turned = name.removeprefix(NEGATIVE) if name.startswith(NEGATIVE) else NEGATIVE + name
        return "" if turned in self._taken else turned
