"""Interpreter of generated C: integers, pointers and memory are concrete, real numbers are terms.

Two terms are one object if they are the same operation of the same operands. The interpreter, a
`Machine`, checks each access: the element belongs to the array as declared, and is stored before it
is read. It rejects syntax that generated C does not have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import Any, NamedTuple

from pycparser import c_ast

from symgen.readback.literals import literal, nearest, opposite
from symgen.readback.parsing import INDEX, name_of
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import Real

WIDTHS = {"short": 2**15, "int": 2**31, "unsigned int": 2**32, "ptrdiff_t": 2**63}
"""Integer types, and the least magnitude that is too large for each."""
_NARROW = ("int", "unsigned int")
_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "==": eq,
    "!=": ne,
}
_INTEGER_OPERATORS = _COMPARISONS | {"+": add, "-": sub, "*": mul}
"""Operators on integers that have a result for all operands."""
_PARALLEL = "omp parallel for schedule(static, 1)"
_FUNCTIONS = {"sin": 1, "cos": 1, "sqrt": 1, "log": 1, "fabs": 1, "atan2": 2}
"""Functions of <math.h>, with their numbers of operands."""


class Term:
    """A real number: an operation of terms, and the line of the C that computed it first.

    Line 0 stands for the form, that is, the Program or the loop program. `known` is True for terms
    of the form.
    """

    __slots__ = ("known", "line", "note", "operands", "operation", "terms")

    def __init__(self, operation: Any, operands: tuple[Any, ...], terms: Terms) -> None:
        self.operation, self.operands, self.terms = operation, operands, terms
        self.line, self.note, self.known = terms.line, terms.note, terms.line == 0

    def __add__(self, other: Term) -> Term:
        return self.terms.of("add", self, other)

    def __mul__(self, other: Term) -> Term:
        return self.terms.of("mul", self, other)


class Terms:
    """Terms of one run of a function."""

    def __init__(self, real: Real) -> None:
        self.real = real
        self.terms: dict[Any, Term] = {}
        self.constants: dict[tuple[int, int], Term] = {}
        self.literals: dict[str, Term] = {}
        self.line, self.note = 0, ""
        """Interpreted line of the C, 0 while the form is evaluated; and the step that it calls."""
        self.sealed = False
        """True if an arithmetic operation that the form does not have is an error."""
        self.operations = 0
        """Number of arithmetic operations that the C performed."""

    def of(self, operation: Any, *operands: Any) -> Term:
        """Return the term of an operation: the existing one if there is one."""
        key = (operation, operands)
        term = self.terms.get(key)
        if term is None:
            if self.sealed and operation in ("add", "sub", "mul", "div", "neg", "sqrt", "log"):
                raise ProgramError(
                    f"line {self.line}: no row of the Program is this {operation} of these operands"
                )
            term = self.terms[key] = Term(operation, operands, self)
        return term

    def constant(self, value: Fraction) -> Term:
        """Return the constant of the real type that is nearest to a fraction."""
        key = value.numerator, value.denominator
        term = self.constants.get(key)
        if term is None:
            term = self.constants[key] = self.of("const", nearest(value, self.real))
        return term

    def literal(self, text: str) -> Term | None:
        """Return the constant of a literal; None if the literal is not of the real type."""
        term = self.literals.get(text)
        if term is None:
            number = literal(text, self.real)
            if number is None:
                return None
            term = self.literals[text] = self.of("const", number)
        return term

    def negative(self, term: Term) -> Term:
        """Return the negative of a term; the negative of a constant is a constant."""
        if term.operation == "const":
            return self.of("const", opposite(term.operands[0]))
        self.operations += self.line > 0
        return self.of("neg", term)

    def row(self, operation: str, value: Any, operands: Sequence[Term]) -> Term:
        """Return the term of a row of a Program; the row must not be an argument."""
        if operation == "const":
            return self.constant(value)
        return self.negative(*operands) if operation == "neg" else self.of(operation, *operands)


def first_difference(term: Term) -> Term:
    """Return the first term below `term` that the form does not have.

    All operands of the returned term are terms of the form. It is `term` itself if this is true of
    `term`.
    """
    while True:
        unknown_operand = next(
            (t for t in term.operands if isinstance(t, Term) and not t.known),
            None,
        )
        if unknown_operand is None:
            return term
        term = unknown_operand


@dataclass(eq=False, slots=True)
class Memory:
    """An array of real numbers or of integers; None is an element that was never stored."""

    name: str
    cells: Any
    constant: bool = False
    integers: bool = False
    role: str = ""
    """'argument', 'result' or 'workspace' of the called function; 'local' for a declared array."""


class Pointer(NamedTuple):
    """Pointer to element `at` of a memory, or to a row of `shape` elements that begins there.

    The array has the elements from `low` up to, but without, `high`.
    """

    memory: Memory
    at: int
    shape: tuple[int, ...]
    low: int
    high: int


def array(memory: Memory, *shape: int) -> Pointer:
    """Return a pointer to the first element of a memory; each element is a row of `shape`."""
    return Pointer(memory, 0, shape, 0, len(memory.cells))


@dataclass(eq=False, slots=True)
class Variable:
    """A local variable of a function: its type, and its value (None: not set)."""

    kind: Kind
    value: Any = None
    constant: bool = False


class Struct(dict[str, Any]):
    """A value of a struct type: the value of each field by name, None for a field not set."""

    def __init__(self, kind: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.kind = kind


class Reference(NamedTuple):
    """The address of a field of a struct."""

    fields: dict[str, Any]
    name: str


class Narrow(int):
    """An integer of 32 bits; the result of an operation on two of them has 32 bits, too."""


class Kind(NamedTuple):
    """A type: the name of the element type; "pointer", "array" or ""; and the array's sizes."""

    base: str
    form: str = ""
    sizes: tuple[int | None, ...] = ()
    struct: Any = None


@dataclass(eq=False)
class Region:
    """A parallel loop: the iteration that read, and the one that wrote, each element of a memory.

    `outer` are the identities of the variables that are declared outside of the loop.
    """

    outer: frozenset[int]
    iteration: int = 0
    reads: dict[tuple[Memory, int], int] = field(default_factory=dict)
    writes: dict[tuple[Memory, int], int] = field(default_factory=dict)

    def conflict(self, memory: Memory, at: int, write: bool) -> bool:
        """Record an access; return True if it conflicts with one of another iteration.

        Two accesses to an element conflict if at least one of them writes it.
        """
        key, iteration = (memory, at), self.iteration
        conflicts = self.writes.get(key, iteration) != iteration or (
            write and self.reads.get(key, iteration) != iteration
        )
        if write:
            self.writes[key] = iteration
        elif self.reads.setdefault(key, iteration) != iteration:
            self.reads[key] = 0  # 0 stands for several iterations; iterations count from 1
        return conflicts


def statements_allowed(numbers: int) -> int:
    """Return the number of statements after which a function is assumed to run forever.

    `numbers` is the amount of numbers that the function works on.
    """
    return 100_000 + 200 * numbers


class Returned(NamedTuple):
    """The value of a return statement."""

    value: Any


_CONTINUE = Returned(None)
"""Result of `continue`, which ends an iteration of a `for`."""
Run = Callable[["Machine"], Any]
"""Translation of a statement or an expression: it executes the statement on a machine."""
Step = Callable[["Machine", Sequence[Pointer], Any], Any]
"""A function that is verified separately: a call of it is one operation on memory."""
External = Callable[["Machine", Sequence[Any], Any], Any]
"""A function whose definition is not in the text: it receives values and returns one."""


@dataclass
class Machine:
    """Interpreter of the functions of one text."""

    terms: Terms
    functions: Mapping[str, Any]
    tables: dict[str, Any] = field(default_factory=dict)
    """Arrays and other values with file scope, by name."""
    steps: Mapping[str, Step] = field(default_factory=dict)
    externals: Mapping[str, External] = field(default_factory=dict)
    structs: Mapping[str, Callable[[], Struct]] = field(default_factory=dict)
    """Functions that return a new value of each struct type, by the name of the type."""
    integers: Mapping[str, int] = field(default_factory=dict)
    """Named integer constants."""
    sines: tuple[str, ...] = ()
    """Names of the text's own function that computes a sine and a cosine."""
    macros: Mapping[str, str] = field(default_factory=dict)
    """Functions of <math.h> by the names of their macros in the text."""
    angles: int = 0
    """Number of angles of one call of a function in `sines`; 0 if its argument is a number."""
    compare: Callable[[str, Term, Term, Any], bool] | None = None
    """Function that decides a comparison of real numbers; None if comparisons are errors."""
    aliased: str = ""
    """Permitted aliasing of results and arguments, '' for none.

    'aligned': a result and an argument may begin at the same element. 'anyhow': they may overlap in
    any way.
    """
    patience: float = math.inf
    """Number of statements that may still run before the function is assumed to run forever."""
    names: dict[str, Variable] = field(default_factory=dict)
    """Variables of the running function, by name."""
    region: Region | None = None
    """The parallel loop that runs; None outside of such a loop."""
    stored: set[int] = field(default_factory=set)
    """Indices of the elements of results that were stored."""
    workspace_sizes: set[int] = field(default_factory=set)
    """Sizes that functions declare for the workspace of the called function."""
    stack: int = 0
    """Bytes of the local arrays of real numbers of all functions that run."""
    peak_stack: int = 0
    """Largest value of `stack` so far."""
    code: dict[int, tuple[Any, Run]] = field(default_factory=dict)
    """Translated statements and expressions by the identity of their nodes.

    Machines of one text may share them.
    """

    def __post_init__(self) -> None:
        real = self.terms.real
        self.libm = {real.libm(name): name for name in _FUNCTIONS} | dict(self.macros)
        self.kinds: dict[int, Kind] = {}

    # -- memory --

    def load(self, memory: Memory, at: int, node: Any) -> Any:
        """Return an element of a memory. Raises ProgramError if it may not be read."""
        value = memory.cells[at]
        if value is None:
            raise self.refuse(node, f"{memory.name}[{at}] is read before it is stored")
        if (
            self.aliased
            and memory.role == "argument"
            and (at in self.stored if self.aliased == "aligned" else self.stored)
        ):
            raise self.refuse(
                node,
                f"{memory.name}[{at}] is read after a result that may alias it is stored",
            )
        if self.region is not None and self.region.conflict(memory, at, False):
            raise self.refuse(
                node, f"{memory.name}[{at}] is written by another iteration of the loop"
            )
        return value

    def store(self, memory: Memory, at: int, value: Any, node: Any) -> None:
        """Store an element of a memory. Raises ProgramError if it may not be stored to."""
        if memory.constant:
            raise self.refuse(node, f"{memory.name}[{at}] may not be stored to")
        if memory.role == "result":
            self.stored.add(at)
        if self.region is not None and self.region.conflict(memory, at, True):
            raise self.refuse(node, f"{memory.name}[{at}] is used by another iteration of the loop")
        memory.cells[at] = value

    def advanced(self, pointer: Pointer, rows: int, node: Any) -> Pointer:
        """Return a pointer moved forward by so many elements, or rows of its shape.

        Raises ProgramError if the result is outside of the array.
        """
        at = pointer.at + rows * math.prod(pointer.shape)
        if not pointer.low <= at <= pointer.high:
            raise self.outside(pointer, at, node)
        return pointer._replace(at=at)

    def outside(self, pointer: Pointer, at: int, node: Any) -> ProgramError:
        """Return the error for an index outside of an array."""
        return self.refuse(
            node,
            f"{pointer.memory.name}[{at}] is outside of the elements {pointer.low} to"
            f" {pointer.high - 1}",
        )

    def refuse(self, node: Any, sentence: str) -> ProgramError:
        """Return an error with the line of a node."""
        return ProgramError(f"line {line_of(node) or self.terms.line}: {sentence}")

    def strange(self, node: Any) -> ProgramError:
        """Return the error for syntax that generated C does not have at this place."""
        return self.refuse(node, f"a {type(node).__name__} that generated code never holds there")

    def endless(self, node: Any) -> ProgramError:
        """Return the error for a function that is assumed to run forever."""
        return self.refuse(
            node,
            "the function runs more statements than its loops can need and does not seem to end",
        )

    # -- functions --

    def call(self, name: str, arguments: Sequence[Any], node: Any = None) -> Any:
        """Interpret a function of the text; return its result."""
        function = self.functions.get(name)
        if function is None:
            raise self.refuse(node, f"{name} is not a function of this text")
        declared = function.decl.type
        parameters = declared.args.params if declared.args else []
        if len(parameters) != len(arguments):
            raise self.refuse(
                node, f"{name} is given {len(arguments)} arguments, not {len(parameters)}"
            )
        self._require_no_alias(parameters, arguments, node)
        outer, self.names = self.names, {}
        for parameter, value in zip(parameters, arguments, strict=True):
            self._bind(parameter, value, node)
        returned = self._translated(function.body, _block)(self)
        self.names = outer
        parameter_kind = self.kind(declared.type)
        if parameter_kind.base == "void" and parameter_kind.form == "":
            if returned is not None:
                raise self.refuse(function.decl, f"{name} returns a value, and is declared void")
            return None
        if returned is None:
            raise self.refuse(function.decl, f"{name} does not return a value")
        return self.converted(parameter_kind, returned.value, function.decl)

    def _require_no_alias(
        self, parameters: Sequence[Any], arguments: Sequence[Any], node: Any
    ) -> None:
        """Raise ProgramError if the array of a `restrict` parameter is passed twice."""
        memories = [pointer.memory for pointer in arguments if isinstance(pointer, Pointer)]
        for parameter, pointer in zip(parameters, arguments, strict=True):
            restrict = "restrict" in getattr(parameter.type, "dim_quals", ())
            if restrict and isinstance(pointer, Pointer) and memories.count(pointer.memory) > 1:
                raise self.refuse(
                    node, f"{parameter.name} overlaps another array, but is declared restrict"
                )

    def _bind(self, parameter: Any, value: Any, node: Any) -> None:
        """Declare a parameter of the called function with its value."""
        kind = self.kind(parameter.type)
        if kind.form == "array":
            size, *shape = kind.sizes
            if not isinstance(value, Pointer) or value.shape != tuple(shape):
                raise self.refuse(node, f"{parameter.name} needs an array of its declared type")
            elements = (size or 0) * math.prod(value.shape)
            has_known_size = value.memory.role != "workspace" or value.at > value.low
            if elements and not has_known_size:
                self.workspace_sizes.add(elements)
                if len(self.workspace_sizes) > 1:
                    raise self.refuse(node, f"{parameter.name} is declared with another size")
            end = value.at + elements
            is_whole = value.memory.role in ("argument", "result") and value.at == value.low
            other_size = end > value.high or (is_whole and elements and end != value.high)
            if has_known_size and (value.at < value.low or other_size):
                raise self.refuse(
                    node,
                    f"{value.memory.name}[{value.at}] and the following elements do not match"
                    f" {parameter.name}",
                )
            kind = Kind(kind.base, "pointer", tuple(shape))
        self.new(parameter.name, kind, self.converted(kind, value, node or parameter), parameter)

    def new(self, name: str, kind: Kind, value: Any, node: Any, constant: bool = False) -> Variable:
        """Declare a variable of the running function, and return it."""
        if name in self.names or name in self.tables or name in self.functions:
            raise self.refuse(node, f"{name} is declared a second time")
        variable = self.names[name] = Variable(kind, value, constant)
        return variable

    def converted(self, kind: Kind, value: Any, node: Any) -> Any:
        """Return a value converted to a type. Raises ProgramError if its type differs."""
        if type(value) is Term and kind.base == self.terms.real.name and kind.form == "":
            return value
        if kind.form == "pointer":
            has_type = self._is_pointer(kind, value)
        elif kind.base in WIDTHS:
            has_type = isinstance(value, int) and abs(value) < WIDTHS[kind.base]
            has_type = has_type and (value >= 0 or kind.base != "unsigned int")
            value = int(value) if has_type else value
        elif kind.base == self.terms.real.name:
            has_type = isinstance(value, Term)
        else:
            has_type = isinstance(value, Mapping) and self._is_struct(kind, value)
        if not has_type or kind.form == "array":
            raise self.refuse(node, f"a value of another type than {kind.base} is given")
        return value

    @staticmethod
    def _is_pointer(kind: Kind, value: Any) -> bool:
        """True if a value is a pointer of that type, or the null pointer."""
        if not isinstance(value, Pointer):
            return bool(value == 0)
        return value.shape == kind.sizes and value.memory.integers == (kind.base in WIDTHS)

    @staticmethod
    def _is_struct(kind: Kind, value: Mapping[str, Any]) -> bool:
        """True if a value is a struct of that type.

        Sines and cosines are of a type NAME_pair, and arrays of them of a type NAME_turns.
        """
        if isinstance(value, Struct):
            return value.kind == kind.base
        several = any(isinstance(field, Pointer) for field in value.values())
        return kind.base == "struct" or kind.base.endswith("_turns" if several else "_pair")

    # -- types --

    def kind(self, node: Any) -> Kind:
        """Return the type that a declaration states."""
        kind = self.kinds.get(id(node))
        if kind is None:
            kind = self.kinds[id(node)] = self._kind(node)
        return kind

    def _kind(self, node: Any) -> Kind:
        sizes: list[int | None] = []
        form = ""
        inner = node
        if isinstance(inner, c_ast.PtrDecl):
            form, inner = "pointer", inner.type
        while isinstance(inner, c_ast.ArrayDecl):
            form = form or "array"
            sizes.append(None if inner.dim is None else self.integer(inner.dim))
            inner = inner.type
        if not isinstance(inner, c_ast.TypeDecl):
            raise self.strange(node)
        if isinstance(inner.type, c_ast.Struct) and not form:
            return Kind("struct", struct=inner.type)
        base = " ".join(getattr(inner.type, "names", ["?"]))
        known_types = {*WIDTHS, "void", self.terms.real.name, *self.structs}
        is_sine_type = base.endswith(("_pair", "_turns")) and not form
        if base not in known_types and not is_sine_type:
            raise self.refuse(node, f"the type {base} does not belong into this text")
        return Kind(base, form, tuple(sizes))

    # -- declarations and assignments --

    def declare_array(self, node: Any, kind: Kind) -> None:
        """Declare a local array."""
        local_array = self.new_array(node, kind)
        local_array.memory.role = "local"
        self.count_bytes(local_array)
        self.new(node.name, kind, local_array, node, constant=True)

    def count_bytes(self, local_array: Pointer) -> None:
        """Add the bytes of a local array of real numbers to the stack."""
        if not local_array.memory.integers:
            self.stack += len(local_array.memory.cells) * self.terms.real.size
        self.peak_stack = max(self.peak_stack, self.stack)

    def struct(self, name: str, declared: Any) -> Struct:
        """Return a new value of a struct type, whose fields are numbers and arrays of numbers."""
        fields = {}
        for member in declared.decls or ():
            kind = self.kind(member.type)
            is_real = kind.form == "" and kind.base == self.terms.real.name
            fields[member.name] = None if is_real else self.new_array(member, kind)
        return Struct(name, fields)

    def new_array(self, node: Any, kind: Kind) -> Pointer:
        """Return a new array with its initial values."""
        sizes = [size for size in kind.sizes if size]
        if len(sizes) != len(kind.sizes) or kind.base == "void":
            raise self.strange(node)
        integers = kind.base in WIDTHS
        cells: list[Any] = [None] * math.prod(sizes)
        if node.init is not None:
            values = self._initial(node.init, sizes, kind, node)
            zero = 0 if integers else self.terms.constant(Fraction(0))
            cells = [*values, *[zero] * (len(cells) - len(values))]
        inner = node.type
        while isinstance(inner, c_ast.ArrayDecl):
            inner = inner.type
        constant = "const" in inner.quals
        return array(Memory(node.name, cells, constant, integers), *sizes[1:])

    def _initial(self, node: Any, sizes: Sequence[int], kind: Kind, declared: Any) -> list[Any]:
        """Return the values of an initializer; each of its rows must be complete."""
        if not isinstance(node, c_ast.InitList):
            raise self.strange(node)
        if len(sizes) == 1:
            if len(node.exprs) > sizes[0]:
                raise self.refuse(declared, f"{declared.name} has more values than {sizes[0]}")
            element_kind = Kind(kind.base)
            return [self.converted(element_kind, self.value(item), declared) for item in node.exprs]
        if len(node.exprs) == 1 and not isinstance(node.exprs[0], c_ast.InitList):
            return self._initial(node, sizes[:1], kind, declared)
        if len(node.exprs) != sizes[0]:
            raise self.refuse(
                declared, f"{declared.name} has {len(node.exprs)} rows, not {sizes[0]}"
            )
        values = []
        for row in node.exprs:
            row_values = self._initial(row, sizes[1:], kind, declared)
            if len(row_values) != math.prod(sizes[1:]):
                raise self.refuse(
                    row, f"a row of {declared.name} does not have {math.prod(sizes[1:])} numbers"
                )
            values += row_values
        return values

    def set_field(self, fields: dict[str, Any], name: str, value: Any, target: Any) -> None:
        """Assign a value to a field. Raises ProgramError if its type differs."""
        before = fields[name]
        if isinstance(before, int):
            has_type = isinstance(value, int) and 0 <= value < 2**32
        elif isinstance(before, Struct):
            has_type = isinstance(value, Struct) and value.kind == before.kind
        else:
            has_type = isinstance(value, Term) and not isinstance(before, Pointer)
        if not has_type:
            raise self.refuse(target, f"the field {name} is given a value of another type")
        fields[name] = value

    def set_local(self, name: str, value: Any, node: Any) -> None:
        """Assign a value to a local variable."""
        variable = self.names.get(name)
        if variable is None or variable.constant:
            raise self.strange(node)
        if self.region is not None and id(variable) in self.region.outer:
            raise self.refuse(node, f"{name} is shared by all iterations of a parallel loop")
        variable.value = self.converted(variable.kind, value, node)

    # -- expressions --

    def _translated(self, node: Any, translate: Callable[[Any], Run]) -> Run:
        """Return the translation of a node; each node is translated only once."""
        translation = self.code.get(id(node))
        if translation is None:
            translation = self.code[id(node)] = (node, translate(node))
        return translation[1]

    def value(self, node: Any) -> Any:
        """Return the value of an expression."""
        return self._translated(node, _expression)(self)

    def integer(self, node: Any) -> int:
        """Return the value of an expression of integers."""
        value = self.value(node)
        if not isinstance(value, int):
            raise self.strange(node)
        return value

    def of_values(self, operator: str, left: Any, right: Any, node: Any) -> Any:
        """Return the result of an operator on two values."""
        if isinstance(left, Term) and isinstance(right, Term):
            return self.of_reals(operator, left, right, node)
        if isinstance(left, int) and isinstance(right, int):
            comparison = _COMPARISONS.get(operator)
            return (
                comparison(left, right)
                if comparison
                else self.of_integers(operator, left, right, node)
            )
        if isinstance(left, Pointer) and operator == "+" and isinstance(right, int):
            return self.advanced(left, right, node)
        if isinstance(left, Pointer) and operator in ("==", "!=") and right == 0:
            return operator == "!="
        raise self.strange(node)

    def of_reals(self, operator: str, left: Term, right: Term, node: Any) -> Any:
        """Return the result of an operator on two real numbers."""
        operation = _ARITHMETIC.get(operator)
        if operation is not None:
            self.terms.operations += 1
            return self.terms.of(operation, left, right)
        if self.compare is None or operator not in (">=", "<="):
            raise self.strange(node)
        return self.compare(operator, left, right, node)

    def of_integers(self, operator: str, left: int, right: int, node: Any) -> int:
        """Return the result of an operation on two integers."""
        if isinstance(left, bool) or isinstance(right, bool):
            raise self.strange(node)
        value = self._operation(operator, left, right, node)
        if isinstance(left, Narrow) and isinstance(right, Narrow):
            if not -(2**31) <= value < 2**32:
                raise self.refuse(node, f"{left} {operator} {right} does not fit into 32 bits")
            return Narrow(value)
        return value

    def _operation(self, operator: str, left: int, right: int, node: Any) -> int:
        if operator == "+":
            return left + right
        if operator == "-":
            return left - right
        if operator == "*":
            return left * right
        if operator in ("/", "%") and left >= 0 and right > 0:
            return left // right if operator == "/" else left % right
        if operator == ">>" and left >= 0 and 0 <= right < 31:
            return left >> right
        raise self.refuse(node, f"{left} {operator} {right} is not an operation of generated code")

    def call_any(self, name: str, arguments: list[Any], node: Any) -> Any:
        """Return the value of a call of a step, of <math.h>, of sines, or of another function."""
        step = self.steps.get(name)
        if step is not None:
            if not all(isinstance(argument, Pointer) for argument in arguments):
                raise self.refuse(node, f"{name} is called with a number in place of an array")
            self.terms.note = name
            step(self, arguments, node)
            self.terms.note = ""
            return None
        operation = self.libm.get(name)
        if operation is not None:
            if len(arguments) != _FUNCTIONS[operation] or not all(
                isinstance(argument, Term) for argument in arguments
            ):
                raise self.strange(node)
            self.terms.operations += operation not in ("sin", "cos", "fabs")
            return self.terms.of(operation, *arguments)
        if name in self.sines and len(arguments) == 1:
            return self._sines(arguments[0], node)
        if name in self.externals:
            return self.externals[name](self, arguments, node)
        return self.call(name, arguments, node)

    def _sines(self, angle: Any, node: Any) -> dict[str, Any]:
        """Return the sine and cosine of an angle, or of all angles of an array."""
        operations = {"sine": "sin", "cosine": "cos"}
        if isinstance(angle, Term) and not self.angles:
            return {field: self.terms.of(op, angle) for field, op in operations.items()}
        covers_array = isinstance(angle, Pointer) and (0, self.angles) == (angle.at, angle.high)
        if not covers_array or angle.shape:
            raise self.refuse(node, f"{self.angles or 1} angles are expected")
        angles = [self.load(angle.memory, k, node) for k in range(self.angles)]
        return {
            field: array(Memory(field, [self.terms.of(op, angle) for angle in angles], True))
            for field, op in operations.items()
        }


# -- statements, translated ------------------------------------------------------------------------
#
# Each node is translated once into a Python function of the machine, because loops run the same
# nodes thousands of times. An error of a node is raised when the node runs.


def _strange(node: Any) -> Run:
    """Translate syntax that generated C does not have at this place: running it is an error."""

    def run(machine: Machine) -> Any:
        raise machine.strange(node)

    return run


def _refusal(node: Any, sentence: str) -> Run:
    """Translate a node that is an error, which `sentence` describes."""

    def run(machine: Machine) -> Any:
        raise machine.refuse(node, sentence)

    return run


def _block(node: Any) -> Run:
    """Translate `{ … }`, whose result is that of its first `return` or `continue`, else None."""
    if not isinstance(node, c_ast.Compound):
        return _strange(node)
    items = _items(node)

    def run(machine: Machine) -> Returned | None:
        names, before, stack = machine.names, len(machine.names), machine.stack
        returned = None
        for counted, line, run_item in items:
            if counted is not None:
                machine.patience -= 1
                if machine.patience < 0:
                    raise machine.endless(counted)
                if line:
                    machine.terms.line = line
            returned = run_item(machine)
            if returned is not None:
                break
        while len(names) > before:
            names.popitem()
        machine.stack = stack
        return returned

    return run


def _items(block: Any) -> list[tuple[Any, int | None, Run]]:
    """Return the node, the line and the translation of each statement of a block.

    Node and line are None for statements that `Machine.patience` does not count.
    """
    items: list[tuple[Any, int | None, Run]] = []
    parallel = False
    for item in block.block_items or ():
        if isinstance(item, c_ast.Pragma):
            if item.string != _PARALLEL or parallel:
                sentence = f"#pragma {item.string} does not belong into this text"
                items.append((None, None, _refusal(item, sentence)))
            parallel = True
        elif parallel:
            items.append((None, None, _parallel(item)))
            parallel = False
        else:
            translate = _STATEMENTS.get(type(item), _strange)
            items.append((item, line_of(item), translate(item)))
    if parallel:
        items.append((None, None, _strange(block)))
    return items


def _statement(node: Any) -> Run:
    """Translate a single statement."""
    run_statement = _STATEMENTS.get(type(node), _strange)(node)
    line = line_of(node)

    def run(machine: Machine) -> Returned | None:
        machine.patience -= 1
        if machine.patience < 0:
            raise machine.endless(node)
        if line:
            machine.terms.line = line
        returned: Returned | None = run_statement(machine)
        return returned

    return run


def _parallel(node: Any) -> Run:
    """Translate a loop whose iterations may run in parallel."""
    if not isinstance(node, c_ast.For):
        return _strange(node)
    index = name_of(getattr(node.init, "lvalue", None))
    loop = _loop(node, True)

    def run(machine: Machine) -> Returned | None:
        if machine.region is not None:
            raise machine.strange(node)
        returned: Returned | None = loop(machine)
        machine.names[index].value = None  # the index is private to each iteration
        return returned

    return run


def _for(node: Any) -> Run:
    return _loop(node, False)


def _loop(node: Any, parallel: bool) -> Run:
    """Translate a `for` loop; `parallel`: its iterations may run in parallel."""
    if not isinstance(node.init, c_ast.Assignment) or node.next is None or node.cond is None:
        return _strange(node)
    start, holds = _assign(node.init), _condition(node.cond)
    body, step = _block(node.stmt), _statement(node.next)
    index = name_of(node.init.lvalue)

    def run(machine: Machine) -> Returned | None:
        start(machine)
        while holds(machine):
            returned: Returned | None = body(machine)
            if returned is not None and returned is not _CONTINUE:
                return returned
            step(machine)
        return None

    def run_parallel(machine: Machine) -> Returned | None:
        outer = {id(variable) for name, variable in machine.names.items() if name != index}
        region = Region(frozenset(outer))
        start(machine)
        while holds(machine):
            region.iteration += 1
            machine.region = region
            returned: Returned | None = body(machine)
            machine.region = None
            if returned is not None and returned is not _CONTINUE:
                return returned
            step(machine)
        return None

    return run_parallel if parallel else run


def _while(node: Any) -> Run:
    holds, body = _condition(node.cond), _block(node.stmt)

    def run(machine: Machine) -> Returned | None:
        while holds(machine):
            machine.patience -= 1
            if machine.patience < 0:
                raise machine.refuse(node, "this loop does not end")
            returned: Returned | None = body(machine)
            if returned is _CONTINUE:
                raise machine.strange(node)
            if returned is not None:
                return returned
        return None

    return run


def _do(node: Any) -> Run:
    body, loop = _block(node.stmt), _while(node)

    def run(machine: Machine) -> Returned | None:
        returned: Returned | None = body(machine)
        return loop(machine) if returned is None else returned

    return run


def _if(node: Any) -> Run:
    holds, body = _condition(node.cond), _block(node.iftrue)
    otherwise: Run | None = None
    if node.iffalse is not None:
        is_chained = isinstance(node.iffalse, c_ast.If)
        otherwise = _statement(node.iffalse) if is_chained else _block(node.iffalse)

    def run(machine: Machine) -> Returned | None:
        returned: Returned | None = None
        if holds(machine):
            returned = body(machine)
        elif otherwise is not None:
            returned = otherwise(machine)
        return returned

    return run


def _return(node: Any) -> Run:
    value = _expression(node.expr)
    return lambda machine: Returned(value(machine))


def _continue(_: Any) -> Run:
    return lambda machine: _CONTINUE


def _unused(node: Any) -> Run:
    """Translate `(void)x;`."""
    name = name_of(node.expr)

    def run(machine: Machine) -> None:
        if machine.kind(node.to_type.type).base != "void" or name not in machine.names:
            raise machine.strange(node)

    return run


def _call_statement(node: Any) -> Run:
    call = _call(node)

    def run(machine: Machine) -> None:
        call(machine)

    return run


def _declare(node: Any) -> Run:
    """Translate the declaration of a local: a number, a pointer, an array, or a struct."""
    if node.storage or node.funcspec:
        return _strange(node)
    constant = "const" in getattr(node.type, "quals", ())
    initial = None if node.init is None else _expression(node.init)

    def run(machine: Machine) -> None:
        kind = machine.kind(node.type)
        if kind.form == "array":
            machine.declare_array(node, kind)
            return
        value = None
        if kind.struct is not None:
            value = machine.struct("struct", kind.struct)
            for field_value in value.values():
                if isinstance(field_value, Pointer):
                    machine.count_bytes(field_value)
        elif kind.base in machine.structs and not kind.form and _is_empty(node.init):
            value = machine.structs[kind.base]()
        elif initial is not None:
            value = machine.converted(kind, initial(machine), node)
        machine.new(node.name, kind, value, node, constant)

    return run


def _assign(node: Any) -> Run:
    target = node.lvalue
    value = _expression(node.rvalue) if node.op == "=" else _changed(node)
    if isinstance(target, c_ast.StructRef):
        field_of = _field(target)

        def run_field(machine: Machine) -> None:
            assigned = value(machine)
            fields, name = field_of(machine)
            machine.set_field(fields, name, assigned, target)

        return run_field
    if not isinstance(target, c_ast.ArrayRef):
        name = name_of(target)
        return lambda machine: machine.set_local(name, value(machine), node)
    place_of = _place(target)

    def run(machine: Machine) -> None:
        assigned = value(machine)
        memory, at = place_of(machine)
        if memory.integers != isinstance(assigned, int) or not isinstance(assigned, int | Term):
            raise machine.refuse(node, f"{memory.name} holds numbers of another type")
        machine.store(memory, at, assigned, node)

    return run


def _changed(node: Any) -> Run:
    """Translate the value that an assignment such as `+=` stores."""
    operator = node.op[:-1]
    right_of, left_of = _expression(node.rvalue), _expression(node.lvalue)

    def run(machine: Machine) -> Any:
        right, left = right_of(machine), left_of(machine)
        if operator not in _ARITHMETIC or isinstance(left, bool):
            raise machine.strange(node)
        if isinstance(left, int) and isinstance(right, int):
            return machine.of_integers(operator, left, right, node)
        if isinstance(left, Term) and isinstance(right, Term):
            return machine.of_reals(operator, left, right, node)
        raise machine.strange(node)

    return run


def _count(node: Any) -> Run:
    """Translate `++x`."""
    if node.op not in ("++", "--", "p++", "p--"):
        return _strange(node)
    before, step, name = _integer(node.expr), 1 if "+" in node.op else -1, name_of(node.expr)
    return lambda machine: machine.set_local(name, before(machine) + step, node)


_STATEMENTS: dict[type, Callable[[Any], Run]] = {
    c_ast.FuncCall: _call_statement,
    c_ast.Decl: _declare,
    c_ast.Assignment: _assign,
    c_ast.UnaryOp: _count,
    c_ast.If: _if,
    c_ast.For: _for,
    c_ast.While: _while,
    c_ast.DoWhile: _do,
    c_ast.Compound: _block,
    c_ast.Return: _return,
    c_ast.Continue: _continue,
    c_ast.Cast: _unused,
}


# -- expressions, translated -----------------------------------------------------------------------


def _expression(node: Any) -> Run:
    """Translate an expression into a function that returns its value."""
    return _EXPRESSIONS.get(type(node), _strange)(node)


def _of_type(node: Any, kind: type) -> Run:
    """Translate an expression whose value must be of a Python type."""
    value_of = _expression(node)

    def run(machine: Machine) -> Any:
        value = value_of(machine)
        if not isinstance(value, kind):
            raise machine.strange(node)
        return value

    return run


def _integer(node: Any) -> Run:
    return _of_type(node, int)


def _pointer(node: Any) -> Run:
    return _of_type(node, Pointer)


def _condition(node: Any) -> Run:
    return _of_type(node, bool)


def _constant(node: Any) -> Run:
    text = node.value
    if INDEX.fullmatch(text):
        number = int(text)
        return lambda machine: number

    def run(machine: Machine) -> Term:
        term = machine.terms.literal(text)
        if term is None:
            real = machine.terms.real.name
            raise machine.refuse(node, f"the literal {text} is not of the type {real}")
        return term

    return run


def _name(node: Any) -> Run:
    name = node.name

    def run(machine: Machine) -> Any:
        variable = machine.names.get(name)
        if variable is not None:
            if variable.value is None:
                raise machine.refuse(node, f"{name} is read before it is set")
            return variable.value
        if name in machine.tables:
            return machine.tables[name]
        if name in machine.integers:
            return machine.integers[name]
        raise machine.refuse(node, f"{name} is not declared")

    return run


def _place(node: Any) -> Run:
    """Translate an element that is stored to: return its memory and its index."""
    pointer_of, index_of = _pointer(node.name), _integer(node.subscript)

    def run(machine: Machine) -> tuple[Memory, int]:
        pointer, index = pointer_of(machine), index_of(machine)
        memory, start, shape, low, high = pointer
        at = start + index
        if shape:
            raise machine.refuse(node, f"a row of {memory.name} is not a number")
        if not low <= at < high:
            raise machine.outside(pointer, at, node)
        return memory, at

    return run


def _element(node: Any) -> Run:
    """Translate an element, or a row of elements."""
    pointer_of, index_of = _expression(node.name), _expression(node.subscript)

    def run(machine: Machine) -> Any:
        pointer, index = pointer_of(machine), index_of(machine)
        if not isinstance(pointer, Pointer) or not isinstance(index, int):
            raise machine.strange(node)
        memory, start, shape, low, high = pointer
        if not shape:
            at = start + index
            if not low <= at < high:
                raise machine.outside(pointer, at, node)
            return machine.load(memory, at, node)
        size = math.prod(shape)
        at = start + index * size
        if not (low <= at and at + size <= high):
            raise machine.outside(pointer, at, node)
        return Pointer(memory, at, shape[1:], at, at + size)

    return run


def _binary(node: Any) -> Run:
    operator = node.op
    if operator in ("&&", "||"):
        first, second = _condition(node.left), _condition(node.right)
        deciding_value = operator == "||"

        def run_condition(machine: Machine) -> bool:
            holds: bool = first(machine)
            return holds if holds == deciding_value else second(machine)

        return run_condition
    left_of, right_of = _expression(node.left), _expression(node.right)
    integer_operator = _INTEGER_OPERATORS.get(operator)
    if integer_operator is None:
        return lambda machine: machine.of_values(
            operator, left_of(machine), right_of(machine), node
        )

    def run(machine: Machine) -> Any:
        left, right = left_of(machine), right_of(machine)
        if type(left) is int and type(right) is int:
            return integer_operator(left, right)
        return machine.of_values(operator, left, right, node)

    return run


def _unary(node: Any) -> Run:
    operator = node.op
    if operator == "&" and isinstance(node.expr, c_ast.ArrayRef):
        pointer, index = _pointer(node.expr.name), _integer(node.expr.subscript)
        return lambda machine: machine.advanced(pointer(machine), index(machine), node)
    if operator == "&" and isinstance(node.expr, c_ast.StructRef):
        field_of = _field(node.expr)
        return lambda machine: Reference(*field_of(machine))
    value_of = _expression(node.expr)

    def run(machine: Machine) -> Any:
        value = value_of(machine)
        if operator == "&" and isinstance(value, Struct):
            return value
        if operator == "-" and isinstance(value, Term):
            return machine.terms.negative(value)
        if operator == "-" and isinstance(value, int) and not isinstance(value, bool):
            return -value
        if operator == "!" and isinstance(value, bool):
            return not value
        raise machine.strange(node)

    return run


def _choice(node: Any) -> Run:
    holds = _condition(node.cond)
    first, second = _expression(node.iftrue), _expression(node.iffalse)
    return lambda machine: first(machine) if holds(machine) else second(machine)


def _cast(node: Any) -> Run:
    value_of = _expression(node.expr)

    def run(machine: Machine) -> Any:
        kind, value = machine.kind(node.to_type.type), value_of(machine)
        if kind.form == "pointer" and isinstance(value, Pointer) and not value.shape:
            sizes = tuple(size or 0 for size in kind.sizes)
            return machine.converted(kind, value._replace(shape=sizes), node)
        if kind.form == "" and kind.base in WIDTHS and isinstance(value, int):
            converted = machine.converted(kind, value, node)
            return Narrow(converted) if kind.base in _NARROW else converted
        raise machine.strange(node)

    return run


def _call(node: Any) -> Run:
    name, line = name_of(node.name), line_of(node)
    values = [_expression(item) for item in (node.args.exprs if node.args else ())]

    def run(machine: Machine) -> Any:
        arguments = [value(machine) for value in values]
        if line:
            machine.terms.line = line
        return machine.call_any(name, arguments, node)

    return run


def _member(node: Any) -> Run:
    """Translate the value of a field of a struct."""
    field_of = _field(node)

    def run(machine: Machine) -> Any:
        fields, name = field_of(machine)
        if fields[name] is None:
            raise machine.refuse(node, f"{name} is read before it is set")
        return fields[name]

    return run


def _field(node: Any) -> Run:
    """Translate a field of a struct: return all fields of the struct, and the name of this one."""
    if node.type != ".":
        return _strange(node)
    fields_of, name = _expression(node.name), node.field.name

    def run(machine: Machine) -> tuple[dict[str, Any], str]:
        fields = fields_of(machine)
        if not isinstance(fields, dict) or name not in fields:
            raise machine.strange(node)
        return fields, name

    return run


_EXPRESSIONS: dict[type, Callable[[Any], Run]] = {
    c_ast.Constant: _constant,
    c_ast.ID: _name,
    c_ast.ArrayRef: _element,
    c_ast.BinaryOp: _binary,
    c_ast.UnaryOp: _unary,
    c_ast.TernaryOp: _choice,
    c_ast.Cast: _cast,
    c_ast.FuncCall: _call,
    c_ast.StructRef: _member,
}


def _is_empty(initial: Any) -> bool:
    """True for a declaration without an initial value, or with an empty one."""
    return initial is None or (isinstance(initial, c_ast.InitList) and not initial.exprs)


def line_of(node: Any) -> int:
    """Return the line of a node; 0 if the node has no line."""
    return int(node.coord.line) if getattr(node, "coord", None) else 0
