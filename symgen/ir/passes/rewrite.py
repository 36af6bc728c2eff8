"""What every pass needs: new rows, and where the old ones went."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from symgen.ir.program import Port, Program, Row

_new = tuple.__new__


def with_args(row: Row, args: tuple[int, ...]) -> Row:
    """The row on other operands; a pass makes millions, so that it goes past the named tuple's own constructor."""
    return row if row[1] == args else _new(Row, (row[0], args, row[2], row[3], row[4]))


class Rewriter:
    """Collects the rows of the next Program; `place[old]` is where an old row's value now stands.

    Rows before the `first` stay as they are.
    """

    def __init__(self, program: Program, first: int = 0) -> None:
        self.program = program
        self.rows = list(program.rows[:first])
        self.place = list(range(first))

    def put(self, row: Row) -> int:
        rows = self.rows
        rows.append(row)
        return len(rows) - 1

    def keep(self, row: Row) -> int:
        """Put a row as it is, its operands where they now stand. It is met by the million, so nothing else is called."""
        rows, args = self.rows, row[1]
        if args:
            place = self.place
            now = (place[args[0]], place[args[1]]) if len(args) == 2 else (place[args[0]],)
            if now != args:
                row = _new(Row, (row[0], now, row[2], row[3], row[4]))
        rows.append(row)
        return len(rows) - 1

    def moved(self, args: Sequence[int]) -> tuple[int, ...]:
        place = self.place
        if len(args) == 2:
            a, b = args
            return (place[a], place[b])
        return tuple([place[a] for a in args])

    def finish(self) -> Program:
        outputs = [Port(p.name, p.shape, self.moved(p.rows)) for p in self.program.outputs]
        return self.program.with_rows(self.rows, outputs)


def uses(program: Program) -> list[int]:
    """How often each row's value is read, results included."""
    count = [0] * len(program.rows)
    for row in program.rows:
        for a in row.args:
            count[a] += 1
    for port in program.outputs:
        for r in port.rows:
            count[r] += 1
    return count


def leaves(
    rows: Sequence[Row], root: int, ops: tuple[str, ...], inside: Callable[[int], bool]
) -> list[tuple[int, int]]:
    """(sign, row) of what a sum or product of rows adds up or multiplies, from left to right.

    Starts at `root` and goes through every row for which `inside` holds; a subtraction flips the sign of its right side.
    """
    found: list[tuple[int, int]] = []
    waiting = [(1, root)]
    while waiting:
        sign, r = waiting.pop()
        row = rows[r]
        if r != root and not (row.op in ops and inside(r)):
            found.append((sign, r))
            continue
        first, second = row.args
        waiting.append((-sign if row.op == "sub" else sign, second))
        waiting.append((sign, first))
    return found
