"""Base parameters: what of all inertial parameters a robot's joints can tell apart, and the map to them.

Columns of the regressor that are combinations of others in every state are told by its rows at random states, in order: a column
stays if it is independent of all before it. Links come base first and parameters m, h, J, so that a parent carries what a joint
does not feel. A base parameter is its own column's parameter and what others add to it.

Rows are of balls. A number below ZERO beside the largest of its row is zero: an elimination loses a few digits, and constants
have `constants.KEPT_DIGITS`. A coefficient that is a fraction of few digits is taken for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, fmpq

from symgen.derivation.constants import Constant
from symgen.ir.program import Numbers

ZERO = arb(10) ** -40
SHORT = 10**9
"""Largest denominator of a fraction of few digits: no other number is as near to one."""
DIGITS = 55

BALLS = Numbers(
    lambda value: arb(fmpq(value.numerator, value.denominator)), arb.sin, arb.cos, arb.sqrt, arb.log
)
"""What rows are evaluated over."""


@dataclass(frozen=True)
class BaseParameters:
    """`columns` of the regressor that stay; `terms[r]` = {parameter: coefficient} of base parameter r, its own one first."""

    columns: tuple[int, ...]
    terms: tuple[Mapping[int, Fraction], ...]

    def __len__(self) -> int:
        return len(self.columns)


class Independence:
    """The rows met so far in reduced echelon form: by its pivot's column, each as {column: number} with a pivot of 1."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[int, Constant]] = {}

    def meet(self, row: Sequence[Constant]) -> bool:
        """Whether the row adds a dimension."""
        size = max((abs(x).upper() for x in row), default=arb(0))
        left = {c: x for c, x in enumerate(row) if not x.is_zero()}
        for c in sorted(self.rows):
            if c in left:
                _subtract(left, left[c], self.rows[c])
        left = {c: x for c, x in left.items() if abs(x).upper() > ZERO * size}
        if not left:
            return False
        pivot = min(left)
        own = {c: x / left[pivot] for c, x in left.items()}
        own[pivot] = arb(1)
        for other in self.rows.values():
            if pivot in other:
                _subtract(other, other[pivot], own)
        self.rows[pivot] = own
        return True

    def found(self) -> BaseParameters:
        """What the rows say."""
        columns = sorted(self.rows)
        terms = []
        for c in columns:
            small = {
                i: _fraction(x)
                for i, x in sorted(self.rows[c].items())
                if i == c or abs(x).upper() > ZERO
            }
            terms.append({i: x for i, x in small.items() if x})
        return BaseParameters(tuple(columns), tuple(terms))


def independent(states: Iterable[Iterable[Sequence[Constant]]], enough: int) -> BaseParameters:
    """Of the regressor's rows at state after state, until `enough` of these in turn have nothing new."""
    known, idle = Independence(), 0
    for rows in states:
        news = [known.meet(row) for row in rows]
        idle = 0 if any(news) else idle + 1
        if idle == enough:
            break
    return known.found()


def _subtract(row: dict[int, Constant], factor: Constant, other: Mapping[int, Constant]) -> None:
    for c, x in other.items():
        row[c] = row[c] - factor * x if c in row else -(factor * x)


def _fraction(value: Constant) -> Fraction:
    exact = Fraction(value.str(DIGITS, radius=False))
    short = exact.limit_denominator(SHORT)
    return (
        short if abs(exact - short) <= Fraction(1, 10**40) * max(abs(exact), Fraction(1)) else exact
    )
