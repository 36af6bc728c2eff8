"""Rational functions whose denominators are powers of a few known polynomials: a fast exact field for proofs in space.

What is divided by is known beforehand, 1 + tan²(q/2), a mass, D(k): so a number is a polynomial over powers of these,
and sums cancel by exact division alone, where a general quotient would need a greatest common divisor each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from symgen.reference.precision import Array


class Functions:
    """Q(names…). `factors` grows by what numbers are divided by."""

    def __init__(self, names: Sequence[str]) -> None:
        self.ring = flint.fmpq_mpoly_ctx.get(list(names), flint.Ordering.lex)
        self.factors: list[Any] = []

    def symbols(self) -> list[Ratio]:
        return [Ratio(self, x, ()) for x in self.ring.gens()]

    def number(self, x: Fraction | int) -> Ratio:
        x = Fraction(x)
        return Ratio(self, self.ring.constant(flint.fmpq(x.numerator, x.denominator)), ())

    def inverse(self, x: Ratio) -> Ratio:
        """1 / x: every factor of x that is new is remembered."""
        above = self.ring.constant(1)
        for factor, power in zip(self.factors, x.powers, strict=False):
            above *= factor**power
        scale, parts = x.above.factor()
        below = [0] * len(self.factors)
        for part, power in parts:
            if part not in self.factors:
                self.factors.append(part)
                below.append(0)
            below[self.factors.index(part)] += power
        return Ratio(self, above * (1 / scale), tuple(below))._lowest()


class Ratio:
    """above / Π factors**powers."""

    __slots__ = ("above", "functions", "powers")

    def __init__(self, functions: Functions, above: Any, powers: tuple[int, ...]) -> None:
        self.functions, self.above, self.powers = functions, above, powers

    def _entered(self, operand: Any) -> Ratio:
        return operand if isinstance(operand, Ratio) else self.functions.number(operand)

    def _lowest(self) -> Ratio:
        above, powers = self.above, list(self.powers)
        for k, factor in enumerate(self.functions.factors[: len(powers)]):
            while powers[k]:
                quotient, rest = divmod(above, factor)
                if rest != 0:
                    break
                above, powers[k] = quotient, powers[k] - 1
        while powers and not powers[-1]:
            powers.pop()
        return Ratio(self.functions, above, tuple(powers))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # the array takes it entry by entry
        if not isinstance(other, Ratio):
            return (
                0
                if other == 0
                else self
                if other == 1
                else Ratio(
                    self.functions,
                    self.above * flint.fmpq(other.numerator, other.denominator),
                    self.powers,
                )
            )
        if not self.powers or not other.powers:
            return Ratio(self.functions, self.above * other.above, self.powers or other.powers)
        size = max(len(self.powers), len(other.powers))
        return Ratio(
            self.functions,
            self.above * other.above,
            tuple(a + b for a, b in zip(self._padded(size), other._padded(size), strict=True)),
        )

    def _padded(self, size: int) -> tuple[int, ...]:
        return self.powers + (0,) * (size - len(self.powers))

    def __add__(self, other: Any) -> Ratio:
        if not isinstance(other, Ratio):
            return self if other == 0 else self + self.functions.number(other)
        if self.powers == other.powers:
            return Ratio(self.functions, self.above + other.above, self.powers)._lowest()
        size = max(len(self.powers), len(other.powers))
        mine, yours = self._padded(size), other._padded(size)
        a, b = self.above, other.above
        for factor, x, y in zip(self.functions.factors, mine, yours, strict=False):
            if x < y:
                a = a * factor ** (y - x)
            elif y < x:
                b = b * factor ** (x - y)
        return Ratio(self.functions, a + b, tuple(map(max, mine, yours)))._lowest()

    def __neg__(self) -> Ratio:
        return Ratio(self.functions, -self.above, self.powers)

    def __sub__(self, other: Any) -> Ratio:
        return self + (-other)

    def __rsub__(self, other: Any) -> Ratio:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self * self.functions.inverse(self._entered(other))

    def __rtruediv__(self, other: Any) -> Any:
        return self.functions.inverse(self) * other

    def __eq__(self, other: object) -> bool:
        return bool((self - other).above == 0)

    __hash__ = None  # type: ignore[assignment]


def determinant(m: Array) -> Any:
    """By elimination, last row first, of a positive definite matrix over any field."""
    left, total = m[::-1, ::-1].copy(), Fraction(1)
    for k in range(len(m)):
        pivot = left[k, k]
        total = total * pivot
        met = [r for r in range(k + 1, len(m)) if left[r, k] != 0]
        for r in met:
            share = left[r, k] / pivot
            for c in met:
                left[r, c] = left[r, c] - share * left[k, c]
    return total
