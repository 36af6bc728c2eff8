"""Base parameters: the inertial parameters that a robot's joints can distinguish, and the map to
them.

Columns of the regressor that are linear combinations of others in every state are found from its
rows at random states. A column is independent if it is not a combination of the columns before it.
Links are ordered from the base, parameters as m, h, J, so that parameters that a joint cannot
distinguish are added to the parent's. A base parameter is the parameter of its column plus
multiples of other parameters.

Rows are of balls. A number below ZERO relative to the largest of its row counts as zero:
elimination loses a few digits, and constants have `constants.KEPT_DIGITS`. A coefficient that is
close to a fraction with a small denominator is replaced by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, fmpq

from symgen.derivation.constants import Constant
from symgen.ir.program import Numbers

ZERO = arb(10) ** -40
LARGEST_DENOMINATOR = 10**9
"""Largest denominator of a fraction that replaces a coefficient."""
DIGITS = 55

BALLS = Numbers(
    lambda value: arb(fmpq(value.numerator, value.denominator)), arb.sin, arb.cos, arb.sqrt, arb.log
)
"""The numbers that rows are evaluated over."""


@dataclass(frozen=True)
class BaseParameters:
    """Independent `columns` of the regressor; `terms[r]` = {parameter: coefficient} of base
    parameter r, its own parameter first.
    """

    columns: tuple[int, ...]
    terms: tuple[Mapping[int, Fraction], ...]

    def __len__(self) -> int:
        return len(self.columns)


class Independence:
    """Independent rows so far in reduced echelon form, by pivot column: each row is {column:
    number} with a pivot of 1.
    """

    def __init__(self) -> None:
        self.rows: dict[int, dict[int, Constant]] = {}

    def add_row(self, row: Sequence[Constant]) -> bool:
        """Add a row; return True if it is independent of the rows so far."""
        size = max((abs(x).upper() for x in row), default=arb(0))
        remainder = {c: x for c, x in enumerate(row) if not x.is_zero()}
        for c in sorted(self.rows):
            if c in remainder:
                _subtract(remainder, remainder[c], self.rows[c])
        remainder = {c: x for c, x in remainder.items() if abs(x).upper() > ZERO * size}
        if not remainder:
            return False
        pivot = min(remainder)
        normalized = {c: x / remainder[pivot] for c, x in remainder.items()}
        normalized[pivot] = arb(1)
        for row_above in self.rows.values():
            if pivot in row_above:
                _subtract(row_above, row_above[pivot], normalized)
        self.rows[pivot] = normalized
        return True

    def base_parameters(self) -> BaseParameters:
        """Return the base parameters that the rows determine."""
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


def independent_columns(
    states: Iterable[Iterable[Sequence[Constant]]], enough: int
) -> BaseParameters:
    """Determine the base parameters from the regressor's rows at successive states.

    It stops after `enough` successive states without a new independent row.
    """
    independence, idle = Independence(), 0
    for rows in states:
        added = [independence.add_row(row) for row in rows]
        idle = 0 if any(added) else idle + 1
        if idle == enough:
            break
    return independence.base_parameters()


def _subtract(
    row: dict[int, Constant], factor: Constant, pivot_row: Mapping[int, Constant]
) -> None:
    for c, x in pivot_row.items():
        row[c] = row[c] - factor * x if c in row else -(factor * x)


def _fraction(value: Constant) -> Fraction:
    exact = Fraction(value.str(DIGITS, radius=False))
    short = exact.limit_denominator(LARGEST_DENOMINATOR)
    return (
        short if abs(exact - short) <= Fraction(1, 10**40) * max(abs(exact), Fraction(1)) else exact
    )
