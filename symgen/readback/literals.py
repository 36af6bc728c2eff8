"""Values of C literals, and the rounding of exact constants to a real type.

A literal is correct if it is rounded to the same number as the exact constant of the Program. The
number of its digits does not matter. All computations are exact, in integers.
"""

from __future__ import annotations

import re
from fractions import Fraction

from symgen.vocabulary.reals import Real

Number = tuple[bool, Fraction]
"""(True if negative, magnitude), because a zero has a sign in C."""
_LITERAL = re.compile(r"(?:\d+\.\d+|\d+(?=e))(?:e[+-]?\d{1,4})?")


def nearest(value: Fraction, real: Real) -> Number:
    """Return the number of the type nearest to `value`; of two, that with an even significand."""
    numerator, denominator = abs(value.numerator), value.denominator
    scale = max(
        numerator.bit_length() - denominator.bit_length() - real.digits,
        real.exponent - real.digits + 1,
    )
    if _quotient(numerator, denominator, scale)[0].bit_length() > real.digits:
        scale += 1
    significand, remainder, divisor = _quotient(numerator, denominator, scale)
    if 2 * remainder > divisor or (2 * remainder == divisor and significand % 2 == 1):
        significand += 1
    magnitude = Fraction(significand << scale) if scale > 0 else Fraction(significand, 1 << -scale)
    return value < 0, magnitude


def _quotient(numerator: int, denominator: int, scale: int) -> tuple[int, int, int]:
    """Return (quotient, remainder, divisor) of numerator / (denominator · 2^scale) in integers."""
    dividend, divisor = numerator << max(-scale, 0), denominator << max(scale, 0)
    return (*divmod(dividend, divisor), divisor)


def literal(text: str, real: Real) -> Number | None:
    """Return the value that a compiler gives to a literal.

    Return None if `text` is not a literal of the type, or is larger than its largest number.
    """
    digits = text.removesuffix(real.suffix)
    if not text.endswith(real.suffix) or not _LITERAL.fullmatch(digits):
        return None
    number = nearest(Fraction(digits), real)
    return number if number[1] <= real.largest else None


def opposite(number: Number) -> Number:
    """Return the negative of a number."""
    return not number[0], number[1]
