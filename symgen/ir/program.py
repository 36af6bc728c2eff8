"""`Program`: straight-line arithmetic in single-assignment form, the one form between the papers
and the C.

A row is one operation of a closed set; its operands are earlier rows. A constant is an exact
`Fraction`, so that a Program means the same for every number type that evaluates it; a backend
rounds a constant once, when it prints. An irrational number of the description is represented by a
dyadic value of 100 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

from symgen.support.errors import ProgramError
from symgen.support.tables import html_table
from symgen.vocabulary.arrays import USUAL, Convention

STUMPFF = tuple(f"stumpff{k}" for k in range(8))
"""Stumpff's functions c_k(y) = Σ (−y)ʲ/(2j + k)!, of which c₀ is cos √y and c₁ is sin √y/√y."""
BY_SERIES = (*STUMPFF, "arc", "arc_square", "still")
"""Functions of a rotation angle that only Programs to be differentiated contain
(`symgen.pipeline.differentiation.series`).

`arc` and `arc_square` have operands x and c, where c is the cosine of an angle θ and x = θ/sin θ.
`arc` has the value x and `arc_square` the value x²(1 − c²); both are differentiated as functions of
c alone. `still` has the value of its operand and the derivative 0.
"""
ARITY: dict[str, int] = {
    "const": 0,
    "input": 0,
    "add": 2,
    "sub": 2,
    "mul": 2,
    "div": 2,
    "neg": 1,
    "sin": 1,
    "cos": 1,
    "sqrt": 1,
    "log": 1,
    "atan2": 2,
    **dict.fromkeys(STUMPFF, 1),
    "arc": 2,
    "arc_square": 2,
    "still": 1,
}
"""Number of operands of each operation. `log` is the natural logarithm. `atan2` of y and x is the
angle from the x axis to (x, y), in [-pi, pi]; on the negative half of the axis it is pi or -pi, by
the sign of the zero y.
"""
COUNTED = ("mul", "add", "div", "neg", "sqrt", "sin", "cos")
"""Operations that `Program.operations` always lists."""
POSITIONS = ("q", "q_next")
"""Names of arguments that are positions of all joints."""
SELDOM = ("log", "atan2")
"""Operations that `Program.operations` lists only if the Program has them."""


SPARE = "spare"
"""Name of a last output that is no result: its rows compute in another way what other rows compute,
and a pass chooses.
"""
ONES = "ones"
"""Name of a last input that is no argument: its elements are 1, but the passes treat them as
unknown.

Values that are equal only because these numbers are 1 are thus computed separately.
"""


class Row(NamedTuple):
    """One operation.

    `args` are indices of earlier rows. `value` is the Fraction of a const, or (argument, element)
    of an input. `name` is the derivation's name for the result ("" for an unnamed intermediate).
    `step` indexes `Program.steps`, the comment under which the row stands (-1: none).
    """

    op: str
    args: tuple[int, ...] = ()
    value: Any = None
    name: str = ""
    step: int = -1


class Port(NamedTuple):
    """An argument (`rows` empty) or a result (`rows` = the row of each element, row-major)."""

    name: str
    shape: tuple[int, ...]
    rows: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Outline:
    """Properties of a Program that a caller of its C needs; `length` is its number of rows."""

    function: str
    method: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    operations: dict[str, int]
    length: int
    real: str
    convention: Convention = USUAL


class Element(NamedTuple):
    """Element of an argument: index of the argument, and flat index of the element."""

    port: int
    element: int


Bound = Fraction | Element
"""Lower bound of a row: a number, or an element of an argument."""


@dataclass(frozen=True, repr=False)
class Program:
    """A function of one robot as rows; see the module docstring. `check` states the rules."""

    looped: ClassVar[Literal[False]] = False
    """True for a `symgen.ir.loops.LoopProgram`, whose text has loops over links."""
    constant_count: ClassVar[int] = 0
    """Number of elements in the tables of link constants."""
    part_count: ClassVar[int] = 0
    """Number of parts of a chain that are computed in parallel; 0 without parts."""
    at_once: ClassVar[int] = 1
    """Number of links that are computed in parallel."""

    function: str
    method: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    rows: tuple[Row, ...]
    steps: tuple[str, ...] = ()
    real: str = "double"
    quaternions: tuple[int, ...] = ()
    """Index of the first element of each unit quaternion in the positions; the results are only
    valid if its length is 1.
    """
    convention: Convention = USUAL
    """Convention of a Jacobian among its results, and of velocities and forces that belong to it.
    """
    joints: tuple[str, ...] = ()
    """Types of the joints in their order; they define how coordinates form positions."""
    passed_over: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Methods that might have been shorter but could not be derived, each with the reason."""
    rounds: int | None = field(default=None, compare=False)
    """Rounds of the search for fewer operations after which the user ended it; None if it was not
    ended early.
    """
    origin: Any = field(default=None, compare=False, repr=False)
    """A `symgen.pipeline.differentiation.Origin`, if rows of rotations would lose digits when
    differentiated as they are.
    """

    @property
    def programs(self) -> tuple[Program, ...]:
        """The Programs that hold the rows: this one."""
        return (self,)

    @property
    def rows_in_all(self) -> int:
        """Number of rows that a call computes."""
        return len(self.rows)

    def by(self, change: Callable[[Program], Program]) -> Program:
        """Return `change` of this Program; a form with several Programs changes each."""
        return change(self)

    def in_real(self, real: str) -> Program:
        """Return the Program in another real type."""
        return replace(self, real=real)

    def run(self, arguments: Mapping[str, Sequence[Any]], numbers: Numbers) -> dict[str, list[Any]]:
        """Evaluate the function over any number type."""
        return evaluate(self, arguments, numbers)

    @property
    def outline(self) -> Outline:
        """The Program without its rows."""
        outputs = tuple(port._replace(rows=()) for port in self.outputs)
        return Outline(
            self.function,
            self.method,
            self.inputs,
            outputs,
            self.operations,
            len(self.rows),
            self.real,
            self.convention,
        )

    @property
    def operations(self) -> dict[str, int]:
        """Count of each operation in COUNTED, and of those in SELDOM that occur; subtractions count
        as add.
        """
        count = dict.fromkeys(COUNTED, 0)
        for row in self.rows:
            op = "add" if row.op == "sub" else row.op
            if op in count or op in SELDOM:
                count[op] = count.get(op, 0) + 1
        return count

    @property
    def unit_quaternions(self) -> tuple[tuple[int, int], ...]:
        """(argument, index of the first of its four elements) of each unit quaternion among the
        arguments.
        """
        positions = [
            argument for argument, port in enumerate(self.inputs) if port.name in POSITIONS
        ]
        return tuple((argument, first) for argument in positions for first in self.quaternions)

    @cached_property
    def cost(self) -> int:
        """mul + add + div, the count that bounds refer to; neg is not counted."""
        ops = self.operations
        return ops["mul"] + ops["add"] + ops["div"]

    @cached_property
    def depth(self) -> int:
        """Number of operations, without neg, on the longest dependency chain."""
        depth = [0] * len(self.rows)
        for i, row in enumerate(self.rows):
            row_depth = 0 if row.op in ("const", "input", "neg") else 1
            depth[i] = row_depth + max((depth[a] for a in row.args), default=0)
        return max((depth[r] for port in self.outputs for r in port.rows), default=0)

    @property
    def temporaries(self) -> int:
        """Largest number of computed values that are live at once when the rows run in order.

        A processor without spare registers keeps them in memory. Results are live until the end;
        arguments and constants are not counted.
        """
        last = {a: i for i, row in enumerate(self.rows) for a in row.args}
        last |= {r: len(self.rows) for port in self.outputs for r in port.rows}
        ending = [0] * (len(self.rows) + 1)
        alive = most = 0
        for i, row in enumerate(self.rows):
            alive -= ending[i]
            if row.op not in ("const", "input") and last.get(i, i) > i:
                alive += 1
                ending[last[i]] += 1
            most = max(most, alive)
        return most

    def __repr__(self) -> str:
        return f"<symgen.Program {self._summary}; {self.cost} operations, depth {self.depth}>"

    def _repr_html_(self) -> str:
        """Return a table of the Program's arguments, results and operations for a notebook."""
        operations = self.operations
        figures = (*operations.values(), self.depth, len(self.rows))
        return html_table(self._summary, [(*operations, "depth", "rows"), figures], texts=())

    @property
    def _summary(self) -> str:
        arguments, results = (
            ", ".join(
                f"{p.name}[{'×'.join(map(str, p.shape))}]" if p.shape else p.name for p in ports
            )
            for ports in (self.inputs, self.outputs)
        )
        return f"{self.function} by {self.method}: {arguments} → {results}, {self.real}"

    def with_rows(self, rows: Sequence[Row], outputs: Sequence[Port]) -> Program:
        return replace(self, rows=tuple(rows), outputs=tuple(outputs))


_OF_TWO = frozenset(op for op, operands in ARITY.items() if operands == 2)


def check(program: Program) -> Program:
    """Check the rules of a Program; return it unchanged.

    Raises ProgramError naming the first row that breaks a rule.
    """
    program_name = f"{program.function}/{program.method}"
    names: set[str] = set()
    steps = len(program.steps)
    for i, row in enumerate(program.rows):
        op, args, value, name, step = row
        if len(args) == 2 and value is None and op in _OF_TWO and not name:  # as most are
            a, b = args
            if -1 < a < i and -1 < b < i and -2 < step < steps:
                continue
        fault = _operand_fault(i, row) or _value_fault(row, program.inputs)
        if fault is None and row.name in names:
            fault = f"repeats the name '{row.name}'"
        if fault is None and not -1 <= row.step < len(program.steps):
            fault = "stands under a step that does not exist"
        if fault is not None:
            raise ProgramError(f"{program_name}: row {i} {fault}")
        if row.name:
            names.add(row.name)
    for port in program.outputs:
        if len(port.rows) != port.size:
            raise ProgramError(
                f"{program_name}: result '{port.name}' has {len(port.rows)} rows for shape"
                f" {port.shape}"
            )
        if any(not 0 <= r < len(program.rows) for r in port.rows):
            raise ProgramError(
                f"{program_name}: result '{port.name}' names a row that does not exist"
            )
    return program


def _operand_fault(i: int, row: Row) -> str | None:
    """Return the rule that the operation of row i or its operands break, None if they keep all."""
    if row.op not in ARITY:
        return f"has the unknown operation '{row.op}'"
    if len(row.args) != ARITY[row.op]:
        return f"({row.op}) has {len(row.args)} operands, not {ARITY[row.op]}"
    if any(not 0 <= a < i for a in row.args):
        return f"({row.op}) uses a row that does not stand before it"
    return None


def _value_fault(row: Row, inputs: Sequence[Port]) -> str | None:
    """Return the rule that the value of a row breaks, None if it keeps all."""
    if row.op == "const":
        return None if type(row.value) is Fraction else "(const) does not hold a Fraction"
    if row.op != "input":
        return None if row.value is None else f"({row.op}) carries a value"
    port, element = row.value
    if not (0 <= port < len(inputs) and 0 <= element < inputs[port].size):
        return "(input) reads an argument that does not exist"
    return None


@dataclass(frozen=True)
class Numbers:
    """Number type over which a Program is evaluated; it supports `+ - * /` and unary minus."""

    constant: Callable[[Fraction], Any]
    sin: Callable[[Any], Any]
    cos: Callable[[Any], Any]
    sqrt: Callable[[Any], Any]
    log: Callable[[Any], Any]
    atan2: Callable[[Any, Any], Any] = math.atan2
    """Arc tangent of y and x; by default that of Python's floats."""


def _no_fraction(*_: Any) -> Any:
    raise ProgramError("a sine, a root or a logarithm is no fraction")


EXACT = Numbers(Fraction, _no_fraction, _no_fraction, _no_fraction, _no_fraction, _no_fraction)
"""Fractions, for Programs that have only sums, products and quotients."""


def evaluate(
    program: Program, arguments: Mapping[str, Sequence[Any]], numbers: Numbers
) -> dict[str, list[Any]]:
    """Run the rows over any number type; return the flat list of elements of each result, by name.

    `arguments[name]` is indexed by flat element; an element may be an array of states.
    """
    supplied = [arguments[port.name] for port in program.inputs]
    functions: dict[str, Callable[..., Any]] = {
        "sin": numbers.sin,
        "cos": numbers.cos,
        "sqrt": numbers.sqrt,
        "log": numbers.log,
        "atan2": numbers.atan2,
    }
    values: list[Any] = []
    append_value = values.append
    for op, args, value, _, _ in program.rows:
        if op == "mul":
            append_value(values[args[0]] * values[args[1]])
        elif op == "add":
            append_value(values[args[0]] + values[args[1]])
        elif op == "sub":
            append_value(values[args[0]] - values[args[1]])
        elif op == "const":
            append_value(numbers.constant(value))
        elif op == "input":
            append_value(supplied[value[0]][value[1]])
        elif op == "neg":
            append_value(-values[args[0]])
        elif op == "div":
            append_value(values[args[0]] / values[args[1]])
        else:
            append_value(functions[op](*[values[a] for a in args]))
    return {port.name: [values[r] for r in port.rows] for port in program.outputs}
