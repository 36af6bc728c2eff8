"""Numbers that no fraction is, to 60 digits: π, square roots, and what is made of them."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from symgen.description.quantities import DIGITS, rounded
from symgen.description.snapping import HALF_PI
from symgen.vocabulary.poses import Angle

_LONG = 300
"""Bits of a numerator or a denominator."""
PI = 2 * HALF_PI


def short(value: Fraction) -> Fraction:
    """To 60 digits where it is long: a quotient of sums that have π in them is, and no digit beyond those of π means anything."""
    return (
        value
        if max(value.numerator.bit_length(), value.denominator.bit_length()) <= _LONG
        else rounded(value)
    )


def root(value: Fraction) -> Fraction:
    """√value: exact where it is a fraction, else to 60 digits and more."""
    above, below = isqrt(value.numerator), isqrt(value.denominator)
    if above * above == value.numerator and below * below == value.denominator:
        return Fraction(above, below)
    size = max(0, value.denominator.bit_length() - value.numerator.bit_length())
    scale = 10 ** (DIGITS + 2 + size // 6)
    return rounded(Fraction(isqrt(value.numerator * scale * scale // value.denominator), scale))


def in_radians(angle: Angle) -> Fraction:
    """An angle as a number of rad, to 60 digits where π is in it."""
    return angle.radians + rounded(angle.pi * PI) if angle.pi else angle.radians
