"""Programs of a few rows that a test writes itself, and the names of their inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from symgen.inspection.canonical import Names
from symgen.ir.program import Port, Program, Row


class Rows:
    """Rows of a Program of the inputs q, and expressions that append to them."""

    def __init__(self, count: int) -> None:
        self.rows = [Row("input", (), (0, i)) for i in range(count)]

    def __call__(self, op: str, *args: int) -> int:
        self.rows.append(Row(op, args))
        return len(self.rows) - 1

    def number(self, value: int | Fraction) -> int:
        self.rows.append(Row("const", (), Fraction(value)))
        return len(self.rows) - 1


Build = Callable[..., Sequence[int]]
"""Append rows and return those of the results, from `Rows` and numbers in place of roots."""


def program_of(build: Build, count: int, roots: Sequence[int] = ()) -> tuple[Program, list[int]]:
    rows = Rows(count)
    results = list(build(rows, *(rows.number(root) for root in roots)))
    ports = (Port("q", (count,)),), (Port("it", (len(results),), tuple(results)),)
    return Program("it", "by_hand", *ports, tuple(rows.rows)), results


def names(count: int) -> Names:
    return Names({(0, i): i for i in range(count)}, lambda x: f"q{x[1]}", count, "it")
