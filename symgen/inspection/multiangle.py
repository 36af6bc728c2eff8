"""Canonical multi-angle form of one entry of M, c, g or tau: Σ A cos(k·q) + B sin(k·q) over integer
multiples k.

The form is unique. Two entries are equal exactly if their forms are, whatever method derived them.
The coefficients are polynomials in the coordinates of prismatic joints, in v, a, and in the
parameters that are kept as symbols. With symbols m, c, I and l they are linear in m, m c, m c cᵀ
and I. Gravity stays a number.

Coefficients are exact rationals if every constant of the model is rational. With an irrational
rotation or length they are rounded to DIGITS decimal places (DIGITS digits of the entry's largest
coefficient if that exceeds 1). Coefficients that round to zero are zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from symgen.derivation import constants as k
from symgen.derivation.model import Link, Model
from symgen.inspection.harmonic_text import Coefficient, Monomial, as_sympy, format_form
from symgen.inspection.harmonics import Index, harmonic_coefficients, round_coefficients
from symgen.inspection.parameters import PORT, Parameter, derive_symbolic, parse_kinds
from symgen.inspection.request import refuse_several
from symgen.inspection.roots import by_monomial, root_of_symbol, rounded
from symgen.ir.program import Numbers, Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.derive import models
from symgen.support.errors import UnknownName
from symgen.vocabulary.names import nearest

ENTRIES = {
    "M": ("mass_matrix", 2),
    "c": ("bias_force", 1),
    "g": ("gravity_force", 1),
    "tau": ("inverse_dynamics", 1),
}
DIGITS = 45
MOST = 20
"""Number of terms that are printed by default."""

FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log)


@dataclass(frozen=True)
class MultiAngle:
    """`terms`: ((k, is sine), monomial, coefficient) in lexicographic order. Equal forms are equal
    functions.

    k has one multiple per entry of q (0 for a sliding coordinate); its first nonzero multiple is
    positive.
    """

    terms: tuple[tuple[tuple[Index, bool], Monomial, Fraction], ...]

    @staticmethod
    def of(coefficients: Mapping[tuple[tuple[Index, bool], Monomial], Fraction]) -> MultiAngle:
        return MultiAngle(tuple(sorted((*key, x) for key, x in coefficients.items() if x)))

    def __add__(self, other: MultiAngle) -> MultiAngle:
        total = {(wave, monomial): x for wave, monomial, x in self.terms}
        for wave, monomial, x in other.terms:
            total[wave, monomial] = total.get((wave, monomial), Fraction(0)) + x
        return MultiAngle.of(total)

    def scaled(self, factor: Fraction) -> MultiAngle:
        """Return the form times a number."""
        return MultiAngle(tuple((wave, monomial, factor * x) for wave, monomial, x in self.terms))

    @property
    def is_number(self) -> bool:
        """True if it is a number other than zero: one term without angle and symbol."""
        return len(self.terms) == 1 and not any(self.terms[0][0][0]) and not self.terms[0][1]

    def __len__(self) -> int:
        """Return the number of harmonics: the k with a cosine or a sine, k and −k counted
        separately as in Σ a_k exp(i k·q).
        """
        return sum(2 if any(index) else 1 for index in {index for (index, _), _, _ in self.terms})

    def waves(self, largest: bool = False) -> dict[tuple[Index, bool], Coefficient]:
        """Return (k, is sine) → coefficient, in lexicographic order or by the size of the
        coefficient's largest number.
        """
        by_wave: dict[tuple[Index, bool], Coefficient] = {}
        for wave, monomial, x in self.terms:
            by_wave.setdefault(wave, {})[monomial] = x
        if largest:
            return dict(
                sorted(
                    by_wave.items(),
                    key=lambda item: (-_size(item[1]), item[0]),
                )
            )
        return by_wave

    def joints(self) -> tuple[int, ...]:
        """Return the entries of q on which the form depends; the answer is exact.

        They are the joints if each joint has one coordinate.
        """
        rotating = {
            i for (index, _), _, _ in self.terms for i, multiple in enumerate(index) if multiple
        }
        translating = {
            int(symbol[1:])
            for _, monomial, _ in self.terms
            for symbol, _ in monomial
            if symbol[0] == "q"
        }
        return tuple(sorted(rotating | translating))

    def symbols(self) -> tuple[str, ...]:
        """Return the symbols in the coefficients, sorted, without square roots of integers."""
        symbols = {symbol for _, monomial, _ in self.terms for symbol, _ in monomial}
        return tuple(sorted(symbol for symbol in symbols if root_of_symbol(symbol) is None))

    def evaluate(
        self,
        q: Sequence[Any],
        v: Sequence[Any] = (),
        a: Sequence[Any] = (),
        parameters: Mapping[str, Any] | None = None,
        numbers: Numbers = FLOATS,
    ) -> Any:
        """Return the entry at a state (rad, m, SI units), over floats or any other numbers;
        `parameters`: symbol → value.
        """
        symbol_values = {
            f"{stem}{i}": x
            for stem, values in (("q", q), ("v", v), ("a", a))
            for i, x in enumerate(values)
        }
        symbol_values |= dict(parameters or {})
        total = numbers.constant(Fraction(0))
        for (index, sine), coefficient in self.waves().items():
            amount = numbers.constant(Fraction(0))
            for monomial, x in coefficient.items():
                product = numbers.constant(x)
                for symbol, power in monomial:
                    product = product * _value_of(symbol, symbol_values, numbers) ** power
                amount = amount + product
            if any(index):
                angle = sum(multiple * q[i] for i, multiple in enumerate(index) if multiple)
                amount = amount * (numbers.sin(angle) if sine else numbers.cos(angle))
            total = total + amount
        return total

    def sympy(self) -> Any:
        """Return a SymPy sum in real symbols q0, …, not expanded and not simplified."""
        return as_sympy(self)

    @property
    def is_long(self) -> bool:
        """True if it has more than MOST terms, so that text and LaTeX are shortened by default."""
        return len(self.waves()) > MOST

    def text(self, format: str = "text", full: bool = False) -> str:
        """Return the form as "text", "latex", "python" or "c".

        A long form is shortened to the MOST largest terms and "+ … N more terms" unless `full`.
        RequestError for a long form in Python or C, which cannot be shortened.
        """
        return format_form(self, format, None if full else MOST)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.text('latex')}$"


def _value_of(symbol: str, values: Mapping[str, Any], numbers: Numbers) -> Any:
    root = root_of_symbol(symbol)
    return values[symbol] if root is None else numbers.sqrt(numbers.constant(Fraction(root)))


def _size(coefficient: Coefficient) -> Fraction:
    """Return the largest magnitude among the numbers of a coefficient."""
    return max(
        abs(root[1] if set(root) == {1} else rounded(root, DIGITS))
        for root in by_monomial(coefficient).values()
    )


def multiangle(
    mechanism: Mechanism,
    letter: str,
    indices: Sequence[int],
    keep: str | Iterable[str] = "none",
    method: str | None = None,
) -> MultiAngle:
    """Return the form of M[i,j], c[i], g[i] or tau[i] (indices from 0); the kinds in `keep` stay
    symbols (see `parameters.parse_kinds`).

    Raises RequestError for an unknown letter or index, for a method that divides, and for an entry
    that depends on too many angles.
    """
    function, rank = ENTRIES[nearest(letter, ENTRIES, "entry with a multi-angle form")]
    entry = f"{letter}[{','.join(str(i) for i in indices)}]"
    refuse_several(mechanism, "a multi-angle form", "take the recursive or the closed form")
    if len(indices) != rank or not all(0 <= i < mechanism.nv for i in indices):
        raise UnknownName(
            f"{entry} does not exist; {letter} takes {rank} indices from 0 to {mechanism.nv - 1}"
        )
    program, kept = _program(mechanism, function, parse_kinds(keep), method)
    element = indices[0] if rank == 1 else indices[0] * mechanism.nv + indices[1]
    return _form(mechanism, program, kept, element, entry)


_program = lru_cache(maxsize=64)(derive_symbolic)


def _form(
    mechanism: Mechanism, program: Program, kept: Sequence[Parameter], element: int, entry: str
) -> MultiAngle:
    angles = [(0, i) for i, link in enumerate(models(mechanism)[0].links) if link.turns]
    target = program.outputs[0].rows[element]
    clean = has_exact_constants(mechanism)
    others, harmonics = harmonic_coefficients(program, target, angles, clean, entry)
    if not clean:
        harmonics = round_coefficients(harmonics, DIGITS)
    names = [program.inputs[port].name for port, _ in others]
    symbols = [
        kept[e].symbol if name == PORT else f"{name}{e}"
        for name, (_, e) in zip(names, others, strict=True)
    ]
    coefficients = {}
    for (sine, short, powers), x in harmonics.items():
        index = [0] * mechanism.nv
        for (_, joint), multiple in zip(angles, short, strict=True):
            index[joint] = multiple
        monomial = tuple(
            sorted((symbol, power) for symbol, power in zip(symbols, powers, strict=True) if power)
        )
        coefficients[(tuple(index), sine), monomial] = Fraction(int(x.p), int(x.q))
    return MultiAngle.of(coefficients)


@lru_cache(maxsize=16)
def has_exact_constants(mechanism: Mechanism) -> bool:
    """True if all constants that a Program takes from the model are rational, and all angle offsets
    are quarter turns.
    """
    with k.precision():
        return constants_are_exact(models(mechanism)[0])


def constants_are_exact(model: Model) -> bool:
    """True if all constants of a model are rational, and all angle offsets are quarter turns."""
    for link in model.links:
        *_, offset = k.zxz(link.rotation)
        if not all(k.is_rational(x) for x in link_constants(link)) or (
            link.turns and not any(k.is_zero(x) for x in offset)
        ):
            return False
    return True


def link_constants(link: Link) -> tuple[k.Constant, ...]:
    """Return the constants of a link, with the cosine and sine of each angle of its rotation."""
    inertia = link.inertia
    return (
        *link.shift,
        inertia.m,
        *inertia.h,
        *inertia.S,
        *link.gravity,
        *(x for angle in k.zxz(link.rotation) for x in angle),
    )
