"""Rows as statements of a language: which of them become locals and under which names, and where
parentheses stand.

Parentheses are written where the grammar would group otherwise, and where the language asks for
more (`Language.apart`). `symgen.readback.rows` proves of the C that the text means the rows,
operand by operand.
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
"""Operations that are calls."""
_PARTS = {"sin": "sine", "cos": "cosine"}


class Turn(NamedTuple):
    """A function for the sine and the cosine of one angle or of several: the type that holds both,
    and the name.

    For several angles it takes an array of `lanes` angles, whose size is spelt `size`.
    """

    kind: str
    function: str
    size: str = ""
    lanes: int = 0


def live_rows(program: Program) -> list[int]:
    """The rows that a result depends on, ascending."""
    needed = {row for port in program.outputs for row in port.rows}
    for i in reversed(range(len(program.rows))):
        if i in needed:
            needed.update(program.rows[i].args)
    return sorted(needed)


@dataclass(frozen=True)
class Spelling:
    """How one function spells its arguments and calls: names of `inputs`, and `calls` by operation.

    No local is called as one of `taken`. `turn` gives sines and cosines where the text has its own.
    """

    language: Language
    inputs: Sequence[str]
    calls: Mapping[str, str]
    taken: Collection[str] = ()
    turn: Turn | None = None


class Writer:
    """Turns rows into statements: `text[i]` is how row i is written where it is used, `rank[i]` how
    tightly it binds.

    The rows in `forced` become locals although nothing else asks for it; lines are indented by
    `indent` more columns.
    """

    def __init__(
        self, program: Program, spelling: Spelling, forced: Collection[int] = (), indent: int = 0
    ) -> None:
        self.program, self.rows, self.real = program, program.rows, REALS[program.real]
        self.language, self.turn = spelling.language, spelling.turn
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
        self.taken = {*spelling.taken, *spelling.inputs}
        self.names = self._names()

    def local(self, name: str) -> str:
        """A name near `name` that nothing else gets."""
        local = self.language.local(name, self.taken)
        self.taken.add(local)
        return local

    def statements(self, rows: Collection[int] | None = None) -> list[dict[str, Any]]:
        """Return the statements of `rows` (None: of all) that are not written yet, in order,
        grouped under the comment of their step.
        """
        for i in self._unwritten(rows):
            self._write(i)
        groups = [{"comment": title, "locals": lines} for title, lines in self.steps if lines]
        self.steps, self.step = [], -1
        return groups

    def write_sines(self, angles: Sequence[int], rows: Collection[int]) -> None:
        """Write `rows`, which hold the rows `angles` and all that these need, then the sines and
        cosines of all of them.
        """
        assert self.turn is not None
        for i in self._unwritten(rows):
            self._write(i)
        step = next(
            (row.step for row in self.rows if row.op in _PARTS and row.args[0] in angles), -1
        )
        zero = self.language.literal(Fraction(0), self.real)
        angle_array, turn = self.local("angle"), self.local("turn")
        values = [self.text[row] for row in angles]
        values += [zero] * (self.turn.lanes - len(values))
        self._statement(
            self.real.name, f"{angle_array}[{self.turn.size}]", self._listed(values), step
        )
        self._statement(self.turn.kind, turn, f"{self.turn.function}({angle_array})", step)
        for lane, row in enumerate(angles):
            self.pairs[self.angle(row)] = {
                op: f"{turn}.{part}[{lane}]" for op, part in _PARTS.items()
            }

    def _unwritten(self, rows: Collection[int] | None) -> list[int]:
        """Return those of `rows` (None: of all) that are not written yet, ascending."""
        return [i for i in self.live if i not in self.text and (rows is None or i in rows)]

    def _listed(self, values: Sequence[str]) -> str:
        """The elements of an array, on a line of their own each where they are long together."""
        if sum(len(value) + 2 for value in values) <= self.language.inline:
            return f"{{{', '.join(values)}}}"
        margin = " " * (self.indent + 8)
        return "{\n" + ",\n".join(f"{margin}{value}" for value in values) + f"\n{margin[4:]}}}"

    def angle(self, row: int) -> str | int:
        """Return a key of an angle: all rows of one argument are one angle."""
        return self.text[row] if self.rows[row].op == "input" else row

    def _names(self) -> dict[int, str]:
        """Names of the rows that become locals for a reason known beforehand: named by the
        derivation, or a result.
        """
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
        """Write row i: its text where it is used, or a local of its own; long operands of a long
        text become locals.
        """
        row = self.rows[i]
        named = i in self.names
        room = (
            self.language.width
            - self.indent
            - len(self.language.declared(self.real.name, self.names[i], ""))
            if named
            else self.language.inline
        )
        text = self._expression(i)
        while len(text) > room:
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
        """Give row i a local of its own, from here on written by its name."""
        while not name:
            self.temporaries += 1
            if (free := f"t{self.temporaries}") not in self.taken:
                name = free
        self._statement(self.real.name, name, self.text[i], step)
        self.text[i], self.rank[i] = name, ATOM

    def _turn(self, angle: int, step: int) -> dict[str, str]:
        """Sine and cosine of row `angle`. Where they are given one angle at a time, their local is
        declared when first asked for; of an angle that is not among those given at once there is
        none.
        """
        key, turn = self.angle(angle), self.turn
        if key not in self.pairs and turn is not None and not turn.lanes:
            local = self.local(f"turn_{len(self.pairs) + 1}")
            self.pairs[key] = {op: f"{local}.{part}" for op, part in _PARTS.items()}
            self._statement(turn.kind, local, f"{turn.function}({self.text[angle]})", step)
        return self.pairs.get(key, {})

    def _statement(self, kind: str, name: str, value: str, step: int) -> None:
        if not self.steps or (step != self.step and step >= 0):
            self.steps.append(
                (self.language.comment(self.program.steps[step]) if step >= 0 else "", [])
            )
            self.step = step
        self.steps[-1][1].append({"kind": kind, "name": name, "value": value})

    def _rank(self, op: str, text: str) -> int:
        """Return how tightly the text of an operation binds."""
        if text.startswith("-") and op in ("const", "neg"):
            return UNARY
        return self.language.operators[op][1] if op in self.language.operators else ATOM

    def _expression(self, i: int) -> str:
        """Return row i as text of its operands."""
        op, args, value, _, _ = self.rows[i]
        if op == "const":
            return self.language.literal(value, self.real)
        if op == "input":
            return self.language.at(self.inputs[value[0]], value[1])
        if op in _PARTS and (pair := self._turn(args[0], self.rows[i].step)):
            return pair[op]
        if op in self.calls:
            return f"{self.calls[op]}({', '.join(self.text[a] for a in args)})"
        if op == "neg":
            return f"-{self._operand(args[0], ATOM)}"
        if op == "div":
            self._reject_vanishing_divisor(args[1])
        sign, rank = self.language.operators[op]
        # What binds alike is grouped from the left, and a sign directly behind an operator reads
        # badly.
        right = self._operand(args[1], ATOM if self.rank[args[1]] == UNARY else rank + 1, rank)
        return f"{self._operand(args[0], rank, rank)}{sign}{right}"

    def _reject_vanishing_divisor(self, i: int) -> None:
        """Raise RequestError where row i is a constant that is zero in the real type."""
        if self.rows[i].op == "const" and self.real.nearest(self.rows[i].value) == 0:
            raise RequestError(
                f"{self.program.function} divides by a constant that is zero as a"
                f" {self.program.real}; use other units or --real double"
            )

    def _operand(self, i: int, rank: int, around: int = ATOM) -> str:
        """Row i as an operand that must bind as tightly as `rank`, in an operation of rank
        `around`.
        """
        needs_no_parentheses = (
            self.rank[i] >= rank and (around, self.rank[i]) not in self.language.apart
        )
        return self.text[i] if needs_no_parentheses else f"({self.text[i]})"
