"""Irrational numbers to 60 digits: π, square roots, and numbers computed from them."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from symgen.description.quantities import DIGITS, round_to_digits
from symgen.description.snapping import HALF_PI
from symgen.vocabulary.poses import Angle

_LONG = 300
"""Bits of a numerator or a denominator above which a number is rounded."""
PI = 2 * HALF_PI


def round_long(value: Fraction) -> Fraction:
    """Return the value, rounded to 60 digits if it is long, as quotients of sums with π are. Digits
    beyond those of π have no meaning.
    """
    return (
        value
        if max(value.numerator.bit_length(), value.denominator.bit_length()) <= _LONG
        else round_to_digits(value)
    )


def square_root(value: Fraction) -> Fraction:
    """Return √value: exact if it is a fraction, else to 60 digits and more."""
    numerator, denominator = isqrt(value.numerator), isqrt(value.denominator)
    if numerator * numerator == value.numerator and denominator * denominator == value.denominator:
        return Fraction(numerator, denominator)
    size = max(0, value.denominator.bit_length() - value.numerator.bit_length())
    scale = 10 ** (DIGITS + 2 + size // 6)
    return round_to_digits(
        Fraction(isqrt(value.numerator * scale * scale // value.denominator), scale)
    )


def in_radians(angle: Angle) -> Fraction:
    """Return an angle as a number of rad, to 60 digits if it contains π."""
    return angle.radians + round_to_digits(angle.pi * PI) if angle.pi else angle.radians
