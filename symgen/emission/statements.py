"""Statements of generated functions: a small syntax tree, whose text `print.write` returns.

The modules of `lowering` return these statements; templates have the text around functions.

**Values.** A value is text, a number, an `Element` (`x[i]`), an `Address` (`&x[i]`), a `Row`
(`x[i]` of an array of rows, which is passed as an array), a `Cast`, `All` of several conditions, or
a tuple of values, whose texts follow each other. Text contains names, numbers and operators, but no
square bracket, so that `check` and `in_lanes` find every access to an array. `expression("{} + {}",
a, b)` builds a tuple by a pattern. A line break in text starts a new line with the indentation of
the statement.

**Statements.** `Function`, `Declare` (a local, or a parameter in `Function.parameters`), `Assign`,
`Call`, `For`, `While`, `If`, `Block`, `Return`, `Unused` (a parameter that is not read), `Comment`,
`Blank`, `Pragma`. `body(a, b, c)` builds a body; each part is a statement, several, or None.

**Lanes.** `in_lanes(statements, arrays, count)` makes a vector of `count` lanes of every element of
`arrays`: declarations get a last dimension, elements get the index `lane`, and each run of
statements that depend on a lane gets a loop over lanes. Such a statement is an `Assign`, an `If` or
a `Declare`. It reads or writes an element of `arrays`, names `lane`, or names a local that an
earlier statement of the run declared. An `Element` of `arrays` with a `column` is an element of one
lane and stays unchanged.

**Checks.** `check(functions, names)` returns the functions unchanged, or raises ProgramError if
they break a rule of C.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NoReturn, Union

from symgen.support.errors import ProgramError
from symgen.vocabulary.identifiers import KEYWORDS, MATH

LANE = "lane"
"""Index of a loop over lanes."""
POINTER, FIXED = "*", "*const"
"""Signs of the declaration of a pointer; a FIXED pointer is constant."""


@dataclass(frozen=True)
class Element:
    """One element of an array; `column` is the second index in an array of rows."""

    array: str
    index: Value
    column: Value | None = None


@dataclass(frozen=True)
class Address:
    """Address of an element of an array."""

    array: str
    index: Value


@dataclass(frozen=True)
class Row:
    """One row of an array of rows."""

    array: str
    index: Value


@dataclass(frozen=True)
class Cast:
    """Array of numbers `value`, cast to an array of rows with `count` numbers of type `kind`."""

    kind: str
    count: int
    value: Value


@dataclass(frozen=True)
class All:
    """Conjunction of conditions; a long one has several lines, which begin at `column`."""

    conditions: tuple[Value, ...]
    column: int


Value = Union[str, int, Element, Address, Row, Cast, All, "tuple[Value, ...]"]


@dataclass(frozen=True)
class Declare:
    """Declaration of a local or a parameter of type `kind`, which may begin with `const`.

    - `value`: initial value of a local.
    - `size`: dimensions of an array. The first dimension of a parameter may be empty text.
    - `pointer`: POINTER or FIXED for a pointer; then `size` has the dimensions of a row.
    - `attribute`: text after the size. `comment`: comment after the statement.
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
    """Assignment of `value` to `target` with the operator `sign`: =, +=, -=, *= or /=."""

    target: Value
    value: Value
    sign: str = "="
    comment: str = ""


@dataclass(frozen=True)
class Call:
    """Call of a function that returns no value.

    The arguments of a `wrapped` call are on several lines if they are long; `continuation` is the
    indentation of further lines.
    """

    function: str
    arguments: tuple[Value, ...] = ()
    wrapped: bool = False
    continuation: int = 4


@dataclass(frozen=True)
class For:
    """Loop over an `index`, an int that is declared before, from `first` to `last` by `step`.

    `last` is exclusive unless `inclusive`. The loop ends when `condition` does not hold.
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
    """Loop that repeats while `condition` holds."""

    condition: Value
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class If:
    """Branch: `body` if `condition` holds, else `otherwise`; an `If` there is an `else if`."""

    condition: Value
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] | If = ()
    comment: str = ""


@dataclass(frozen=True)
class Block:
    """Block of statements in braces, which is a scope."""

    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Return:
    """Return of a value."""

    value: Value


@dataclass(frozen=True)
class Unused:
    """Cast to void of a parameter that the function does not read."""

    name: str


@dataclass(frozen=True)
class Comment:
    """Comment on its own line."""

    text: str


@dataclass(frozen=True)
class Blank:
    """Empty line."""


@dataclass(frozen=True)
class Pragma:
    """Pragma about the next statement, for compilers that define the macro `macro`."""

    text: str
    macro: str


@dataclass(frozen=True)
class Function:
    """Definition of a function.

    A `static` function and a `part` of a long function are local to their file. `comment` and
    `attribute` are on the lines above the function.
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
"""Pragma by which the iterations of the next loop run in parallel, if the compiler has OpenMP."""


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
    """Return the statements of a body; each of `parts` is one statement, several, or None."""
    statements: list[Statement] = []
    for part in parts:
        if isinstance(part, Statement):
            statements.append(part)
        elif part is not None:
            statements += part
    return tuple(statements)


def integers(*names: str) -> Iterator[Declare]:
    """Yield the declarations of integers."""
    return (Declare("int", name) for name in names)


def copy(index: str, count: int, target: str, source: str) -> For:
    """Return the loop that copies `count` elements of one array to another."""
    return For(index, 0, count, (Assign(Element(target, index), Element(source, index)),))


Access = Element | Address | Row


def parts(value: Value) -> Iterator[str | int | Access | Cast]:
    """Yield the texts, numbers and accesses of a value, including those of indices."""
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
    """Return the values that a statement reads or writes, without those of statements inside it."""
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
    """Return the statements with every element of `arrays` as a vector of `count` lanes.

    The module's docstring describes the result.
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
        """Return statements inside a loop over lanes."""
        return tuple(self._statement(statement, self._inside_loop) for statement in statements)

    def _depends_on_lane(self, statement: Statement, names: set[str]) -> bool:
        """Return True if a statement needs a loop over lanes; lanes differ in the `names`."""
        return isinstance(statement, Assign | If | Declare) and any(
            self._is_vector(part)
            or (isinstance(part, str) and not names.isdisjoint(_WORD.findall(part)))
            for value in values(statement)
            for part in parts(value)
        )

    def _is_vector(self, part: object) -> bool:
        """Return True if a part of a value is an element that becomes a vector."""
        return isinstance(part, Element) and part.array in self.arrays and part.column is None

    def _statement(
        self, statement: Statement, body: Callable[[Iterable[Statement]], tuple[Statement, ...]]
    ) -> Any:
        """Return a statement with its values in lanes; `body` converts the statements inside it."""

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
        """Return a value with the index of the lane in each element that becomes a vector."""
        if isinstance(value, tuple):
            return tuple(map(self._value, value))
        if isinstance(value, Access | Cast | All):
            inside = {f.name: self._value(getattr(value, f.name)) for f in fields(value)}
            return replace(value, **inside | ({"column": LANE} if self._is_vector(value) else {}))
        return value

    def _as_rows(self, pointer: Declare) -> Value | None:
        """Return the value of a pointer to vectors.

        An address in an array of numbers is cast: the number is the first lane of a vector.
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
    """Return the statements with strides: indices of an array are multiplied by its stride.

    `strides` has the variable with the stride of each array.
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
"""Dimensions of an array, as text if the number is unknown; () for a variable that is no array."""


def check(functions: Iterable[Function], file_names: Mapping[str, Sizes]) -> tuple[Function, ...]:
    """Return the functions unchanged; raise ProgramError with the function and name of an error.

    `file_names` are the tables of the file with their dimensions, its macros and its functions.

    - A local is declared before its use, and once in its scope and all enclosing scopes. Its name
      is no keyword and no name of <math.h>.
    - An array has elements, and an access has as many indices as the array has dimensions.
    - An index that is a number, or counts between two numbers, is within the dimension.
    - Constants are not assigned, and an index is not assigned inside its loop.
    - A function that returns a value returns it in its last statement only.
    """
    functions, names = tuple(functions), dict(file_names)
    for function in functions:
        _Checker(function, names).check()
        names[function.name] = ()
    return functions


class _Checker:
    """Check of one function: `scopes` are the scopes at a statement, the innermost scope last."""

    def __init__(self, function: Function, file_names: Mapping[str, Sizes]) -> None:
        self.function, self.file_names = function, file_names
        self.scopes: list[dict[str, Declare]] = []
        self.ranges: dict[str, range] = {}

    def check(self) -> None:
        """Check the function."""
        self._name(self.function.name)
        body = self.function.body
        returns = bool(body) and isinstance(body[-1], Return)
        if returns != (self.function.returns != "void"):
            self._fail(
                self.function.returns, "is the return type, but the last statement does not fit it"
            )
        inner, last = (body[:-1], body[-1:]) if returns else (body, ())
        self._scope((*self.function.parameters, *inner), last)

    def _fail(self, name: str, fact: str) -> NoReturn:
        """Raise ProgramError about a name."""
        raise ProgramError(f"{self.function.name}: '{name}' {fact}")

    def _scope(self, statements: Iterable[Statement], last: Iterable[Statement] = ()) -> None:
        """Check statements in a new scope; only `last` may have a return."""
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
                    self._fail(statement.name, "is an array without elements")
                self.scopes[-1][statement.name] = statement
            case Assign():
                self._assigned(statement.target)
            case Call() if statement.function not in self.file_names:
                self._fail(statement.function, "is called but not declared")
            case For():
                self._loop(statement)
            case While() | Block():
                self._scope(statement.body)
            case If():
                self._scope(statement.body)
                otherwise = statement.otherwise
                self._scope((otherwise,) if isinstance(otherwise, If) else otherwise)

    def _loop(self, loop: For) -> None:
        """Check a loop, whose body does not assign its index."""
        declared = self._declared(loop.index)
        if declared is None or declared.kind != "int" or declared.size or loop.index in self.ranges:
            self._fail(loop.index, "is not a free loop index")
        self.ranges[loop.index] = _range(loop)
        self._scope(loop.body)
        del self.ranges[loop.index]

    def _name(self, name: str) -> None:
        """Check a name that is declared."""
        if not _WORD.fullmatch(name) or name in KEYWORDS or name in MATH:
            self._fail(name, "is not a valid name")
        if name in self.file_names or self._declared(name):
            self._fail(name, "is declared twice")

    def _declared(self, name: str) -> Declare | None:
        """Return the declaration of a name that is in scope."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _assigned(self, target: Value) -> None:
        """Check the target of an assignment: an element, a number or a pointer, not constant."""
        element = isinstance(target, Element)
        name = target.array if isinstance(target, Element) else str(target)
        declared = self._declared(name.partition(".")[0])
        if declared is None or name in self.ranges:
            self._fail(name, "is assigned but is no local variable")
        constant = declared.kind.startswith("const ") and (element or not declared.pointer)
        if constant or (
            not element
            and (_sizes(declared) if not declared.pointer else declared.pointer == FIXED)
        ):
            self._fail(name, "is assigned but constant")

    def _value(self, value: Value) -> None:
        """Check the names and indices of a value."""
        for part in parts(value):
            if isinstance(part, Access):
                self._access(part)
            elif isinstance(part, str):
                if "[" in part:
                    self._fail(part, "accesses an array in text")
                for word in _WORD.findall(part):
                    if not (word in self.file_names or word in MATH or self._declared(word)):
                        self._fail(word, "is used but not declared")

    def _access(self, access: Access) -> None:
        """Check an access: the array is declared, and its indices fit the dimensions."""
        name, _, member = access.array.partition(".")
        declared = self._declared(name)
        if declared is None and name not in self.file_names:
            self._fail(name, "is used but not declared")
        if member:
            return
        sizes = self.file_names[name] if declared is None else _sizes(declared)
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
        """Return the first and the last value of an index; () if they are unknown."""
        index_range = self.ranges.get(str(index), range(0))
        number = _number(index)
        return (*index_range[:1], *index_range[-1:]) if number is None else (number,)


def _number(value: Value) -> int | None:
    """Return the number that a value consists of; None for other values."""
    return (
        int(value) if isinstance(value, str | int) and re.fullmatch(r"-?\d+", str(value)) else None
    )


def _range(loop: For) -> range:
    """Return the values of the index of a loop; an empty range if they are unknown."""
    first, last = _number(loop.first), _number(loop.last)
    if first is None or last is None:
        return range(0)
    return range(first, last + (1 if loop.step > 0 else -1) * loop.inclusive, loop.step)


def _sizes(declared: Declare) -> Sizes:
    """Return the dimensions of a declared variable; a pointer has one of unknown size."""
    return ("", *declared.size) if declared.pointer else declared.size
