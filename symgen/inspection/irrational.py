"""Canonical forms of letters with divisions of a robot whose constants are irrational.

The letter is evaluated for rational robots in place of the robot (`stand_ins`). The coefficients of
a neighbour are those of the robot to NEIGHBOUR_DIGITS digits and more. Coefficients in square roots
are combined from their residues modulo primes, for all signs of the roots, and are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from math import floor
from typing import Any

from flint import fmpq

from symgen.inspection.canonical import (
    QUICK,
    Exponentials,
    Exponents,
    HalfAngles,
    Names,
    Quotient,
    TooLong,
    TooManyHalfAngleTerms,
    TooManyProducts,
    Unknowns,
    Waves,
    canonical,
    has_division,
    inputs_of,
    values_of_rows,
)
from symgen.inspection.entries import Layout, declared_model, derive_layout, in_declared_axes
from symgen.inspection.harmonic_text import Monomial
from symgen.inspection.harmonics import Index, Input
from symgen.inspection.multiangle import DIGITS, MultiAngle
from symgen.inspection.roots import by_monomial, rounded, with_root
from symgen.inspection.stand_ins import (
    ExactLinkage,
    Neighbour,
    NoStandIn,
    Residues,
    Roots,
    decimal_angles,
    field_of_robot,
    fractions_of,
    primes_of,
    rational_robot,
    residue_of_root,
    sharp,
    signs_of,
)
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism

ROUNDED_DIGITS = 64
"""Digits of the largest coefficient of a numerator or denominator to which the others are rounded.
"""
MOST_HALF_ANGLE_TERMS = 5000
"""Most terms in tan(q/2) of a form that is not evaluated in exp(i q) first."""
MOST_EXPONENTIAL_PRODUCTS = 2_000_000
"""Most products of terms in exp(i q), which take five times as long as in tan(q/2)."""
MOST_PRIMES = 24
SPARE_BITS = 80
"""Bits by which a modulus exceeds the numerator times the denominator of a fraction that is
recognised by its residue.
"""
Derive = Callable[[Mechanism], tuple[Program, Sequence[int]]]
"""Return the Program of a robot, derived by an `ExactLinkage`, and the rows of the quantity."""
Wave = tuple[Index, bool]
Residue = dict[tuple[int, int, int, Exponents], int]
"""Residue of each row, of the numerator (0) or denominator (1), of a square root, and exponents."""
Fractions = tuple[dict[int, dict[Exponents, Any]], dict[int, dict[Exponents, Any]]]
"""Numerator and denominator: the coefficients of each square root."""


@lru_cache(maxsize=16)
def _field(mechanism: Mechanism) -> Roots | str:
    """Return the field of the square roots of a robot, or the reason why it has no stand-ins."""
    try:
        with sharp():
            return field_of_robot(mechanism)
    except NoStandIn as error:
        return str(error)


@lru_cache(maxsize=16)
def neighbour_of(mechanism: Mechanism) -> Mechanism:
    """Return the rational robot in place of a robot without square roots."""
    return rational_robot(mechanism, Neighbour(decimal_angles(mechanism)))


@lru_cache(maxsize=32)
def residues_of(
    mechanism: Mechanism, field: Roots, prime: int, signs: tuple[int, ...]
) -> Mechanism:
    """Return the rational robot in place of a robot, modulo a prime, for these signs of roots."""
    numbers = Residues(decimal_angles(mechanism), field, prime, signs)
    return rational_robot(mechanism, numbers)


@lru_cache(maxsize=32)
def layout_of_stand_in(
    robot: Mechanism, method: str, letter: str, keep: tuple[str, ...] = ()
) -> Layout:
    """Return the layout of a quantity of a rational robot, derived by an `ExactLinkage`."""
    model = declared_model(robot)
    return derive_layout(robot, method, letter, model, in_declared_axes, keep, ExactLinkage)


def canonical_with_stand_ins(
    mechanism: Mechanism, derive: Derive, names: Names, most_products: int
) -> list[MultiAngle | Quotient]:
    """Return the canonical form of each row of a Program of an irrational robot.

    Raises TooLong as `canonical`, and for a robot that has no stand-ins.
    """
    field = _field(mechanism)
    if isinstance(field, str):
        raise TooLong(f"{names.label} has no canonical form: {field}")
    with sharp():
        if field.generators:

            def derived(prime: int, signs: tuple[int, ...]) -> tuple[Program, Sequence[int]]:
                return derive(residues_of(mechanism, field, prime, signs))

            try:
                forms = forms_by_residues(field, derived, names, most_products)
            except TooManyProducts:
                forms = forms_by_residues(field, derived, names, most_products, True)
        else:
            forms = exact_forms(*derive(neighbour_of(mechanism)), names, most_products)
    return [rounded_form(form) for form in forms] if decimal_angles(mechanism) else forms


def has_exact_forms(mechanism: Mechanism) -> bool:
    """True if the coefficients of all forms of an irrational robot are sums of square roots."""
    field = _field(mechanism)
    return isinstance(field, Roots) and not decimal_angles(mechanism)


def exact_forms(
    program: Program, rows: Sequence[int], names: Names, most_products: int
) -> list[MultiAngle | Quotient]:
    """Return the canonical form of each row of a Program with rational constants, by the
    polynomials that take few products.
    """
    if not has_division(program, rows):
        return canonical(program, rows, names, True, most_products)
    try:
        return canonical(program, rows, names, True, most_products, MOST_HALF_ANGLE_TERMS)
    except TooManyProducts as error:
        is_evaluated = isinstance(error, TooManyHalfAngleTerms)
        most = min(most_products, QUICK) if is_evaluated else most_products
        with suppress(TooManyProducts):
            return canonical_in_exponentials(program, rows, names, most)
        if not is_evaluated:
            raise
    return canonical(program, rows, names, True, most_products)


def rounded_form(form: MultiAngle | Quotient) -> MultiAngle | Quotient:
    """Return a form in rounded numbers."""
    if isinstance(form, MultiAngle):
        return _rounded(form, DIGITS, is_sum=True)
    numerator, denominator = (
        _rounded(x, ROUNDED_DIGITS) for x in (form.numerator, form.denominator)
    )
    return Quotient(numerator, denominator)


def _rounded(form: MultiAngle, digits: int, is_sum: bool = False) -> MultiAngle:
    """Return a form with numbers rounded to `digits` digits of the largest one.

    All numbers of a sum are rounded, and to no more than `digits` decimal places, as
    `round_coefficients` does. In a quotient, numbers of short numerators and denominators stay
    exact.
    """
    sums: dict[Wave, dict[Monomial, Fraction]] = {}
    for wave, monomial, x in form.terms:
        sums.setdefault(wave, {})[monomial] = x
    roots = {
        (wave, monomial): root
        for wave, coefficient in sums.items()
        for monomial, root in by_monomial(coefficient).items()
    }
    values = {
        key: root[1] if set(root) == {1} else rounded(root, 2 * digits)
        for key, root in roots.items()
    }
    largest = max((abs(x) for x in values.values()), default=Fraction(0))
    places = digits - len(str(int(largest))) + 1
    if 0 < largest < 1 and not is_sum:
        places += len(str(int(1 / largest)))
    unit = Fraction(10) ** places
    terms: dict[tuple[Wave, Monomial], Fraction] = {}
    for (wave, monomial), root in roots.items():
        if not is_sum and all(map(_is_short, root.values())):
            terms |= {(wave, with_root(monomial, integer)): x for integer, x in root.items()}
        else:
            terms[wave, monomial] = floor(values[wave, monomial] * unit + Fraction(1, 2)) / unit
    return MultiAngle.of(terms)


def _is_short(x: Fraction) -> bool:
    return bool(max(abs(x.numerator), x.denominator) < 10**ROUNDED_DIGITS)


# -- square roots ----------------------------------------------------------------------------------


def forms_by_residues(
    field: Roots,
    derived: Callable[[int, tuple[int, ...]], tuple[Program, Sequence[int]]],
    names: Names,
    most_products: int,
    in_exponentials: bool = False,
) -> list[MultiAngle | Quotient]:
    """Return the forms of all rows from their residues modulo as many primes as are necessary.

    `derived` returns the Program and its rows for a prime and signs of the roots of the field.
    """
    imaginary = (-1,) if in_exponentials else ()
    extended = Roots((*imaginary, *field.generators))
    if in_exponentials:
        most_products = min(most_products, MOST_EXPONENTIAL_PRODUCTS)
    modulus, totals = 1, None
    inputs: set[Input] | None = None
    for index in range(MOST_PRIMES):
        prime = primes_of(field)[index]
        signs_of_images = signs_of(extended)
        programs = [derived(prime, signs[len(imaginary) :]) for signs in signs_of_images]
        if inputs is None:
            inputs = set().union(*(inputs_of(program, rows) for program, rows in programs))
            positions = _positions([rows for _, rows in programs])
            is_sum = not any(has_division(program, rows) for program, rows in programs)
        unknowns = Unknowns.of(inputs, names, most_products)
        images = []
        for signs, (program, rows) in zip(signs_of_images, programs, strict=True):
            ring: Waves | HalfAngles
            if in_exponentials:
                ring = Exponentials(unknowns, prime, signs[0] * residue_of_root(-1, prime))
            else:
                ring = Waves(unknowns, True) if is_sum else HalfAngles(unknowns, prime)
            first_rows = {n: rows[n] for n in positions}
            values = values_of_rows(ring, program, list(first_rows.values()))
            images.append({n: _residues(values[row], prime) for n, row in first_rows.items()})
        residues = _combined(extended, prime, images)
        totals = residues if totals is None else _modulo_product(totals, modulus, residues, prime)
        modulus *= prime
        fractions = _fractions(totals, modulus)
        if fractions is not None:
            empty: Fractions = ({}, {})
            forms = {
                n: _sum_with_roots(ring, parts)
                if isinstance(ring, Waves)
                else ring.form_of_terms(*parts)
                for n, parts in ((n, fractions.get(n, empty)) for n in set(positions))
            }
            return [forms[n] for n in positions]
    raise TooLong(
        f"{names.label} has no canonical form: its coefficients have more than "
        f"{modulus.bit_length()} bits"
    )


def canonical_in_exponentials(
    program: Program, rows: Sequence[int], names: Names, most_products: int
) -> list[MultiAngle | Quotient]:
    """Return the forms of `canonical` of rows with divisions and rational constants.

    Polynomials in exp(i q) are shorter than in tan(q/2) for sums of few cosines and sines, as of
    chains of parallel joints.
    """
    return forms_by_residues(
        Roots(()), lambda prime, signs: (program, rows), names, most_products, True
    )


def _residues(value: Any, prime: int) -> tuple[dict[Exponents, int], dict[Exponents, int]]:
    """Return the residues of the coefficients of a numerator and a denominator, or of the real and
    imaginary parts of the coefficients of a sum.
    """
    if isinstance(value, dict):
        pairs = [
            {exponents: x[part] for exponents, x in value.items() if x[part] != 0}
            for part in (0, 1)
        ]
        real, imaginary = (
            {
                exponents: int(x.p) * pow(int(x.q), -1, prime) % prime
                for exponents, x in part.items()
            }
            for part in pairs
        )
        return real, imaginary
    above, below = (
        {tuple(map(int, exponents)): int(x) for exponents, x in part.to_dict().items()}
        for part in value
    )
    return above, below


def _sum_with_roots(ring: Waves, parts: Fractions) -> MultiAngle:
    """Return a sum from the real and imaginary parts of the coefficients of each square root."""
    coefficients = {}
    for root in {*parts[0], *parts[1]}:
        real, imaginary = (part.get(root, {}) for part in parts)
        value = {
            exponents: (real.get(exponents, fmpq(0)), imaginary.get(exponents, fmpq(0)))
            for exponents in {*real, *imaginary}
        }
        for wave, monomial, x in ring.form(value).terms:
            coefficients[wave, with_root(monomial, root)] = x
    return MultiAngle.of(coefficients)


def _positions(rows_of_images: Sequence[Sequence[int]]) -> list[int]:
    """Return for each row the position of the first one that is the same in all images."""
    first: dict[tuple[int, ...], int] = {}
    return [first.setdefault(rows, n) for n, rows in enumerate(zip(*rows_of_images, strict=True))]


def _combined(
    field: Roots, prime: int, images: Sequence[Mapping[int, Sequence[Mapping[Exponents, int]]]]
) -> Residue:
    """Return the residue of the coefficient of each square root; the keys are row, 0 or 1 for
    numerator or denominator, integer under the root, and exponents.

    A coefficient is Σ a_d √d. For signs σ of the roots its residue is Σ a_d χ_d(σ) √d, so that the
    sum of all of them times χ_d(σ) is 2^k a_d √d.
    """
    bases = [Residues((), field, prime, signs).basis for signs in signs_of(field)]
    characters = [
        [
            (root, plus == of_signs)
            for root, plus, of_signs in zip(field.basis, bases[0], basis, strict=True)
        ]
        for basis in bases
    ]
    residues: Residue = {}
    for character, image in zip(characters, images, strict=True):
        for row, fraction in image.items():
            for part, polynomial in enumerate(fraction):
                for powers, residue in polynomial.items():
                    for root, is_positive in character:
                        key = row, part, root, powers
                        term = residue if is_positive else -residue
                        residues[key] = residues.get(key, 0) + term
    factors = {
        root: pow(len(images) * plus, -1, prime)
        for root, plus in zip(field.basis, bases[0], strict=True)
    }
    return {
        key: residue
        for key, total in residues.items()
        if (residue := total * factors[key[2]] % prime)
    }


def _modulo_product(totals: Residue, modulus: int, residues: Residue, prime: int) -> Residue:
    """Return the residues modulo the product of `modulus` and a prime, by the Chinese remainder
    theorem.
    """
    inverse = pow(modulus, -1, prime)
    combined = {}
    for key in {*totals, *residues}:
        residue = totals.get(key, 0)
        combined[key] = residue + modulus * ((residues.get(key, 0) - residue) * inverse % prime)
    return combined


def _fractions(residues: Residue, modulus: int) -> dict[int, Fractions] | None:
    """Return numerators and denominators with these residues; None if the modulus is too small."""
    fractions: dict[int, Fractions] = {}
    denominators: dict[tuple[int, int], int] = {}
    for (row, part, root, powers), residue in residues.items():
        common = denominators.get((row, part), 1)
        multiple = _recognised(residue * common % modulus, modulus, common)
        if multiple is None:
            return None
        denominators[row, part] = common * multiple[1]
        x = fmpq(multiple[0], common * multiple[1])
        parts = fractions.setdefault(row, ({}, {}))
        parts[part].setdefault(root, {})[powers] = x
    return fractions


def _recognised(residue: int, modulus: int, common: int) -> tuple[int, int] | None:
    """Return a numerator and a denominator whose quotient has this residue; None unless their
    product and `common` are much smaller than the modulus.
    """
    largest = (modulus >> SPARE_BITS) // common
    if residue == 0:
        return 0, 1
    signed = residue - modulus if 2 * residue > modulus else residue
    for numerator, denominator in fractions_of(signed, modulus):
        if abs(numerator * denominator) <= largest:
            sign = 1 if denominator > 0 else -1
            return sign * numerator, sign * denominator
    return None
