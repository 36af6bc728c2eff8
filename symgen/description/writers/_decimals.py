"""Numbers as XML holds them: exact where a decimal of 60 digits is, else rounded to 60 digits."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

from flint import fmpq

from symgen.description.quantities import DIGITS, EXPONENT, fraction_text

_ROUNDING = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=-9999, Emax=9999)

_LEAST = Fraction(1, 10**EXPONENT)
"""What is smaller has no text that is read, and is nothing beside the least double."""


def decimal(value: Any) -> str:
    """The text of a Fraction, an fmpq or a ball (arb)."""
    if isinstance(value, Fraction | int):
        exact = Fraction(value)
    elif isinstance(value, fmpq):
        exact = Fraction(int(value.p), int(value.q))
    else:
        exact = Fraction(value.str(DIGITS, radius=False))
    if abs(exact) < _LEAST:
        return "0"
    if _is_short(text := fraction_text(exact)):
        return text
    rounded = _ROUNDING.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    text = fraction_text(Fraction(rounded))
    return (
        text if _is_short(text) else f"{rounded:e}".replace("e+", "e")
    )  # zeros behind the last digit count as digits


def _is_short(text: str) -> bool:
    """Whether it is a decimal of so many digits as a reader takes."""
    return (
        "/" not in text
        and len(text.partition("e")[0].replace(".", "").strip("-").lstrip("0")) <= DIGITS
    )


def decimals(values: Iterable[Any]) -> str:
    """Several, with blanks between them."""
    return " ".join(map(decimal, values))
