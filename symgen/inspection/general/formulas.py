"""Sums over link ranges: formulas of one entry for all links of a chain, evaluated and printed."""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from symgen.inspection.general.partial_sums import SUMMED
from symgen.inspection.harmonic_text import Monomial, number
from symgen.inspection.multiangle import MultiAngle
from symgen.inspection.names import latex

_SYMBOL = re.compile(r"(q|v|a|V|A|tau|b)(\d+)")

Values = Mapping[str, int]
"""Values of indices: {"i": 0, "j": 2, "n": 5}."""


class Affine(NamedTuple):
    """Index of the form variable + constant; the variable "" is none."""

    variable: str
    constant: int

    def at(self, values: Values) -> int:
        """Return the value."""
        return (values[self.variable] if self.variable else 0) + self.constant

    def __str__(self) -> str:
        if not self.variable:
            return str(self.constant)
        return self.variable + (f"{self.constant:+d}" if self.constant else "")


class Kind(NamedTuple):
    """Terms that differ in indices only: `multiples` of the sums of consecutive angles, and the
    letters and powers of `symbols`.
    """

    sine: bool
    multiples: tuple[int, ...]
    symbols: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Polynomial:
    """Polynomial in indices: (indices of one product, coefficient)."""

    terms: tuple[tuple[tuple[str, ...], Fraction], ...]

    def at(self, values: Values) -> Fraction:
        """Return the value."""
        total = Fraction(0)
        for names, coefficient in self.terms:
            for name in names:
                coefficient = coefficient * values[name]
            total += coefficient
        return total

    def factors(self) -> tuple[Fraction, list[tuple[Polynomial, int]]]:
        """Return a number and irreducible factors with their powers, in which the number of links
        or the first index has a positive coefficient.
        """
        import sympy as sp

        names = sorted({name for names, _ in self.terms for name in names})
        if not names:
            return self.at({}), []
        symbols = dict(zip(names, sp.symbols(names), strict=True))
        expression = sp.Add(
            *(
                sp.Mul(sp.Rational(x.numerator, x.denominator), *(symbols[name] for name in names))
                for names, x in self.terms
            )
        )
        content, irreducibles = sp.factor_list(expression, *symbols.values())
        scale = Fraction(int(content.p), int(content.q))
        factors = []
        for irreducible, power in irreducibles:
            terms = [
                (
                    tuple(name for name, n in zip(names, powers, strict=True) for _ in range(n)),
                    Fraction(int(x)),
                )
                for powers, x in sp.Poly(irreducible, *symbols.values()).terms()
            ]
            terms.sort(key=lambda term: (-len(term[0]), "n" not in term[0], term[0]))
            if terms[0][1] < 0:
                terms = [(names, -x) for names, x in terms]
                scale *= (-1) ** int(power)
            terms.sort(key=lambda term: (-len(term[0]), term[1] < 0, term[0]))
            factors.append((Polynomial(tuple(terms)), int(power)))
        return scale, factors

    def text(self, format: str) -> str:
        """Return the sum of its terms."""
        times = " " if format == "latex" else "*"
        terms = []
        for names, x in self.terms:
            size = [number(abs(x), format)] if abs(x) != 1 or not names else []
            terms.append(("-" if x < 0 else "") + times.join([*size, *names]))
        return _sum_of(terms)


@dataclass(frozen=True)
class Sum:
    """Sum over ranges of indices of coefficient · symbols · cos or sin of multiples of angles.

    `ranges`: (index, first, last) from the outermost. `positions`: first and last joint of each sum
    of consecutive angles, then the index of each symbol.
    """

    kind: Kind
    ranges: tuple[tuple[str, Affine, Affine], ...]
    positions: tuple[Affine, ...]
    coefficient: Polynomial

    def terms(self, values: Values) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        """Yield (positions, coefficient) of each term."""
        for inner in _ranged(self.ranges, dict(values)):
            coefficient = self.coefficient.at(inner)
            if coefficient:
                yield tuple(position.at(inner) for position in self.positions), coefficient


def _ranged(
    ranges: Sequence[tuple[str, Affine, Affine]], values: dict[str, int]
) -> Iterator[dict[str, int]]:
    if not ranges:
        yield values
        return
    (name, first, last), *inner_ranges = ranges
    for x in range(first.at(values), last.at(values) + 1):
        yield from _ranged(inner_ranges, {**values, name: x})


Terms = dict[Kind, dict[tuple[int, ...], Fraction]]


def terms_by_kind(form: MultiAngle) -> Terms:
    """Return the coefficients of a form by kind and positions."""
    terms: Terms = defaultdict(dict)
    for (index, sine), monomial, x in form.terms:
        multiples: list[int] = []
        positions: list[int] = []
        for joint, multiple in enumerate(index):
            if multiple and joint and index[joint - 1] == multiple:
                positions[-1] = joint
            elif multiple:
                multiples.append(multiple)
                positions += [joint, joint]
        symbols = sorted((*_symbol(name), power) for name, power in monomial)
        kind = Kind(sine, tuple(multiples), tuple((name, power) for name, _, power in symbols))
        terms[kind][(*positions, *(joint for _, joint, _ in symbols))] = x
    return dict(terms)


def _symbol(name: str) -> tuple[str, int]:
    """Return the letter and the index of a symbol such as v3."""
    match = _SYMBOL.fullmatch(name)
    assert match is not None
    return match[1], int(match[2])


def form_of(sums: Sequence[Sum], values: Values) -> MultiAngle:
    """Return the form that sums have for these values of the indices."""
    coefficients: dict[Any, Fraction] = defaultdict(Fraction)
    for summand in sums:
        for positions, x in summand.terms(values):
            index = [0] * values["n"]
            for run, multiple in enumerate(summand.kind.multiples):
                for joint in range(positions[2 * run], positions[2 * run + 1] + 1):
                    index[joint] = multiple
            joints = positions[2 * len(summand.kind.multiples) :]
            monomial: Monomial = tuple(
                sorted(
                    (f"{name}{joint}", power)
                    for (name, power), joint in zip(summand.kind.symbols, joints, strict=True)
                )
            )
            coefficients[(tuple(index), summand.kind.sine), monomial] += x
    return MultiAngle.of(coefficients)


RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "≠": operator.ne,
    "<": operator.lt,
    "≤": operator.le,
    ">": operator.gt,
    "≥": operator.ge,
}
OPPOSITE = {"=": "≠", "<": "≥", ">": "≤"}


class Condition(NamedTuple):
    """A relation between an index and another one, or an end of the chain."""

    left: str
    relation: str
    right: Affine

    def holds(self, values: Values) -> bool:
        """Return True if the relation holds."""
        left, right = values[self.left], self.right.at(values)
        return RELATIONS[self.relation](left, right)

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


@dataclass(frozen=True)
class Case:
    """Formulas of the entries of a block, (numerator, denominator or None) row by row, where all
    conditions hold.
    """

    conditions: tuple[Condition, ...]
    entries: tuple[tuple[tuple[Sum, ...], tuple[Sum, ...] | None], ...]

    @property
    def is_zero(self) -> bool:
        """True if all entries are zero."""
        return not any(above for above, _ in self.entries)


def absent_text(label: str, conditions: Sequence[Condition], format: str) -> str:
    """Return the line of a case in which a letter has no block."""
    zero = case_text(label, "0", conditions, format)
    missing = r"&\text{ does not exist}" if format == "latex" else "does not exist"
    return zero.replace("&= 0" if format == "latex" else "= 0", missing, 1)


def case_text(label: str, block: str, conditions: Sequence[Condition], format: str) -> str:
    """Return the equation of one case and its conditions.

    The first case that holds counts, so that no case excludes those before it.
    """
    shown = [str(condition) for condition in conditions if condition.relation != "≠"]
    if format == "latex":
        where = r",\ ".join(_in_latex(text) for text in shown)
        if conditions and not shown:
            where = r"\text{otherwise}"
        letter, _, indices = label.rstrip("]").partition("[")
        return f"{latex(letter)}_{{{indices}}} &= {block}" + (rf" && {where}" if where else "")
    where = f"    for {', '.join(shown)}" if shown else "    otherwise" if conditions else ""
    return f"{label} ={where}\n{block}" if "\n" in block else f"{label} = {block}{where}"


def _in_latex(text: str) -> str:
    for sign, command in (("≠", r"\ne"), ("≤", r"\le"), ("≥", r"\ge")):
        text = text.replace(sign, command)
    return text


def entry_text(entry: tuple[tuple[Sum, ...], tuple[Sum, ...] | None], format: str) -> str:
    """Return the text of an entry."""
    above, below = entry
    numerator = _sums_text(above, format)
    if below is None:
        return numerator
    denominator = _sums_text(below, format)
    if format == "latex":
        return rf"\frac{{{numerator}}}{{{denominator}}}"
    return f"({numerator})/({denominator})"


def _sum_of(terms: Sequence[str]) -> str:
    """Join terms with their signs."""
    text = " + ".join(terms).replace("+ -", "- ")
    return text or "0"


def _sums_text(sums: Sequence[Sum], format: str) -> str:
    """Return the text of several sums; those that differ only in symbols are printed as one."""
    alike: dict[Any, list[tuple[Sum, Fraction]]] = {}
    for summand in sums:
        angles = 2 * len(summand.kind.multiples)
        scale = summand.coefficient.terms[0][1] if summand.coefficient.terms else Fraction(1)
        unit = tuple((names, x / scale) for names, x in summand.coefficient.terms)
        like = (
            summand.kind.sine,
            summand.kind.multiples,
            summand.ranges,
            summand.positions[:angles],
            unit,
        )
        has_symbols = bool(summand.kind.symbols and (summand.ranges or len(unit) > 1))
        alike.setdefault((*like, None if has_symbols else summand), []).append((summand, scale))
    terms = []
    for group in alike.values():
        first, scale = group[0]
        products = [(_symbols_of(summand, format), x / scale) for summand, x in group]
        terms.append(_term(first, products, format))
    return _sum_of(terms)


def _symbols_of(summand: Sum, format: str) -> list[str]:
    """Return the powers of symbols of a sum's terms."""
    is_latex = format == "latex"
    factors = []
    positions = summand.positions[2 * len(summand.kind.multiples) :]
    for (name, power), position in zip(summand.kind.symbols, positions, strict=True):
        index = str(position)
        if name in SUMMED and index != "0":
            index = f"0:{index}"
        factor = _indexed(SUMMED.get(name, name), index, format)
        if power > 1:
            factor += f"^{{{power}}}" if is_latex else f"**{power}"
        factors.append(factor)
    return factors


def _term(summand: Sum, products: Sequence[tuple[list[str], Fraction]], format: str) -> str:
    """Return the text of a sum with a linear combination of products of symbols in its terms; the
    first product has the coefficient 1.
    """
    is_latex = format == "latex"
    times = " " if is_latex else "*"
    kind, positions = summand.kind, list(summand.positions)
    angles = []
    for multiple in kind.multiples:
        first, last = positions.pop(0), positions.pop(0)
        run = str(first) if first == last else f"{first}:{last}"
        size = "" if abs(multiple) == 1 else f"{abs(multiple)}{times}"
        angles.append(("-" if multiple < 0 else "") + size + _indexed("q", run, format))
    factors = list(products[0][0])
    if len(products) > 1:
        texts = [
            ("-" if x < 0 else "")
            + times.join([*([number(abs(x), format)] if abs(x) != 1 else []), *symbols])
            for symbols, x in products
        ]
        combination = _sum_of(texts)
        factors = [rf"\left({combination}\right)" if is_latex else f"({combination})"]
    if angles:
        wave = "sin" if kind.sine else "cos"
        angle = _sum_of(angles)
        factors.append(rf"\{wave}\left({angle}\right)" if is_latex else f"{wave}({angle})")
    scale, polynomials = summand.coefficient.factors()
    for polynomial, power in reversed(polynomials):
        text = polynomial.text(format)
        if len(polynomial.terms) > 1 and (
            len(polynomials) > 1 or power > 1 or factors or summand.ranges or scale != 1
        ):
            text = rf"\left({text}\right)" if is_latex else f"({text})"
        if power > 1:
            text += f"^{{{power}}}" if is_latex else f"**{power}"
        factors.insert(0, text)
    sign = "-" if scale < 0 else ""
    if abs(scale) != 1 or not factors:
        factors.insert(0, number(abs(scale), format))
    body = times.join(factors)
    if not summand.ranges:
        return sign + body
    if is_latex:
        signs = "".join(
            rf"\sum_{{{name}={first}}}^{{{last}}}" for name, first, last in summand.ranges
        )
        return f"{sign}{signs} {body}"
    over = ", ".join(f"{name}={first}..{last}" for name, first, last in summand.ranges)
    return f"{sign}sum({over}: {body})"


def _indexed(name: str, index: str, format: str) -> str:
    return f"{latex(name)}_{{{index}}}" if format == "latex" else f"{name}[{index}]"
