"""Partial sums of rates and accelerations: v[0:k] = v[0] + … + v[k], and a[0:k] likewise.

In a planar chain v[0:k] is the angular velocity of link k, and a[0:k] its angular acceleration. The
Coriolis forces of such a chain have one square v[0:k]² where the rates themselves give all products
v[i] v[j] with i, j ≤ k. The change of variables v[k] = v[0:k] − v[0:k−1] is linear and invertible,
so that the form in the partial sums is unique too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction

from symgen.inspection.canonical import Quotient
from symgen.inspection.harmonic_text import Monomial
from symgen.inspection.harmonics import Index
from symgen.inspection.multiangle import MultiAngle

PARTIAL_SUM = {"v": "V", "a": "A"}
"""Letter of the partial sums of a letter: the symbol V3 is v[0:3]."""
SUMMED = {partial: letter for letter, partial in PARTIAL_SUM.items()}
_RATE = re.compile(r"([va])(\d+)")
_PARTIAL = re.compile(r"([VA])(\d+)")
Linear = dict[str, int]
"""Linear form: coefficients of symbols."""


def in_partial_sums(form: MultiAngle, letters: Iterable[str]) -> MultiAngle:
    """Return the form with v[k] = v[0:k] − v[0:k−1] for each of the letters."""
    chosen = frozenset(letters)

    def differences(symbol: str) -> Linear | None:
        match = _RATE.fullmatch(symbol)
        if match is None or match[1] not in chosen:
            return None
        partial, k = PARTIAL_SUM[match[1]], int(match[2])
        return {f"{partial}{k}": 1} | ({f"{partial}{k - 1}": -1} if k else {})

    return _substituted(form, differences)


def in_rates(form: MultiAngle) -> MultiAngle:
    """Return the form with every partial sum written as a sum of rates or accelerations."""

    def sums(symbol: str) -> Linear | None:
        match = _PARTIAL.fullmatch(symbol)
        if match is None:
            return None
        return {f"{SUMMED[match[1]]}{k}": 1 for k in range(int(match[2]) + 1)}

    return _substituted(form, sums)


def apply_to_entry(
    change: Callable[[MultiAngle], MultiAngle], entry: MultiAngle | Quotient
) -> MultiAngle | Quotient:
    """Return an entry whose form, or numerator and denominator, are changed."""
    if isinstance(entry, Quotient):
        return Quotient(change(entry.numerator), change(entry.denominator))
    return change(entry)


def _substituted(form: MultiAngle, linear: Callable[[str], Linear | None]) -> MultiAngle:
    """Return the form with linear forms in place of the symbols for which there is one."""
    total: dict[tuple[tuple[Index, bool], Monomial], Fraction] = defaultdict(Fraction)
    expansions: dict[Monomial, dict[Monomial, int]] = {}
    for wave, monomial, x in form.terms:
        if monomial not in expansions:
            expansions[monomial] = _expansion(monomial, linear)
        for product, factor in expansions[monomial].items():
            total[wave, product] += x * factor
    return MultiAngle.of(total)


def _expansion(monomial: Monomial, linear: Callable[[str], Linear | None]) -> dict[Monomial, int]:
    """Return the products of symbols of which a product of linear forms consists."""
    total: dict[Monomial, int] = {(): 1}
    for symbol, power in monomial:
        factors = linear(symbol) or {symbol: 1}
        for _ in range(power):
            product: dict[Monomial, int] = defaultdict(int)
            for product_so_far, x in total.items():
                for name, y in factors.items():
                    powers = dict(product_so_far)
                    powers[name] = powers.get(name, 0) + 1
                    product[tuple(sorted(powers.items()))] += x * y
            total = {key: x for key, x in product.items() if x}
    return total
