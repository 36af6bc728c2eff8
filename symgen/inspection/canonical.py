"""Canonical form of a letter: a sum of cosines and sines of sums of angles, or one quotient of two
such sums in lowest terms.

A letter is a quantity of a method in the notation of its paper, such as the propagator φ or the
articulated-body inertia P. A letter without divisions (B, p, M̃, φ, H-blocks, A, G, ∂θ/∂x, …) is a
polynomial in the cosines and sines of the joint angles. It is evaluated as a Laurent polynomial in
z_k = exp(i q_k), so that a chain of parallel joints keeps one term per sum of angles.

A letter with divisions (U, D, ψ, K, Ĝ, …) is evaluated over the field of rational functions of t_k
= tan(q_k/2), where every fraction has unique lowest terms. Numerator and denominator are then
divided by the smallest powers of 1 + t_k² that make both of them polynomials in cosines and sines
of whole angles. The field of rational functions of exp(i q_k) gives the same forms
(`Exponentials`); it has shorter polynomials where sums of many angles occur.

Constants may be rational, or residues modulo a prime; `symgen.inspection.irrational` combines
residues to coefficients with square roots.

Sliding coordinates, the entries of quaternions, v, a and the parameters that stay symbols are
further unknowns of the polynomials. A quaternion x y z w has length 1, as the generated code
assumes. Its w² is replaced by 1 − x² − y² − z², so that a polynomial has the powers 0 and 1 of w
only. The denominator of a quotient has no w, because both parts of the quotient are multiplied by
the denominator's conjugate, in which −w replaces w.

Equal functions have equal forms, whatever method derived them. The relation x² + y² + z² + w² = 1
is irreducible and its real points are dense, so that a polynomial is zero on the sphere only if its
remainder modulo the relation is zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import Any

from flint import Ordering, arb, fmpq, fmpq_mpoly_ctx, fmpz_mod_mpoly_ctx

from symgen.derivation import constants as k
from symgen.inspection.harmonic_text import DIGITS as PRINTED_DIGITS
from symgen.inspection.harmonic_text import Monomial, runs
from symgen.inspection.harmonics import (
    Index,
    Input,
    harmonic_sums,
    needed_rows,
    round_coefficients,
)
from symgen.inspection.multiangle import DIGITS, MultiAngle
from symgen.inspection.printing import print_grid
from symgen.inspection.roots import added, inverse, multiply, with_root
from symgen.ir.program import Program
from symgen.support.errors import RequestError

MOST_TERMS = 20_000
"""Most terms of a canonical form. A longer form is unreadable; the method's recursion is shorter.
"""
QUICK, PATIENT, PATIENT_QUOTIENTS = 400_000, 4_000_000, 40_000_000
"""Limits of the products of terms that a request may compute. QUICK holds unless the user requests
the canonical form. Then PATIENT holds for a letter without divisions, PATIENT_QUOTIENTS for one
with divisions, whose polynomials are multiplied ten times as fast.
"""
Exponents = tuple[int, ...]
Terms = Mapping[Exponents, Any]
"""Exponents and coefficient of each term of a polynomial."""
RootTerms = dict[tuple[tuple[Index, bool], Monomial], dict[int, Fraction]]
"""Cosine or sine and monomial of each term of a form, with its coefficient."""
_SINGLE_FACTOR = re.compile(r"\w+(\([^()]*\))?")
"""A symbol, or the cosine or sine of a sum of angles."""


class TooLong(RequestError):
    """A canonical form has more terms than MOST_TERMS, or does not exist."""


class TooManyProducts(TooLong):
    """A canonical form has more terms, or takes more products of terms, than allowed."""


class TooManyHalfAngleTerms(TooManyProducts):
    """The polynomials in tan(q/2) have too many terms to be converted to cosines and sines without
    trying exp(i q) first.
    """


@dataclass(frozen=True)
class Quotient:
    """numerator / denominator in lowest terms.

    The coefficients of the denominator are integers, or sums of integers times square roots,
    without a common factor. Its first coefficient is positive and has no root. If a coefficient of
    the denominator has more digits than are printed, the first one is 1 instead. Equal functions
    have equal quotients.
    """

    numerator: MultiAngle
    denominator: MultiAngle

    def sympy(self) -> Any:
        """Return a SymPy quotient in real symbols q0, …, not expanded and not simplified."""
        return self.numerator.sympy() / self.denominator.sympy()

    def text(self, format: str = "text", full: bool = False) -> str:
        """Return the quotient as "text", "latex", "python" or "c"."""
        numerator, denominator = (
            form.text(format, full) for form in (self.numerator, self.denominator)
        )
        if format == "latex":
            return rf"\frac{{{numerator}}}{{{denominator}}}"
        if len(self.numerator.terms) > 1:
            numerator = f"({numerator})"
        if not _SINGLE_FACTOR.fullmatch(denominator):
            denominator = f"({denominator})"
        return f"{numerator}/{denominator}"

    @property
    def is_long(self) -> bool:
        """True if the printed numerator or denominator is shortened by default."""
        return self.numerator.is_long or self.denominator.is_long

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class Canonical:
    """Canonical forms of a quantity: `entries`, row-major, in `shape` () or (rows, columns)."""

    label: str
    shape: tuple[int, ...]
    entries: tuple[MultiAngle | Quotient, ...]

    @property
    def is_long(self) -> bool:
        """True if a printed entry is shortened by default."""
        return any(entry.is_long for entry in self.entries)

    @property
    def abbreviations(self) -> dict[str, str]:
        """Sums of angles that text and LaTeX abbreviate: {"q0:29": "q0 + q1 + … + q29"}."""
        indices = {
            index
            for entry in self.entries
            for form in _sums(entry)
            for (index, _), _, _ in form.terms
        }
        pairs = sorted({run for index in indices for run in runs(index)})
        return {f"q{i}:{j}": f"q{i} + q{i + 1} + … + q{j}" for i, j in pairs}

    @property
    def coordinates(self) -> frozenset[int]:
        """Indices of the entries of q that occur."""
        return frozenset(
            index for entry in self.entries for form in _sums(entry) for index in form.joints()
        )

    def sympy(self) -> Any:
        """Return a SymPy expression, or a Matrix if there are several entries."""
        import sympy as sp

        values = [entry.sympy() for entry in self.entries]
        return sp.Matrix(*self.shape, values) if self.shape else values[0]

    def text(self, format: str = "text", full: bool = False) -> str:
        """Return a number or a matrix as "text", "latex", "python" or "c".

        In text, a matrix with a long entry is printed as one equation per entry that is not zero.
        RequestError for a long form in Python or C unless `full`.
        """
        texts = [entry.text(format, full) for entry in self.entries]
        if not self.shape:
            return texts[0]
        columns = self.shape[1]
        if format == "text" and self.is_long:
            positions = [divmod(n, columns) for n in range(len(texts))]
            return "\n".join(
                f"{self.label}[{r},{c}] = {text}"
                for (r, c), text in zip(positions, texts, strict=True)
                if text != "0"
            )
        rows = [texts[n : n + columns] for n in range(0, len(texts), columns)]
        return print_grid(rows, format)

    def __str__(self) -> str:
        return self.text()


def _sums(entry: MultiAngle | Quotient) -> tuple[MultiAngle, ...]:
    """Return the sums of an entry: itself, or numerator and denominator."""
    return (entry,) if isinstance(entry, MultiAngle) else (entry.numerator, entry.denominator)


@dataclass(frozen=True)
class Names:
    """Names of the inputs of a Program.

    `angles` maps each joint angle to its position among the `count` multiples of a term cos(k·q) or
    sin(k·q). `symbol` returns the symbol of any input. `label` names the quantity in messages.
    `quaternions` are the inputs x, y, z and w of each unit quaternion.
    """

    angles: Mapping[Input, int]
    symbol: Callable[[Input], str]
    count: int
    label: str
    quaternions: tuple[tuple[Input, ...], ...] = ()


def canonical(
    program: Program,
    rows: Sequence[int],
    names: Names,
    exact: bool,
    most_products: int = QUICK,
    most_half_angle_terms: int | None = None,
) -> list[MultiAngle | Quotient]:
    """Return the canonical form of each row of a Program.

    If the constants of the Program are not `exact`, coefficients are rounded to the digits of
    `multiangle.DIGITS`.

    Raises TooManyProducts for a form of more than MOST_TERMS terms or more than `most_products`
    products of terms. Raises TooManyHalfAngleTerms for more than `most_half_angle_terms` terms in
    tan(q/2). Raises TooLong for a row that is not a rational function of cosines and sines, and for
    a division if the constants are not exact.
    """
    unknowns = Unknowns.of(inputs_of(program, rows), names, most_products)
    divides = has_division(program, rows)
    if divides and not exact:
        raise TooLong(
            f"{names.label} has no canonical form: it has a division, and constants of the robot"
            " are irrational"
        )
    ring: Waves | HalfAngles = HalfAngles(unknowns) if divides else Waves(unknowns, exact)
    values = values_of_rows(ring, program, rows)
    if divides and most_half_angle_terms is not None:
        longest = max(len(part) for value in values.values() for part in value)
        if longest > most_half_angle_terms:
            raise TooManyHalfAngleTerms(str(unknowns.too_long()))
    forms = {r: ring.form(value) for r, value in values.items()}
    return [forms[r] for r in rows]


def has_division(program: Program, rows: Sequence[int]) -> bool:
    """True if the computation of the rows contains a division."""
    return any(program.rows[r].op == "div" for r in needed_rows(program, rows))


def inputs_of(program: Program, rows: Sequence[int]) -> set[Input]:
    """Return the inputs of the Program on which the rows depend."""
    equations = [program.rows[r] for r in needed_rows(program, rows)]
    return {equation.value for equation in equations if equation.op == "input"}


def values_of_rows(
    ring: Waves | HalfAngles, program: Program, rows: Sequence[int]
) -> dict[int, Any]:
    """Return the value of each of the rows in the ring.

    The value of any other row is discarded after its last use, since it may be large.
    """
    needed = needed_rows(program, rows)
    values: dict[int, Any] = {}
    last_user = {operand: r for r in needed for operand in program.rows[r].args}
    results = set(rows)
    for r in needed:
        values[r] = _value(ring, program, r, values)
        for operand in program.rows[r].args:
            if last_user[operand] == r and operand not in results:
                values.pop(operand, None)
    return {r: values[r] for r in results}


def form_of_fraction(
    numerator: Any,
    denominator: Any,
    angles: Sequence[int],
    others: Sequence[str],
    names: Names,
    quaternions: Sequence[tuple[str, ...]] = (),
) -> MultiAngle | Quotient:
    """Return the canonical form of a fraction of polynomials in lowest terms.

    Generators of both polynomials, in this order: tan(q_i/2) for the `angles` i, the symbols
    `others`, and q_i for the `angles`.

    `quaternions` are the symbols x, y, z and w of unit quaternions. In the polynomials, the symbols
    x, y and z denote the stereographic projection x/(1 + w), y/(1 + w) and z/(1 + w).

    Raises TooLong for more terms than MOST_TERMS.
    """
    symbols = {(1, n): symbol for n, symbol in enumerate(others)}
    symbols |= {(0, i): f"q{i}" for i in angles}
    named = Names({(0, i): i for i in angles}, symbols.__getitem__, names.count, names.label)
    inputs = [(1, n) for n in range(len(others))]
    entries = tuple(tuple(inputs[others.index(x)] for x in group) for group in quaternions)
    scalars = [group[3] for group in entries]
    unknowns = Unknowns(
        [(0, i) for i in angles],
        [*scalars, *(x for x in inputs if x not in scalars)],
        named,
        QUICK,
        entries,
    )
    field = HalfAngles(unknowns)
    if not quaternions:
        return field.form((numerator, denominator))
    order = [*unknowns.rotating, *inputs, *unknowns.rotating]
    return field.form(field.from_projection(numerator, denominator, order))


def _value(ring: Any, program: Program, row: int, values: Mapping[int, Any]) -> Any:
    """Return the value of one row in the ring, from the values of its operands."""
    op, args, value, _, _ = program.rows[row]
    operands = [values[x] for x in args]
    if op == "const":
        return ring.constant(k.rational(value))
    if op == "input":
        return ring.input(value)
    if op in ("sin", "cos"):
        cosine, sine = ring.cosine_and_sine(*ring.multiples(operands[0]))
        return sine if op == "sin" else cosine
    if op == "neg":
        return ring.multiply(ring.constant(fmpq(-1)), operands[0])
    if op == "mul":
        return ring.multiply(*operands)
    if op == "add":
        return ring.add(*operands)
    if op == "sub":
        return ring.add(operands[0], ring.multiply(ring.constant(fmpq(-1)), operands[1]))
    if op == "div" and isinstance(ring, HalfAngles):
        return ring.divide(*operands)
    raise TooLong(
        f"{ring.unknowns.names.label} has no canonical form: its equations contain a {op}"
    )


@dataclass(frozen=True)
class Unknowns:
    """Unknowns of a form: `rotating` inputs are joint angles, `others` all other inputs.

    The w of each of the `quaternions` comes first in `others`, so that w² is the leading monomial
    of the relation x² + y² + z² + w² = 1 in lexicographic order.
    """

    rotating: list[Input]
    others: list[Input]
    names: Names
    most_products: int
    quaternions: tuple[tuple[Input, ...], ...] = ()

    @staticmethod
    def of(inputs: set[Input], names: Names, most_products: int) -> Unknowns:
        """Return the unknowns of forms of these inputs."""
        quaternions = tuple(entries for entries in names.quaternions if entries[3] in inputs)
        scalars = [entries[3] for entries in quaternions]
        rest = sorted(inputs.union(*quaternions).difference(scalars))
        return Unknowns(
            [x for x in rest if x in names.angles],
            [*scalars, *(x for x in rest if x not in names.angles)],
            names,
            most_products,
            quaternions,
        )

    @cached_property
    def symbols(self) -> list[Input]:
        """Inputs that may be factors of monomials.

        Angles are among them, since the translation of a screw joint is a multiple of its angle.
        """
        return [*self.others, *self.rotating]

    @cached_property
    def spheres(self) -> list[tuple[int, ...]]:
        """Positions among all unknowns of x, y, z and w of each quaternion."""
        first = len(self.rotating)
        return [
            tuple(first + self.symbols.index(x) for x in entries) for entries in self.quaternions
        ]

    def monomial(self, powers: Sequence[int]) -> Monomial:
        """Return the monomial with these powers of `symbols`."""
        pairs = zip(self.symbols, powers, strict=True)
        return tuple(sorted((self.names.symbol(x), int(power)) for x, power in pairs if power))

    def index(self, short: Sequence[int]) -> Index:
        """Return the multiples of all joint angles; `short` has only those of `rotating`."""
        index = [0] * self.names.count
        for x, multiple in zip(self.rotating, short, strict=True):
            index[self.names.angles[x]] = multiple
        return tuple(index)

    def too_long(self) -> TooManyProducts:
        """Return the error of a form that exceeds the limits."""
        return TooManyProducts(
            f"the canonical form of {self.names.label} has more than {MOST_TERMS} terms, or takes "
            f"more than {self.most_products} products of terms"
        )

    def multiples_of(self, terms: Mapping[Exponents, Any]) -> tuple[list[int], Any]:
        """Return the multiple of each rotating input in the argument of a sine or cosine, and the
        constant in it (rad).

        The exponents of `terms` are those of z or t of the rotating inputs, then of `symbols`.
        Raises TooLong if the argument is not a sum of whole multiples of joint angles.
        """
        multiples, offset = [0] * len(self.rotating), fmpq(0)
        for exponents, x in terms.items():
            if not any(exponents):
                offset = x
                continue
            lengths = exponents[len(self.rotating) + len(self.others) :]
            if sum(map(abs, exponents)) != 1 or sum(lengths) != 1 or x.q != 1:
                raise TooLong(
                    f"{self.names.label} has no canonical form: the argument of a sine is not a sum"
                    " of whole multiples of joint angles"
                )
            multiples[lengths.index(1)] = int(x.p)
        return multiples, offset


class Waves:
    """Ring of Laurent polynomials in z_k = exp(i q_k), and polynomials in all other inputs, with
    complex coefficients (real part, imaginary part).

    Exponents: of z for every rotating input, then of `symbols`. `multiples` reads the argument of a
    sine or cosine, `form` converts a value to a sum of cosines and sines.
    """

    def __init__(self, unknowns: Unknowns, exact: bool) -> None:
        self.unknowns, self.exact, self.products = unknowns, exact, 0
        self.rotating = len(unknowns.rotating)
        self.size = self.rotating + len(unknowns.symbols)

    def _exponents(self, index: int, power: int = 1) -> Exponents:
        return tuple(power if i == index else 0 for i in range(self.size))

    def constant(self, x: Any) -> dict[Exponents, tuple[Any, Any]]:
        return {(0,) * self.size: (x, fmpq(0))} if x != 0 else {}

    def input(self, x: Input) -> dict[Exponents, tuple[Any, Any]]:
        index = self.rotating + self.unknowns.symbols.index(x)
        return {self._exponents(index): (fmpq(1), fmpq(0))}

    def multiples(self, value: Mapping[Exponents, tuple[Any, Any]]) -> tuple[list[int], Any]:
        return self.unknowns.multiples_of({exponents: x for exponents, (x, _) in value.items()})

    def cosine_and_sine(
        self, multiples: Sequence[int], offset: Any
    ) -> tuple[dict[Exponents, Any], ...]:
        """Return (z^k e^iβ + z^-k e^-iβ)/2 and (z^k e^iβ − z^-k e^-iβ)/2i; β is the offset."""
        cosine, sine = self._half_wave(offset)
        rest = (0,) * len(self.unknowns.symbols)
        plus, minus = (*multiples, *rest), (*(-multiple for multiple in multiples), *rest)
        if plus == minus:
            return self.constant(2 * cosine), self.constant(2 * sine)
        return (
            {plus: (cosine, sine), minus: (cosine, -sine)},
            {plus: (sine, -cosine), minus: (sine, cosine)},
        )

    def _half_wave(self, offset: Any) -> tuple[Any, Any]:
        """Return cos β/2 and sin β/2. Unless β is zero, they are not exact."""
        if offset == 0:
            return fmpq(1, 2), fmpq(0)
        if self.exact:
            raise TooLong(
                f"{self.unknowns.names.label} has no canonical form: it has a sine of a constant"
            )
        with k.precision():
            cosine, sine = (
                k.rational(k.to_fraction(x)) for x in (arb(offset).cos(), arb(offset).sin())
            )
        return cosine / 2, sine / 2

    def add(self, a: dict[Exponents, Any], b: dict[Exponents, Any]) -> dict[Exponents, Any]:
        total = dict(a)
        for exponents, (real, imaginary) in b.items():
            if exponents in total:
                other_real, other_imaginary = total[exponents]
                real, imaginary = real + other_real, imaginary + other_imaginary
            if real != 0 or imaginary != 0:
                total[exponents] = (real, imaginary)
            else:
                total.pop(exponents, None)
        if len(total) > 2 * MOST_TERMS:
            raise self.unknowns.too_long()
        return total

    def multiply(self, a: dict[Exponents, Any], b: dict[Exponents, Any]) -> dict[Exponents, Any]:
        self.products += len(a) * len(b)
        if self.products > self.unknowns.most_products:
            raise self.unknowns.too_long()
        total: dict[Exponents, tuple[Any, Any]] = {}
        for first, (a_real, a_imaginary) in a.items():
            for second, (b_real, b_imaginary) in b.items():
                exponents = tuple(map(int.__add__, first, second))
                real, imaginary = (
                    a_real * b_real - a_imaginary * b_imaginary,
                    a_real * b_imaginary + a_imaginary * b_real,
                )
                if exponents in total:
                    other_real, other_imaginary = total[exponents]
                    real, imaginary = real + other_real, imaginary + other_imaginary
                total[exponents] = (real, imaginary)
        for sphere in self.unknowns.spheres:
            total = _lower_squares(total, sphere)
        return {exponents: x for exponents, x in total.items() if x[0] != 0 or x[1] != 0}

    def form(self, value: Mapping[Exponents, tuple[Any, Any]]) -> MultiAngle:
        """Return Σ A cos(k·q) + B sin(k·q) of Σ c_k exp(i k·q) with c_-k = conj(c_k)."""
        coefficients: dict[Any, Any] = {}
        for exponents, (real, imaginary) in value.items():
            short = exponents[: self.rotating]
            leading = next((multiple for multiple in short if multiple), 0)
            if leading < 0:
                continue
            monomial = self.unknowns.monomial(exponents[self.rotating :])
            index, twice = self.unknowns.index(short), 2 if leading else 1
            for is_sine, x in ((False, twice * real), (True, -twice * imaginary)):
                if x != 0:
                    coefficients[(index, is_sine), monomial] = x
        if not self.exact:
            coefficients = round_coefficients(coefficients, DIGITS)
        if len(coefficients) > MOST_TERMS:
            raise self.unknowns.too_long()
        return MultiAngle.of({key: Fraction(int(x.p), int(x.q)) for key, x in coefficients.items()})


def _lower_squares(
    terms: Mapping[Exponents, tuple[Any, Any]], sphere: tuple[int, ...]
) -> dict[Exponents, tuple[Any, Any]]:
    """Replace w² by 1 − x² − y² − z² in a product of two forms without w²; `sphere` holds the
    positions of x, y, z and w.
    """
    *vector, scalar = sphere
    total = {exponents: x for exponents, x in terms.items() if exponents[scalar] < 2}
    for exponents, (real, imaginary) in terms.items():
        if exponents[scalar] < 2:
            continue
        for position, sign in ((scalar, 1), *((entry, -1) for entry in vector)):
            lowered = list(exponents)
            lowered[scalar] -= 2
            if position != scalar:
                lowered[position] += 2
            a, b = total.get(tuple(lowered), (fmpq(0), fmpq(0)))
            total[tuple(lowered)] = (a + sign * real, b + sign * imaginary)
    return total


class HalfAngles:
    """Field of rational functions (numerator, denominator) in t_k = tan(q_k/2) and all other
    inputs, in lowest terms; denominators are monic and have no w of a quaternion.

    Coefficients are rational, or residues modulo the prime `modulus` if it is not 0. The methods
    correspond to those of `Waves`.
    """

    def __init__(self, unknowns: Unknowns, modulus: int = 0) -> None:
        self.unknowns, self.products, self.modulus = unknowns, 0, modulus
        self.rotating = len(unknowns.rotating)
        stems = [f"t{i}" for i in range(self.rotating)]
        stems += [f"x{i}" for i in range(len(unknowns.symbols))]
        residue_context: Any = fmpz_mod_mpoly_ctx
        self.ring: Any = (
            residue_context.get(stems, modulus, Ordering.lex)
            if modulus
            else fmpq_mpoly_ctx.get(stems, "lex")
        )
        self.gens = self.ring.gens()
        self.one = self.ring.constant(1)
        self.relations = [
            (sphere[3], sum((self.gens[entry] ** 2 for entry in sphere), -self.one))
            for sphere in unknowns.spheres
        ]

    def constant(self, x: Any) -> tuple[Any, Any]:
        if self.modulus:
            x = int(x.p) * pow(int(x.q), -1, self.modulus) % self.modulus
        return self.ring.constant(x), self.one

    def input(self, x: Input) -> tuple[Any, Any]:
        return self.gens[self.rotating + self.unknowns.symbols.index(x)], self.one

    def multiples(self, value: tuple[Any, Any]) -> tuple[list[int], Any]:
        return self.unknowns.multiples_of(
            {
                tuple(map(int, exponents)): self._signed(x)
                for exponents, x in value[0].to_dict().items()
            }
        )

    def _signed(self, x: Any) -> Any:
        """Return a residue as the integer of least magnitude, so that the residue of −1 is −1."""
        if not self.modulus:
            return x
        residue = int(x)
        return fmpq(residue - self.modulus if 2 * residue > self.modulus else residue)

    def cosine_and_sine(self, multiples: Sequence[int], offset: Any) -> tuple[tuple[Any, Any], ...]:
        if offset != 0:
            raise TooLong(
                f"{self.unknowns.names.label} has no canonical form: it has a sine of a constant"
            )
        cosine, sine = self.constant(fmpq(1)), self.constant(fmpq(0))
        for joint, multiple in enumerate(multiples):
            square = self.gens[joint] ** 2
            c, s = (1 - square, 1 + square), (2 * self.gens[joint], 1 + square)
            if multiple < 0:
                s = (-s[0], s[1])
            minus_s = (-s[0], s[1])
            for _ in range(abs(multiple)):
                cosine, sine = (
                    self.add(self.multiply(cosine, c), self.multiply(sine, minus_s)),
                    self.add(self.multiply(sine, c), self.multiply(cosine, s)),
                )
        return cosine, sine

    def _product(self, a: Any, b: Any) -> Any:
        """Return the product of two polynomials, reduced by the relations of the quaternions."""
        self.products += len(a) * len(b)
        if self.products > self.unknowns.most_products:
            raise self.unknowns.too_long()
        product = a * b
        for scalar, relation in self.relations:
            if product.degrees()[scalar] > 1:
                product = divmod(product, relation)[1]
        return product

    def add(self, a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
        common = a[1].gcd(b[1])
        a_rest, b_rest = a[1] // common, b[1] // common
        numerator = self._product(a[0], b_rest) + self._product(b[0], a_rest)
        # A common factor of the sum and the denominator divides `common`.
        shared = numerator.gcd(common)
        return self._monic(numerator // shared, self._product(a_rest, b[1] // shared))

    def multiply(self, a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
        first, second = a[0].gcd(b[1]), b[0].gcd(a[1])
        numerator = self._product(a[0] // first, b[0] // second)
        denominator = self._product(a[1] // second, b[1] // first)
        if self.relations:  # w² = 1 − x² − y² − z² may have a factor of the denominator
            shared = numerator.gcd(denominator)
            numerator, denominator = numerator // shared, denominator // shared
        return self._monic(numerator, denominator)

    def divide(self, a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
        if b[0] == 0:
            raise TooLong(
                f"{self.unknowns.names.label} has no canonical form: a divisor is zero in every"
                " state"
            )
        numerator, denominator = b[1], b[0]
        for scalar, _ in self.relations:
            if denominator.degrees()[scalar]:
                conjugate = self._conjugate(denominator, scalar)
                numerator, denominator = (
                    self._product(numerator, conjugate),
                    self._product(denominator, conjugate),
                )
        shared = numerator.gcd(denominator)
        return self.multiply(a, (numerator // shared, denominator // shared))

    def from_projection(
        self, numerator: Any, denominator: Any, order: Sequence[Input]
    ) -> tuple[Any, Any]:
        """Return an element of this field from a fraction of polynomials in x/(1 + w), y/(1 + w)
        and z/(1 + w) of each quaternion. `order` holds the input of each generator.

        Both polynomials are multiplied by the same power of 1 + w for each quaternion.
        """
        first, size = self.rotating, len(order)
        positions = [
            *range(first),
            *(first + self.unknowns.symbols.index(x) for x in order[first:]),
        ]
        vectors = [sphere[:3] for sphere in self.unknowns.spheres]
        parts: list[dict[Exponents, dict[Exponents, Any]]] = []
        for polynomial in (numerator, denominator):
            by_degrees: dict[Exponents, dict[Exponents, Any]] = {}
            for exponents, x in polynomial.to_dict().items():
                reordered = [0] * size
                for position, power in zip(positions, exponents, strict=True):
                    reordered[position] = int(power)
                degrees = tuple(sum(reordered[entry] for entry in vector) for vector in vectors)
                by_degrees.setdefault(degrees, {})[tuple(reordered)] = x
            parts.append(by_degrees)
        most = [max(degrees) for degrees in zip(*(d for part in parts for d in part), strict=True)]
        numerator, denominator = (self._homogeneous(part, most) for part in parts)
        return self.divide((numerator, self.one), (denominator, self.one))

    def _homogeneous(
        self, by_degrees: Mapping[Exponents, Mapping[Exponents, Any]], most: Sequence[int]
    ) -> Any:
        """Return the sum of terms times (1 + w)^(most − degree) for each quaternion."""
        total = self.ring.constant(0)
        for degrees, terms in by_degrees.items():
            product = self.ring.from_dict(dict(terms))
            for (scalar, _), degree, largest in zip(self.relations, degrees, most, strict=True):
                for _ in range(largest - degree):
                    product = self._product(product, self.one + self.gens[scalar])
            total = total + product
        return total

    def _conjugate(self, polynomial: Any, scalar: int) -> Any:
        """Return the polynomial in which −w replaces w, the unknown at position `scalar`."""
        return self.ring.from_dict(
            {
                exponents: -x if exponents[scalar] % 2 else x
                for exponents, x in polynomial.to_dict().items()
            }
        )

    def _monic(self, numerator: Any, denominator: Any) -> tuple[Any, Any]:
        if numerator == 0:
            return numerator, self.one
        leading = denominator.leading_coefficient()
        return numerator / leading, denominator / leading

    def form(self, value: tuple[Any, Any]) -> MultiAngle | Quotient:
        """Return the form of a fraction with rational coefficients."""
        return self.form_of_terms(*({1: part.to_dict()} for part in value))

    def form_of_terms(
        self, numerator: Mapping[int, Terms], denominator: Mapping[int, Terms]
    ) -> MultiAngle | Quotient:
        """Return the form of a fraction in lowest terms.

        `numerator` and `denominator` map each integer d to the terms of the polynomial that √d
        multiplies.
        """
        degrees = [
            max(powers)
            for powers in zip(
                *(e for part in (numerator, denominator) for terms in part.values() for e in terms),
                strict=True,
            )
        ]
        halves = [(int(degree) + 1) // 2 for degree in degrees[: self.rotating]]
        forms = [self._over_powers(part, halves) for part in (numerator, denominator)]
        if any(len(form) > MOST_TERMS for form in forms):
            raise self.unknowns.too_long()
        return quotient(*forms)

    def _over_powers(self, terms: Mapping[int, Terms], halves: Sequence[int]) -> RootTerms:
        """Return a polynomial in t = tan(q/2), divided by Π (1 + t²)^m, as cosines and sines.

        `halves` holds m for each angle; t^j/(1 + t²)^m = cos(q/2)^(2m−j) sin(q/2)^j.
        """
        by_monomial: dict[tuple[int, Monomial], dict[Any, Any]] = {}
        for root, polynomial in terms.items():
            for exponents, x in polynomial.items():
                powers = [int(power) for power in exponents]
                pairs = tuple(
                    (2 * m - power, power)
                    for m, power in zip(halves, powers[: self.rotating], strict=True)
                )
                monomial = self.unknowns.monomial(powers[self.rotating :])
                by_monomial.setdefault((root, monomial), {})[pairs] = x
        coefficients: RootTerms = {}
        for (root, monomial), part in by_monomial.items():
            for short, waves in harmonic_sums(part).items():
                index = self.unknowns.index([multiple // 2 for multiple in short])
                for is_sine, x in zip((False, True), waves, strict=True):
                    if x != 0:
                        key = (index, is_sine), monomial
                        coefficients.setdefault(key, {})[root] = Fraction(int(x.p), int(x.q))
        return coefficients


class Exponentials(HalfAngles):
    """Field of rational functions (numerator, denominator) in z_k = exp(i q_k) and all other
    inputs, modulo a prime for which −1 is a square.

    A sum of few cosines and sines has few terms in z, since cos(k·q) has two. `unit` is the residue
    of i.
    """

    def __init__(self, unknowns: Unknowns, modulus: int, unit: int) -> None:
        super().__init__(unknowns, modulus)
        self.unit = unit

    def cosine_and_sine(self, multiples: Sequence[int], offset: Any) -> tuple[tuple[Any, Any], ...]:
        """Return (z^k + z^-k)/2 and (z^k − z^-k)/2i."""
        if offset != 0:
            raise TooLong(
                f"{self.unknowns.names.label} has no canonical form: it has a sine of a constant"
            )
        plus = minus = self.one
        for z, multiple in zip(self.gens, multiples, strict=False):
            if multiple > 0:
                plus = plus * z**multiple
            elif multiple < 0:
                minus = minus * z**-multiple
        half, half_over_unit = (pow(x, -1, self.modulus) for x in (2, 2 * self.unit))
        return (
            ((plus * plus + minus * minus) * half, plus * minus),
            ((plus * plus - minus * minus) * half_over_unit, plus * minus),
        )

    def form_of_terms(
        self, numerator: Mapping[int, Terms], denominator: Mapping[int, Terms]
    ) -> MultiAngle | Quotient:
        """Return the form of a real fraction in lowest terms.

        `numerator` and `denominator` map each integer d to the terms of the polynomial that √d
        multiplies, or i√−d if d is negative. As the fraction is real, the conjugate of its
        denominator D is c z^-k D with a number c. Numerator and denominator become real if both are
        multiplied by a number and by z^(-k/2). For a variable with an odd k, both are multiplied by
        1 + z first, so that k/2 is an integer.
        """
        parts = [self._complex_terms(part) for part in (numerator, denominator)]
        rotating = range(self.rotating)
        twice_centre = [min(e[n] for e in parts[1]) + max(e[n] for e in parts[1]) for n in rotating]
        leading = max(parts[1])
        mirrored = (
            *(twice_centre[n] - leading[n] for n in rotating),
            *leading[self.rotating :],
        )
        factor = _factor_to_real(parts[1][leading], parts[1][mirrored])
        parts = [
            {exponents: _complex_product(x, factor) for exponents, x in part.items()}
            for part in parts
        ]
        for n in rotating:
            if twice_centre[n] % 2:
                twice_centre[n] += 1
                parts = [_times_one_plus(part, n) for part in parts]
        forms = [self._real_terms(part, [k // 2 for k in twice_centre]) for part in parts]
        if any(len(form) > MOST_TERMS for form in forms):
            raise self.unknowns.too_long()
        return quotient(*forms)

    def _complex_terms(self, part: Mapping[int, Terms]) -> dict[Exponents, Complex]:
        """Return the complex coefficient of each term of a polynomial."""
        terms: dict[Exponents, Complex] = {}
        for root, polynomial in part.items():
            for exponents, x in polynomial.items():
                real, imaginary = terms.setdefault(exponents, ({}, {}))
                (real if root > 0 else imaginary)[abs(root)] = Fraction(int(x.p), int(x.q))
        return terms

    def _real_terms(self, terms: Mapping[Exponents, Complex], centre: Sequence[int]) -> RootTerms:
        """Return Σ A cos(k·q) + B sin(k·q) of Σ c_k exp(i k·q) with c_-k = conj(c_k)."""
        coefficients: RootTerms = {}
        for exponents, (real, imaginary) in terms.items():
            short = [x - k for x, k in zip(exponents, centre, strict=False)]
            leading = next((multiple for multiple in short if multiple), 0)
            if leading < 0:
                continue
            monomial = self.unknowns.monomial(exponents[self.rotating :])
            index, twice = self.unknowns.index(short), 2 if leading else 1
            for is_sine, part, sign in ((False, real, twice), (True, imaginary, -twice)):
                if part:
                    numbers = {root: sign * x for root, x in part.items()}
                    coefficients[(index, is_sine), monomial] = numbers
        return coefficients


Complex = tuple[dict[int, Fraction], dict[int, Fraction]]
"""Real and imaginary part. Each of them is a sum of square roots, {d: coefficient of √d}."""


def _complex_product(a: Complex, b: Complex) -> Complex:
    real = added(multiply(a[0], b[0]), multiply(a[1], b[1]), -1)
    return real, added(multiply(a[0], b[1]), multiply(a[1], b[0]))


def _factor_to_real(leading: Complex, mirrored: Complex) -> Complex:
    """Return a number c by which two mirrored coefficients become conjugates of each other.

    `leading` is 1 and `mirrored` has the magnitude 1, so that c = 1 + conj(mirrored); if this sum
    is zero, c = i.
    """
    assert leading == ({1: Fraction(1)}, {})
    real = added(mirrored[0], {1: Fraction(1)})
    imaginary = {root: -x for root, x in mirrored[1].items()}
    return (real, imaginary) if real or imaginary else ({}, {1: Fraction(1)})


def _times_one_plus(terms: Mapping[Exponents, Complex], n: int) -> dict[Exponents, Complex]:
    """Return a polynomial times 1 + z; z is the variable at position `n`."""
    total = dict(terms)
    for exponents, x in terms.items():
        shifted = (*exponents[:n], exponents[n] + 1, *exponents[n + 1 :])
        real, imaginary = total.get(shifted, ({}, {}))
        total[shifted] = (added(real, x[0]), added(imaginary, x[1]))
    return {exponents: x for exponents, x in total.items() if x[0] or x[1]}


def quotient(numerator_terms: RootTerms, denominator_terms: RootTerms) -> MultiAngle | Quotient:
    """Return the form of a fraction in lowest terms.

    The first coefficient of the denominator becomes rational and positive. The result is a sum if
    the denominator is a number.
    """
    if not numerator_terms:
        return MultiAngle(())
    first = denominator_terms[min(denominator_terms)]
    if set(first) != {1}:
        factor = inverse(first)
        numerator_terms, denominator_terms = (
            {key: multiply(x, factor) for key, x in form.items()}
            for form in (numerator_terms, denominator_terms)
        )
    numerator, denominator = (
        MultiAngle.of(
            {
                (wave, with_root(monomial, root)): number
                for (wave, monomial), x in form.items()
                for root, number in x.items()
            }
        )
        for form in (numerator_terms, denominator_terms)
    )
    first_number = denominator_terms[min(denominator_terms)][1]
    numbers = [x for _, _, x in denominator.terms]
    scale = Fraction(lcm(*(x.denominator for x in numbers)), gcd(*(x.numerator for x in numbers)))
    if first_number < 0:
        scale = -scale
    numerator, denominator = numerator.scaled(scale), denominator.scaled(scale)
    if max(abs(x) for _, _, x in denominator.terms) >= 10**PRINTED_DIGITS:
        scale = 1 / (first_number * scale)
        numerator, denominator = numerator.scaled(scale), denominator.scaled(scale)
    if denominator.is_number:
        return numerator.scaled(1 / denominator.terms[0][2])
    return Quotient(numerator, denominator)
