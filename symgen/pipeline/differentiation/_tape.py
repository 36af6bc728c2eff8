"""Tape: the rows of a Program, and the rows that a derivative adds, without repetition."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from symgen.ir.program import Program, Row

Number = int | None
"""A row; None is a structural zero, which has no operations."""
Numbers = list[Number]


class Tape:
    """The rows of a Program, and those that are recorded after them.

    An existing row is not recorded again. The passes simplify trivial operations later.
    """

    def __init__(self, program: Program) -> None:
        self.rows = list(program.rows)
        self.steps = list(program.steps)
        """The comments of the rows."""
        self._offset = 0
        self._step = -1
        self._row_of: dict[tuple[str, tuple[int, ...]], int] = {}
        for i, row in enumerate(self.rows):
            if row.args:
                self._row_of.setdefault((row.op, row.args), i)
        self._constants: dict[Fraction, int] = {}

    def comment(self, prefix: str, steps: Sequence[str]) -> None:
        """Put the following rows under these comments, each with the prefix."""
        self._offset = len(self.steps)
        self.steps += [prefix + step for step in steps]
        self._step = -1

    def under(self, step: int) -> None:
        """Put the following rows under the comment with this index."""
        self._step = self._offset + step if step >= 0 else -1

    def put(self, op: str, *args: int) -> int:
        """Return the row of this operation: an existing one, or a new one."""
        if (op, args) not in self._row_of:
            self._row_of[op, args] = self._new(Row(op, args, None, "", self._step))
        return self._row_of[op, args]

    def constant(self, value: Fraction | int) -> int:
        value = Fraction(value)
        if value not in self._constants:
            self._constants[value] = self.unread(value)
        return self._constants[value]

    def unread(self, value: Fraction | int = 0) -> int:
        """Return a new row whose weight is used, but never its value."""
        return self._new(Row("const", (), Fraction(value), "", -1))

    def argument(self, port: int, element: int) -> int:
        return self._new(Row("input", (), (port, element)))

    def _new(self, row: Row) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    def plus(self, a: Number, b: Number) -> Number:
        """Return a + b."""
        return b if a is None else a if b is None else self.put("add", a, b)

    def less(self, a: Number, b: Number) -> Number:
        """Return a − b."""
        return a if b is None else self.put("neg", b) if a is None else self.put("sub", a, b)

    def times(self, a: Number, b: Number) -> Number:
        """Return a·b."""
        return None if a is None or b is None else self.put("mul", a, b)

    def inline(self, program: Program, supplied: Sequence[Sequence[Number]]) -> list[Numbers]:
        """Record the rows of another Program on these arguments; return the rows of its results.

        Arguments may be structural zeros if the Program is linear in them.
        """
        recorded: Numbers = []
        for op, args, value, _, step in program.rows:
            if op == "input":
                recorded.append(supplied[value[0]][value[1]])
                continue
            self.under(step)
            operands = [recorded[a] for a in args]
            if op == "const":
                recorded.append(self.constant(value))
            elif op == "add":
                recorded.append(self.plus(*operands))
            elif op == "sub":
                recorded.append(self.less(*operands))
            elif op == "neg":
                recorded.append(self.less(None, *operands))
            elif op == "mul":
                recorded.append(self.times(*operands))
            elif operands[0] is None:  # a quotient of zero
                recorded.append(None)
            else:
                recorded.append(self.put(op, *[a for a in operands if a is not None]))
        return [[recorded[r] for r in port.rows] for port in program.outputs]
