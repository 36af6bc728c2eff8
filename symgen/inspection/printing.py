"""Formulas as text, LaTeX, Python and C: a number, a matrix, or a list of named equations.

Each printed form, read back by SymPy, TeX, Python or a C compiler, is the whole expression: one number, one matrix, or one
equation a name. LaTeX is for math mode; Python and C take sin, cos, sqrt, log and atan2 from math and <math.h>.
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
"""Most nested parentheses: CPython reads 200, clang 256."""
_CALLED = re.compile(r"\b(atan2|cos|log|sin|sqrt)\(|\b(pi)\b")


class _Decimal(sp.Symbol):  # type: ignore[misc]
    """A positive rational that is written as its decimal, where a number stands: SymPy would print x/4 for 0.25*x."""

    @classmethod
    def class_key(cls) -> tuple[int, int, str]:
        return 1, 0, "Number"


class _Latex(LatexPrinter):  # type: ignore[misc]
    def _print_Symbol(self, expr: Any, style: str = "plain") -> str:
        return str(expr.name) if isinstance(expr, _Decimal) else latex(expr.name)

    _print__Decimal = _print_Symbol

    def _print_log(self, expr: Any, exp: Any = None) -> str:
        """SymPy's ln (x)^2 does not say what is squared."""
        return rf"\ln{'' if exp is None else f'^{{{exp}}}'}{{\left({self._print(expr.args[0])} \right)}}"


class _C(C99CodePrinter):  # type: ignore[misc]
    """Whole numbers as doubles, so that none is too large for an int; π as its digits, since C99 has no M_PI."""

    def _print_Integer(self, expr: Any) -> str:
        return f"{expr.p}.0"

    _print_One = _print_Zero = _print_NegativeOne = _print_Integer

    def _print_Pi(self, expr: Any) -> str:
        return str(expr.evalf(17))


def printed(expression: Any, format: str) -> str:
    """One expression or matrix. Raises RequestError where it nests too deep to be printed, or for Python or C to read."""
    if isinstance(expression, sp.MatrixBase):
        return _matrix(expression, format)
    try:
        return _number(_decimals(expression, {}), format)
    except RecursionError:
        raise RequestError(
            "this formula nests too deep to be printed; take --form recursive"
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
            f"this formula nests {deepest} parentheses, more than {'C' if format == 'c' else 'Python'} is sure to "
            "read; take --form recursive"
        )
    return text


def _matrix(matrix: Any, format: str) -> str:
    """C: one flat initializer, row-major. Text: a line a row, two spaces or more between columns."""
    rows = [[printed(matrix[r, c], format) for c in range(matrix.cols)] for r in range(matrix.rows)]
    if format == "latex":
        return r"\begin{bmatrix}" + r" \\ ".join(" & ".join(row) for row in rows) + r"\end{bmatrix}"
    if format == "c":
        return "{" + ", ".join(x for row in rows for x in row) + "}"
    if format == "python":
        return "[" + ", ".join("[" + ", ".join(row) + "]" for row in rows) + "]"
    widths = [max(len(row[c]) for row in rows) for c in range(matrix.cols)]
    lines = [
        "  ".join(x.ljust(width) for x, width in zip(row, widths, strict=True)) for row in rows
    ]
    if len(lines) == 1:
        return f"[{lines[0]}]"
    lefts, rights = "⎡" + "⎢" * (len(lines) - 2) + "⎣", "⎤" + "⎥" * (len(lines) - 2) + "⎦"
    return "\n".join(
        left + line + right for left, line, right in zip(lefts, lines, rights, strict=True)
    )


def listed(
    named: Sequence[tuple[Any, Any]], label: str, value: Any, format: str, apart: str
) -> str:
    """Named equations, one a line, then the answer. `apart` is added to its name where a named equation has the same."""
    taken = {str(name) for name, _ in named}
    names = [str(name) for name, _ in named]
    last = label if format == "text" else _free(label, taken, apart)
    equations = [
        *zip(names, (printed(x, format) for _, x in named), strict=True),
        (last, printed(value, format)),
    ]
    if format == "latex":
        return aligned([f"{latex(name)} &= {text}" for name, text in equations])
    if format == "c":
        count = f"[{len(value)}]" if isinstance(value, sp.MatrixBase) else ""
        sizes = [*[""] * len(named), count]
        return "\n".join(
            f"const double {name}{size} = {text};"
            for (name, text), size in zip(equations, sizes, strict=True)
        )
    lines = [f"{name} ={chr(10) if chr(10) in text else ' '}{text}" for name, text in equations]
    return "\n".join([*imports("\n".join(lines)), *lines] if format == "python" else lines)


def aligned(lines: Sequence[str]) -> str:
    """Lines of LaTeX, each with its &, as one formula."""
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def imports(text: str) -> list[str]:
    """The import line that Python needs before such a formula; none if it calls nothing."""
    names = called(text)
    return [f"from math import {', '.join(names)}"] if names else []


def called(text: str) -> list[str]:
    """The functions that a formula in Python or C takes from math or <math.h>."""
    return sorted({function or constant for function, constant in _CALLED.findall(text)})


def _free(label: str, taken: set[str], apart: str) -> str:
    """M[1,2] as M_1_2; P[2] as P_2_declared where the list has a P_2_0_0 of its own."""
    name = re.sub(r"\W+", "_", label).strip("_")
    return (
        f"{name}_{apart}"
        if any(one == name or one.startswith(f"{name}_") for one in taken)
        else name
    )


def _decimals(expression: Any, known: dict[Any, Any]) -> Any:
    """Rationals with a short decimal expansion as decimals, but for exponents."""
    if expression not in known:
        known[expression] = _with_decimals(expression, known)
    return known[expression]


def _with_decimals(expression: Any, known: dict[Any, Any]) -> Any:
    if expression.is_Rational:
        short = not expression.is_Integer and _terminates(
            Fraction(int(expression.p), int(expression.q))
        )
        return sp.sign(expression) * _Decimal(_decimal(abs(expression))) if short else expression
    if not expression.args:
        return expression
    if expression.is_Pow:
        return sp.Pow(_decimals(expression.base, known), expression.exp)
    return expression.func(*(_decimals(x, known) for x in expression.args))


def _terminates(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _decimal(r: Any) -> str:
    """A positive terminating Rational as its decimal."""
    places, rest = 0, int(r.q)
    while (10**places) % rest:
        places += 1
    digits = str(int(r.p) * (10**places // rest)).rjust(places + 1, "0")
    return digits[:-places] + "." + digits[-places:]
