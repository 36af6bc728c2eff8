"""Rows of a Program as statements of a language: locals, their names, and parentheses.

There are parentheses where the grammar needs them, and where the language requires more
(`Language.parenthesized`). `symgen.readback.rows` proves that the C has the rows, operand by
operand.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from symgen.emission.language import ATOM, UNARY, Language
from symgen.ir.program import Program
from symgen.support.errors import RequestError
from symgen.vocabulary.reals import REALS

CALLED = ("sin", "cos", "sqrt", "log", "atan2")
"""Operations that are calls of functions."""
_PARTS = {"sin": "sine", "cos": "cosine"}


class SincosFunction(NamedTuple):
    """A function of NAME_sincos.h that returns sine and cosine of one angle or of several.

    `kind` is the type of its result, and `name` its name. A function of several angles takes an
    array of `angle_count` angles; `size` is the macro with this number.
    """

    kind: str
    name: str
    size: str = ""
    angle_count: int = 0


def live_rows(program: Program) -> list[int]:
    """Return the rows that a result depends on, ascending."""
    needed = {row for port in program.outputs for row in port.rows}
    for i in reversed(range(len(program.rows))):
        if i in needed:
            needed.update(program.rows[i].args)
    return sorted(needed)


@dataclass(frozen=True)
class Spelling:
    """Names in the text of one function.

    - `inputs`: names of the arguments. `calls`: names of mathematical functions, by operation.
    - `reserved_names`: further names that no local may have.
    - `sincos_function`: function of NAME_sincos.h for sines and cosines; None to use `calls`.
    """

    language: Language
    inputs: Sequence[str]
    calls: Mapping[str, str]
    reserved_names: Collection[str] = ()
    sincos_function: SincosFunction | None = None


class Writer:
    """Writes rows as statements.

    `text[i]` is the text of row i as an operand, and `rank[i]` its precedence. The rows in `forced`
    always become locals. `indent` is the additional indentation of the statements.
    """

    def __init__(
        self, program: Program, spelling: Spelling, forced: Collection[int] = (), indent: int = 0
    ) -> None:
        self.program, self.rows, self.real = program, program.rows, REALS[program.real]
        self.language, self.sincos_function = spelling.language, spelling.sincos_function
        self.inputs, self.calls = spelling.inputs, spelling.calls
        self.forced, self.indent = frozenset(forced), indent
        self.live = live_rows(program)
        self.uses = [0] * len(self.rows)
        for i in self.live:
            for a in self.rows[i].args:
                self.uses[a] += 1
        self.text: dict[int, str] = {}
        self.rank: dict[int, int] = {}
        self.steps: list[tuple[str, list[dict[str, str]]]] = []
        self.pairs: dict[str | int, dict[str, str]] = {}
        self.step = -1
        self.temporaries = 0
        self.used_names = {*spelling.reserved_names, *spelling.inputs}
        self.names = self._names()

    def local(self, name: str) -> str:
        """Return a name that is derived from `name` and not used yet, and reserve it."""
        local = self.language.local(name, self.used_names)
        self.used_names.add(local)
        return local

    def statements(self, rows: Collection[int] | None = None) -> list[dict[str, Any]]:
        """Return the statements of those of `rows` (None: of all) that are not written yet.

        They are in order, and grouped under the comments of their steps.
        """
        for i in self._unwritten(rows):
            self._write(i)
        groups = [{"comment": title, "locals": lines} for title, lines in self.steps if lines]
        self.steps, self.step = [], -1
        return groups

    def write_sines(self, angles: Sequence[int], rows: Collection[int]) -> None:
        """Write `rows`, then one call that computes the sines and cosines of the rows `angles`.

        The `rows` include `angles` and all rows that they depend on.
        """
        sincos_function = self.sincos_function
        assert sincos_function is not None
        for i in self._unwritten(rows):
            self._write(i)
        step = next(
            (row.step for row in self.rows if row.op in _PARTS and row.args[0] in angles), -1
        )
        zero = self.language.literal(Fraction(0), self.real)
        angle_array, sines = self.local("angle"), self.local("turn")
        values = [self.text[row] for row in angles]
        values += [zero] * (sincos_function.angle_count - len(values))
        self._statement(
            self.real.name, f"{angle_array}[{sincos_function.size}]", self._listed(values), step
        )
        call = f"{sincos_function.name}({angle_array})"
        self._statement(sincos_function.kind, sines, call, step)
        for index, row in enumerate(angles):
            self.pairs[self.angle(row)] = {
                op: f"{sines}.{part}[{index}]" for op, part in _PARTS.items()
            }

    def _unwritten(self, rows: Collection[int] | None) -> list[int]:
        """Return those of `rows` (None: of all) that are not written yet, ascending."""
        return [i for i in self.live if i not in self.text and (rows is None or i in rows)]

    def _listed(self, values: Sequence[str]) -> str:
        """Return the initializer of an array: on one line, or with one value on each line."""
        if sum(len(value) + 2 for value in values) <= self.language.inline:
            return f"{{{', '.join(values)}}}"
        margin = " " * (self.indent + 8)
        return "{\n" + ",\n".join(f"{margin}{value}" for value in values) + f"\n{margin[4:]}}}"

    def angle(self, row: int) -> str | int:
        """Return the key of an angle; rows of the same argument have one key."""
        return self.text[row] if self.rows[row].op == "input" else row

    def _names(self) -> dict[int, str]:
        """Return the names of the rows that are named by the derivation or are results."""
        names: dict[int, str] = {}
        for i in self.live:
            if self.rows[i].name and self.rows[i].op not in ("const", "input"):
                names[i] = self.local(self.rows[i].name)
        for port in self.program.outputs:
            for k, row in enumerate(port.rows):
                if row not in names and self.rows[row].op != "const":
                    index = (
                        divmod(k, port.shape[1])
                        if len(port.shape) == 2
                        else (k,)
                        if port.shape
                        else ()
                    )
                    names[row] = self.local("_".join(map(str, ("out", port.name, *index))))
        return names

    def _write(self, i: int) -> None:
        """Write row i as text or as a local; long operands of a long text become locals."""
        row = self.rows[i]
        named = i in self.names
        limit = (
            self.language.width
            - self.indent
            - len(self.language.declared(self.real.name, self.names[i], ""))
            if named
            else self.language.inline
        )
        text = self._expression(i)
        while len(text) > limit:
            inline = [a for a in row.args if self.rank[a] != ATOM or "(" in self.text[a]]
            if not inline:
                break
            self._declare(max(inline, key=lambda a: len(self.text[a])), "", row.step)
            text = self._expression(i)
        self.text[i], self.rank[i] = text, self._rank(row.op, text)
        atom = row.op in ("const", "input")
        if named or ((self.uses[i] > 1 or i in self.forced) and not atom):
            self._declare(i, self.names.get(i, ""), row.step)

    def _declare(self, i: int, name: str, step: int) -> None:
        """Declare a local for row i; its name becomes the text of the row."""
        while not name:
            self.temporaries += 1
            if (candidate := f"t{self.temporaries}") not in self.used_names:
                name = candidate
        self._statement(self.real.name, name, self.text[i], step)
        self.text[i], self.rank[i] = name, ATOM

    def _sine_and_cosine(self, angle: int, step: int) -> dict[str, str]:
        """Return the texts of sine and cosine of row `angle`; {} if `calls` compute them.

        The first use of an angle declares a local with both, if `sincos_function` takes one angle.
        """
        key, function = self.angle(angle), self.sincos_function
        if key not in self.pairs and function is not None and not function.angle_count:
            local = self.local(f"turn_{len(self.pairs) + 1}")
            self.pairs[key] = {op: f"{local}.{part}" for op, part in _PARTS.items()}
            self._statement(function.kind, local, f"{function.name}({self.text[angle]})", step)
        return self.pairs.get(key, {})

    def _statement(self, kind: str, name: str, value: str, step: int) -> None:
        """Add the declaration of a local under the comment of its step; -1 is no step."""
        if not self.steps or (step != self.step and step >= 0):
            self.steps.append(
                (self.language.comment(self.program.steps[step]) if step >= 0 else "", [])
            )
            self.step = step
        self.steps[-1][1].append({"kind": kind, "name": name, "value": value})

    def _rank(self, op: str, text: str) -> int:
        """Return the precedence of the text of an operation."""
        if text.startswith("-") and op in ("const", "neg"):
            return UNARY
        return self.language.operators[op][1] if op in self.language.operators else ATOM

    def _expression(self, i: int) -> str:
        """Return row i as an expression of the texts of its operands."""
        op, args, value, _, _ = self.rows[i]
        if op == "const":
            return self.language.literal(value, self.real)
        if op == "input":
            return self.language.at(self.inputs[value[0]], value[1])
        if op in _PARTS and (pair := self._sine_and_cosine(args[0], self.rows[i].step)):
            return pair[op]
        if op in self.calls:
            return f"{self.calls[op]}({', '.join(self.text[a] for a in args)})"
        if op == "neg":
            return f"-{self._operand(args[0], ATOM)}"
        if op == "div":
            self._reject_vanishing_divisor(args[1])
        sign, rank = self.language.operators[op]
        # Operators of one precedence are left-associative, so that a right operand of the same
        # precedence is in parentheses. A negative right operand is, too, for readability.
        right = self._operand(args[1], ATOM if self.rank[args[1]] == UNARY else rank + 1, rank)
        return f"{self._operand(args[0], rank, rank)}{sign}{right}"

    def _reject_vanishing_divisor(self, i: int) -> None:
        """Raise RequestError if row i is a constant that is zero in the real type."""
        if self.rows[i].op == "const" and self.real.nearest(self.rows[i].value) == 0:
            raise RequestError(
                f"{self.program.function} divides by a constant that is zero as a"
                f" {self.program.real}; use other units or --real double"
            )

    def _operand(self, i: int, rank: int, outer: int = ATOM) -> str:
        """Return row i as an operand of an operation with precedence `outer`.

        The operand is in parentheses if its precedence is less than `rank`.
        """
        needs_no_parentheses = (
            self.rank[i] >= rank and (outer, self.rank[i]) not in self.language.parenthesized
        )
        return self.text[i] if needs_no_parentheses else f"({self.text[i]})"
