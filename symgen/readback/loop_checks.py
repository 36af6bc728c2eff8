"""A checked function that calls the steps of a loop over links, run on terms.

What it compares, and with what, is asked of the steps themselves (`symgen.readback.required_checks`). It is run once where all holds, and
again where one comparison does not: then it must say so and have stored no result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from pycparser import c_ast

from symgen.ir.loops import CHECKED, LoopProgram
from symgen.ir.program import POSITIONS, Program
from symgen.readback.literals import Number, literal, nearest
from symgen.readback.parsing import name_of
from symgen.readback.required_checks import FARTHEST, STATUSES, bounds, computed, length
from symgen.readback.required_checks import Owed as Least
from symgen.readback.term_walk import Expected, Memory, Place, Walk
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import Real

Condition = tuple[bool, int, str, Number]
"""Of a magnitude?, the term, the comparison, the bound."""
Owed = tuple[str, list[Condition]]
"""The status where one of them does not hold."""


def compared(step: Program) -> list[int]:
    """The rows of a step that are divisors, or that a logarithm or a root is taken of."""
    return sorted(bounds(step, computed(step), {}))


def of_arguments(recursion: LoopProgram, wanted: Expected, real: Real) -> list[Owed]:
    """What must hold of them, in order."""
    terms, zero = wanted.terms, nearest(Fraction(0), real)
    total = nothing = terms.of(("const", zero))
    units: list[Condition] = []
    for port in recursion.inputs:
        elements = [terms.of(("input", port.name, k)) for k in range(port.size)]
        for x in elements:
            total = terms.of(("add", total, terms.of(("mul", nothing, x))))
        for first in recursion.quaternions if port.name in POSITIONS else ():
            squares = [terms.of(("mul", x, x)) for x in elements[first : first + 4]]
            whole = squares[0]
            for square in squares[1:]:
                whole = terms.of(("add", whole, square))
            one = terms.of(("const", nearest(Fraction(1), real)))
            units.append(
                (True, terms.of(("sub", whole, one)), "<=", nearest(length(recursion.real), real))
            )
    found: list[Owed] = [("NOT_FINITE", [(False, total, ">=", zero)])]
    return [*found, ("NOT_UNIT", units)] if units else found


def of_results(recursion: LoopProgram, wanted: Expected, real: Real) -> Owed:
    """The comparison of all results, at the end: zero times each of them adds up to zero."""
    terms, zero = wanted.terms, nearest(Fraction(0), real)
    total = nothing = terms.of(("const", zero))
    for port in recursion.outputs:
        for x in wanted.results[port.name]:
            total = terms.of(("add", total, terms.of(("mul", nothing, x))))
    return "RESULT_NOT_FINITE", [(False, total, ">=", zero)]


def of_steps(recursion: LoopProgram, real: Real) -> dict[int, list[tuple[bool, str, Number]]]:
    """Comparison of each number of CHECKED, by step that gives such numbers."""
    found = {}
    for step in recursion.programs:
        for port in step.outputs:
            if port.name == CHECKED:
                using = (
                    recursion.epilogue
                    if step is recursion.epilogue_check and recursion.epilogue
                    else step
                )
                known = bounds(using, computed(using), {})
                found[id(step)] = [_compared(known.get(row), real) for row in port.rows]
    return found


def _compared(owed: Least | None, real: Real) -> tuple[bool, str, Number]:
    """Comparison of a divisor, or of an angle, for which no bound is owed: its sine must be a proved one."""
    if owed is None:
        return True, "<=", nearest(FARTHEST, real)
    assert isinstance(owed.least, Fraction)  # no floor is certified
    return owed.magnitude, ">=", nearest(owed.least, real)


@dataclass
class Heeded(Walk):
    """One run of the function, in which comparison number `failing` does not hold, if there is one."""

    size: str = ""
    """The parameter that says how many numbers the array `held` has."""
    held: str = ""
    results: tuple[str, ...] = ()
    owed: Sequence[Owed] = ()
    steps: Mapping[int, list[tuple[bool, str, Number]]] = field(default_factory=dict)
    of_results: Owed = ("", [])
    failing: int = 0
    met: list[str] = field(default_factory=list)
    """The statuses of the comparisons that were come to."""
    returned: int | None = None
    sized: bool = False
    stored: bool = False
    status: str = ""
    needed: int = -1
    """Numbers of that array by what stands before the comparison."""

    def run(self, body: Any) -> None:
        self.due, self.ending = list(self.owed), [self.of_results]
        self.pending: Owed | None = None
        self.known = {f"{self.name}_{status}": [value] for value, status in enumerate(STATUSES)}
        super().run(body)
        if (
            self.returned is None
            or not self.sized
            or (not self.failing and (self.due or self.pending or self.ending))
        ):
            raise ProgramError(
                "the function does not make all comparisons that it owes, and return how they went"
            )

    def _statement(self, node: Any) -> None:
        if self.returned is not None:
            raise self._strange(node)
        if isinstance(node, c_ast.Return):
            self._paid(node)
            self.returned = self._whole(node.expr)
        elif (
            isinstance(node, c_ast.If)
            and isinstance(node.cond, c_ast.UnaryOp)
            and node.cond.op == "!"
        ):
            self._compare(node)
        elif (
            isinstance(node, c_ast.If)
            and isinstance(node.cond, c_ast.BinaryOp)
            and name_of(node.cond.left) == self.size
        ):
            self._room(node)
        elif (
            isinstance(node, c_ast.Assignment)
            and node.op == "="
            and isinstance(self.names.get(name_of(node.lvalue)), Memory)
        ):
            self._put(self._place(node.lvalue), self._term(node.rvalue), node)
        else:
            super()._statement(node)

    def _declare(self, node: Any) -> None:
        """The status, and what is zero where all arguments are finite, besides."""
        names = list(getattr(getattr(node.type, "type", None), "names", []))
        plain = (
            isinstance(node.type, c_ast.TypeDecl)
            and not node.type.quals
            and not node.storage
            and node.name not in self.names
        )
        if plain and node.init is not None and names == ["int"] and not self.status:
            if self._status(node.init) != STATUSES[0]:
                raise self._strange(node)
            self.status, self.names[node.name] = node.name, [0]
        elif plain and node.init is not None and names == [self.real.name]:
            self.names[node.name] = Memory(node.name, [self._term(node.init)], True)
        elif isinstance(
            node.init, c_ast.InitList
        ):  # so that no compiler takes it for empty where nothing is read
            zeros, node.init = node.init, None
            super()._declare(node)
            node.init = zeros
        elif isinstance(node.init, c_ast.TernaryOp):  # no place behind the array's end
            other, cond = node.init.iftrue, node.init.cond
            if (
                name_of(other) != self.held
                or not isinstance(cond, c_ast.BinaryOp)
                or cond.op != "<"
                or name_of(cond.left) != self.size
                or self.sized
            ):
                raise self._strange(node)
            self.needed = self._whole(cond.right)
            node.init, whole = node.init.iffalse, node.init
            super()._declare(node)
            node.init = whole
        elif isinstance(node.type, c_ast.PtrDecl) and not self.sized:
            raise self._strange(node)
        else:
            super()._declare(node)

    def _call(self, node: Any) -> None:
        self._paid(node)
        super()._call(node)
        part = self.parts[name_of(node.name)]
        if id(part.step) in self.steps:
            place = next(at for at, port in enumerate(part.step.outputs) if port.name == CHECKED)
            compared = self.steps[id(part.step)]
            values = [
                self.wanted.terms.of((self.calls[-1], place, k)) for k in range(len(compared))
            ]
            conditions = [
                (magnitude, value, sign, bound)
                for value, (magnitude, sign, bound) in zip(values, compared, strict=True)
            ]
            if any(sign == "<=" for _, sign, _ in compared):
                self.pending = "OUT_OF_RANGE", conditions
                return
            zero = nearest(Fraction(0), self.real)
            nothing = self.wanted.terms.of(("const", zero))
            finite = [
                (False, self.wanted.terms.of(("mul", nothing, value)), ">=", zero)
                for value in values
            ]
            self.pending = "DIVISOR", [*conditions, *finite]

    def _put(self, place: Place, term: int, node: Any) -> None:
        self.stored = self.stored or place.memory.name in self.results
        super()._put(place, term, node)

    def _paid(self, node: Any) -> None:
        if not self.failing and (self.pending or self.due or not self.sized):
            raise ProgramError(f"line {node.coord.line}: not everything has been compared by here")

    def _compare(self, node: Any) -> None:
        """if (!(…)) status = …; the comparison that the last step owes, or the next one of arguments, or that of all results."""
        after = self.due or (self.ending if len(self.calls) == len(self.wanted.calls) else [])
        owed = self.pending or (after.pop(0) if after else ("", []))
        self.pending = None
        parts, joined = [], node.cond.expr
        while isinstance(joined, c_ast.BinaryOp) and joined.op == "&&":
            parts.append(joined.right)
            joined = joined.left
        read = [self._condition(part) for part in (joined, *parts)]
        if self.stored or sorted(read) != sorted(owed[1]):
            raise ProgramError(
                f"line {node.coord.line}: this comparison is not the one that is owed here, or comes too late"
            )
        self._branch(node, owed[0])

    def _room(self, node: Any) -> None:
        """if (size < …) status = …; no more numbers of the array are used than that."""
        if node.cond.op != "<" or self.sized or self.calls:
            raise self._strange(node)
        size = self._whole(node.cond.right)
        if self.needed not in (-1, size):
            raise self._strange(node)
        self.arrays[self.held].cells[:] = [None] * (0 if self.failing == 1 else size)
        self.sized = True
        self._branch(node, "NO_WORK")

    def _branch(self, node: Any, status: str) -> None:
        """The one statement where it does not hold, and the rest where it does."""
        only = (node.iftrue.block_items or []) if isinstance(node.iftrue, c_ast.Compound) else []
        if (
            len(only) != 1
            or not isinstance(only[0], c_ast.Assignment)
            or only[0].op != "="
            or not self.status
            or name_of(only[0].lvalue) != self.status
            or self._status(only[0].rvalue) != status
        ):
            raise ProgramError(
                f"line {node.coord.line}: where this does not hold the status is not {self.name}_{status}"
            )
        self.met.append(status)
        if len(self.met) == self.failing:
            self.names[self.status][0] = STATUSES.index(status)
        elif isinstance(node.iffalse, c_ast.If):
            self._statement(node.iffalse)
        elif node.iffalse is not None:
            self._block(node.iffalse)

    def _status(self, node: Any) -> str:
        """Its name, of a macro or of its number where a preprocessor has been."""
        value = getattr(node, "value", "")
        if value.isdigit() and int(value) < len(STATUSES):
            return STATUSES[int(value)]
        return name_of(node).removeprefix(f"{self.name}_")

    def _condition(self, node: Any) -> Condition:
        number = (
            literal(node.right.value, self.real)
            if isinstance(node, c_ast.BinaryOp) and isinstance(node.right, c_ast.Constant)
            else None
        )
        if number is None or node.op not in (">=", "<="):
            raise self._strange(node)
        value, magnitude = node.left, isinstance(node.left, c_ast.FuncCall)
        if magnitude:
            if name_of(value.name) != self.real.libm("fabs") or len(value.args.exprs) != 1:
                raise self._strange(node)
            value = value.args.exprs[0]
        return magnitude, self._term(value), node.op, number

    def _term(self, node: Any) -> int:
        if isinstance(node, c_ast.BinaryOp) and node.op == "-":
            return self.wanted.terms.of(("sub", self._term(node.left), self._term(node.right)))
        if (
            isinstance(node, c_ast.ID)
            and isinstance(own := self.names.get(node.name), Memory)
            and len(own.cells) == 1
            and own.cells[0] is not None
        ):
            return own.cells[0]
        return super()._term(node)
