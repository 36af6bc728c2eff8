"""Formulas as text, LaTeX, Python and C: a number, a matrix, or a list of named equations.

Each output is a complete expression for SymPy, TeX, Python or a C compiler: one number, one matrix,
or one equation per name. LaTeX is for math mode; Python and C take sin, cos, sqrt, log and atan2
from math and <math.h>.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy as sp
from sympy.printing.c import C99CodePrinter
from sympy.printing.latex import LatexPrinter
from sympy.printing.pycode import PythonCodePrinter

from symgen.inspection.names import latex
from symgen.support.errors import RequestError

FORMATS = ("text", "latex", "python", "c")
DEEPEST = 150
"""Deepest nesting of parentheses: CPython reads 200, clang 256."""
SHORTEST_POWER = 20
"""Least exponent, by magnitude, of a power of two that is not printed as a decimal."""
_CALLED = re.compile(r"\b(atan2|cos|log|sin|sqrt)\(|\b(pi)\b")


class _Decimal(sp.Symbol):  # type: ignore[misc]
    """A positive rational that is printed as a decimal at the position of a number: SymPy would
    print x/4 for 0.25*x.
    """

    @classmethod
    def class_key(cls) -> tuple[int, int, str]:
        return 1, 0, "Number"


class _PowerOfTwo(_Decimal):
    """A power of two that is printed as one: 2**-90, in LaTeX 2^{-90}, in C 0x1p-90."""

    @property
    def exponent(self) -> str:
        return str(self.name.removeprefix("2**"))


class _Latex(LatexPrinter):  # type: ignore[misc]
    def _print_Symbol(self, expr: Any, style: str = "plain") -> str:
        return str(expr.name) if isinstance(expr, _Decimal) else latex(expr.name)

    _print__Decimal = _print_Symbol

    def _print__PowerOfTwo(self, expr: Any) -> str:
        return f"2^{{{expr.exponent}}}"

    def _print_log(self, expr: Any, exp: Any = None) -> str:
        """Print ln with braces: SymPy's ln (x)^2 is ambiguous."""
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\ln{power}{{\left({self._print(expr.args[0])} \right)}}"


class _C(C99CodePrinter):  # type: ignore[misc]
    """C printer: integers as doubles, so that none exceeds an int; π by its digits, since C99 has
    no M_PI.
    """

    def _print_Integer(self, expr: Any) -> str:
        return f"{expr.p}.0"

    _print_One = _print_Zero = _print_NegativeOne = _print_Integer

    def _print__PowerOfTwo(self, expr: Any) -> str:
        return f"0x1p{expr.exponent}"

    def _print_Pi(self, expr: Any) -> str:
        return str(expr.evalf(17))


def print_expression(expression: Any, format: str) -> str:
    """Return the text of one expression or matrix.

    Raises RequestError if it is nested too deeply to be printed, or to be read by Python or C.
    """
    if isinstance(expression, sp.MatrixBase):
        return _matrix(expression, format)
    try:
        return _number(_decimals(expression, {}), format)
    except RecursionError:
        raise RequestError(
            "this formula is nested too deeply to be printed; use --form recursive"
        ) from None


def _number(expression: Any, format: str) -> str:
    if format == "latex":
        return str(_Latex().doprint(expression))
    if format == "text":
        return str(expression)
    text = str(
        (
            _C({}) if format == "c" else PythonCodePrinter({"fully_qualified_modules": False})
        ).doprint(expression)
    )
    return _readable(text, format)


def _readable(text: str, format: str) -> str:
    deepest = depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise RequestError(
            f"this formula nests {deepest} parentheses, more than"
            f" {'C' if format == 'c' else 'Python'} is sure to read; take --form recursive"
        )
    return text


def _matrix(matrix: Any, format: str) -> str:
    return print_grid(
        [
            [print_expression(matrix[r, c], format) for c in range(matrix.cols)]
            for r in range(matrix.rows)
        ],
        format,
    )


def print_grid(rows: Sequence[Sequence[str]], format: str) -> str:
    """Print the texts of a matrix. C: one flat initializer, row-major. Text: one line per row, two
    spaces or more between columns.
    """
    if format == "latex":
        return r"\begin{bmatrix}" + r" \\ ".join(" & ".join(row) for row in rows) + r"\end{bmatrix}"
    if format == "c":
        return "{" + ", ".join(x for row in rows for x in row) + "}"
    if format == "python":
        return "[" + ", ".join("[" + ", ".join(row) + "]" for row in rows) + "]"
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(x.ljust(width) for x, width in zip(row, widths, strict=True)) for row in rows
    ]
    if len(lines) == 1:
        return f"[{lines[0]}]"
    lefts, rights = "⎡" + "⎢" * (len(lines) - 2) + "⎣", "⎤" + "⎥" * (len(lines) - 2) + "⎦"
    return "\n".join(
        left + line + right for left, line, right in zip(lefts, lines, rights, strict=True)
    )


def print_equations(
    named: Sequence[tuple[Any, Any]],
    label: str,
    value: Any,
    format: str,
    suffix: str,
    headings: Sequence[str] = (),
    legend: Sequence[str] = (),
) -> str:
    """Print named equations, one per line, followed by the result.

    `suffix` is appended to the name of the result if a named equation has the same name. `headings`
    has a heading for each named equation; it is printed, as a comment, before the first equation
    under it. The lines of `legend` are comments before all equations.
    """
    headings = [" ".join(heading.split()).replace("*/", "* /") for heading in headings]
    above = [
        heading if n == 0 or headings[n - 1] != heading else ""
        for n, heading in enumerate(headings)
    ]
    above += [""] * (len(named) + 1 - len(above))
    used_names = {str(name) for name, _ in named}
    names = [str(name) for name, _ in named]
    last = label if format == "text" else _unique_name(label, used_names, suffix)
    equations = [
        *zip(names, (print_expression(x, format) for _, x in named), strict=True),
        (last, print_expression(value, format)),
    ]
    if format == "latex":
        rows = [f"{latex(name)} &= {text}" for name, text in equations]
        explained, comments = (
            [rf"& \text{{{_latex_text(text)}}}" for text in texts] for texts in (legend, above)
        )
        return align_latex([*explained, *_under(above, comments, rows)])
    if format == "c":
        count = f"[{len(value)}]" if isinstance(value, sp.MatrixBase) else ""
        sizes = [*[""] * len(named), count]
        rows = [
            f"const double {name}{size} = {text};"
            for (name, text), size in zip(equations, sizes, strict=True)
        ]
        explained, comments = ([f"/* {text} */" for text in texts] for texts in (legend, above))
        return "\n".join([*explained, *_under(above, comments, rows)])
    rows = [f"{name} ={chr(10) if chr(10) in text else ' '}{text}" for name, text in equations]
    explained, comments = ([f"# {text}" for text in texts] for texts in (legend, above))
    lines = [*explained, *_under(above, comments, rows)]
    return "\n".join([*import_lines("\n".join(rows)), *lines] if format == "python" else lines)


def _under(above: Sequence[str], comments: Sequence[str], rows: Sequence[str]) -> list[str]:
    """Return the rows, each below its comment if it has a heading."""
    return [
        line
        for heading, comment, row in zip(above, comments, rows, strict=True)
        for line in ([comment, row] if heading else [row])
    ]


_LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "^": r"\^{}",
    "~": r"\~{}",
    **{sign: f"\\{sign}" for sign in "_%&#${}"},
}


def _latex_text(text: str) -> str:
    """Return plain text for \\text of LaTeX."""
    return "".join(_LATEX_SIGNS.get(sign, sign) for sign in text)


def visible_width(text: str) -> int:
    """Return about how many characters LaTeX sets for a text without fractions and matrices."""
    text = re.sub(r"\\(?:left|right|[bB]igl|[bB]igr|displaystyle|,|;|!) ?", "", text)
    text = re.sub(r"\\(cos|sin|ln)", r"\1", text)
    return len(re.sub(r"[{}_^&\s]", "", re.sub(r"\\[a-zA-Z]+", "x", text)))


def align_latex(lines: Sequence[str]) -> str:
    """Return lines of LaTeX, each with its &, as one formula."""
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def import_lines(text: str) -> list[str]:
    """Return the import that Python needs before such a formula; none if it calls no function."""
    names = math_names(text)
    return [f"from math import {', '.join(names)}"] if names else []


def math_names(text: str) -> list[str]:
    """Return the functions and constants that a Python or C formula takes from math or <math.h>."""
    return sorted({function or constant for function, constant in _CALLED.findall(text)})


def _unique_name(label: str, used_names: set[str], suffix: str) -> str:
    """Return a label as an identifier: M[1,2] as M_1_2; P[2] as P_2_declared if the list has a
    P_2_0_0.
    """
    name = re.sub(r"\W+", "_", label).strip("_")
    return (
        f"{name}_{suffix}"
        if any(other_name == name or other_name.startswith(f"{name}_") for other_name in used_names)
        else name
    )


def _decimals(expression: Any, cache: dict[Any, Any]) -> Any:
    """Replace rationals that have a short decimal expansion by decimals, except in exponents."""
    if expression not in cache:
        cache[expression] = _with_decimals(expression, cache)
    return cache[expression]


def _with_decimals(expression: Any, cache: dict[Any, Any]) -> Any:
    if expression.is_Rational:
        exponent = _exponent_of_two(abs(expression))
        if abs(exponent) >= SHORTEST_POWER:
            return sp.sign(expression) * _PowerOfTwo(f"2**{exponent}")
        return _rational(expression)
    if not expression.args:
        return expression
    if expression.is_Pow:
        base = expression.base
        return sp.Pow(
            _rational(base) if base.is_Rational else _decimals(base, cache), expression.exp
        )
    return expression.func(*(_decimals(x, cache) for x in expression.args))


def _rational(r: Any) -> Any:
    """Return a rational as a decimal if it has a short decimal expansion."""
    short = not r.is_Integer and _terminates(Fraction(int(r.p), int(r.q)))
    return sp.sign(r) * _Decimal(_decimal(abs(r))) if short else r


def _exponent_of_two(r: Any) -> int:
    """Return k of a rational 2**k, and 0 for other rationals."""
    numerator, denominator = int(r.p), int(r.q)
    if numerator < 1 or numerator & (numerator - 1) or denominator & (denominator - 1):
        return 0
    return numerator.bit_length() - denominator.bit_length()


def _terminates(value: Fraction) -> bool:
    remainder = value.denominator
    for prime in (2, 5):
        while remainder % prime == 0:
            remainder //= prime
    return remainder == 1


def _decimal(r: Any) -> str:
    """Return a positive terminating Rational as a decimal."""
    decimal_places, denominator = 0, int(r.q)
    while (10**decimal_places) % denominator:
        decimal_places += 1
    digits = str(int(r.p) * (10**decimal_places // denominator)).rjust(decimal_places + 1, "0")
    return digits[:-decimal_places] + "." + digits[-decimal_places:]
