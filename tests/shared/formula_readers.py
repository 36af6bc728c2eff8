"""Formulas read back by what a reader would give them to: SymPy, Python, a C compiler, and a LaTeX
grammar of this file's own.

Each takes the text and the values of what it may hold, and gives the numbers of the last thing that
it says, row-major. Unread: it cannot be read. Nothing of the printers is used.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import mpmath
import sympy as sp
from sympy.parsing.sympy_parser import parse_expr

Values = Mapping[str, Any]
FUNCTIONS = ("sin", "cos", "sqrt", "log", "pi")
DIGITS = 30


class Unread(ValueError):
    """The text is none that this reader takes; says why."""


# -- SymPy, line by line ---------------------------------------------------------------------------


def by_sympy(text: str, values_of: Values) -> list[Any]:
    """One expression; the rows of a matrix between brackets, two spaces between columns; or name =
    either, one a line.
    """
    values = dict(values_of)
    lines = [line for line in text.split("\n") if not line.startswith("# ")]  # headings
    if lines[0][0] in "⎡[":
        return _rows(lines, values)
    if " = " not in text and not re.search(r" =$", text, re.MULTILINE):
        return [_number(text, values)]
    while lines:
        name, _, expression = lines.pop(0).partition(" =")
        if not expression or expression[1] == "[":
            return _rows(lines or [expression[1:]], values)
        value = _number(expression, values)
        if name in values:
            raise Unread(f"{name} is given twice")
        values[name] = value
    return [value]


def _rows(lines: Sequence[str], values: Values) -> list[Any]:
    if any(line[0] + line[-1] not in ("⎡⎤", "⎢⎥", "⎣⎦", "[]") for line in lines):
        raise Unread("no matrix")
    rows = [re.split(" {2,}", line[1:-1].strip()) for line in lines]
    if len({len(row) for row in rows}) != 1:
        raise Unread("rows of several lengths")
    return [_number(x, values) for row in rows for x in row]


def _number(text: str, values: Values) -> Any:
    text = text.strip()
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        return mpmath.mpf(text)
    names = set(re.findall(r"[^\W\d]\w*", re.sub(r"\d[eE][-+]?\d", "0", text))) - set(FUNCTIONS)
    if not names <= set(values):
        raise Unread(f"unknown: {names - set(values)}")
    try:
        expression = parse_expr(text, local_dict={name: sp.Symbol(name) for name in names})
    except (SyntaxError, TypeError, AttributeError) as error:
        raise Unread(str(error)) from error
    with mpmath.workdps(DIGITS):
        return mpmath.mpf(
            str(expression.evalf(DIGITS, subs={sp.Symbol(name): values[name] for name in names}))
        )


# -- unchanged Python ------------------------------------------------------------------------------


def by_python(text: str, values_of: Values) -> list[float]:
    """Run Python statements with only the inputs defined, or evaluate an expression with the
    functions of `math`.
    """
    scope: dict[str, Any] = {name: float(value) for name, value in values_of.items()}
    try:
        statements = ast.parse(text).body
        if isinstance(statements[-1], ast.Assign):
            exec(compile(text, "", "exec"), scope)
            target = statements[-1].targets[0]
            assert isinstance(target, ast.Name)
            value = scope[target.id]
        else:
            exec(f"from math import {', '.join(FUNCTIONS)}", scope)
            value = eval(compile(text, "", "eval"), scope)
    except (SyntaxError, NameError, RecursionError) as error:
        raise Unread(str(error)) from error
    return [float(x) for row in value for x in row] if isinstance(value, list) else [float(value)]


# -- C by a compiler -------------------------------------------------------------------------------


def by_compiler(
    texts: Sequence[tuple[str, Values]], folder: Path, compiler: Sequence[str]
) -> list[list[float]]:
    """All at once: an expression, an initializer, or declarations whose last one is meant."""
    body = ""
    for text, values_of in texts:
        name = "found"
        if text.startswith(("const double", "/*")):
            name = re.findall(r"^const double (\w+)", text, re.MULTILINE)[-1]
        else:
            text = f"const double found{'[]' if text.startswith('{') else ''} = {text};"
        inputs = "".join(
            f"const double {symbol} = {float(value)!r}; " for symbol, value in values_of.items()
        )
        body += (
            f"{{ {inputs}{text}\n const double *at = (const double *)&{name};\n"
            f" for (unsigned i = 0; i < sizeof {name} / sizeof *at; i++) "
            f'printf("%.17g ", at[i]);\n puts(""); }}\n'
        )
    source, program = folder / "formulas.c", folder / "formulas"
    source.write_text(
        f"#include <math.h>\n#include <stdio.h>\nint main(void) {{\n{body}return 0; }}\n",
        encoding="utf-8",
    )
    subprocess.run(
        [*compiler, "-std=c99", "-pedantic-errors", str(source), "-o", str(program), "-lm"],
        check=True,
    )
    out = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    return [[float(x) for x in line.split()] for line in out.splitlines()]


# -- LaTeX -----------------------------------------------------------------------------------------

TOKENS = re.compile(r"\\\\|\\[A-Za-z]+|\d+(?:\.\d+)?|[A-Za-z]|[-+=&{}()^_,]|\s+")
HEADING = re.compile(r"^& \\text\{(?:[^{}]|\\[{}]|\{\})*\} \\\\\n", re.MULTILINE)
"""A line of text above equations."""
CALLS: dict[str, Callable[[Any], Any]] = {
    "\\sin": mpmath.sin,
    "\\cos": mpmath.cos,
    "\\ln": mpmath.log,
}
ACCENTS = ("\\dot", "\\ddot", "\\hat", "\\tilde")
GREEK = re.compile(
    r"\\(alpha|beta|[gG]amma|[dD]elta|epsilon|zeta|eta|[tT]heta|[lL]ambda|"
    "mu|nu|[sS]igma|tau|[pP]hi|[pP]si|"
    "[oO]mega)"
)


def by_latex(text: str, values_of: Values) -> list[Any]:
    """Sums, products, fractions, powers, roots, calls, letters with indices, a bmatrix, and
    equations in aligned.
    """
    reader = _Latex(HEADING.sub("", text), dict(values_of))
    with mpmath.workdps(DIGITS):
        return reader.whole_formula()


class _Latex:
    def __init__(self, text: str, values: dict[str, Any]) -> None:
        self.tokens, self.values, at = [], values, 0
        while at < len(text):
            token = TOKENS.match(text, at)
            if token is None:
                raise Unread(f"what is {text[at : at + 10]!r}?")
            if not token[0].isspace():
                self.tokens.append(token[0])
            at = token.end()
        self.tokens.append("end")

    @property
    def next(self) -> str:
        return self.tokens[0]

    def take(self, *tokens: str) -> str:
        for alternative in tokens:
            if self.next != alternative:
                raise Unread(f"{alternative} was to come, not {self.tokens[:5]}")
            self.tokens.pop(0)
        return tokens[-1]

    def _environment(self, name: str, word: str = "\\begin") -> bool:
        opening = [word, "{", *name, "}"]
        if self.tokens[: len(opening)] != opening:
            return False
        self.take(*opening)
        return True

    def whole_formula(self) -> list[Any]:
        entries = self.aligned() if self._environment("aligned") else self.matrix()
        self.take("end")
        return entries

    def aligned(self) -> list[Any]:
        """Lines with one & each: equations, or a sum that goes on."""
        if self.next == "&":
            total = mpmath.mpf(0)
            while True:
                self.take("&")
                total += self.sum()
                if self.next != "\\\\":
                    break
                self.take("\\\\")
            rows = [total]
        else:
            while True:
                name = self.symbol()
                self.take("&", "=")
                rows = self.matrix()
                if name in self.values:
                    raise Unread(f"{name} is given twice")
                self.values[name] = rows[0]
                if self.next != "\\\\":
                    break
                self.take("\\\\")
        if not self._environment("aligned", "\\end"):
            raise Unread(f"no end: {self.tokens[:5]}")
        return rows

    def matrix(self) -> list[Any]:
        if not self._environment("bmatrix"):
            return [self.sum()]
        rows = [[self.sum()]]
        while not self._environment("bmatrix", "\\end"):
            if self.next == "&":
                self.take("&")
                rows[-1].append(self.sum())
            else:
                self.take("\\\\")
                rows.append([self.sum()])
        if len({len(row) for row in rows}) != 1:
            raise Unread("rows of several lengths")
        return [x for row in rows for x in row]

    def sum(self) -> Any:
        sign = self.take(self.next) if self.next in ("+", "-") else "+"
        total = self.product() * (1 if sign == "+" else -1)
        while self.next in ("+", "-"):
            sign = self.take(self.next)
            total += self.product() * (1 if sign == "+" else -1)
        return total

    def product(self) -> Any:
        total, last = self.factor()
        while self.next not in ("+", "-", "\\right", "}", "&", "\\\\", "\\end", "end", "="):
            dot = self.next == "\\cdot"
            if dot:
                self.take("\\cdot")
            digits = self.next[0].isdigit()
            if digits and last and not dot:
                raise Unread("two numbers side by side")
            factor, last = self.factor()
            total *= factor
        return total

    def factor(self) -> tuple[Any, bool]:
        """(value, whether it ends with a number)."""
        token = self.next
        if token in CALLS:
            self.take(token)
            power = self.power()
            braced = self.next == "{"
            if braced:
                self.take("{")
            value = CALLS[token](self.bracket()) ** power
            if braced:
                self.take("}")
            return value, False
        if token[0].isdigit():
            value = mpmath.mpf(self.take(token))
        elif token == "\\left":
            value = self.bracket()
        elif token == "\\frac":
            self.take("\\frac")
            value = self.group()
            value /= self.group()
        elif token == "\\sqrt":
            self.take("\\sqrt")
            value = mpmath.sqrt(self.group())
        elif token == "\\pi":
            self.take("\\pi")
            value = mpmath.pi * 1
        else:
            name = self.symbol()
            if name not in self.values:
                raise Unread(f"unknown: {name}")
            value = self.values[name]
        return value ** self.power(), token[0].isdigit()

    def power(self) -> Any:
        if self.next != "^":
            return 1
        self.take("^")
        return self.group()

    def group(self) -> Any:
        self.take("{")
        value = self.sum()
        self.take("}")
        return value

    def bracket(self) -> Any:
        self.take("\\left", "(")
        value = self.sum()
        self.take("\\right", ")")
        return value

    def symbol(self) -> str:
        r"""q_{0} is the input q0 where there is one; P_{11,0,0} is P_11_0_0, \dot{\omega}_{3,1}
        omegadot_3_1.
        """
        name = self.letter()
        if self.next != "_":
            return name
        self.take("_", "{")
        indices = [self.index()]
        while self.next == ",":
            self.take(",")
            indices.append(self.index())
        self.take("}")
        name_with_index = name + indices[0]
        return (
            name_with_index
            if len(indices) == 1 and name_with_index in self.values
            else "_".join([name, *indices])
        )

    def letter(self) -> str:
        token = self.next
        if token in ACCENTS:
            self.take(token, "{")
            name = self.letter() + token[1:]
            self.take("}")
            return name
        if token == "\\mathrm":
            return self.word()
        if GREEK.fullmatch(token) or (len(token) == 1 and token.isalpha()):
            return self.take(token).removeprefix("\\")
        raise Unread(f"no letter: {self.tokens[:5]}")

    def word(self) -> str:
        self.take("\\mathrm", "{")
        name = ""
        while self.next != "}":
            name += self.take(self.next)
        self.take("}")
        return name

    def index(self) -> str:
        if self.next == "\\mathrm":
            return self.word()
        name = ""
        while self.next.isalnum():
            name += self.take(self.next)
        return name
