"""Sums of square roots of integers with rational coefficients, such as 1/2 + 3√2.

A sum is a mapping from integers d without square factors to the coefficient of √d; d = 1 is the
rational part. In monomials of forms, √d is the symbol `sqrt(d)`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from math import gcd

import flint
from flint import arb, fmpq, fmpz

Root = Mapping[int, Fraction]
Monomial = tuple[tuple[str, int], ...]
"""(symbol, power), sorted by symbol."""
_SYMBOL = re.compile(r"sqrt\((\d+)\)")


def with_root(monomial: Monomial, root: int) -> Monomial:
    """Return the monomial times √root."""
    return monomial if root == 1 else tuple(sorted((*monomial, (f"sqrt({root})", 1))))


def root_of_symbol(symbol: str) -> int | None:
    """Return d of the symbol sqrt(d), None of another symbol."""
    match = _SYMBOL.fullmatch(symbol)
    return int(match[1]) if match else None


def without_root(monomial: Monomial) -> tuple[int, Monomial]:
    """Return the integer under the square root in a monomial, 1 without one, and the other
    factors.
    """
    root, rest = 1, []
    for symbol, power in monomial:
        integer = root_of_symbol(symbol)
        if integer is None:
            rest.append((symbol, power))
        else:
            root = integer
    return root, tuple(rest)


def by_monomial(coefficient: Mapping[Monomial, Fraction]) -> dict[Monomial, Root]:
    """Return the sum of square roots of each monomial of the other symbols."""
    sums: dict[Monomial, dict[int, Fraction]] = {}
    for monomial, x in coefficient.items():
        root, rest = without_root(monomial)
        sums.setdefault(rest, {})[root] = x
    return dict(sums)


def multiply(a: Root, b: Root) -> dict[int, Fraction]:
    """Return the product of two sums."""
    total: dict[int, Fraction] = {}
    for first, x in a.items():
        for second, y in b.items():
            common = gcd(first, second)
            root = first * second // common**2
            total[root] = total.get(root, Fraction(0)) + common * x * y
    return {root: x for root, x in total.items() if x}


def added(a: Root, b: Root, sign: int = 1) -> dict[int, Fraction]:
    """Return a + b, or a − b if the sign is −1."""
    total = dict(a)
    for root, x in b.items():
        total[root] = total.get(root, Fraction(0)) + sign * x
    return {root: x for root, x in total.items() if x}


def inverse(a: Root) -> dict[int, Fraction]:
    """Return 1/a: a is multiplied by conjugates until the product is rational."""
    factor = {1: Fraction(1)}
    while set(a) != {1}:
        prime = int(min(fmpz(next(root for root in a if root > 1)).factor())[0])
        conjugate = {root: x if root % prime else -x for root, x in a.items()}
        a, factor = multiply(a, conjugate), multiply(factor, conjugate)
    return {root: x / a[1] for root, x in factor.items()}


def rounded(a: Root, digits: int) -> Fraction:
    """Return the value of a sum, rounded to a number of digits."""
    precision = digits + 10
    while True:
        with flint.ctx.workdps(precision):
            total = arb(0)
            for root, x in a.items():
                total += arb(fmpq(x.numerator, x.denominator)) * arb(root).sqrt()
            if total.rel_accuracy_bits() > 3.33 * (digits + 2):
                return Fraction(total.str(digits, radius=False))
        precision *= 2
