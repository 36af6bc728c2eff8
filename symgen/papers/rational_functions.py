"""Rational functions whose denominators are powers of a few known polynomials.

All divisors are known in advance or found on the way: 1 + tan²(q/2), a mass, a pivot D(k). So a
number is a polynomial over powers of irreducible factors of divisors. Sums cancel by exact
division, where a general quotient would need a greatest common divisor in each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint

from symgen.reference.precision import Array
from symgen.support.errors import RequestError

SHORT_FACTOR = 8
"""Most terms of a factor by which a division is as cheap as a sum, and does not count."""


class TooManyProducts(RequestError):
    """A computation over rational functions takes more products of terms than allowed."""


class Functions:
    """The field Q(names…). `factors` are the irreducible factors of all divisors so far.

    Raises TooManyProducts after `most_products` products of terms (default: no limit).
    """

    def __init__(self, names: Sequence[str], most_products: int | None = None) -> None:
        self.ring = flint.fmpq_mpoly_ctx.get(list(names), flint.Ordering.lex)
        self.factors: list[Any] = []
        self.most_products, self.products = most_products, 0

    def product(self, a: Any, b: Any) -> Any:
        """Return the product of two polynomials, and count its products of terms."""
        self.count(len(a) * len(b))
        return a * b

    def count(self, products: int) -> None:
        """Add to the count of products of terms; divisions and factorizations count as products."""
        self.products += products
        if self.most_products is not None and self.products > self.most_products:
            raise TooManyProducts(
                f"more than {self.most_products} products of terms; use a smaller robot, or numbers"
                " in place of symbols"
            )

    def symbols(self) -> list[Ratio]:
        """Return the generators."""
        return [Ratio(self, x, ()) for x in self.ring.gens()]

    def number(self, x: Fraction | int | flint.fmpq) -> Ratio:
        """Return a rational as an element of the field."""
        return Ratio(self, self.ring.constant(_fmpq(x)), ())

    def inverse(self, x: Ratio) -> Ratio:
        """Return 1 / x. New irreducible factors of x join `factors`."""
        above = self.ring.constant(1)
        for factor, power in zip(self.factors, x.powers, strict=False):
            above = self.product(above, factor**power)
        self.count(len(x.above) ** 2)
        scale, factored = x.above.factor()
        below = [0] * len(self.factors)
        for irreducible, power in factored:
            if irreducible not in self.factors:
                self.factors.append(irreducible)
                below.append(0)
            below[self.factors.index(irreducible)] += power
        return Ratio(self, above * (1 / scale), tuple(below)).lowest()


def _fmpq(x: Any) -> flint.fmpq:
    return x if isinstance(x, flint.fmpq) else flint.fmpq(*x.as_integer_ratio())


class Ratio:
    """The rational function above / Π factors**powers."""

    __slots__ = ("above", "functions", "powers")

    def __init__(self, functions: Functions, above: Any, powers: tuple[int, ...]) -> None:
        self.functions, self.above, self.powers = functions, above, powers

    def _entered(self, operand: Any) -> Ratio:
        return operand if isinstance(operand, Ratio) else self.functions.number(operand)

    def lowest(self) -> Ratio:
        """Return the function in lowest terms."""
        above, powers = self.above, list(self.powers)
        for k, factor in enumerate(self.functions.factors[: len(powers)]):
            while powers[k]:
                if len(factor) > SHORT_FACTOR:
                    self.functions.count(len(above) * len(factor))
                quotient, remainder = divmod(above, factor)
                if remainder != 0:
                    break
                above, powers[k] = quotient, powers[k] - 1
        while powers and not powers[-1]:
            powers.pop()
        return Ratio(self.functions, above, tuple(powers))

    def fraction(self) -> tuple[Any, Any]:
        """Return (numerator, denominator) as polynomials."""
        below = self.functions.ring.constant(1)
        for factor, power in zip(self.functions.factors, self.powers, strict=False):
            below = below * factor**power
        return self.above, below

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Ratio | int | Fraction | flint.fmpq):
            return NotImplemented  # an array takes it entry by entry
        if not isinstance(other, Ratio):
            if other == 0 or other == 1:
                return self if other == 1 else 0
            return Ratio(self.functions, self.above * _fmpq(other), self.powers)
        if not self.powers or not other.powers:
            above = self.functions.product(self.above, other.above)
            return Ratio(self.functions, above, self.powers or other.powers)
        size = max(len(self.powers), len(other.powers))
        return Ratio(
            self.functions,
            self.functions.product(self.above, other.above),
            tuple(a + b for a, b in zip(self._padded(size), other._padded(size), strict=True)),
        )

    def _padded(self, size: int) -> tuple[int, ...]:
        return self.powers + (0,) * (size - len(self.powers))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Ratio | int | Fraction | flint.fmpq):
            return NotImplemented
        if not isinstance(other, Ratio):
            return self if other == 0 else self + self.functions.number(other)
        if self.powers == other.powers:
            return Ratio(self.functions, self.above + other.above, self.powers).lowest()
        size = max(len(self.powers), len(other.powers))
        a_powers, b_powers = self._padded(size), other._padded(size)
        a, b = self.above, other.above
        for factor, x, y in zip(self.functions.factors, a_powers, b_powers, strict=False):
            if x < y:
                a = self.functions.product(a, factor ** (y - x))
            elif y < x:
                b = self.functions.product(b, factor ** (x - y))
        return Ratio(self.functions, a + b, tuple(map(max, a_powers, b_powers))).lowest()

    def __neg__(self) -> Ratio:
        return Ratio(self.functions, -self.above, self.powers)

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self * self.functions.inverse(self._entered(other))

    def __rtruediv__(self, other: Any) -> Any:
        return self.functions.inverse(self) * other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ratio | int | Fraction | flint.fmpq):
            return NotImplemented
        ratio = other if isinstance(other, Ratio) else self.functions.number(other)
        left, right = self.lowest(), ratio.lowest()  # in lowest terms over the same factors
        return bool(left.powers == right.powers and left.above == right.above)


def determinant(m: Array) -> Any:
    """Return the determinant of a positive definite matrix over any field, by elimination from its
    last row.
    """
    left, total = m[::-1, ::-1].copy(), flint.fmpq(1)
    for k in range(len(m)):
        pivot = left[k, k]
        total = total * pivot
        met = [r for r in range(k + 1, len(m)) if left[r, k] != 0]
        for r in met:
            share = left[r, k] / pivot
            for c in met:
                left[r, c] = left[r, c] - share * left[k, c]
    return total
