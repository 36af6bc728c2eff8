"""The real types of the C, each a row of one table, and when an answer in one has lost its digits."""

from __future__ import annotations

import contextlib
import math
import sys
from dataclasses import dataclass
from fractions import Fraction

from symgen.support.errors import RequestError

VECTOR = 64
"""Bytes of the longest vector that processors have."""
SINE_RANGE = 2**15
"""The largest |x| (rad) for which the error of the text's own sine and cosine (NAME_sincos.h) is proved."""
SINE_ULPS = {"libm": 1, "macro": 1, "inline": 2, "auto": 2}
"""Error of a sine or cosine in units in the last place, by `TextOptions.trig`: proved for the text's own, assumed for <math.h>."""


@dataclass(frozen=True)
class Real:
    """A binary type of IEEE 754, and how C, its <math.h> and NumPy write it.

    A number has `digits` binary digits, the least normal one is 2**`exponent`; so many `decimals` tell any two apart.
    `suffix` ends a literal and the names in <math.h>; `infinity` is the macro there; `spoilt` is a literal that no answer is
    near to. `numpy` is NumPy's name, `size` is in bytes.
    """

    name: str
    digits: int
    exponent: int
    decimals: int
    size: int
    numpy: str
    suffix: str
    infinity: str
    spoilt: str

    @property
    def lanes(self) -> int:
        """How many of them the longest vector of processors holds."""
        return VECTOR // self.size

    @property
    def eps(self) -> float:
        """The spacing of the numbers at 1."""
        return 2.0 ** (1 - self.digits)

    @property
    def unit(self) -> float:
        """The unit round-off u: half of that."""
        return 2.0**-self.digits

    @property
    def least(self) -> Fraction:
        """The least normal number."""
        return Fraction(2) ** self.exponent

    @property
    def smallest(self) -> Fraction:
        """The least number above zero."""
        return Fraction(2) ** (self.exponent - self.digits + 1)

    @property
    def largest(self) -> Fraction:
        """The largest number."""
        return (2 - Fraction(2) ** (1 - self.digits)) * Fraction(2) ** (1 - self.exponent)

    def libm(self, name: str) -> str:
        """A function of <math.h> in this type."""
        return f"{name}{self.suffix}"

    def spacing(self, number: float) -> Fraction:
        """From a number's magnitude to the next larger one."""
        return (
            Fraction(2) ** (max(math.frexp(number)[1] - 1, self.exponent) - self.digits + 1)
            if number
            else self.smallest
        )

    def nearest(self, value: Fraction) -> Fraction:
        """`value` rounded once, to nearest even, as if nothing were too large."""
        magnitude = abs(value)
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if magnitude < Fraction(2) ** exponent:
            exponent -= 1
        unit = Fraction(2) ** (max(exponent, self.exponent) - self.digits + 1)
        return round(value / unit) * unit  # round() of a Fraction is half to even

    def rounded(self, value: Fraction) -> float:
        """`value` rounded once, to nearest even; RequestError when it is too large.

        The number comes back as the Python float of the same value. It is rounded from the fraction itself: through double a
        float would be rounded twice.
        """
        if self.digits == sys.float_info.mant_dig:
            with contextlib.suppress(OverflowError):
                return float(value)  # Python rounds a quotient of whole numbers once
        nearest = self.nearest(value)
        if abs(nearest) > self.largest:
            size = f"of about 1e{round((abs(value.numerator).bit_length() - value.denominator.bit_length()) * math.log10(2))}"
            raise RequestError(
                f"a constant {size} does not fit into a {self.name}; use other units or --real double"
            )
        return math.copysign(float(nearest), -1.0 if value < 0 else 1.0)

    def shortest(self, value: Fraction) -> str:
        """The shortest decimal that reads back as `value` rounded once: '0.1'."""
        number = self.rounded(value)
        if self.digits == sys.float_info.mant_dig:
            return repr(number)
        tried = (f"{number:.{digits}e}" for digits in range(self.decimals))
        return repr(float(next(text for text in tried if self.nearest(Fraction(text)) == number)))


DOUBLE = Real("double", 53, -1022, 17, 8, "float64", "", "HUGE_VAL", "1e300")
FLOAT = Real("float", 24, -126, 9, 4, "float32", "f", "HUGE_VALF", "1e30f")
REALS = {real.name: real for real in (DOUBLE, FLOAT)}
"""The types that there are, by name."""

LOST = 1e-3
"""Share of an answer. When more than this may be wrong, the digits of the answer say nothing."""


def loses(round_offs: float, real: str) -> bool:
    """Whether so many round-offs of an answer are more than LOST of it. True for NaN and infinity."""
    return not round_offs * REALS[real].eps <= LOST
