"""Which number a literal of the C is, and which number a constant of the Program must be there.

Both are worked out in whole numbers: a literal is right when the number that is nearest to it is
the one that is nearest to the exact constant. How a printer writes it does not matter.
"""

from __future__ import annotations

import re
from fractions import Fraction

from symgen.vocabulary.reals import Real

Number = tuple[bool, Fraction]
"""Negative?, magnitude: a zero has a sign in C."""
_LITERAL = re.compile(r"(?:\d+\.\d+|\d+(?=e))(?:e[+-]?\d{1,4})?")


def nearest(value: Fraction, real: Real) -> Number:
    """The number of the type that is nearest to `value`, the even one of two."""
    over, under = abs(value.numerator), value.denominator
    scale = max(
        over.bit_length() - under.bit_length() - real.digits, real.exponent - real.digits + 1
    )
    if _quotient(over, under, scale)[0].bit_length() > real.digits:
        scale += 1
    whole, rest, divisor = _quotient(over, under, scale)
    if 2 * rest > divisor or (2 * rest == divisor and whole % 2 == 1):
        whole += 1
    return value < 0, Fraction(whole << scale) if scale > 0 else Fraction(whole, 1 << -scale)


def _quotient(over: int, under: int, scale: int) -> tuple[int, int, int]:
    """(whole part, rest, divisor) of over / (under · 2^scale)."""
    dividend, divisor = over << max(-scale, 0), under << max(scale, 0)
    return (*divmod(dividend, divisor), divisor)


def literal(text: str, real: Real) -> Number | None:
    """The number that a compiler reads; None for what is no literal of the type, or is beyond its
    largest number.
    """
    digits = text.removesuffix(real.suffix)
    if not text.endswith(real.suffix) or not _LITERAL.fullmatch(digits):
        return None
    number = nearest(Fraction(digits), real)
    return number if number[1] <= real.largest else None


def opposite(number: Number) -> Number:
    """With a sign in front."""
    return not number[0], number[1]
