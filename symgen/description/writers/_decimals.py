"""Numbers in XML: exact if a decimal of 60 digits is, else rounded to 60 digits."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

from flint import fmpq

from symgen.description.quantities import DIGITS, EXPONENT, fraction_text

_ROUNDING = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN)

_LEAST = Fraction(1, 10**EXPONENT)
"""Smaller magnitudes are written as 0: no reader accepts their text, and they are negligible beside
the smallest double.
"""


def decimal(value: Any) -> str:
    """Return the text of a Fraction, an fmpq or a ball (arb)."""
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
    # zeros after the last digit count as digits
    return text if _is_short(text) else f"{rounded:e}".replace("e+", "e")


def _is_short(text: str) -> bool:
    """True for a decimal with no more digits than readers accept."""
    return (
        "/" not in text
        and len(text.partition("e")[0].replace(".", "").strip("-").lstrip("0")) <= DIGITS
    )


def decimals(values: Iterable[Any]) -> str:
    """Return several numbers, separated by spaces."""
    return " ".join(map(decimal, values))
