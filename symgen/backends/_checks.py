"""What a function of `--checked` looks at before it stores: its arguments, its angles, its divisors.

Everything holds for numbers as IEEE 754 has them: a compiler that is told that there is no NaN (-ffast-math) removes it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from symgen.backends._c_text import WIDTH, literal
from symgen.ir import Program
from symgen.reals import REALS

STATUSES = {
    "OK": "the results are stored",
    "NOT_FINITE": "an argument is infinite or not a number",
    "OUT_OF_RANGE": "an angle is too large for the own sine and cosine (--trig inline)",
    "DIVISOR": "a divisor, or what a logarithm or a root is taken of, is too small",
}
"""What a function returns, from 0 on: NAME_OK …; the C stands in their order."""


class Guard(NamedTuple):
    """`row` must be at least `bound`; its magnitude where that is asked for."""

    row: int
    magnitude: bool
    bound: Fraction


def guards(program: Program, live: Sequence[int], floors: Mapping[int, Fraction]) -> list[Guard]:
    """Of every divisor, logarithm and root, each row once; `floors` are certified bounds of rows.

    A divisor without such a bound has at least the magnitude of the smallest normal number.
    """
    asked: dict[int, set[str]] = {}
    for i in live:
        op, args = program.rows[i].op, program.rows[i].args
        if op in ("div", "log", "sqrt") and program.rows[args[-1]].op != "const":
            asked.setdefault(args[-1], set()).add(op)
    least = REALS[program.real].least
    return [Guard(row, row not in floors and ops == {"div"}, floors.get(row, Fraction(0) if ops == {"sqrt"} else least))
            for row, ops in asked.items()]


def angles(program: Program, live: Iterable[int]) -> list[int]:
    """The rows whose sine or cosine is taken, each once."""
    return list(dict.fromkeys(program.rows[i].args[0] for i in live if program.rows[i].op in ("sin", "cos")))


def ancestors(program: Program, rows: Iterable[int]) -> set[int]:
    """Rows and everything that they are computed from."""
    found: set[int] = set()
    open_ = list(rows)
    while open_:
        row = open_.pop()
        if row not in found:
            found.add(row)
            open_ += program.rows[row].args
    return found


def at_least(text: str, guard: Guard, real: str) -> str:
    """The condition of a guard, `text` being its row."""
    return f"{_magnitude(text, real) if guard.magnitude else text} >= {literal(guard.bound, real)}"


def within(text: str, bound: int, real: str) -> str:
    """The condition that the magnitude of an angle is at most `bound`."""
    return f"{_magnitude(text, real)} <= {literal(Fraction(bound), real)}"


def lines(parts: Sequence[str], operator: str, indent: int) -> str:
    """`parts` joined by an operator, in parentheses where there are several, over lines that are indented."""
    grouped = [f"({part})" for part in parts] if len(parts) > 1 else parts
    joined = f" {operator} ".join(part.replace(" ", "\0") for part in grouped)   # a line ends between parts only
    return f"\n{' '*indent}".join(textwrap.wrap(joined, WIDTH - indent, break_long_words=False)).replace("\0", " ")


def _magnitude(text: str, real: str) -> str:
    return f"{REALS[real].libm('fabs')}({text})"
