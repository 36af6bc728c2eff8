"""Rows from signed operands: a sum becomes a difference, or the negative is computed, so that signs
cost no operation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symgen.ir.program import Row

NEGATIVE = "neg_"
"""Prefix of the name of a row that holds the negative of a quantity."""
SUMS, PRODUCTS = ("add", "sub"), ("mul", "div")
SignedRow = tuple[int, int]
"""(row, sign)."""

_new = tuple.__new__  # rows are made by the ten thousand


class Signed:
    """A list of rows to which `put` adds; `used_names` are names that rows already have."""

    def __init__(self, used_names: Iterable[str]) -> None:
        self.rows: list[Row] = []
        self._used_names = set(used_names)
        self._opposite: dict[int, int] = {}

    def put(
        self,
        op: str,
        operands: list[SignedRow],
        value: Any = None,
        name: str = "",
        step: int = -1,
        preferred_sign: int = 1,
    ) -> SignedRow:
        """Put an operation on signed operands; return the row and its sign, which is
        `preferred_sign` if that needs no further operation.

        For a sum or a difference, `op` is "add" and the operands have signs. `preferred_sign` is
        the sign with which `name` describes the value.
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
                op, sign = "sub", preferred_sign
                if first != preferred_sign:
                    args = (b, a)
        elif op == "sin":
            sign = operands[0][1]
        elif op != "cos":
            args = tuple([self.positive_row(operand) for operand in operands])
        if name and sign != preferred_sign:
            name = self._opposite_name(name)
        self.rows.append(_new(Row, (op, args, value, name, step)))
        return len(self.rows) - 1, sign

    def positive_row(self, signed_row: SignedRow) -> int:
        """Return the row that holds a quantity with its sign; put a negation if there is none."""
        row, sign = signed_row
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

    def _opposite_name(self, name: str) -> str:
        """Return the name of the negative; "" if another row has it."""
        opposite = name.removeprefix(NEGATIVE) if name.startswith(NEGATIVE) else NEGATIVE + name
        return "" if opposite in self._used_names else opposite
