"""Formulas as text, LaTeX, Python and C: a number, a matrix, or a list of named equations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy as sp

FORMATS = ("text", "latex", "python", "c")


def printed(expression: Any, format: str) -> str:
    """One expression or matrix."""
    if isinstance(expression, sp.MatrixBase):
        return _matrix(expression, format)
    if format == "latex":
        return str(sp.latex(expression))
    if format == "python":
        return str(sp.pycode(expression, fully_qualified_modules=False))
    return str(sp.ccode(expression)) if format == "c" else str(_decimals(expression))


def _matrix(matrix: Any, format: str) -> str:
    if format == "latex":
        return str(sp.latex(matrix))
    if format == "text":
        return str(sp.pretty(matrix.applyfunc(_decimals), use_unicode=True, wrap_line=False))
    if format == "c":
        return "{" + ", ".join(printed(x, format) for x in matrix) + "}"
    return "[" + ", ".join("[" + ", ".join(printed(x, format) for x in matrix.row(r)) + "]" for r in range(matrix.rows)) + "]"


def listed(named: Sequence[tuple[Any, Any]], label: str, value: Any, format: str) -> str:
    """Named equations, one a line, and what was asked for as the last."""
    lines = [_equation(str(name) if format != "latex" else sp.latex(name), one, format) for name, one in named]
    last = label if format == "text" else sp.latex(sp.Symbol(_identifier(label))) if format == "latex" else _free(label, named)
    if format == "text" and isinstance(value, sp.MatrixBase):
        return "\n".join([*lines, f"{label} =", printed(value, format)])
    return "\n".join([*lines, _equation(last, value, format)])


def _equation(name: str, value: Any, format: str) -> str:
    if format == "latex":
        return f"{name} = {printed(value, format)} \\\\"
    if format == "c":
        size = f"[{len(value)}]" if isinstance(value, sp.MatrixBase) else ""
        return f"const double {name}{size} = {printed(value, format)};"
    return f"{name} = {printed(value, format)}"


def _identifier(label: str) -> str:
    """M[1,2] as M_1_2."""
    return re.sub(r"\W+", "_", label).strip("_")


def _free(label: str, named: Sequence[tuple[Any, Any]]) -> str:
    """The same, unlike every name in the list: those count links from 1, as the C does."""
    taken = {str(name) for name, _ in named}
    name = _identifier(label)
    while name in taken:
        name += "_"
    return name


def _decimals(expression: Any) -> Any:
    """Rationals with a short decimal expansion, printed as decimals."""
    terminating = [r for r in expression.atoms(sp.Rational) if not r.is_Integer and _terminates(Fraction(int(r.p), int(r.q)))]
    return expression.xreplace({r: sp.sign(r) * sp.Symbol(_decimal(abs(r))) for r in terminating})


def _terminates(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _decimal(r: Any) -> str:
    """A positive terminating Rational as its decimal."""
    places, rest = 0, int(r.q)
    while (10 ** places) % rest:
        places += 1
    digits = str(int(r.p) * (10 ** places // rest)).rjust(places + 1, "0")
    return digits[:-places] + "." + digits[-places:]
