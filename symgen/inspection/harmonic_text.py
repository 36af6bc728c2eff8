"""Output of a multi-angle form as text, LaTeX, Python, C, or a SymPy sum."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

from symgen.inspection.harmonics import Index
from symgen.inspection.names import latex
from symgen.inspection.printing import align_latex, visible_width
from symgen.inspection.roots import Monomial as Monomial
from symgen.inspection.roots import Root, by_monomial, root_of_symbol, rounded, with_root
from symgen.support.errors import RequestError
from symgen.vocabulary.names import nearest

FORMATS = ("text", "latex", "python", "c")
DIGITS = 17
LONGEST_RATIO = 10**6
LONGEST_LINE, LONGEST_SUM = 20, 100
"""Most terms in a line of LaTeX, and in a Python sum without parentheses."""
LINE_COLUMNS = 66
"""Visible characters in a line of LaTeX: what a page of A4 holds in 11 points."""
LONGEST_RUN = 7
"""Most joints of equal multiple that a sum of angles names one by one; q0:29 is q0 + q1 + … + q29.
"""

Coefficient = dict[Monomial, Fraction]


class Form(Protocol):
    """Σ coefficient · cos(k·q) or sin(k·q), see `symgen.inspection.multiangle`; its length is the
    number of its k.
    """

    def waves(self, largest: bool = False) -> dict[tuple[Index, bool], Coefficient]:
        """Return (k, is sine) → coefficient, in lexicographic order or the largest first."""

    def __len__(self) -> int: ...


def format_form(form: Form, format: str, most: int | None) -> str:
    """Return the form as one sum.

    A form with more than `most` terms is shortened to the largest ones, one per line, with the
    number of the other terms. Raises RequestError if a Python or C sum would have to be shortened.
    """
    nearest(format, FORMATS, "format")
    waves = _printed_waves(form)
    if most is None or len(waves) <= most:
        terms = [_term(*item, format) for item in waves.items()]
        return (
            _lines(terms, "")
            if format == "latex" and len(terms) > LONGEST_LINE
            else _sum(_grouped(terms, format))
        )
    if format in ("python", "c"):
        raise RequestError(
            f"this sum has {len(waves)} terms, and a shortened sum is not valid"
            f" {'C' if format == 'c' else 'Python'}; --full prints all terms, --form recursive the"
            " equations of the C"
        )
    largest = [
        _term(*item, format) for item in list(_printed_waves(form, largest=True).items())[:most]
    ]
    remaining = len(waves) - most
    if format == "latex":
        return _lines(largest, rf"+ \cdots \text{{ {_terms(remaining)} }}")
    first, *more_terms = (
        _sum([term]) if n == 0 else " ".join(term) for n, term in enumerate(largest)
    )
    # Indented, so that no single line is a valid Python expression that could be mistaken for the
    # whole.
    return "\n  ".join(
        [
            first,
            *more_terms,
            f"+ … {_terms(remaining)} ({len(form)} harmonics in {len(waves)} cosines and sines)",
        ]
    )


def _printed_waves(form: Form, largest: bool = False) -> dict[tuple[Index, bool], Coefficient]:
    """Return the coefficients as they are printed.

    A sum of square roots is one decimal unless each of its numbers is printed exactly, so that no
    digits cancel.
    """
    waves = form.waves(largest)
    return {wave: _with_decimals(coefficient) for wave, coefficient in waves.items()}


def _with_decimals(coefficient: Coefficient) -> Coefficient:
    sums = by_monomial(coefficient)
    if all(_is_exact(x) for root in sums.values() if set(root) != {1} for x in root.values()):
        return coefficient
    return {
        with_root(monomial, integer): x
        for monomial, root in sums.items()
        for integer, x in (
            root if all(map(_is_exact, root.values())) else {1: rounded(root, DIGITS + 3)}
        ).items()
    }


def _is_exact(x: Fraction) -> bool:
    """True if `number` prints all digits."""
    return (_decimal_places(x.denominator) is not None and len(str(x.numerator)) <= DIGITS) or (
        x.denominator < LONGEST_RATIO and abs(x.numerator) < LONGEST_RATIO
    )


def _terms(count: int) -> str:
    return f"{count} more term" if count == 1 else f"{count} more terms"


def latex_lines(form: Form, most_columns: int = LINE_COLUMNS) -> list[str]:
    """Return the sum in LaTeX as lines of at most `most_columns` visible characters, if no single
    term is wider.
    """
    addends_by_wave: list[str] = []
    for wave, coefficient in _printed_waves(form).items():
        addend = " ".join(_term(wave, coefficient, "latex"))
        if visible_width(addend) <= most_columns:
            addends_by_wave.append(addend)
            continue
        addends = [" ".join(_monomial(*item, "latex")) for item in coefficient.items()]
        if any(wave[0]) and len(addends) > 1:
            cosine = _term(wave, {(): Fraction(1)}, "latex")[1]
            addends[0] = rf"+ ({_filled(addends[:1], most_columns)[0]}"
            addends[-1] += rf") {cosine}"
            addends_by_wave += addends
        else:
            addends_by_wave += addends if not any(wave[0]) else [addend]
    return _filled(addends_by_wave, most_columns)


def _filled(signed_addends: Sequence[str], most_columns: int) -> list[str]:
    """Join signed pieces of a sum to lines, without the plus of the first."""
    if not signed_addends:
        return ["0"]
    first = signed_addends[0]
    lines = [first[2:] if first.startswith("+ ") else "-" + first[2:]]
    for addend in signed_addends[1:]:
        if visible_width(f"{lines[-1]} {addend}") <= most_columns:
            lines[-1] += f" {addend}"
        else:
            lines.append(addend)
    return lines


def _lines(terms: Sequence[tuple[str, str]], end: str) -> str:
    """Return LaTeX in lines of at most LINE_COLUMNS visible characters, and `end` as the last."""
    lines = [*_filled([" ".join(term) for term in terms], LINE_COLUMNS), *([end] if end else [])]
    return align_latex(["& " + line for line in lines])


def _grouped(terms: list[tuple[str, str]], format: str) -> list[tuple[str, str]]:
    """Group the terms of a long Python sum: CPython cannot compile a thousand signs in a row."""
    if format != "python" or len(terms) <= LONGEST_SUM:
        return terms
    groups = [terms[n : n + LONGEST_SUM] for n in range(0, len(terms), LONGEST_SUM)]
    return _grouped([("+", f"({_sum(group)})") for group in groups], format)


def _sum(terms: Sequence[tuple[str, str]]) -> str:
    """Join signed terms, without the plus of the first."""
    if not terms:
        return "0"
    joined = " ".join(f"{sign} {body}" for sign, body in terms)
    return joined[2:] if joined.startswith("+ ") else "-" + joined[2:]


def _term(
    wave: tuple[tuple[int, ...], bool], coefficient: Coefficient, format: str
) -> tuple[str, str]:
    """Return (sign, rest) of coefficient · cos(k·q) or sin(k·q)."""
    index, sine = wave
    monomials = [_monomial(monomial, x, format) for monomial, x in coefficient.items()]
    if not any(index):
        return _signed(_sum(monomials)) if len(monomials) > 1 else monomials[0]
    trigonometric = (
        ("\\" if format == "latex" else "") + ("sin" if sine else "cos") + _angle(index, format)
    )
    dot = " " if format == "latex" else "*"
    if len(monomials) > 1:
        left_parenthesis, right_parenthesis = (
            (r"\left(", r"\right)") if format == "latex" else ("(", ")")
        )
        return "+", f"{left_parenthesis}{_sum(monomials)}{right_parenthesis}{dot}{trigonometric}"
    sign, body = monomials[0]
    return sign, trigonometric if body == number(
        Fraction(1), format
    ) else f"{body}{dot}{trigonometric}"


def _signed(text: str) -> tuple[str, str]:
    return ("-", text[1:]) if text.startswith("-") else ("+", text)


def runs(index: Sequence[int]) -> list[tuple[int, int]]:
    """Return (first, last) of every run of more than LONGEST_RUN joints with the same multiple."""
    pairs, first = [], 0
    for i in range(1, len(index) + 1):
        if i == len(index) or index[i] != index[first]:
            if index[first] and i - first > LONGEST_RUN:
                pairs.append((first, i - 1))
            first = i
    return pairs


def _angle(index: Sequence[int], format: str) -> str:
    multiples = []
    abbreviated = dict(runs(index)) if format in ("text", "latex") else {}
    skipped_to = 0
    for i, multiple in enumerate(index):
        if i < skipped_to:
            continue
        name = f"q{i}"
        if i in abbreviated:
            skipped_to = abbreviated[i] + 1
            name = f"q_{{{i}:{abbreviated[i]}}}" if format == "latex" else f"q{i}:{abbreviated[i]}"
        if multiple:
            times = (
                ""
                if abs(multiple) == 1
                else f"{abs(multiple)} "
                if format == "latex"
                else f"{abs(multiple)}*"
            )
            symbol = name if i in abbreviated else _symbol(name, format)
            multiples.append(("+" if multiple > 0 else "-", times + symbol))
    return rf"\left({_sum(multiples)}\right)" if format == "latex" else f"({_sum(multiples)})"


def _monomial(monomial: Sequence[tuple[str, int]], x: Fraction, format: str) -> tuple[str, str]:
    roots_first = sorted(monomial, key=lambda factor: root_of_symbol(factor[0]) is None)
    factors = [_power(symbol, power, format) for symbol, power in roots_first]
    if abs(x) != 1 or not factors:
        factors.insert(0, number(abs(x), format))
    return "+" if x > 0 else "-", (" " if format == "latex" else "*").join(factors)


def _power(symbol: str, power: int, format: str) -> str:
    name = _symbol(symbol, format)
    if format == "c":
        return "*".join([name] * power)
    if power == 1:
        return name
    return f"{name}^{{{power}}}" if format == "latex" else f"{name}**{power}"


def _symbol(symbol: str, format: str) -> str:
    root = root_of_symbol(symbol)
    if root is not None and format in ("latex", "c"):
        return rf"\sqrt{{{root}}}" if format == "latex" else f"sqrt({root}.0)"
    return latex(symbol) if format == "latex" else symbol


def number(x: Fraction, format: str = "text") -> str:
    """Return a short decimal as it is, a short ratio as p/q, another number with DIGITS digits."""
    decimal_places = _decimal_places(x.denominator)
    if decimal_places is not None and len(str(x.numerator)) <= DIGITS:
        digits = str(x.numerator * 10**decimal_places // x.denominator).rjust(
            decimal_places + 1, "0"
        )
        decimal = (
            digits[:-decimal_places] + "." + digits[-decimal_places:] if decimal_places else digits
        )
        return decimal + ".0" if format == "c" and not decimal_places else decimal
    if x.denominator < LONGEST_RATIO and x.numerator < LONGEST_RATIO:
        p, q = str(x.numerator), str(x.denominator)
        return (
            rf"\frac{{{p}}}{{{q}}}"
            if format == "latex"
            else f"{p}.0/{q}.0"
            if format == "c"
            else f"{p}/{q}"
        )
    text = f"{float(x):.{DIGITS}g}"
    mantissa, _, exponent = text.partition("e")
    if exponent and format == "latex":
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
    return text if exponent or "." in text or format != "c" else text + ".0"


def _decimal_places(denominator: int) -> int | None:
    """Return the decimal places of p/denominator, None if it does not terminate within DIGITS."""
    return next((n for n in range(DIGITS + 1) if 10**n % denominator == 0), None)


def as_sympy(form: Form) -> Any:
    """Return Σ coefficient · cos(k·q) with Rationals if short, else Floats of DIGITS digits."""
    import sympy as sp

    def symbol(name: str) -> Any:
        return sp.Symbol(name, real=True)

    def exact(sum_of_roots: Root) -> Any:
        numbers = [sp.Rational(x.numerator, x.denominator) for x in sum_of_roots.values()]
        if all(len(str(x.denominator)) <= 2 * DIGITS for x in sum_of_roots.values()):
            return sp.Add(
                *(x * sp.sqrt(root) for x, root in zip(numbers, sum_of_roots, strict=True))
            )
        if set(sum_of_roots) == {1}:
            return sp.Float(numbers[0], DIGITS)
        value = rounded(sum_of_roots, DIGITS + 3)
        return sp.Float(sp.Rational(value.numerator, value.denominator), DIGITS)

    terms = []
    for (index, sine), coefficient in form.waves().items():
        amount = sp.Add(
            *(
                sp.Mul(exact(x), *(symbol(s) ** n for s, n in monomial))
                for monomial, x in by_monomial(coefficient).items()
            )
        )
        angle = sp.Add(
            *(multiple * symbol(f"q{i}") for i, multiple in enumerate(index) if multiple)
        )
        terms.append(amount * (sp.sin(angle) if sine else sp.cos(angle)))
    return sp.Add(*terms)
