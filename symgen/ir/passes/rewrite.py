"""Tools of every pass: collect new rows, and record the new index of each old row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from symgen.ir.program import Port, Program, Row

_new = tuple.__new__


def with_args(row: Row, args: tuple[int, ...]) -> Row:
    """Return the row with other operands. It bypasses the named tuple's constructor, since a pass
    makes millions.
    """
    return row if row[1] == args else _new(Row, (row[0], args, row[2], row[3], row[4]))


class Rewriter:
    """Collects the rows of the next Program; `new_index[old]` is the index of an old row's value in
    it.

    Rows before `first` stay as they are.
    """

    def __init__(self, program: Program, first: int = 0) -> None:
        self.program = program
        self.rows = list(program.rows[:first])
        self.new_index = list(range(first))

    def put(self, row: Row) -> int:
        rows = self.rows
        rows.append(row)
        return len(rows) - 1

    def keep(self, row: Row) -> int:
        """Put a row with its operands' new indices. It is called by the million, so it calls
        nothing else.
        """
        rows, args = self.rows, row[1]
        if args:
            new_index = self.new_index
            new_args = (
                (new_index[args[0]], new_index[args[1]])
                if len(args) == 2
                else (new_index[args[0]],)
            )
            if new_args != args:
                row = _new(Row, (row[0], new_args, row[2], row[3], row[4]))
        rows.append(row)
        return len(rows) - 1

    def new_indices(self, args: Sequence[int]) -> tuple[int, ...]:
        new_index = self.new_index
        if len(args) == 2:
            a, b = args
            return (new_index[a], new_index[b])
        return tuple([new_index[a] for a in args])

    def finish(self) -> Program:
        outputs = [Port(p.name, p.shape, self.new_indices(p.rows)) for p in self.program.outputs]
        return self.program.with_rows(self.rows, outputs)


def uses(program: Program) -> list[int]:
    """Return how often each row's value is read, results included."""
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
    """Return (sign, row) of each term of a sum, or factor of a product, from left to right.

    Starts at `root` and goes through every row for which `inside` holds; a subtraction flips the
    sign of its right side.
    """
    result: list[tuple[int, int]] = []
    to_visit = [(1, root)]
    while to_visit:
        sign, r = to_visit.pop()
        row = rows[r]
        if r != root and not (row.op in ops and inside(r)):
            result.append((sign, r))
            continue
        first, second = row.args
        to_visit.append((-sign if row.op == "sub" else sign, second))
        to_visit.append((sign, first))
    return result
