"""The function that calls the steps of a loop over links, run on terms.

A term stands for a number: an argument's element, a constant, a result of a step that was given certain terms, the sum or the
product of two. Two terms are one where they are made alike. So what the C does and what the Recursion says can be compared,
whatever the numbers are; no branch hangs on them. A step that keeps nothing but the sine and the cosine of an angle gives the
angle: whether it takes them itself or the function does so for many links at once, they are the same terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from pycparser import c_ast

from symgen.ir.loops import ANGLE, SAVED, Angle, LoopProgram, angle_of, evaluate
from symgen.ir.program import Numbers, Program
from symgen.readback.literals import literal, nearest, opposite
from symgen.readback.parsing import INDEX, name_of
from symgen.readback.required_checks import computed
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import REALS, Real

_COMPARED = {"<": int.__lt__, "<=": int.__le__, ">=": int.__ge__, "==": int.__eq__}
_WHOLE = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}
_JOINED = {"+": "add", "*": "mul"}
MOST = 1000
"""Statements for each call of a step, after which there is no end."""


class Terms:
    """A number for each term."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}

    def of(self, key: Any) -> int:
        return self.known.setdefault(key, len(self.known))


class Term:
    """A term as `evaluate` has numbers."""

    __slots__ = ("number", "terms")

    def __init__(self, number: int, terms: Terms) -> None:
        self.number, self.terms = number, terms

    def __add__(self, other: Term) -> Term:
        return Term(self.terms.of(("add", self.number, other.number)), self.terms)

    def __mul__(self, other: Term) -> Term:
        return Term(self.terms.of(("mul", self.number, other.number)), self.terms)


@dataclass(frozen=True)
class Part:
    """A step, and the same as the function of its own that its static part is."""

    step: Program
    alone: Program
    angle: Angle | None = None
    given: bool = False
    """Whether it gives the angle, of which the function takes the sine."""

    @cached_property
    def reads(self) -> list[tuple[int, int]]:
        """The elements of arguments of that function on which a result hangs."""
        return elements(self.alone)

    def sines(self, call: int, terms: Terms) -> list[int]:
        """What a call of one that keeps nothing else puts: them, or their angle."""
        if self.angle is None or not self.given:
            return kept(self.angle, call, terms) if self.angle else []
        return [terms.of((call, ANGLE))]


def elements(program: Program) -> list[tuple[int, int]]:
    """Those of its arguments on which a result hangs."""
    return sorted(
        {program.rows[i].value for i in computed(program) if program.rows[i].op == "input"}
    )


def kept(angle: Angle, call: int, terms: Terms) -> list[int]:
    """The sine and the cosine of the angle that such a call gives, as they are kept."""
    return [terms.of((op, terms.of((call, ANGLE)))) for op in angle.kept]


class Expected(NamedTuple):
    """What the Recursion says: the terms of its results, and of each call of a step."""

    terms: Terms
    results: dict[str, list[int]]
    calls: list[int]


def expected(recursion: LoopProgram) -> Expected:
    """The Recursion, run on terms."""
    terms, real = Terms(), REALS[recursion.real]
    calls: list[int] = []
    known: dict[int, list[tuple[int, int]]] = {}

    def run(step: Program, own: Mapping[str, Sequence[Any]], _: Numbers) -> dict[str, list[Any]]:
        if id(step) not in known:
            known[id(step)] = elements(step)
        given = tuple(own[step.inputs[port].name][k].number for port, k in known[id(step)])
        call = terms.of(("call", id(step), given))
        if any(port.size for port in step.outputs):
            calls.append(call)
        if (angle := angle_of(step)) is not None:
            return {SAVED: [Term(number, terms) for number in kept(angle, call, terms)]}
        return {
            port.name: [Term(terms.of((call, place, k)), terms) for k in range(port.size)]
            for place, port in enumerate(step.outputs)
        }

    def none(*_: Any) -> Any:
        raise ProgramError("a step is run by itself")

    numbers = Numbers(
        lambda x: Term(terms.of(("const", nearest(x, real))), terms), none, none, none, none
    )
    arguments = {
        port.name: [Term(terms.of(("input", port.name, k)), terms) for k in range(port.size)]
        for port in recursion.inputs
    }
    results = evaluate(recursion, arguments, numbers, run)
    return Expected(
        terms, {name: [term.number for term in values] for name, values in results.items()}, calls
    )


class Turns(NamedTuple):
    """The sines and the cosines of all angles of an array."""

    sine: Memory
    cosine: Memory


@dataclass
class Memory:
    """An array: the term of each element, None where nothing was put."""

    name: str
    cells: list[int | None]
    writable: bool


class Place(NamedTuple):
    """An element of an array."""

    memory: Memory
    at: int


@dataclass
class Walk:
    """One run of the function. ProgramError where it does what generated code never does."""

    arrays: Mapping[str, Memory]
    tables: Mapping[str, Any]
    parts: Mapping[str, Part]
    real: Real
    wanted: Expected
    name: str = ""
    """Of the robot."""
    own_sines: tuple[str, ...] = ()
    """What NAME_sincos may be called."""
    together: int = 0
    """Angles that it takes."""
    calls: list[int] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    done: int = 0
    known: Mapping[str, Any] = field(default_factory=dict)
    """Whole numbers that have names."""

    def run(self, body: Any) -> None:
        terms = self.wanted.terms

        def memory(name: str, row: Sequence[Any]) -> Memory:
            return Memory(name, [terms.of(("const", x)) for x in row], False)

        self.names = {**self.known, **self.arrays}
        for name, table in self.tables.items():
            self.names[name] = (
                [memory(name, row) for row in table]
                if isinstance(table[0], list)
                else (memory(name, table) if isinstance(table[0], tuple) else tuple(table))
            )
        self._block(body)

    # -- statements ------------------------------------------------------------------------------------------------------------

    def _block(self, node: Any) -> None:
        if not isinstance(node, c_ast.Compound):
            raise self._strange(node)
        outer = dict(self.names)
        for item in node.block_items or []:
            self._statement(item)
        self.names = outer

    def _statement(self, node: Any) -> None:
        self.done += 1
        if self.done > MOST * (len(self.wanted.calls) + 1):
            raise ProgramError(
                f"line {node.coord.line}: this goes on for longer than there are links"
            )
        if isinstance(node, c_ast.FuncCall):
            self._call(node)
        elif isinstance(node, c_ast.Decl):
            self._declare(node)
        elif (
            isinstance(node, c_ast.Assignment)
            and node.op == "="
            and isinstance(node.lvalue, c_ast.ArrayRef)
        ):
            value = self._term(node.rvalue)
            self._put(self._element(node.lvalue), value, node)
        elif isinstance(node, c_ast.If):
            if self._holds(node.cond):
                self._block(node.iftrue)
            elif isinstance(node.iffalse, c_ast.If):
                self._statement(node.iffalse)
            elif node.iffalse is not None:
                self._block(node.iffalse)
        elif isinstance(node, c_ast.For):
            self._loop(node)
        elif isinstance(node, c_ast.Compound):
            self._block(node)
        elif not isinstance(node, c_ast.Cast) or name_of(node.expr) not in self.arrays:
            raise self._strange(node)

    def _loop(self, node: Any) -> None:
        begin, step = node.init, node.next
        if not isinstance(begin, c_ast.Assignment) or begin.op != "=":
            raise self._strange(node)
        if isinstance(step, c_ast.Assignment) and step.op == "+=":
            moved, way = step.lvalue, self._whole(step.rvalue)
        elif isinstance(step, c_ast.UnaryOp) and step.op in ("++", "--"):
            moved, way = step.expr, 1 if step.op == "++" else -1
        else:
            raise self._strange(node)
        if name_of(moved) != name_of(begin.lvalue):
            raise self._strange(node)
        own = self._counter(name_of(begin.lvalue), node)
        own[0] = self._whole(begin.rvalue)
        while self._holds(node.cond):
            self._block(node.stmt)
            own[0] += way

    def _declare(self, node: Any) -> None:
        """A counter, an array of its own, a place in one, or the sines and cosines of an array."""
        kind = node.type
        if node.storage or node.funcspec or node.name in self.names:
            raise self._strange(node)
        if isinstance(kind, c_ast.ArrayDecl):
            self.names[node.name] = self._array(node)
        elif node.init is None:
            if not isinstance(kind, c_ast.TypeDecl) or _names(kind) != ["int"] or kind.quals:
                raise self._strange(node)
            self.names[node.name] = [None]
        elif kind.quals != ["const"]:
            raise self._strange(node)
        elif isinstance(kind, c_ast.PtrDecl) and _names(kind.type) == [self.real.name]:
            self.names[node.name] = self._place(node.init)
        elif _names(kind) == [f"{self.name}_turns"] and isinstance(node.init, c_ast.FuncCall):
            self.names[node.name] = self._turned(node.init)
        else:
            raise self._strange(node)

    def _array(self, node: Any) -> Memory:
        """An array of its own, in which nothing is put yet."""
        size, inner = getattr(node.type.dim, "value", ""), node.type.type
        if (
            _names(inner) != [self.real.name]
            or inner.quals
            or node.init is not None
            or not INDEX.fullmatch(size)
        ):
            raise self._strange(node)
        return Memory(node.name, [None] * int(size), True)

    def _turned(self, node: Any) -> Turns:
        """The sines and cosines of all angles of an array."""
        given = node.args.exprs if node.args else []
        if name_of(node.name) not in self.own_sines or len(given) != 1:
            raise self._strange(node)
        place = self._place(given[0])
        if place.at or len(place.memory.cells) != self.together or None in place.memory.cells:
            raise ProgramError(
                f"line {node.coord.line}: {place.memory.name} is not {self.together} angles"
            )
        sine, cosine = (
            [self.wanted.terms.of((op, angle)) for angle in place.memory.cells]
            for op in ("sin", "cos")
        )
        return Turns(Memory("sine", [*sine], False), Memory("cosine", [*cosine], False))

    def _call(self, node: Any) -> None:
        """A step: all that it is given is read before anything is stored."""
        part = self.parts.get(name_of(node.name))
        given = node.args.exprs if node.args else []
        if part is None or len(given) != len(part.alone.inputs) + len(part.alone.outputs):
            raise self._strange(node)
        places = self._arguments(part, given, node)
        terms = self._terms_read(part, places, node)
        call = self.wanted.terms.of(("call", id(part.step), terms))
        if len(self.calls) < len(self.wanted.calls) and self.wanted.calls[len(self.calls)] != call:
            raise ProgramError(
                f"line {node.coord.line}: call {len(self.calls) + 1} of a step is {node.name.name}, and the "
                "Recursion has another step there, or gives it other numbers"
            )
        self.calls.append(call)
        if part.angle is not None:
            for k, term in enumerate(part.sines(call, self.wanted.terms)):
                self._put(Place(places[-1].memory, places[-1].at + k), term, node)
            return
        numbered = [place for place, port in enumerate(part.step.outputs) if port.size]
        for place, port, number in zip(
            places[len(part.alone.inputs) :], part.alone.outputs, numbered, strict=True
        ):
            for k in range(port.size):
                self._put(
                    Place(place.memory, place.at + k), self.wanted.terms.of((call, number, k)), node
                )

    def _arguments(self, part: Part, given: Sequence[Any], node: Any) -> list[Place]:
        """Return the place of each argument and result of a step, which has room for it."""
        places = [self._place(argument) for argument in given]
        ports = (*part.alone.inputs, *part.alone.outputs)
        for place, port in zip(places, ports, strict=True):
            if place.at < 0 or place.at + port.size > len(place.memory.cells):
                raise ProgramError(
                    f"line {node.coord.line}: {place.memory.name}[{place.at}] and what follows is no {port.name}"
                )
        return places

    def _terms_read(self, part: Part, places: Sequence[Place], node: Any) -> tuple[int, ...]:
        """Return the terms that a step reads, in order."""
        terms = []
        for port, k in part.reads:
            memory, at = places[port]
            term = memory.cells[at + k]
            if term is None:
                raise ProgramError(
                    f"line {node.coord.line}: {memory.name}[{at + k}] is read before anything is put there"
                )
            terms.append(term)
        return tuple(terms)

    def _put(self, place: Place, term: int, node: Any) -> None:
        if not place.memory.writable or not 0 <= place.at < len(place.memory.cells):
            raise ProgramError(
                f"line {node.coord.line}: nothing may be put in {place.memory.name}[{place.at}]"
            )
        place.memory.cells[place.at] = term

    # -- expressions -----------------------------------------------------------------------------------------------------------

    def _holds(self, node: Any) -> bool:
        if isinstance(node, c_ast.BinaryOp) and node.op == "&&":
            return self._holds(node.left) and self._holds(node.right)
        if not isinstance(node, c_ast.BinaryOp) or node.op not in _COMPARED:
            raise self._strange(node)
        return _COMPARED[node.op](self._whole(node.left), self._whole(node.right))

    def _whole(self, node: Any) -> int:
        """A number of a link, or of an element."""
        if isinstance(node, c_ast.Constant) and INDEX.fullmatch(node.value):
            return int(node.value)
        if isinstance(node, c_ast.ID):
            found = self._counter(node.name, node)[0]
            if found is not None:
                return int(found)
        if isinstance(node, c_ast.BinaryOp) and node.op in _WHOLE:
            return _WHOLE[node.op](self._whole(node.left), self._whole(node.right))
        if (
            isinstance(node, c_ast.ArrayRef)
            and isinstance(table := self.names.get(name_of(node.name)), tuple)
            and not isinstance(table, Place)
        ):
            place = self._whole(node.subscript)
            if 0 <= place < len(table):
                return int(table[place])
        raise self._strange(node)

    def _counter(self, name: str, node: Any) -> list[Any]:
        found = self.names.get(name)
        if not isinstance(found, list) or len(found) != 1 or isinstance(found[0], Memory):
            raise self._strange(node)
        return found

    def _place(self, node: Any) -> Place:
        """An array, an element's address, or a row of a table."""
        if isinstance(node, c_ast.ID):
            found = self.names.get(node.name)
            if isinstance(found, Memory):
                return Place(found, 0)
            if isinstance(found, Place):
                return found
        if (
            isinstance(node, c_ast.UnaryOp)
            and node.op == "&"
            and isinstance(node.expr, c_ast.ArrayRef)
        ):
            return self._element(node.expr)
        if isinstance(node, c_ast.ArrayRef) and isinstance(
            rows := self.names.get(name_of(node.name)), list
        ):
            row = self._whole(node.subscript)
            if 0 <= row < len(rows) and isinstance(rows[row], Memory):
                return Place(rows[row], 0)
        raise self._strange(node)

    def _element(self, node: Any) -> Place:
        if (
            isinstance(node.name, c_ast.StructRef)
            and node.name.type == "."
            and node.name.field.name in Turns._fields
            and isinstance(turns := self.names.get(name_of(node.name.name)), Turns)
        ):
            base = Place(getattr(turns, node.name.field.name), 0)
        else:
            base = self._place(node.name)
        return Place(base.memory, base.at + self._whole(node.subscript))

    def _term(self, node: Any) -> int:
        """What is stored."""
        if isinstance(node, c_ast.BinaryOp) and node.op in _JOINED:
            return self.wanted.terms.of(
                (_JOINED[node.op], self._term(node.left), self._term(node.right))
            )
        if isinstance(node, c_ast.ArrayRef):
            place = self._element(node)
            if (
                0 <= place.at < len(place.memory.cells)
                and (found := place.memory.cells[place.at]) is not None
            ):
                return found
            raise ProgramError(
                f"line {node.coord.line}: {place.memory.name}[{place.at}] is read before anything is put there"
            )
        negative = isinstance(node, c_ast.UnaryOp) and node.op == "-"
        inner = node.expr if negative else node
        number = literal(inner.value, self.real) if isinstance(inner, c_ast.Constant) else None
        if number is None:
            raise self._strange(node)
        return self.wanted.terms.of(("const", opposite(number) if negative else number))

    @staticmethod
    def _strange(node: Any) -> ProgramError:
        line = node.coord.line if getattr(node, "coord", None) else 0
        return ProgramError(
            f"line {line}: a {type(node).__name__} that generated code never holds there"
        )


def _names(node: Any) -> list[str]:
    """The words of a type."""
    return list(getattr(getattr(node, "type", None), "names", []))
