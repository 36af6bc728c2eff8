"""Dual numbers a + b ε, ε² = 0, over any exact numbers: exact derivatives of Python functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq

from symgen.reference.precision import Array


class Dual:
    """The number value + derivative ε."""

    __slots__ = ("slope", "value")

    def __init__(self, value: Any, slope: Any) -> None:
        self.value, self.slope = value, slope

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # the array takes it entry by entry
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.slope + other.slope)
        return Dual(self.value + other, self.slope)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if isinstance(other, Dual):
            return Dual(
                self.value * other.value, self.value * other.slope + self.slope * other.value
            )
        return Dual(self.value * other, self.slope * other)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self * (fmpq(1) / other)

    def __rtruediv__(self, other: Any) -> Any:
        inverse = fmpq(1) / self.value
        return Dual(inverse, -self.slope * inverse * inverse) * other

    def __pow__(self, power: int) -> Any:
        result: Any = fmpq(1) / self if power < 0 else self
        factor = result
        if power == 0:
            return fmpq(1)
        for _ in range(abs(power) - 1):
            result = result * factor
        return result

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        """True if value and derivative are equal."""
        gap = self - other
        return bool(gap.value == 0 and gap.slope == 0)


def duals(values: Array, derivatives: Array) -> Array:
    """Return the dual numbers of these values and derivatives."""
    numbers: Array = np.asarray(np.frompyfunc(Dual, 2, 1)(values, derivatives), dtype=object)
    return numbers


def constants(values: Array) -> Array:
    """Return the dual numbers of these values with derivative zero."""
    return duals(values, np.full(values.shape, fmpq(0), dtype=object))


def dual_parts(numbers: Any) -> Any:
    """Return the derivatives (dual parts) of a number or of an array of numbers; zero for numbers
    that are not dual.
    """
    if isinstance(numbers, list | tuple):
        numbers = np.array(numbers, dtype=object)
    if isinstance(numbers, np.ndarray):
        return np.frompyfunc(_dual_part, 1, 1)(numbers)
    return _dual_part(numbers)


def _dual_part(number: Any) -> Any:
    return number.slope if isinstance(number, Dual) else fmpq(0)
