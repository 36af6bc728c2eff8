"""The canonical multi-angle form of one entry of M, c, g or tau: Σ A cos(k·q) + B sin(k·q) over integer multiples k.

The form is unique. Two entries are equal exactly when their forms are, by whatever method they were derived. The coefficients are
polynomials in the coordinates of sliding joints, in v, a, and in the parameters that are kept as symbols. With m, c, I and l kept
they are linear in m, m c, m c cᵀ and I. Gravity stays a number.

Coefficients are exact rationals where every constant of the model is one. Behind an irrational rotation or length they are kept
to DIGITS decimal places (digits of the entry's largest coefficient where that is above 1). What rounds to zero there is zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from symgen.derivation import constants as k
from symgen.inspection.harmonic_text import Coefficient, Monomial, as_sympy, written
from symgen.inspection.harmonics import Index, rounded, waves
from symgen.inspection.parameters import PORT, Parameter, derived, kinds
from symgen.inspection.request import refuse_several
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
"""How many terms are printed unless all are asked for."""

FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log)


@dataclass(frozen=True)
class MultiAngle:
    """`terms`: ((k, sine?), monomial, coefficient) in lexicographic order; k has one multiple for every joint (0 for a
    sliding one) and its first multiple that is not zero is positive. Equal forms are equal functions."""

    terms: tuple[tuple[tuple[Index, bool], Monomial, Fraction], ...]

    @staticmethod
    def of(coefficients: Mapping[tuple[tuple[Index, bool], Monomial], Fraction]) -> MultiAngle:
        return MultiAngle(tuple(sorted((*key, x) for key, x in coefficients.items() if x)))

    def __add__(self, other: MultiAngle) -> MultiAngle:
        total = {(wave, monomial): x for wave, monomial, x in self.terms}
        for wave, monomial, x in other.terms:
            total[wave, monomial] = total.get((wave, monomial), Fraction(0)) + x
        return MultiAngle.of(total)

    def __len__(self) -> int:
        """The number of harmonics: the k with a cosine or a sine, k and −k counted apart as in Σ a_k exp(i k·q)."""
        return sum(2 if any(index) else 1 for index in {index for (index, _), _, _ in self.terms})

    def waves(self, largest: bool = False) -> dict[tuple[Index, bool], Coefficient]:
        """(k, sine?) → its coefficient, lexicographically or by the size of the coefficient's largest number."""
        found: dict[tuple[Index, bool], Coefficient] = {}
        for wave, monomial, x in self.terms:
            found.setdefault(wave, {})[monomial] = x
        if largest:
            return dict(
                sorted(
                    found.items(),
                    key=lambda item: (-max(abs(x) for x in item[1].values()), item[0]),
                )
            )
        return found

    def joints(self) -> tuple[int, ...]:
        """The joints whose coordinate the entry depends on, exactly."""
        turned = {
            i for (index, _), _, _ in self.terms for i, multiple in enumerate(index) if multiple
        }
        slid = {
            int(symbol[1:])
            for _, monomial, _ in self.terms
            for symbol, _ in monomial
            if symbol[0] == "q"
        }
        return tuple(sorted(turned | slid))

    def symbols(self) -> tuple[str, ...]:
        """The symbols in the coefficients, sorted."""
        return tuple(sorted({symbol for _, monomial, _ in self.terms for symbol, _ in monomial}))

    def evaluate(
        self,
        q: Sequence[Any],
        v: Sequence[Any] = (),
        a: Sequence[Any] = (),
        parameters: Mapping[str, Any] | None = None,
        numbers: Numbers = FLOATS,
    ) -> Any:
        """The entry at a state (rad, m, SI units), over floats or any other numbers; `parameters`: symbol → value."""
        known = {
            f"{stem}{i}": x
            for stem, values in (("q", q), ("v", v), ("a", a))
            for i, x in enumerate(values)
        }
        known |= dict(parameters or {})
        total = numbers.constant(Fraction(0))
        for (index, sine), coefficient in self.waves().items():
            amount = numbers.constant(Fraction(0))
            for monomial, x in coefficient.items():
                product = numbers.constant(x)
                for symbol, power in monomial:
                    product = product * known[symbol] ** power
                amount = amount + product
            if any(index):
                angle = sum(multiple * q[i] for i, multiple in enumerate(index) if multiple)
                amount = amount * (numbers.sin(angle) if sine else numbers.cos(angle))
            total = total + amount
        return total

    def sympy(self) -> Any:
        """The same as a SymPy sum in real symbols q0, …, not expanded and not simplified."""
        return as_sympy(self)

    @property
    def is_long(self) -> bool:
        """Whether it has more than MOST terms, so that text and LaTeX are shortened unless all of it is asked for."""
        return len(self.waves()) > MOST

    def text(self, format: str = "text", full: bool = False) -> str:
        """In "text", "latex", "python" or "c": whole where it is short or `full`. Else the MOST largest terms and "+ … N more
        terms" in the sum itself; RequestError for Python and C, which cannot say that."""
        return written(self, format, None if full else MOST)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.text('latex')}$"


def multiangle(
    mechanism: Mechanism,
    letter: str,
    indices: Sequence[int],
    keep: str | Iterable[str] = "none",
    method: str | None = None,
) -> MultiAngle:
    """The form of M[i,j], c[i], g[i] or tau[i] (indices from 0), the kinds in `keep` left as symbols (see `parameters.kinds`).

    Raises RequestError for a letter or index that does not exist, a method that divides, or an entry of too many angles.
    """
    function, rank = ENTRIES[nearest(letter, ENTRIES, "entry with a multi-angle form")]
    entry = f"{letter}[{','.join(str(i) for i in indices)}]"
    refuse_several(mechanism, "a multi-angle form", "take the recursive or the closed form")
    if len(indices) != rank or not all(0 <= i < mechanism.nv for i in indices):
        raise UnknownName(
            f"{entry} does not exist; {letter} takes {rank} indices from 0 to {mechanism.nv - 1}"
        )
    program, kept = _program(mechanism, function, kinds(keep), method)
    element = indices[0] if rank == 1 else indices[0] * mechanism.nv + indices[1]
    return _form(mechanism, program, kept, element, entry)


_program = lru_cache(maxsize=64)(derived)


def _form(
    mechanism: Mechanism, program: Program, kept: Sequence[Parameter], element: int, entry: str
) -> MultiAngle:
    angles = [(0, i) for i, link in enumerate(models(mechanism)[0].links) if link.turns]
    target = program.outputs[0].rows[element]
    clean = exact(mechanism)
    others, found = waves(program, target, angles, clean, entry)
    if not clean:
        found = rounded(found, DIGITS)
    names = [program.inputs[port].name for port, _ in others]
    symbols = [
        kept[e].symbol if name == PORT else f"{name}{e}"
        for name, (_, e) in zip(names, others, strict=True)
    ]
    coefficients = {}
    for (sine, short, powers), x in found.items():
        index = [0] * mechanism.nv
        for (_, joint), multiple in zip(angles, short, strict=True):
            index[joint] = multiple
        monomial = tuple(
            sorted((symbol, power) for symbol, power in zip(symbols, powers, strict=True) if power)
        )
        coefficients[(tuple(index), sine), monomial] = Fraction(int(x.p), int(x.q))
    return MultiAngle.of(coefficients)


@lru_cache(maxsize=16)
def exact(mechanism: Mechanism) -> bool:
    """Whether every constant that a Program takes from the model is rational, and every angle's offset a quarter turn."""
    with k.precision():
        for link in models(mechanism)[0].links:
            *turns, offset = k.zxz(link.rotation)
            own = link.inertia
            numbers = (
                *link.shift,
                own.m,
                *own.h,
                *own.S,
                *link.gravity,
                *offset,
                *(x for turn in turns for x in turn),
            )
            if not all(k.is_rational(x) for x in numbers) or (
                link.turns and not any(k.is_zero(x) for x in offset)
            ):
                return False
    return True
