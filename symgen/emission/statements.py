"""Statements of a generated function: a closed set of values that `print.write` spells in a
language.

A function with loops is lowered to these statements, one function of Python a stage, instead of
being written in a template.

**Values.** A value is text, a number, an `Element` (`x[i]`), an `Address` (`&x[i]`), a `Row`
(`x[i]` of an array of rows, which is passed as an array), a `Cast`, `All` of several conditions, or
a tuple of values, which stand one behind the other. Text holds names, numbers and operators and no
square bracket, so every access to an array is visible to `check` and `in_lanes`. `expression("{} +
{}", a, b)` builds a tuple by a pattern. A line break in text starts a new line at the indentation
of the statement.

**Statements.** `Function`, `Declare` (of a local, and of a parameter where it stands in
`Function.parameters`), `Assign`, `Call`, `For`, `While`, `If`, `Block`, `Return`, `Unused` (a
parameter that is not read), `Comment`, `Blank`, `Pragma`. `body(a, b, c)` builds a body whose parts
may be several statements, or None.

**Lanes.** `in_lanes(statements, arrays, count)` makes a vector of `count` lanes of every element of
`arrays`: declarations get a last dimension, elements get the index `lane`, and each run of
statements that depend on a lane gets a loop over lanes. Such a statement is an `Assign`, an `If` or
a `Declare`. It reads or writes an element of `arrays`, names `lane`, or names a local that an
earlier statement of the run declared. An `Element` of `arrays` with a `column` names one lane by
itself and stays.

**Checks.** `check(statements, known_names)` returns the statements unchanged, or raises
ProgramError: see there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NoReturn, Union

from symgen.support.errors import ProgramError
from symgen.vocabulary.identifiers import KEYWORDS, MATH

LANE = "lane"
"""The index of a loop over lanes."""
POINTER, FIXED = "*", "*const"
"""How a local is declared that points into an array; a FIXED one is never assigned again."""


@dataclass(frozen=True)
class Element:
    """One element of an array; of an array of rows, that in a `column` of a row."""

    array: str
    index: Value
    column: Value | None = None


@dataclass(frozen=True)
class Address:
    """The array that begins with one element of another array."""

    array: str
    index: Value


@dataclass(frozen=True)
class Row:
    """One row of an array of rows, as an array."""

    array: str
    index: Value


@dataclass(frozen=True)
class Cast:
    """The array of numbers `value` as an array of rows, each of `count` numbers of type `kind`."""

    kind: str
    count: int
    value: Value


@dataclass(frozen=True)
class All:
    """Conditions that hold together, on as many lines as the language asks for; further lines begin
    at `column`.
    """

    conditions: tuple[Value, ...]
    column: int


Value = Union[str, int, Element, Address, Row, Cast, All, "tuple[Value, ...]"]


@dataclass(frozen=True)
class Declare:
    """A local or a parameter of type `kind`, which may begin with `const`. An array has a `size`; a
    parameter's may be empty text.

    `pointer` is POINTER or FIXED for a local that points into an array: then `size` is that of a
    row of the array. `attribute` stands behind the size; `comment` stands behind the statement.
    """

    kind: str
    name: str
    value: Value | None = None
    size: tuple[int | str, ...] = ()
    pointer: str = ""
    attribute: str = ""
    comment: str = ""


@dataclass(frozen=True)
class Assign:
    """`target` gets `value`, by the operator `sign`: =, +=, -=, *= or /=."""

    target: Value
    value: Value
    sign: str = "="
    comment: str = ""


@dataclass(frozen=True)
class Call:
    """A function that returns nothing; where it is `wrapped`, its arguments stand on as many lines
    as the language asks for.

    `continuation` is the indentation of further lines.
    """

    function: str
    arguments: tuple[Value, ...] = ()
    wrapped: bool = False
    continuation: int = 4


@dataclass(frozen=True)
class For:
    """A loop: `index`, an int declared before, goes from `first` by `step` up or down to `last`,
    exclusive unless `inclusive`.

    The loop ends as soon as `condition` does not hold.
    """

    index: str
    first: Value
    last: Value
    body: tuple[Statement, ...]
    step: int = 1
    inclusive: bool = False
    condition: Value = ""


@dataclass(frozen=True)
class While:
    """A loop while `condition` holds."""

    condition: Value
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class If:
    """`body` where `condition` holds, `otherwise` where it does not. An `If` as `otherwise` is an
    `else if`.
    """

    condition: Value
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] | If = ()
    comment: str = ""


@dataclass(frozen=True)
class Block:
    """A scope."""

    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Return:
    """The end of a function that returns a value."""

    value: Value


@dataclass(frozen=True)
class Unused:
    """A parameter that the function does not read."""

    name: str


@dataclass(frozen=True)
class Comment:
    """A comment on a line of its own."""

    text: str


@dataclass(frozen=True)
class Blank:
    """An empty line."""


@dataclass(frozen=True)
class Pragma:
    """A directive about the next statement, for compilers that define the macro `where`."""

    text: str
    where: str


@dataclass(frozen=True)
class Function:
    """A function; a `static` one is called from its own file alone, and so is a `part` of a long
    function.

    `comment` and `attribute` stand above it.
    """

    name: str
    parameters: tuple[Declare, ...]
    body: tuple[Statement, ...]
    returns: str = "void"
    static: bool = False
    part: bool = False
    comment: str = ""
    attribute: str = ""


Statement = (
    Declare
    | Assign
    | Call
    | For
    | While
    | If
    | Block
    | Return
    | Unused
    | Comment
    | Blank
    | Pragma
    | Function
)
PARALLEL = Pragma("omp parallel for schedule(static, 1)", "_OPENMP")
"""The rounds of the next loop run at the same time, where the compiler knows OpenMP."""


def expression(pattern: str, *values: Value) -> Value:
    """Return `pattern` with each {} replaced by the next of `values`."""
    texts = pattern.split("{}")
    if len(texts) != len(values) + 1:
        raise ProgramError(f"'{pattern}' takes {len(texts) - 1} values, not {len(values)}")
    parts: list[Value] = [texts[0]]
    for value, text in zip(values, texts[1:], strict=True):
        parts += [value, text]
    return tuple(part for part in parts if part != "")


def body(*parts: Statement | Iterable[Statement] | None) -> tuple[Statement, ...]:
    """Return the statements of a body: each of `parts` is one, several, or None where a body does
    without it.
    """
    statements: list[Statement] = []
    for part in parts:
        if isinstance(part, Statement):
            statements.append(part)
        elif part is not None:
            statements += part
    return tuple(statements)


def integers(*names: str) -> Iterator[Declare]:
    """Give the declarations of integers, which loops count with."""
    return (Declare("int", name) for name in names)


def copy(index: str, count: int, target: str, source: str) -> For:
    """Return the loop that copies `count` elements of one array to another."""
    return For(index, 0, count, (Assign(Element(target, index), Element(source, index)),))


Access = Element | Address | Row


def parts(value: Value) -> Iterator[str | int | Access | Cast]:
    """Give the texts, numbers and accesses that a value consists of, those of indices included."""
    if isinstance(value, tuple):
        for part in value:
            yield from parts(part)
        return
    if isinstance(value, All):
        yield from parts(value.conditions)
        return
    yield value
    if isinstance(value, Access):
        yield from parts(value.index)
    if isinstance(value, Element) and value.column is not None:
        yield from parts(value.column)
    if isinstance(value, Cast):
        yield from parts(value.value)


def values(statement: Statement) -> list[Value]:
    """Return the values that a statement itself reads or writes, those of statements inside it left
    out.
    """
    match statement:
        case Declare():
            return [] if statement.value is None else [statement.value]
        case Return():
            return [statement.value]
        case Assign():
            return [statement.target, statement.value]
        case Call():
            return [*statement.arguments]
        case For():
            return [statement.first, statement.last, statement.condition]
        case While() | If():
            return [statement.condition]
        case Unused():
            return [statement.name]
        case _:
            return []


_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


# -- lanes -----------------------------------------------------------------------------------------


def in_lanes(
    statements: Iterable[Statement], arrays: Collection[str], count: int
) -> tuple[Statement, ...]:
    """Return the statements with every element of `arrays` as a vector of `count` lanes; see the
    module docstring.
    """
    return _Lanes(frozenset(arrays), count).statements(statements)


@dataclass(frozen=True)
class _Lanes:
    """The arrays whose elements become vectors, and the number of lanes of a vector."""

    arrays: frozenset[str]
    count: int

    def statements(self, statements: Iterable[Statement]) -> tuple[Statement, ...]:
        """Return the statements with a loop over lanes around each run that depends on a lane."""
        result: list[Statement] = []
        run: list[Statement] = []
        names = {LANE}

        def end_run() -> None:
            if run:
                result.append(For(LANE, 0, self.count, tuple(run)))
                run.clear()

        for statement in statements:
            if self._depends_on_lane(statement, names):
                if isinstance(statement, Declare):
                    names.add(statement.name)
                run.append(self._statement(statement, self._inside_loop))
            else:
                end_run()
                over_lanes = isinstance(statement, For) and statement.index == LANE
                body = self._inside_loop if over_lanes else self.statements
                result.append(self._statement(statement, body))
        end_run()
        return tuple(result)

    def _inside_loop(self, statements: Iterable[Statement]) -> tuple[Statement, ...]:
        """Return the statements of a loop over lanes."""
        return tuple(self._statement(statement, self._inside_loop) for statement in statements)

    def _depends_on_lane(self, statement: Statement, names: set[str]) -> bool:
        """True if a statement belongs in a loop over lanes; `names` differ from lane to lane."""
        return isinstance(statement, Assign | If | Declare) and any(
            self._is_vector(part)
            or (isinstance(part, str) and not names.isdisjoint(_WORD.findall(part)))
            for value in values(statement)
            for part in parts(value)
        )

    def _is_vector(self, part: object) -> bool:
        """True if a part of a value is an element with one value a lane."""
        return isinstance(part, Element) and part.array in self.arrays and part.column is None

    def _statement(
        self, statement: Statement, body: Callable[[Iterable[Statement]], tuple[Statement, ...]]
    ) -> Any:
        """Return a statement with its values in lanes and `body` applied to the statements inside
        it.
        """

        def changed(content: Any) -> Any:
            if isinstance(content, Statement):
                return self._statement(content, body)
            if isinstance(content, tuple) and content and isinstance(content[0], Statement):
                return body(content)
            return self._value(content)

        result = replace(
            statement, **{f.name: changed(getattr(statement, f.name)) for f in fields(statement)}
        )
        if isinstance(result, Declare) and result.name in self.arrays:
            return replace(
                result,
                size=(*result.size, self.count),
                value=self._as_rows(result) if result.pointer else result.value,
            )
        return result

    def _value(self, value: Any) -> Any:
        """Return a value with the lane of each element that has one a lane."""
        if isinstance(value, tuple):
            return tuple(map(self._value, value))
        if isinstance(value, Access | Cast | All):
            inside = {f.name: self._value(getattr(value, f.name)) for f in fields(value)}
            return replace(value, **inside | ({"column": LANE} if self._is_vector(value) else {}))
        return value

    def _as_rows(self, pointer: Declare) -> Value | None:
        """Return the value of a pointer to vectors: the address of a number is that of the first
        lane of a vector.
        """
        first, *offsets = pointer.value if isinstance(pointer.value, tuple) else (pointer.value,)
        if not isinstance(first, Address) or first.array in self.arrays:
            return pointer.value
        cast = Cast(pointer.kind, self.count, first)
        return (cast, *offsets) if offsets else cast


# -- threads ---------------------------------------------------------------------------------------


def with_strides(
    statements: Iterable[Statement], strides: Mapping[str, str]
) -> tuple[Statement, ...]:
    """Return the statements with the elements of some arrays as far apart as a variable says, by
    the name of the array.
    """
    return tuple(_with_strides(statement, strides) for statement in statements)


def _with_strides(content: Any, strides: Mapping[str, str]) -> Any:
    """Return a statement, a value or a tuple of them with `strides`."""
    if isinstance(content, tuple):
        return tuple(_with_strides(part, strides) for part in content)
    if not isinstance(content, Statement | Access | Cast | All):
        return content
    parts = {f.name: _with_strides(getattr(content, f.name), strides) for f in fields(content)}
    if isinstance(content, Element | Address) and content.array in strides:
        parts["index"] = _scaled(parts["index"], strides[content.array])
    return replace(content, **parts)


def _scaled(index: Value, stride: str) -> Value:
    """Return an index in units of a stride."""
    if index in ("0", 0):
        return index
    is_atom = isinstance(index, int | Element) or re.fullmatch(r"\w+", str(index))
    return (index, f"*{stride}") if is_atom else ("(", index, f")*{stride}")


# -- checks ----------------------------------------------------------------------------------------


Sizes = tuple[int | str, ...]
"""The dimensions of an array, text where the number is not known; () of a number."""


def check(functions: Iterable[Function], known_names: Mapping[str, Sizes]) -> tuple[Function, ...]:
    """Return the functions unchanged; raise ProgramError with the function and the name at fault.

    `known_names` are the tables of the file with their sizes, and its macros and functions. The
    rules: a local is declared once in its scope and those around it, before its use, and its name
    is no keyword and nothing that <math.h> declares; an array has elements, and as many indices as
    dimensions; an index that is a number, or counts between two numbers, is within the size; what
    is constant is not assigned, nor is an index inside its loop; a function that returns a value
    does so in its last statement, and nowhere else.
    """
    functions, names = tuple(functions), dict(known_names)
    for function in functions:
        _Checker(function, names).check()
        names[function.name] = ()
    return functions


class _Checker:
    """The names that are in scope in a function, innermost scope last."""

    def __init__(self, function: Function, known: Mapping[str, Sizes]) -> None:
        self.function, self.known = function, known
        self.scopes: list[dict[str, Declare]] = []
        self.ranges: dict[str, range] = {}

    def check(self) -> None:
        """Check the function."""
        self._name(self.function.name)
        body = self.function.body
        returns = bool(body) and isinstance(body[-1], Return)
        if returns != (self.function.returns != "void"):
            self._fail(self.function.returns, "is not what the last statement returns")
        inner, last = (body[:-1], body[-1:]) if returns else (body, ())
        self._scope((*self.function.parameters, *inner), last)

    def _fail(self, name: str, fact: str) -> NoReturn:
        raise ProgramError(f"{self.function.name}: '{name}' {fact}")

    def _scope(self, statements: Iterable[Statement], last: Iterable[Statement] = ()) -> None:
        """Check statements in a scope of their own; `last` may return."""
        self.scopes.append({})
        for statement in statements:
            if isinstance(statement, Return):
                self._fail("return", "is not the last statement")
            self._statement(statement)
        for statement in last:
            for value in values(statement):
                self._value(value)
        self.scopes.pop()

    def _statement(self, statement: Statement) -> None:
        """Check a statement and those inside it."""
        for value in values(statement):
            self._value(value)
        match statement:
            case Function():
                self._fail(statement.name, "is a function inside a function")
            case Declare():
                self._name(statement.name)
                if not all(statement.size[:1]) and statement not in self.function.parameters:
                    self._fail(statement.name, "is an array of no elements")
                self.scopes[-1][statement.name] = statement
            case Assign():
                self._assigned(statement.target)
            case Call() if statement.function not in self.known:
                self._fail(statement.function, "is called and not known")
            case For():
                self._loop(statement)
            case While() | Block():
                self._scope(statement.body)
            case If():
                self._scope(statement.body)
                otherwise = statement.otherwise
                self._scope((otherwise,) if isinstance(otherwise, If) else otherwise)

    def _loop(self, loop: For) -> None:
        """Check a loop; its index takes no other value inside it."""
        declared = self._declared(loop.index)
        if declared is None or declared.kind != "int" or declared.size or loop.index in self.ranges:
            self._fail(loop.index, "is no free index of a loop")
        self.ranges[loop.index] = _range(loop)
        self._scope(loop.body)
        del self.ranges[loop.index]

    def _name(self, name: str) -> None:
        """Check a name that is declared."""
        if not _WORD.fullmatch(name) or name in KEYWORDS or name in MATH:
            self._fail(name, "is no name of a local")
        if name in self.known or self._declared(name):
            self._fail(name, "is declared twice")

    def _declared(self, name: str) -> Declare | None:
        """Return the declaration of a name that is in scope."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _assigned(self, target: Value) -> None:
        """Check a target: an element that is not constant, or a local that is a number or a
        pointer.
        """
        element = isinstance(target, Element)
        name = target.array if isinstance(target, Element) else str(target)
        declared = self._declared(name.partition(".")[0])
        if declared is None or name in self.ranges:
            self._fail(name, "is assigned and no local")
        constant = declared.kind.startswith("const ") and (element or not declared.pointer)
        if constant or (
            not element
            and (_sizes(declared) if not declared.pointer else declared.pointer == FIXED)
        ):
            self._fail(name, "is assigned and constant")

    def _value(self, value: Value) -> None:
        """Check the names and indices of a value."""
        for part in parts(value):
            if isinstance(part, Access):
                self._access(part)
            elif isinstance(part, str):
                if "[" in part:
                    self._fail(part, "accesses an array in text")
                for word in _WORD.findall(part):
                    if word not in self.known and word not in MATH and not self._declared(word):
                        self._fail(word, "is used and not declared")

    def _access(self, access: Access) -> None:
        """Check an access: a declared array, as many indices as it has dimensions, and each within
        its size.
        """
        name, _, member = access.array.partition(".")
        declared = self._declared(name)
        if declared is None and name not in self.known:
            self._fail(name, "is used and not declared")
        if member:
            return
        sizes = self.known[name] if declared is None else _sizes(declared)
        column = access.column if isinstance(access, Element) else None
        indices = [access.index] if column is None else [access.index, column]
        dimension_counts = {Element: {len(indices)}, Row: {2, 3}, Address: {1, 2}}[type(access)]
        if len(sizes) not in dimension_counts:
            self._fail(name, f"has {len(sizes)} dimensions, not as many as its indices ask for")
        for index, size in zip(indices, sizes, strict=False):
            for end in self._ends(index):
                if isinstance(size, int) and not 0 <= end < size:
                    self._fail(name, f"has no element {end}")

    def _ends(self, index: Value) -> tuple[int, ...]:
        """Return the least and greatest value of an index, in any order, where they are known."""
        reached = self.ranges.get(str(index), range(0))
        number = _number(index)
        return (*reached[:1], *reached[-1:]) if number is None else (number,)


def _number(value: Value) -> int | None:
    """Return the number that a value is by itself, if it is one."""
    return (
        int(value) if isinstance(value, str | int) and re.fullmatch(r"-?\d+", str(value)) else None
    )


def _range(loop: For) -> range:
    """Return the numbers that the index of a loop takes, where its ends are numbers."""
    first, last = _number(loop.first), _number(loop.last)
    if first is None or last is None:
        return range(0)
    return range(first, last + (1 if loop.step > 0 else -1) * loop.inclusive, loop.step)


def _sizes(declared: Declare) -> Sizes:
    """Return the dimensions of what is declared."""
    return ("", *declared.size) if declared.pointer else declared.size
