"""A machine for the C of generated text: integers, pointers and memory are concrete, real numbers are terms.

Two terms are one object if they were made by the same operation of the same terms. Each access is checked: an array has the
elements that are declared, and an element is written before it is read. Syntax that the machine does not know is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from pycparser import c_ast

from symgen.readback.literals import literal, nearest, opposite
from symgen.readback.parsing import INDEX, name_of
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import Real

WIDTHS = {"short": 2**15, "int": 2**31, "unsigned int": 2**32, "ptrdiff_t": 2**63}
"""Integer types, and the least magnitude that each does not hold."""
_NARROW = ("int", "unsigned int")
_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
_PARALLEL = "omp parallel for schedule(static, 1)"
_FUNCTIONS = {"sin": 1, "cos": 1, "sqrt": 1, "log": 1, "fabs": 1, "atan2": 2}
"""Functions of <math.h> by their operands."""


class Term:
    """A real number: an operation of terms, and the line of the C that computed it first (0: the form itself)."""

    __slots__ = ("known", "line", "note", "operands", "operation", "terms")

    def __init__(self, operation: Any, operands: tuple[Any, ...], terms: Terms) -> None:
        self.operation, self.operands, self.terms = operation, operands, terms
        self.line, self.note, self.known = terms.line, terms.note, terms.line == 0

    def __add__(self, other: Term) -> Term:
        return self.terms.of("add", self, other)

    def __mul__(self, other: Term) -> Term:
        return self.terms.of("mul", self, other)


class Terms:
    """The terms of one run of a function."""

    def __init__(self, real: Real) -> None:
        self.real = real
        self.terms: dict[Any, Term] = {}
        self.constants: dict[tuple[int, int], Term] = {}
        self.literals: dict[str, Term] = {}
        self.line, self.note = 0, ""
        """Line of the C that is interpreted, and the step that it calls; 0 while the form is evaluated."""
        self.sealed = False
        """True where the C may do no operation that the form does not."""
        self.operations = 0

    def of(self, operation: Any, *operands: Any) -> Term:
        """Return the term of an operation."""
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
        """Return the constant that is nearest to a fraction."""
        key = value.numerator, value.denominator
        term = self.constants.get(key)
        if term is None:
            term = self.constants[key] = self.of("const", nearest(value, self.real))
        return term

    def literal(self, text: str) -> Term | None:
        """Return the constant that a literal is; None where it is not of the type."""
        term = self.literals.get(text)
        if term is None:
            number = literal(text, self.real)
            if number is None:
                return None
            term = self.literals[text] = self.of("const", number)
        return term

    def negative(self, term: Term) -> Term:
        """Return the opposite of a term: of a constant it is a constant."""
        if term.operation == "const":
            return self.of("const", opposite(term.operands[0]))
        self.operations += self.line > 0
        return self.of("neg", term)

    def row(self, operation: str, value: Any, operands: Sequence[Term]) -> Term:
        """Return the term of a row of a Program that is no argument."""
        if operation == "const":
            return self.constant(value)
        return self.negative(*operands) if operation == "neg" else self.of(operation, *operands)


def first_difference(term: Term) -> Term:
    """Return the first term below a wrong one that the form does not have; the term itself if the form has it."""
    while True:
        wrong = next(
            (t for t in term.operands if isinstance(t, Term) and not t.known),
            None,
        )
        if wrong is None:
            return term
        term = wrong


@dataclass(eq=False, slots=True)
class Memory:
    """An array of real numbers or of integers; None is an element that was never written."""

    name: str
    cells: Any
    constant: bool = False
    integers: bool = False
    role: str = ""
    """'argument', 'result' or 'workspace' of the function that a user calls; 'local' of an array that a function declares."""


class Pointer(NamedTuple):
    """An element of an array, or a row of `shape` elements, in an array whose bounds are `low` and `high`."""

    memory: Memory
    at: int
    shape: tuple[int, ...]
    low: int
    high: int


def array(memory: Memory, *shape: int) -> Pointer:
    """Return a whole array, of which each element is a row of `shape`."""
    return Pointer(memory, 0, shape, 0, len(memory.cells))


@dataclass(eq=False, slots=True)
class Variable:
    """A local of a function: its type, and its value (None: not set)."""

    kind: Kind
    value: Any = None
    constant: bool = False


class Struct(dict[str, Any]):
    """A value of a type with fields: the value of each field by name, None where it is not set."""

    def __init__(self, kind: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.kind = kind


class Reference(NamedTuple):
    """The address of a field."""

    fields: dict[str, Any]
    name: str


class Narrow(int):
    """A whole number of 32 bits: so has the result of an operation on two of them."""


class Kind(NamedTuple):
    """A type: the name of the elements' type, pointer or array or neither, and sizes."""

    base: str
    form: str = ""
    sizes: tuple[int | None, ...] = ()
    struct: Any = None


@dataclass(eq=False)
class Region:
    """A loop whose iterations run at the same time: which iteration read or wrote each element."""

    outer: frozenset[int]
    iteration: int = 0
    reads: dict[tuple[Memory, int], int] = field(default_factory=dict)
    writes: dict[tuple[Memory, int], int] = field(default_factory=dict)

    def conflict(self, memory: Memory, at: int, write: bool) -> bool:
        """Record an access; True if another iteration writes the same element, or reads what this one writes."""
        key, iteration = (memory, at), self.iteration
        wrong = self.writes.get(key, iteration) != iteration or (
            write and self.reads.get(key, iteration) != iteration
        )
        if write:
            self.writes[key] = iteration
        elif self.reads.setdefault(key, iteration) != iteration:
            self.reads[key] = -1
        return wrong


class Returned(NamedTuple):
    """The value of a return statement."""

    value: Any


_CONTINUE = Returned(None)
"""The end of an iteration of a `for`."""
Step = Callable[["Machine", Sequence[Pointer], Any], Any]
"""A function that is read by itself: it is applied to memory where it is called."""
External = Callable[["Machine", Sequence[Any], Any], Any]
"""A function whose text is elsewhere: it is given values and returns one."""


@dataclass
class Machine:
    """The functions of one text, and the memory that they work on."""

    terms: Terms
    functions: Mapping[str, Any]
    tables: dict[str, Any] = field(default_factory=dict)
    """Arrays and other values that have names in all functions."""
    steps: Mapping[str, Step] = field(default_factory=dict)
    externals: Mapping[str, External] = field(default_factory=dict)
    structs: Mapping[str, Callable[[], Struct]] = field(default_factory=dict)
    """A new value of each type with fields."""
    integers: Mapping[str, int] = field(default_factory=dict)
    """Whole numbers that have names."""
    sines: tuple[str, ...] = ()
    """Names of the text's own function for a sine and a cosine."""
    macros: Mapping[str, str] = field(default_factory=dict)
    """Names in the text of functions of <math.h>."""
    angles: int = 0
    """Angles that this function takes at once; 0: one."""
    compare: Callable[[str, Term, Term, Any], bool] | None = None
    """Decides a comparison of real numbers."""
    aliased: str = ""
    """'aligned' where a result may lie over an argument, both from their first elements on; 'anyhow' where it may in any way."""
    patience: int = 10**9
    """Statements after which the function has no end."""
    names: dict[str, Variable] = field(default_factory=dict)
    region: Region | None = None
    stored: set[int] = field(default_factory=set)
    """Elements of results that were stored."""
    workspace_sizes: set[int] = field(default_factory=set)
    """Sizes that functions declare for the workspace of the function that a user calls."""
    stack: int = 0
    """Bytes of the local arrays of real numbers, of all functions that run."""
    most: int = 0
    """The most that `stack` was."""

    def __post_init__(self) -> None:
        self.statements = {
            c_ast.FuncCall: self._call_statement,
            c_ast.Decl: self._declare,
            c_ast.Assignment: self._assign,
            c_ast.UnaryOp: self._count,
            c_ast.If: self._if,
            c_ast.For: self._for,
            c_ast.While: self._while,
            c_ast.DoWhile: self._do,
            c_ast.Compound: self._block,
            c_ast.Return: self._return,
            c_ast.Continue: self._continue,
            c_ast.Cast: self._unused,
        }
        self.expressions = {
            c_ast.Constant: self._constant,
            c_ast.ID: self._name,
            c_ast.ArrayRef: self._element,
            c_ast.BinaryOp: self._binary,
            c_ast.UnaryOp: self._unary,
            c_ast.TernaryOp: self._choice,
            c_ast.Cast: self._cast,
            c_ast.FuncCall: self._call,
            c_ast.StructRef: self._member,
        }
        real = self.terms.real
        self.libm = {real.libm(name): name for name in _FUNCTIONS} | dict(self.macros)
        self.kinds: dict[int, Kind] = {}

    # -- memory --

    def load(self, memory: Memory, at: int, node: Any) -> Any:
        """Return an element."""
        value = memory.cells[at]
        if value is None:
            raise self.refuse(node, f"{memory.name}[{at}] is read before anything is put there")
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
        """Store an element."""
        if memory.constant:
            raise self.refuse(node, f"{memory.name}[{at}] may not be stored to")
        if memory.role == "result":
            self.stored.add(at)
        if self.region is not None and self.region.conflict(memory, at, True):
            raise self.refuse(node, f"{memory.name}[{at}] is used by another iteration of the loop")
        memory.cells[at] = value

    def place(self, node: Any) -> tuple[Memory, int]:
        """Return the memory and the place of an element."""
        pointer, index = self.pointer(node.name), self.integer(node.subscript)
        at = pointer.at + index
        if pointer.shape:
            raise self.refuse(node, f"a row of {pointer.memory.name} is not a number")
        if not pointer.low <= at < pointer.high:
            raise self._outside(pointer, at, node)
        return pointer.memory, at

    def _advanced(self, pointer: Pointer, rows: int, node: Any) -> Pointer:
        """Return the pointer so many elements, or rows, behind, which is not beyond the end of its array."""
        at = pointer.at + rows * math.prod(pointer.shape)
        if not pointer.low <= at <= pointer.high:
            raise self._outside(pointer, at, node)
        return pointer._replace(at=at)

    def _outside(self, pointer: Pointer, at: int, node: Any) -> ProgramError:
        return self.refuse(
            node,
            f"{pointer.memory.name}[{at}] is outside of the elements {pointer.low} to {pointer.high - 1}",
        )

    def refuse(self, node: Any, sentence: str) -> ProgramError:
        """Return the error with the line of a node."""
        return ProgramError(f"line {line_of(node) or self.terms.line}: {sentence}")

    def strange(self, node: Any) -> ProgramError:
        """Return the error for syntax that no generated text holds there."""
        return self.refuse(node, f"a {type(node).__name__} that generated code never holds there")

    # -- functions --

    def call(self, name: str, arguments: Sequence[Any], node: Any = None) -> Any:
        """Run a function; return its result."""
        function = self.functions.get(name)
        if function is None:
            raise self.refuse(node, f"{name} is not a function of this text")
        declared = function.decl.type
        parameters = declared.args.params if declared.args else []
        if len(parameters) != len(arguments):
            raise self.refuse(
                node, f"{name} is given {len(arguments)} arguments, not {len(parameters)}"
            )
        self._require_apart(parameters, arguments, node)
        outer, self.names = self.names, {}
        for parameter, value in zip(parameters, arguments, strict=True):
            self._bind(parameter, value, node)
        returned = self._block(function.body)
        self.names = outer
        wanted = self.kind(declared.type)
        if wanted.base == "void" and wanted.form == "":
            if returned is not None:
                raise self.refuse(function.decl, f"{name} returns a value, and is declared void")
            return None
        if returned is None:
            raise self.refuse(function.decl, f"{name} does not return a value")
        return self._converted(wanted, returned.value, function.decl)

    def _require_apart(
        self, parameters: Sequence[Any], arguments: Sequence[Any], node: Any
    ) -> None:
        """Raise ProgramError where an array that is declared `restrict` is given twice."""
        memories = [pointer.memory for pointer in arguments if isinstance(pointer, Pointer)]
        for parameter, pointer in zip(parameters, arguments, strict=True):
            restrict = "restrict" in (getattr(parameter.type, "dim_quals", None) or ())
            if restrict and isinstance(pointer, Pointer) and memories.count(pointer.memory) > 1:
                raise self.refuse(node, f"{parameter.name} lies over another array")

    def _bind(self, parameter: Any, value: Any, node: Any) -> None:
        """Give a parameter its value."""
        kind = self.kind(parameter.type)
        if kind.form == "array":
            room, *shape = kind.sizes
            if not isinstance(value, Pointer) or value.shape != tuple(shape):
                raise self.refuse(node, f"{parameter.name} is given no array of its type")
            elements = (room or 0) * math.prod(value.shape)
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
                    f"{value.memory.name}[{value.at}] and the following elements are not {parameter.name}",
                )
            kind = Kind(kind.base, "pointer", tuple(shape))
        self._new(parameter.name, kind, self._converted(kind, value, node or parameter), parameter)

    def _new(
        self, name: str, kind: Kind, value: Any, node: Any, constant: bool = False
    ) -> Variable:
        if name in self.names or name in self.tables or name in self.functions:
            raise self.refuse(node, f"{name} is declared a second time")
        variable = self.names[name] = Variable(kind, value, constant)
        return variable

    def _converted(self, kind: Kind, value: Any, node: Any) -> Any:
        """Return a value as a type has it; ProgramError where it is of another type."""
        if kind.form == "pointer":
            right = self._is_pointer(kind, value)
        elif kind.base in WIDTHS:
            right = isinstance(value, int) and abs(value) < WIDTHS[kind.base]
            right = right and (value >= 0 or kind.base != "unsigned int")
            value = int(value) if right else value
        elif kind.base == self.terms.real.name:
            right = isinstance(value, Term)
        else:
            right = isinstance(value, Mapping) and self._is_struct(kind, value)
        if not right or kind.form == "array":
            raise self.refuse(node, f"a value of another type than {kind.base} is given")
        return value

    @staticmethod
    def _is_pointer(kind: Kind, value: Any) -> bool:
        """True if a value is a pointer of that type, or none."""
        if not isinstance(value, Pointer):
            return isinstance(value, int) and value == 0
        return value.shape == kind.sizes and value.memory.integers == (kind.base in WIDTHS)

    @staticmethod
    def _is_struct(kind: Kind, value: Mapping[str, Any]) -> bool:
        """True if sines and cosines are of that type: those of one angle, or arrays of them."""
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

    # -- statements --

    def _block(self, node: Any) -> Returned | None:
        if not isinstance(node, c_ast.Compound):
            raise self.strange(node)
        before, stack = len(self.names), self.stack
        items = node.block_items or ()
        parallel = False
        returned = None
        for item in items:
            if isinstance(item, c_ast.Pragma):
                if item.string != _PARALLEL or parallel:
                    raise self.refuse(item, f"#pragma {item.string} does not belong into this text")
                parallel = True
                continue
            returned = self._parallel(item) if parallel else self._statement(item)
            parallel = False
            if returned is not None:
                break
        if parallel:
            raise self.strange(node)
        if len(self.names) > before:
            for name in list(self.names)[before:]:
                del self.names[name]
        self.stack = stack
        return returned

    def _statement(self, node: Any) -> Returned | None:
        self.patience -= 1
        if self.patience < 0:
            raise self.refuse(node, "this goes on for longer than the loops have links")
        run = self.statements.get(type(node))
        if run is None:
            raise self.strange(node)
        self.terms.line = line_of(node) or self.terms.line
        return run(node)

    def _parallel(self, node: Any) -> Returned | None:
        """Run a loop whose iterations may run at the same time."""
        if not isinstance(node, c_ast.For) or self.region is not None:
            raise self.strange(node)
        index = name_of(getattr(node.init, "lvalue", None))
        outer = {id(variable) for name, variable in self.names.items() if name != index}
        returned = self._loop(node, Region(frozenset(outer)))
        self.names[index].value = None  # each iteration has its own
        return returned

    def _declare(self, node: Any) -> None:
        """Declare a local: a number, a pointer, an array, or sines and cosines."""
        if node.storage or node.funcspec:
            raise self.strange(node)
        kind = self.kind(node.type)
        constant = "const" in (getattr(node.type, "quals", None) or ())
        if kind.form == "array":
            local_array = self.new_array(node, kind)
            local_array.memory.role = "local"
            self._count_bytes(local_array)
            self._new(
                node.name,
                Kind(kind.base, "pointer", kind.sizes[1:]),
                local_array,
                node,
                constant=True,
            )
            return
        value = None
        if kind.struct is not None:
            value = self.struct("struct", kind.struct)
            for local_array in value.values():
                self._count_bytes(local_array)
        elif kind.base in self.structs and not kind.form and _is_empty(node.init):
            value = self.structs[kind.base]()
        elif node.init is not None:
            value = self._converted(kind, self.value(node.init), node)
        self._new(node.name, kind, value, node, constant)

    def _count_bytes(self, local_array: Pointer) -> None:
        """Count the bytes of a local array."""
        if not local_array.memory.integers:
            self.stack += len(local_array.memory.cells) * self.terms.real.size
        self.most = max(self.most, self.stack)

    def struct(self, name: str, declared: Any) -> Struct:
        """Return a new value of a type with numbers and arrays of numbers as fields."""
        fields = {}
        for member in declared.decls or ():
            kind = self.kind(member.type)
            plain = kind.form == "" and kind.base == self.terms.real.name
            fields[member.name] = None if plain else self.new_array(member, kind)
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
            nothing = 0 if integers else self.terms.constant(Fraction(0))
            cells = [*values, *[nothing] * (len(cells) - len(values))]
        inner = node.type
        while isinstance(inner, c_ast.ArrayDecl):
            inner = inner.type
        constant = "const" in (inner.quals or ())
        return array(Memory(node.name, cells, constant, integers), *sizes[1:])

    def _initial(self, node: Any, sizes: Sequence[int], kind: Kind, declared: Any) -> list[Any]:
        """Return the values of an initializer, of rows whole rows."""
        if not isinstance(node, c_ast.InitList):
            raise self.strange(node)
        if len(sizes) == 1:
            if len(node.exprs) > sizes[0]:
                raise self.refuse(declared, f"{declared.name} has more values than {sizes[0]}")
            plain = Kind(kind.base)
            return [self._converted(plain, self.value(item), declared) for item in node.exprs]
        if len(node.exprs) == 1 and not isinstance(node.exprs[0], c_ast.InitList):
            return self._initial(node, [1], kind, declared)
        if len(node.exprs) != sizes[0]:
            raise self.refuse(
                declared, f"{declared.name} has {len(node.exprs)} rows, not {sizes[0]}"
            )
        values = []
        for row in node.exprs:
            row_values = self._initial(row, sizes[1:], kind, declared)
            if len(row_values) != math.prod(sizes[1:]):
                raise self.refuse(
                    row, f"a row of {declared.name} has not {math.prod(sizes[1:])} numbers"
                )
            values += row_values
        return values

    def _assign(self, node: Any) -> None:
        value = self.value(node.rvalue)
        target = node.lvalue
        if node.op != "=":
            value = self._changed(node, value)
        if isinstance(target, c_ast.ArrayRef):
            memory, at = self.place(target)
            if memory.integers != isinstance(value, int) or not isinstance(value, int | Term):
                raise self.refuse(node, f"{memory.name} holds numbers of another type")
            self.store(memory, at, value, node)
            return
        if isinstance(target, c_ast.StructRef):
            self._set_field(target, value)
            return
        self._set(target, value, node)

    def _changed(self, node: Any, value: Any) -> Any:
        """Return the value that an assignment such as `+=` gives its target."""
        operator, before = node.op[:-1], self.value(node.lvalue)
        if operator not in _ARITHMETIC or isinstance(before, bool):
            raise self.strange(node)
        if isinstance(before, int) and isinstance(value, int):
            return self._whole_number(operator, before, value, node)
        if isinstance(before, Term) and isinstance(value, Term):
            return self._of_reals(operator, before, value, node)
        raise self.strange(node)

    def _set_field(self, target: Any, value: Any) -> None:
        """Give a field a value."""
        fields, name = self.field(target)
        before = fields[name]
        if isinstance(before, int):
            right = isinstance(value, int) and 0 <= value < 2**32
        elif isinstance(before, Struct):
            right = isinstance(value, Struct) and value.kind == before.kind
        else:
            right = isinstance(value, Term) and not isinstance(before, Pointer)
        if not right:
            raise self.refuse(target, f"the field {name} is given a value of another type")
        fields[name] = value

    def _set(self, target: Any, value: Any, node: Any) -> None:
        """Give a local a value."""
        variable = self.names.get(name_of(target))
        if variable is None or variable.constant:
            raise self.strange(node)
        if self.region is not None and id(variable) in self.region.outer:
            raise self.refuse(node, f"{name_of(target)} is one for all iterations of the loop")
        variable.value = self._converted(variable.kind, value, node)

    def _count(self, node: Any) -> None:
        if node.op not in ("++", "--", "p++", "p--"):
            raise self.strange(node)
        self._set(node.expr, self.integer(node.expr) + (1 if "+" in node.op else -1), node)

    def _if(self, node: Any) -> Returned | None:
        if self.condition(node.cond):
            return self._block(node.iftrue)
        if isinstance(node.iffalse, c_ast.If):
            return self._statement(node.iffalse)
        return None if node.iffalse is None else self._block(node.iffalse)

    def _for(self, node: Any) -> Returned | None:
        return self._loop(node, None)

    def _loop(self, node: Any, region: Region | None) -> Returned | None:
        """Run a loop, of which the iterations are those of `region` if they may run at the same time."""
        if not isinstance(node.init, c_ast.Assignment) or node.next is None or node.cond is None:
            raise self.strange(node)
        self._assign(node.init)
        while self.condition(node.cond):
            if region is not None:
                region.iteration += 1
                self.region = region
            returned = self._block(node.stmt)
            if region is not None:
                self.region = None
            if returned is not None and returned is not _CONTINUE:
                return returned
            self._statement(node.next)
        return None

    def _while(self, node: Any) -> Returned | None:
        while self.condition(node.cond):
            self.patience -= 1
            if self.patience < 0:
                raise self.refuse(node, "this loop does not end")
            returned = self._block(node.stmt)
            if returned is _CONTINUE:
                raise self.strange(node)
            if returned is not None:
                return returned
        return None

    def _do(self, node: Any) -> Returned | None:
        returned = self._block(node.stmt)
        return self._while(node) if returned is None else returned

    def _return(self, node: Any) -> Returned:
        return Returned(self.value(node.expr))

    def _continue(self, _: Any) -> Returned:
        return _CONTINUE

    def _unused(self, node: Any) -> None:
        """Read `(void)x;`."""
        if self.kind(node.to_type.type).base != "void" or name_of(node.expr) not in self.names:
            raise self.strange(node)

    def _call_statement(self, node: Any) -> None:
        self._call(node)

    # -- expressions --

    def value(self, node: Any) -> Any:
        """Return the value of an expression."""
        evaluate = self.expressions.get(type(node))
        if evaluate is None:
            raise self.strange(node)
        return evaluate(node)

    def integer(self, node: Any) -> int:
        """Return a whole number."""
        value = self.value(node)
        if not isinstance(value, int):
            raise self.strange(node)
        return value

    def pointer(self, node: Any) -> Pointer:
        """Return a pointer, or an array."""
        value = self.value(node)
        if not isinstance(value, Pointer):
            raise self.strange(node)
        return value

    def condition(self, node: Any) -> bool:
        """Return True if a condition holds."""
        value = self.value(node)
        if not isinstance(value, bool):
            raise self.strange(node)
        return value

    def _constant(self, node: Any) -> Any:
        if INDEX.fullmatch(node.value):
            return int(node.value)
        term = self.terms.literal(node.value)
        if term is None:
            raise self.refuse(
                node, f"the literal {node.value} is not of the type {self.terms.real.name}"
            )
        return term

    def _name(self, node: Any) -> Any:
        variable = self.names.get(node.name)
        if variable is not None:
            if variable.value is None:
                raise self.refuse(node, f"{node.name} is read before it is set")
            return variable.value
        if node.name in self.tables:
            return self.tables[node.name]
        if node.name in self.integers:
            return self.integers[node.name]
        raise self.refuse(node, f"{node.name} is not declared")

    def _element(self, node: Any) -> Any:
        pointer, index = self.value(node.name), self.value(node.subscript)
        if not isinstance(pointer, Pointer) or not isinstance(index, int):
            raise self.strange(node)
        if not pointer.shape:
            at = pointer.at + index
            if not pointer.low <= at < pointer.high:
                raise self._outside(pointer, at, node)
            return self.load(pointer.memory, at, node)
        size = math.prod(pointer.shape)
        at = pointer.at + index * size
        if not (pointer.low <= at and at + size <= pointer.high):
            raise self._outside(pointer, at, node)
        return Pointer(pointer.memory, at, pointer.shape[1:], at, at + size)

    def _binary(self, node: Any) -> Any:
        operator = node.op
        if operator in ("&&", "||"):
            left = self.condition(node.left)
            return left if left == (operator == "||") else self.condition(node.right)
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, Term) and isinstance(right, Term):
            return self._of_reals(operator, left, right, node)
        if isinstance(left, int) and isinstance(right, int):
            compared = _COMPARISONS.get(operator)
            return (
                compared(left, right)
                if compared
                else self._whole_number(operator, left, right, node)
            )
        if isinstance(left, Pointer) and operator == "+" and isinstance(right, int):
            return self._advanced(left, right, node)
        if isinstance(left, Pointer) and operator in ("==", "!=") and right == 0:
            return operator == "!="
        raise self.strange(node)

    def _of_reals(self, operator: str, left: Term, right: Term, node: Any) -> Any:
        operation = _ARITHMETIC.get(operator)
        if operation is not None:
            self.terms.operations += 1
            return self.terms.of(operation, left, right)
        if self.compare is None or operator not in (">=", "<="):
            raise self.strange(node)
        return self.compare(operator, left, right, node)

    def _whole_number(self, operator: str, left: int, right: int, node: Any) -> int:
        """Return the result of an operation on whole numbers."""
        if isinstance(left, bool) or isinstance(right, bool):
            raise self.strange(node)
        value = self._operation(operator, left, right, node)
        if isinstance(left, Narrow) and isinstance(right, Narrow):
            if not -(2**31) <= value < 2**32:
                raise self.refuse(node, f"{left} {operator} {right} has no room in 32 bits")
            return Narrow(value)
        return value

    def _operation(self, operator: str, left: int, right: int, node: Any) -> int:
        if operator == "+":
            return left + right
        if operator == "-":
            return left - right
        if operator == "*":
            return left * right
        if operator in ("/", "%") and right and left >= 0 and right > 0:
            return left // right if operator == "/" else left % right
        if operator == ">>" and left >= 0 and 0 <= right < 31:
            return left >> right
        raise self.refuse(node, f"{left} {operator} {right} is not an operation of generated code")

    def _unary(self, node: Any) -> Any:
        if node.op == "&" and isinstance(node.expr, c_ast.ArrayRef):
            pointer, index = self.pointer(node.expr.name), self.integer(node.expr.subscript)
            return self._advanced(pointer, index, node)
        if node.op == "&" and isinstance(node.expr, c_ast.StructRef):
            return Reference(*self.field(node.expr))
        value = self.value(node.expr)
        if node.op == "&" and isinstance(value, Struct):
            return value
        if node.op == "-" and isinstance(value, Term):
            return self.terms.negative(value)
        if node.op == "-" and isinstance(value, int) and not isinstance(value, bool):
            return -value
        if node.op == "!" and isinstance(value, bool):
            return not value
        raise self.strange(node)

    def _choice(self, node: Any) -> Any:
        return self.value(node.iftrue if self.condition(node.cond) else node.iffalse)

    def _cast(self, node: Any) -> Any:
        kind, value = self.kind(node.to_type.type), self.value(node.expr)
        if kind.form == "pointer" and isinstance(value, Pointer) and not value.shape:
            sizes = tuple(size or 0 for size in kind.sizes)
            return self._converted(kind, value._replace(shape=sizes), node)
        if kind.form == "" and kind.base in WIDTHS and isinstance(value, int):
            converted = self._converted(kind, value, node)
            return Narrow(converted) if kind.base in _NARROW else converted
        raise self.strange(node)

    def _call(self, node: Any) -> Any:
        name = name_of(node.name)
        arguments = [self.value(item) for item in (node.args.exprs if node.args else ())]
        self.terms.line = line_of(node) or self.terms.line
        step = self.steps.get(name)
        if step is not None:
            if not all(isinstance(argument, Pointer) for argument in arguments):
                raise self.refuse(node, f"{name} is given a number in place of an array")
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
        whole = isinstance(angle, Pointer) and (0, self.angles) == (angle.at, angle.high)
        if not whole or angle.shape:
            raise self.refuse(node, f"{self.angles or 1} angles are expected")
        angles = [self.load(angle.memory, angle.at + k, node) for k in range(self.angles)]
        return {
            field: array(Memory(field, [self.terms.of(op, angle) for angle in angles], True))
            for field, op in operations.items()
        }

    def _member(self, node: Any) -> Any:
        """Return the value of a field."""
        fields, name = self.field(node)
        if fields[name] is None:
            raise self.refuse(node, f"{name} is read before it is set")
        return fields[name]

    def field(self, node: Any) -> tuple[dict[str, Any], str]:
        """Return the fields of a value, and the name of one of them."""
        fields = self.value(node.name) if node.type == "." else None
        if not isinstance(fields, dict) or node.field.name not in fields:
            raise self.strange(node)
        return fields, node.field.name


def _is_empty(initial: Any) -> bool:
    """True for a declaration without an initial value, or with an empty one."""
    return initial is None or (isinstance(initial, c_ast.InitList) and not initial.exprs)


def line_of(node: Any) -> int:
    """Return the line of a node; 0 where it has none."""
    return int(node.coord.line) if getattr(node, "coord", None) else 0
