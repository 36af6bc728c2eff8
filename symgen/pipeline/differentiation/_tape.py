"""Rows behind those of a Program: what the modes write on, each row put once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from symgen.ir.program import Program, Row

Number = int | None
"""A row; None is zero by structure, and costs nothing."""
Numbers = list[Number]


class Tape:
    """The rows of a Program, and those that are recorded behind them.

    A row that is there already is not put again. Nothing else is decided here: what is trivial is left to the passes.
    """

    def __init__(self, program: Program) -> None:
        self.rows = list(program.rows)
        self.steps = list(program.steps)
        """The comments over the rows."""
        self._offset = 0
        self._step = -1
        self._known: dict[tuple[str, tuple[int, ...]], int] = {}
        for i, row in enumerate(self.rows):
            if row.args:
                self._known.setdefault((row.op, row.args), i)
        self._constants: dict[Fraction, int] = {}

    def comment(self, prefix: str, steps: Sequence[str]) -> None:
        """From now on rows stand under these comments, with that before each."""
        self._offset = len(self.steps)
        self.steps += [prefix + step for step in steps]
        self._step = -1

    def under(self, step: int) -> None:
        """From now on rows stand under that one of them."""
        self._step = self._offset + step if step >= 0 else -1

    def put(self, op: str, *args: int) -> int:
        """The row of this operation: one that is there, or a new one."""
        if (op, args) not in self._known:
            self._known[op, args] = self._new(Row(op, args, None, "", self._step))
        return self._known[op, args]

    def constant(self, value: Fraction | int) -> int:
        value = Fraction(value)
        if value not in self._constants:
            self._constants[value] = self.unread(value)
        return self._constants[value]

    def unread(self, value: Fraction | int = 0) -> int:
        """A row of its own, for what is asked how much it weighs and never what it is."""
        return self._new(Row("const", (), Fraction(value), "", -1))

    def argument(self, port: int, element: int) -> int:
        return self._new(Row("input", (), (port, element)))

    def _new(self, row: Row) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    def plus(self, a: Number, b: Number) -> Number:
        """a + b."""
        return b if a is None else a if b is None else self.put("add", a, b)

    def less(self, a: Number, b: Number) -> Number:
        """a − b."""
        return a if b is None else self.put("neg", b) if a is None else self.put("sub", a, b)

    def times(self, a: Number, b: Number) -> Number:
        """a·b."""
        return None if a is None or b is None else self.put("mul", a, b)

    def inline(self, program: Program, supplied: Sequence[Sequence[Number]]) -> list[Numbers]:
        """Record the rows of another Program on arguments that stand here; where each of its results now stands.

        Arguments may be zero by structure where the Program is linear in them.
        """
        place: Numbers = []
        for op, args, value, _, step in program.rows:
            if op == "input":
                place.append(supplied[value[0]][value[1]])
                continue
            self.under(step)
            given = [place[a] for a in args]
            if op == "const":
                place.append(self.constant(value))
            elif op == "add":
                place.append(self.plus(*given))
            elif op == "sub":
                place.append(self.less(*given))
            elif op == "neg":
                place.append(self.less(None, *given))
            elif op == "mul":
                place.append(self.times(*given))
            elif given[0] is None:  # a quotient of zero
                place.append(None)
            else:
                place.append(self.put(op, *[a for a in given if a is not None]))
        return [[place[r] for r in port.rows] for port in program.outputs]
