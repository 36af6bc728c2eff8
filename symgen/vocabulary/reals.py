"""Real types of the C, each a row of one table, and the limit beyond which an answer has lost its
precision.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from symgen.support.errors import RequestError

VECTOR = 64
"""Bytes of the longest vector register of processors."""
SINE_RANGE = 2**15
"""Largest |x| (rad) for which the error of the generated sine and cosine (NAME_sincos.h) is proved.
"""
SINE_ULPS = {"libm": 1, "macro": 1, "inline": 2, "auto": 2}
"""Error of a sine or cosine in units in the last place, by `TextOptions.trig`: proved for the
generated ones, assumed for <math.h>.
"""


@dataclass(frozen=True)
class Real:
    """A binary type of IEEE 754, and its names in C, in <math.h> and in NumPy.

    - A number has `digits` binary digits; the least normal number is 2**`exponent`; `decimals`
      digits distinguish any two numbers.
    - `suffix` ends a literal and the names in <math.h>; `infinity` is the macro there. `numpy` is
      NumPy's name, `size` is in bytes.
    - `spoilt` is a literal far from any correct answer, which marks results before a test.
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
        """Number of values in the longest vector register."""
        return VECTOR // self.size

    @property
    def eps(self) -> float:
        """Spacing of the numbers at 1."""
        return 2.0 ** (1 - self.digits)

    @property
    def unit(self) -> float:
        """Unit round-off u, half of `eps`."""
        return 2.0**-self.digits

    @cached_property
    def least(self) -> Fraction:
        """Least normal number."""
        return Fraction(2) ** self.exponent

    @cached_property
    def smallest(self) -> Fraction:
        """Least positive number."""
        return Fraction(2) ** (self.exponent - self.digits + 1)

    @cached_property
    def largest(self) -> Fraction:
        """Largest number."""
        return (2 - Fraction(2) ** (1 - self.digits)) * Fraction(2) ** (1 - self.exponent)

    def libm(self, name: str) -> str:
        """Return the name of a function of <math.h> in this type."""
        return f"{name}{self.suffix}"

    def spacing(self, number: float) -> Fraction:
        """Return the distance from a number's magnitude to the next larger one."""
        return (
            Fraction(2) ** (max(math.frexp(number)[1] - 1, self.exponent) - self.digits + 1)
            if number
            else self.smallest
        )

    def nearest(self, value: Fraction) -> Fraction:
        """Return `value` rounded once, to nearest even, without overflow."""
        magnitude = abs(value)
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if magnitude < Fraction(2) ** exponent:
            exponent -= 1
        unit = Fraction(2) ** (max(exponent, self.exponent) - self.digits + 1)
        return round(value / unit) * unit  # round() of a Fraction is half to even

    def rounded(self, value: Fraction) -> float:
        """Return `value` rounded once, to nearest even, as a Python float. Raises RequestError if
        it is too large.

        The fraction itself is rounded: through a double, a C float would be rounded twice.
        """
        if self.digits == sys.float_info.mant_dig:
            try:
                # Python rounds a quotient of whole numbers once.
                return value.numerator / value.denominator
            except OverflowError:
                pass
        nearest = self.nearest(value)
        if abs(nearest) > self.largest:
            bits = abs(value.numerator).bit_length() - value.denominator.bit_length()
            raise RequestError(
                f"a constant of about 1e{round(bits * math.log10(2))} does not fit into a"
                f" {self.name}; use other units or --real double"
            )
        return math.copysign(float(nearest), -1.0 if value < 0 else 1.0)

    def shortest(self, value: Fraction) -> str:
        """Return the shortest decimal that reads back as `value` rounded once, such as '0.1'."""
        number = self.rounded(value)
        if self.digits == sys.float_info.mant_dig:
            return repr(number)
        tried = (f"{number:.{digits}e}" for digits in range(self.decimals))
        return repr(float(next(text for text in tried if self.nearest(Fraction(text)) == number)))


DOUBLE = Real("double", 53, -1022, 17, 8, "float64", "", "HUGE_VAL", "1e300")
FLOAT = Real("float", 24, -126, 9, 4, "float32", "f", "HUGE_VALF", "1e30f")
REALS = {real.name: real for real in (DOUBLE, FLOAT)}
"""Real types by name."""

LOST = 1e-3
"""Relative error above which an answer counts as lost."""


def loses(round_offs: float, real: str) -> bool:
    """True if an error of this many round-offs exceeds LOST; also true for NaN and infinity."""
    return not round_offs * REALS[real].eps <= LOST
