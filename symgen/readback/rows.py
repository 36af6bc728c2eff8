"""The emitted C, parsed back, is the Program row for row.

`compare` parses the text with pycparser and matches every operation of it with a row: the same
operation, the same operands in the same order, each literal equal to its constant rounded once to
the real type. Rows are matched by structure from the leaves up, so the names of locals prove
nothing and only help to say where a difference lies. Nothing else may stand in the text: no other
statement, no other directive, no store but each result's own.

A long function calls static parts of its own, each once. They are gone through where they are
called. What one of them puts into the work array stands there until something else is put in its
place, and no argument is read once a result is stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from pycparser import c_ast

from symgen.ir.program import ARITY, Bound, Port, Program
from symgen.readback import preprocessor, prototypes
from symgen.readback.checks import Body, differences, zeros
from symgen.readback.literals import Number, literal, nearest, opposite
from symgen.readback.parsing import INDEX, Statement, Text, name_of, parse
from symgen.readback.required_checks import computed, shapes
from symgen.support.errors import ProgramError
from symgen.vocabulary.functions import PREPARED
from symgen.vocabulary.reals import REALS

_BINARY = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_PAIR = {"sine": "sin", "cosine": "cos"}
_UNKNOWN = -1
"""The value of an expression that was already reported, so that what depends on it is not reported
again.
"""

Key = tuple[Any, ...]


def compare(
    program: Program,
    text: str,
    header: str = "",
    checked: Mapping[int, Bound] | None = None,
    preprocessed: str = "",
) -> list[str]:
    """List the differences between the C and the Program; [] if they agree.

    `text` is NAME_<function>.c and `header`, when given, NAME.h, whose macros are then checked as
    well. `checked` is None for a function that returns nothing, and for one that returns a status
    the bounds of its divisors, by row, as they were certified. `preprocessed`, when given, is the
    output of the compiler's preprocessor for `text`; then it is parsed instead of `text`, with the
    prototypes of the header. The result has one sentence per difference, with its line of the C.
    """
    try:
        parsed = parse(text, preprocessed)
    except ProgramError as error:
        return [str(error)]
    called = "_".join(re.findall(r"\w+", program.function))  # of a derivative, f:jacobian(q,v)
    name = parsed.symbol.removesuffix(f"_{called}")
    differences = preprocessor.directives(text, name, parsed.symbol, checked is not None)
    if name == parsed.symbol:
        differences.append(
            f"the function is called {parsed.symbol}, which does not end in _{called}"
        )
    if header:
        differences += preprocessor.macros(program, header, name, checked is not None)
    if parsed.header_prototypes is not None:
        differences += prototypes.differences(
            parsed.header_prototypes,
            parsed.symbol,
            parsed.parameters,
            parsed.checks is not None,
        )
    if (checked is None) != (parsed.checks is None):
        returned = "nothing" if parsed.checks is None else "a status"
        return [*differences, f"{parsed.symbol} returns {returned}, unlike the requested function"]
    together = preprocessor.angles_at_once(text, name)
    matcher = Matcher(program, parsed, name, together)
    differences += matcher.differences()
    if checked is not None:
        bounded = (
            f'#include "{name}_sincos.h"' in text and not together
        )  # a loop leaves what is far to <math.h>
        differences += matcher.checks(checked, bounded)
    return differences


@dataclass
class _Scope:
    """The declarations of the function, or of the part of it that is read."""

    parameters: frozenset[str] | None = None
    """Parameters of a part; None for the function itself."""
    values: dict[str, int] = field(default_factory=dict)
    turns: dict[str, list[int | None]] = field(default_factory=dict)
    angles: dict[str, list[int | None]] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    """Names that are cast to void."""
    stores: bool = False
    """True behind the first store."""

    def declares(self, name: str) -> bool:
        """True if a local of that name is declared."""
        return any(name in names for names in (self.values, self.turns, self.angles))

    def sees(self, name: str) -> bool:
        """True if an array of the function can be seen here."""
        return self.parameters is None or name.partition("->")[0] in self.parameters


class Matcher:
    """Gives every row, and then every expression of the text, the number of its structure."""

    def __init__(self, program: Program, text: Text, name: str, together: int) -> None:
        self.program, self.text, self.together = program, text, together
        self.real = REALS[program.real]
        self.calls = {self.real.libm(op): op for op in ("sin", "cos", "sqrt", "log", "atan2")}
        self.calls |= {f"{name}_SIN": "sin", f"{name}_COS": "cos"}
        self.name = name
        self.number: dict[Key, int] = {}
        self.of_row: dict[int, int] = {}
        self.constants: dict[int, Number] = {}
        self.found: list[str] = []
        self.named: dict[str, int] = {}
        """The row of each name."""
        self.scope = _Scope()
        self.looped = False
        self.inputs: dict[str, int] = {}
        self.outputs: dict[str, Port] = {}
        self.read: set[str] = set()
        self.zeros = ""
        self.done = 0
        self.stored: dict[tuple[str, int], int] = {}
        self.work: dict[int, int] = {}
        self.before: list[dict[int, int]] = []
        """Rows in the work array before each statement of the function, and after the last."""

    def differences(self) -> list[str]:
        expected = 0
        for i in computed(self.program):
            key = self._key(i)
            self.of_row[i] = self.number.setdefault(key, len(self.number))
            if key[0] == "const":
                self.constants[self.of_row[i]] = key[1]
            expected += key[0] not in ("const", "input")
        rows = self.program.rows
        self.named = {row.name: i for i, row in enumerate(rows) if row.name and i in self.of_row}
        self._signature()
        statements = self.text.statements
        if self.text.checks is not None:
            self.zeros, statements = self._zeros(statements), statements[1:]
        self._statements(statements)
        if bool(self.together) != self.looped:
            self.found.append(f"{self.name}_ANGLES are counted, and no array of angles is there")
        self._results()
        if not self.found and self.done != expected:
            self.found.append(
                f"the C does {self.done} operations where the Program does {expected}"
            )
        return self.found

    def _results(self) -> None:
        """Compare the stores with the results of the Program."""
        for port in self.program.outputs:
            for k, row in enumerate(port.rows):
                value = self.stored.get((port.name, k))
                if value is None:
                    self.found.append(f"{port.name}[{k}] is never stored")
                elif value not in (_UNKNOWN, self.of_row[row]):
                    self.found.append(
                        f"{port.name}[{k}] stores another row than the Program's row {row}"
                    )

    def checks(self, divisor_bounds: Mapping[int, Bound], inline: bool) -> list[str]:
        """List the errors of the checks, once the statements are known."""
        assert self.text.checks is not None
        stores = [
            i
            for i, statement in enumerate(self.text.statements)
            if any(
                inner.target in self.outputs
                for inner in (statement, *statement.inner)
                if inner.kind == "store"
            )
        ]

        def number(at: int, node: Any) -> int:
            self.work = self.before[max(0, at - 1)]  # the first statement is the sum of zeros
            return self._number(node)

        body = Body(
            self.name,
            self.zeros,
            min(stores, default=0),
            self.inputs,
            self.of_row,
            number,
            self._literal,
            self.real.libm("fabs"),
        )
        try:
            return differences(self.text.checks, self.program, body, divisor_bounds, inline)
        except _Difference as difference:
            return [f"a check: {difference}"]

    def _zeros(self, statements: Sequence[Statement]) -> str:
        """The name of the local that is zero when every argument is finite."""
        kind, target, _, expression, line = (
            statements[0] if statements else Statement("", "", 0, None, 0)
        )
        try:
            if (
                kind == "local"
                and expression[0] == f"const {self.program.real}"
                and zeros(self.program, expression[1], self.inputs, self._literal)
            ):
                self.read.update(self.inputs)
                return target
        except _Difference:
            pass
        self.found.append(
            f"line {line}: this is not the sum of zero times every element of every argument"
        )
        return ""

    def _key(self, i: int) -> Key:
        op, args, value, _, _ = self.program.rows[i]
        if op == "const":
            return ("const", nearest(value, self.real))
        if op == "input":
            return ("input", *value)
        if op == "neg" and self.of_row[args[0]] in self.constants:
            # C has no negative literals, so a sign in front of a literal is no operation.
            return ("const", opposite(self.constants[self.of_row[args[0]]]))
        return (op, *(self.of_row[a] for a in args))

    def _signature(self) -> None:
        ports = [(True, p) for p in self.program.inputs] + [
            (False, p) for p in self.program.outputs
        ]
        if len(ports) != len(self.text.parameters):
            self.found.append(
                f"{self.text.symbol} has {len(self.text.parameters)} parameters, not {len(ports)}"
            )
        for index, ((is_argument, port), shape, (const, real, name, size)) in enumerate(
            zip(ports, shapes(self.program), self.text.parameters, strict=False)
        ):
            sizes = {
                str(port.size),
                "*".join(map(str, port.shape)),
                "*".join(f"{self.name}_{s}" if isinstance(s, str) else str(s) for s in shape),
            }
            right = (
                const == is_argument
                and real == self.program.real
                and name.rstrip("_") == port.name
                and size in sizes
            )
            if (
                is_argument
                and port.name == PREPARED.name
                and real == f"{self.name}_{prototypes.STRUCT}"
            ):
                right, name = name.rstrip("_") == port.name, f"{name}->value"
            if not right:
                self.found.append(
                    f"parameter {index} is {'const ' * const}{real} {name}[{size}], not the"
                    f" Program's {port.name}"
                )
            if is_argument:
                self.inputs[name] = index
            else:
                self.outputs[name] = port

    def _statements(self, statements: Sequence[Statement]) -> None:
        """Match those of the function, or of one of its parts."""
        for statement in statements:
            if self.scope.parameters is None:
                self.before.append(self.work)
            self._statement(statement)
        if self.scope.parameters is None:
            self.before.append(self.work)
        self._unread()
        self.found += [
            f"{turn} is never used"
            for turn, angles in self.scope.turns.items()
            for lane, angle in enumerate(angles)
            if angle is not None and f"{turn}[{lane}]" not in self.read
        ]

    def _statement(self, statement: Statement) -> None:
        kind, target, element, expression, line = statement
        if kind == "unread" and self.scope.parameters is None:
            self.scope.unread.add(target)
            if expression != "void":
                self.found.append(f"line {line}: {target} is cast to {expression}")
        elif kind == "local":
            declared, init = expression
            self._local(target, declared, init, line)
        elif kind == "array":
            self._array(target, expression, line)
        elif kind == "store":
            self.scope.stores = True
            self._store(target, element, expression, line)
        elif kind == "part":
            self._part(statement)
        else:
            self.found.append(f"line {line}: {target} is not at its place in generated code")

    def _local(self, target: str, declared: str, init: Any, line: int) -> None:
        """A number, or what holds sines and cosines."""
        if declared == f"const {self.name}_{'turns' if self.together else 'pair'}":
            self._turn(target, init, line)
            return
        if (
            self.scope.stores
            or declared != f"const {self.program.real}"
            or self._is_declared(target)
        ):
            self.found.append(
                f"line {line}: {target} is declared as {declared}, twice, or behind a store"
            )
        value = self._value(init, line, target)
        row = self.named.get(target)
        if row is not None and value not in (_UNKNOWN, self.of_row[row]):
            self.found.append(f"line {line}: {target} is not the Program's row {row} of that name")
        # What hangs on a wrong row of known name is compared as if it were right: one error, one
        # sentence.
        self.scope.values[target] = self.of_row[row] if row is not None else value

    def _unread(self) -> None:
        """Reject casts to void of what is read, or is no argument."""
        read_rows, arguments = (
            {name.partition("->")[0] for name in names} for names in (self.read, self.inputs)
        )
        unread = self.scope.unread
        self.found += [
            f"(void){name} although {name} is read or is not an argument"
            for name in sorted(unread & read_rows) + sorted(unread - arguments)
        ]

    def _store(self, target: str, element: int, expression: Any, line: int) -> None:
        """A store to an element of a result, or of the work array, where it may be done again."""
        if self._is_work(target) and self.scope.parameters is not None:
            assert self.text.work is not None
            size = self.text.work.element
            self.work[element] = self._value(expression, line, f"{target}[{element}]")
            if element >= size:
                self.found.append(
                    f"line {line}: {target}[{element}] is beyond the {size} numbers of that array"
                )
            return
        port = self.outputs.get(target) if self.scope.sees(target) else None
        if port is None or element >= port.size or (port.name, element) in self.stored:
            self.found.append(
                f"line {line}: a store to {target}[{element}], which the Program does not have or"
                " has once"
            )
            return
        if isinstance(expression, c_ast.ArrayRef) and not self._is_work(name_of(expression.name)):
            self.found.append(
                f"line {line}: {target}[{element}] is stored from an argument that a result may"
                " alias"
            )
        self.stored[port.name, element] = self._value(expression, line, f"{target}[{element}]")

    def _part(self, statement: Statement) -> None:
        """A part, where it is called: with locals of its own, and with arrays of the function."""
        target, (parameters, inner), line = statement.target, statement.expression, statement.line
        array = self.text.work
        known_names = {*self.text.parameters}
        if array is not None:
            known_names |= {
                (const, array.expression, array.target, str(array.element))
                for const in (False, True)
            }
            if array.expression != self.program.real or array.target in {
                *self.inputs,
                *self.outputs,
            }:
                self.found.append(
                    f"line {array.line}: {array.target} is not a local array of {self.program.real}"
                )
        if not set(parameters) <= known_names:
            self.found.append(
                f"line {line}: the parameters of {target} are not all those of {self.text.symbol}"
            )
        function = self.scope
        self.scope = _Scope(frozenset(name for _, _, name, _ in parameters))
        self.work = dict(self.work)
        self._statements(inner)
        self.scope = function

    def _is_work(self, name: str) -> bool:
        work = self.text.work
        return work is not None and name == work.target and self.scope.sees(name)

    def _is_declared(self, name: str) -> bool:
        return name in self.inputs or self.scope.declares(name)

    def _array(self, target: str, declared: tuple[str, Any, Sequence[Any]], line: int) -> None:
        """The angles whose sines and cosines are taken together, and zeros behind them up to the
        loop's end.
        """
        kind, size, elements = declared
        sizes = (f"{self.name}_ANGLES", str(self.together))
        right = (
            kind == f"const {self.program.real}"
            and str(getattr(size, "value", name_of(size))) in sizes
        )
        if (
            self.scope.stores
            or self.looped
            or not right
            or len(elements) != self.together
            or self._is_declared(target)
        ):
            self.found.append(
                f"line {line}: {target} is not an array of {self.together} angles, is a second one,"
                " or follows a store"
            )
        angles: list[int | None] = [
            None if self._zero(element) else self._value(element, line, target)
            for element in elements
        ]
        angles_known = [angle for angle in angles if angle is not None]
        arguments = [
            angle
            for angle, element in zip(angles, elements, strict=True)
            if isinstance(element, c_ast.ArrayRef)
        ]
        if angles[: len(angles_known)] != angles_known or len(set(arguments)) != len(arguments):
            self.found.append(
                f"line {line}: {target} has an argument twice, or an angle behind a zero"
            )
        self.scope.angles[target], self.looped = angles, True

    def _zero(self, node: Any) -> bool:
        return isinstance(node, c_ast.Constant) and literal(node.value, self.real) == nearest(
            Fraction(0), self.real
        )

    def _turn(self, target: str, init: Any, line: int) -> None:
        """A local that holds sines and cosines: of an angle, `NAME_sincos(angle)`, one an argument,
        or of all in an array.
        """
        sine_names = (
            f"{self.name}_sincos",
            f"{self.text.symbol}_sincos",
        )  # the second is what the text's own macro makes of it
        called = (
            isinstance(init, c_ast.FuncCall)
            and name_of(init.name) in sine_names
            and init.args
            and len(init.args.exprs) == 1
        )
        argument = init.args.exprs[0] if called else None
        if self.together:
            angles = [] if self.scope.turns else self.scope.angles.get(name_of(argument), [])
        else:
            angles = [] if argument is None else [self._value(argument, line, target)]
        if self.scope.stores or not angles or self._is_declared(target):
            self.found.append(
                f"line {line}: {target} is not the sine and cosine of an angle, is declared twice,"
                " or follows a store"
            )
        elif isinstance(argument, c_ast.ArrayRef) and any(
            angles == angles_of_turn for angles_of_turn in self.scope.turns.values()
        ):
            self.found.append(
                f"line {line}: {target} takes the sine and cosine of an angle that has them already"
            )
        self.scope.turns[target] = angles

    def _value(self, node: Any, line: int, target: str) -> int:
        try:
            return self._number(node)
        except _Difference as difference:
            self.found.append(f"line {line}: {target}: {difference}")
            return _UNKNOWN

    def _number(self, node: Any) -> int:
        """The number of an expression's structure, operands first."""
        key: Key
        if isinstance(node, c_ast.BinaryOp) and node.op in _BINARY:
            key = (_BINARY[node.op], self._number(node.left), self._number(node.right))
        elif isinstance(node, c_ast.ID):
            if node.name not in self.scope.values:
                raise _Difference(f"{node.name} is not a local that is declared before")
            return self.scope.values[node.name]
        elif isinstance(node, c_ast.Constant):
            return self._look_up(("const", self._literal(node.value)), f"the literal {node.value}")
        elif isinstance(node, c_ast.UnaryOp) and node.op == "-":
            return self._opposite(node.expr)
        elif (pair := self._pair(node)) is not None:
            key = pair
        elif isinstance(node, c_ast.ArrayRef):
            return self._element(node)
        elif isinstance(node, c_ast.FuncCall) and (op := self._called(node)):
            key = (op, *map(self._number, node.args.exprs))
        else:
            raise _Difference(
                f"an expression ({type(node).__name__}) that generated code never holds"
            )
        return self._operation(key)

    def _operation(self, key: Key) -> int:
        """Count an operation; return the number of its structure."""
        self.done += 1
        if _UNKNOWN in key[1:]:
            return _UNKNOWN
        return self._look_up(key, f"this {key[0]} of these operands")

    def _opposite(self, node: Any) -> int:
        """The number of an expression with a sign in front, which is no operation on a constant."""
        if isinstance(node, c_ast.Constant):
            key = ("const", opposite(self._literal(node.value)))
            return self._look_up(key, f"the literal -{node.value}")
        inner = self._number(node)
        if inner in self.constants:
            key = ("const", opposite(self.constants[inner]))
            return self._look_up(key, "the opposite of that constant")
        return self._operation(("neg", inner))

    def _called(self, node: Any) -> str | None:
        """Return the operation that a call is; None for a function that no row calls, or with too
        many arguments.
        """
        op = self.calls.get(name_of(node.name))
        return op if op and node.args and len(node.args.exprs) == ARITY[op] else None

    def _pair(self, node: Any) -> Key | None:
        """The sine or cosine that turn.sine is, or turn.sine[place]; None where it is none."""
        index, of = "0", node
        if self.together:
            index, of = (
                (getattr(node.subscript, "value", ""), node.name)
                if isinstance(node, c_ast.ArrayRef)
                else ("", None)
            )
        if (
            not isinstance(of, c_ast.StructRef)
            or of.type != "."
            or of.field.name not in _PAIR
            or not INDEX.fullmatch(index)
        ):
            return None
        turn, at = name_of(of.name), int(index)
        angles = self.scope.turns.get(turn, [])
        if at >= len(angles) or angles[at] is None:
            return None
        self.read.add(f"{turn}[{at}]")
        return _PAIR[of.field.name], angles[at]

    def _look_up(self, key: Key, what: str) -> int:
        if key not in self.number:
            kind = "constant" if key[0] == "const" else "row"
            raise _Difference(f"no {kind} of the Program is {what}")
        return self.number[key]

    def _element(self, node: Any) -> int:
        index, name = getattr(node.subscript, "value", ""), name_of(node.name)
        if self._is_work(name) and INDEX.fullmatch(index):
            if int(index) not in self.work:
                raise _Difference(f"{name}[{index}] is read before anything is put there")
            return self.work[int(index)]
        if name not in self.inputs or not self.scope.sees(name) or not INDEX.fullmatch(index):
            raise _Difference(f"{name or '?'}[{index or '?'}] is not an element of an argument")
        if self.stored and self.scope.parameters is not None:
            raise _Difference(
                f"{name}[{index}] is read although a result is stored before, which may alias it"
            )
        self.read.add(name)
        return self._look_up(("input", self.inputs[name], int(index)), f"{name}[{index}]")

    def _literal(self, text: str) -> Number:
        """The value of a literal as the compiler reads it; its type must be the Program's real."""
        number = literal(text, self.real)
        if number is None:
            raise _Difference(f"the literal {text} is not of the type {self.program.real}")
        return number


class _Difference(Exception):
    """An error in one expression."""
