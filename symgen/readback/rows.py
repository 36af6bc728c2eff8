"""Comparison of the C of a straight-line function with the rows of its Program.

`compare` parses the text with pycparser and matches each operation with a row. The operation and
the operands must be equal, in the same order, and each literal must be equal to its constant,
rounded once to the real type. Rows are matched by structure from the leaves up. The names of locals
only help to locate a difference. The text may not have any other statement, directive or store.

A long function calls static parts, each once. The statements of a part are matched where the part
is called. Parts pass numbers to each other in the workspace. A part may not read an argument after
a result is stored.
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
"""Structure number of a reported expression: expressions that depend on it are not reported."""

Key = tuple[Any, ...]
"""Structure of an expression: its operation, and the structure numbers of its operands."""


def compare(
    program: Program,
    text: str,
    header: str = "",
    checked: Mapping[int, Bound] | None = None,
    preprocessed: str = "",
) -> list[str]:
    """List the differences between the C and the Program; [] if they agree.

    `text` is NAME_<function>.c, and `header` is NAME.h or "". The macros of a header are compared,
    too. `checked` is None for a function without a status; for a function with a status, `checked`
    are the certified bounds of its divisors, by row. `preprocessed` is the output of the compiler's
    preprocessor for `text`, or "". If it is not empty, it is parsed in place of `text`, and the
    prototypes of the header are compared. Each difference is a sentence with a line of the C.
    """
    try:
        parsed = parse(text, preprocessed)
    except ProgramError as error:
        return [str(error)]
    # The name of a derivative, such as f:jacobian(q,v), has other characters than words.
    function_name = "_".join(re.findall(r"\w+", program.function))
    name = parsed.symbol.removesuffix(f"_{function_name}")
    differences = preprocessor.directives(text, name, parsed.symbol, checked is not None)
    if name == parsed.symbol:
        differences.append(
            f"the function is called {parsed.symbol}, which does not end in _{function_name}"
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
    angles_per_call = preprocessor.angles_at_once(text, name)
    matcher = Matcher(program, parsed, name, angles_per_call)
    differences += matcher.differences()
    if checked is not None:
        # A loop over all angles computes those outside of the range with <math.h>.
        bounded = f'#include "{name}_sincos.h"' in text and not angles_per_call
        differences += matcher.checks(checked, bounded)
    return differences


@dataclass
class _Scope:
    """Declarations of the function, or of one of its parts."""

    parameters: frozenset[str] | None = None
    """Parameters of a part; None for the function itself."""
    values: dict[str, int] = field(default_factory=dict)
    """Structure number of each local."""
    turns: dict[str, list[int | None]] = field(default_factory=dict)
    """Angles of each local that holds sines and cosines, as structure numbers."""
    angles: dict[str, list[int | None]] = field(default_factory=dict)
    """Angles in each array of angles, as structure numbers; None for a zero."""
    unread: set[str] = field(default_factory=set)
    """Names that are cast to void."""
    stores: bool = False
    """True after the first store."""

    def declares(self, name: str) -> bool:
        """True if a local of that name is declared."""
        return any(name in names for names in (self.values, self.turns, self.angles))

    def sees(self, name: str) -> bool:
        """True if an array of the function is visible here."""
        return self.parameters is None or name.partition("->")[0] in self.parameters


class Matcher:
    """Comparison of the statements of a text with the rows of a Program.

    The rows are numbered by their structure: operation and operands. An expression of the text with
    the same structure as a row has the same number.
    """

    def __init__(self, program: Program, text: Text, name: str, angles_per_call: int) -> None:
        self.program, self.text, self.angles_per_call = program, text, angles_per_call
        self.real = REALS[program.real]
        self.calls = {self.real.libm(op): op for op in ("sin", "cos", "sqrt", "log", "atan2")}
        self.calls |= {f"{name}_SIN": "sin", f"{name}_COS": "cos"}
        self.name = name
        self.numbers: dict[Key, int] = {}
        """Structure number of each key."""
        self.row_numbers: dict[int, int] = {}
        """Structure number of each row."""
        self.constants: dict[int, Number] = {}
        """Value of each structure number that is a constant."""
        self.reported: list[str] = []
        """Differences that the comparison found."""
        self.rows_by_name: dict[str, int] = {}
        """Row of each row name."""
        self.scope = _Scope()
        self.looped = False
        """True if the text has an array of angles."""
        self.inputs: dict[str, int] = {}
        """Index of each argument, by its name in the text."""
        self.outputs: dict[str, Port] = {}
        """Port of each result, by its name in the text."""
        self.read: set[str] = set()
        """Names of arguments, and of sines and cosines, that are read."""
        self.zeros = ""
        """Local that is zero if all arguments are finite."""
        self.operation_count = 0
        """Number of operations in the text."""
        self.stored: dict[tuple[str, int], int] = {}
        """Structure number of each stored element of a result, by port name and index."""
        self.work: dict[int, int] = {}
        """Structure number of each stored element of the workspace."""
        self.work_before: list[dict[int, int]] = []
        """Contents of the workspace before each statement of the function, and after the last."""

    def differences(self) -> list[str]:
        """List the differences between the statements and the rows."""
        expected = 0
        for i in computed(self.program):
            key = self._key(i)
            self.row_numbers[i] = self.numbers.setdefault(key, len(self.numbers))
            if key[0] == "const":
                self.constants[self.row_numbers[i]] = key[1]
            expected += key[0] not in ("const", "input")
        rows = self.program.rows
        self.rows_by_name = {
            row.name: i for i, row in enumerate(rows) if row.name and i in self.row_numbers
        }
        self._signature()
        statements = self.text.statements
        if self.text.checks is not None:
            self.zeros, statements = self._zeros(statements), statements[1:]
        self._statements(statements)
        if bool(self.angles_per_call) != self.looped:
            self.reported.append(f"{self.name}_ANGLES and an array of angles must occur together")
        self._results()
        if not self.reported and self.operation_count != expected:
            self.reported.append(
                f"the C does {self.operation_count} operations where the Program does {expected}"
            )
        return self.reported

    def _results(self) -> None:
        """Compare the stores with the results of the Program."""
        for port in self.program.outputs:
            for k, row in enumerate(port.rows):
                value = self.stored.get((port.name, k))
                if value is None:
                    self.reported.append(f"{port.name}[{k}] is never stored")
                elif value not in (_UNKNOWN, self.row_numbers[row]):
                    self.reported.append(
                        f"{port.name}[{k}] stores another row than the Program's row {row}"
                    )

    def checks(self, divisor_bounds: Mapping[int, Bound], inline: bool) -> list[str]:
        """List the errors of the checks; `differences` must be called before."""
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
            # The sum of zeros, the first statement of the text, is not in `work_before`.
            self.work = self.work_before[max(0, at - 1)]
            return self._number(node)

        body = Body(
            self.name,
            self.zeros,
            min(stores, default=0),
            self.inputs,
            self.row_numbers,
            number,
            self._literal,
            self.real.libm("fabs"),
        )
        try:
            return differences(self.text.checks, self.program, body, divisor_bounds, inline)
        except _Difference as difference:
            return [f"a check: {difference}"]

    def _zeros(self, statements: Sequence[Statement]) -> str:
        """Return the name of the local that is zero if all arguments are finite."""
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
        self.reported.append(
            f"line {line}: this is not the sum of zero times every element of every argument"
        )
        return ""

    def _key(self, i: int) -> Key:
        """Return the structure of a row."""
        op, args, value, _, _ = self.program.rows[i]
        if op == "const":
            return ("const", nearest(value, self.real))
        if op == "input":
            return ("input", *value)
        if op == "neg" and self.row_numbers[args[0]] in self.constants:
            # C has no negative literals, so the sign before a literal is not an operation.
            return ("const", opposite(self.constants[self.row_numbers[args[0]]]))
        return (op, *(self.row_numbers[a] for a in args))

    def _signature(self) -> None:
        """Compare the parameters with the arguments and results of the Program."""
        ports = [(True, p) for p in self.program.inputs] + [
            (False, p) for p in self.program.outputs
        ]
        if len(ports) != len(self.text.parameters):
            self.reported.append(
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
            is_expected = (
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
                is_expected, name = name.rstrip("_") == port.name, f"{name}->value"
            if not is_expected:
                self.reported.append(
                    f"parameter {index} is {'const ' * const}{real} {name}[{size}], not the"
                    f" Program's {port.name}"
                )
            if is_argument:
                self.inputs[name] = index
            else:
                self.outputs[name] = port

    def _statements(self, statements: Sequence[Statement]) -> None:
        """Match the statements of the function, or of one of its parts."""
        for statement in statements:
            if self.scope.parameters is None:
                self.work_before.append(self.work)
            self._statement(statement)
        if self.scope.parameters is None:
            self.work_before.append(self.work)
        self._unread()
        self.reported += [
            f"{turn} is never used"
            for turn, angles in self.scope.turns.items()
            for lane, angle in enumerate(angles)
            if angle is not None and f"{turn}[{lane}]" not in self.read
        ]

    def _statement(self, statement: Statement) -> None:
        """Match one statement."""
        kind, target, element, expression, line = statement
        if kind == "unread" and self.scope.parameters is None:
            self.scope.unread.add(target)
            if expression != "void":
                self.reported.append(f"line {line}: {target} is cast to {expression}")
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
            self.reported.append(f"line {line}: {target} is not at its place in generated code")

    def _local(self, target: str, declared: str, init: Any, line: int) -> None:
        """Match the declaration of a local: a number, or a struct of sines and cosines."""
        if declared == f"const {self.name}_{'turns' if self.angles_per_call else 'pair'}":
            self._turn(target, init, line)
            return
        if (
            self.scope.stores
            or declared != f"const {self.program.real}"
            or self._is_declared(target)
        ):
            self.reported.append(
                f"line {line}: {target} is declared as {declared}, is declared twice, or"
                " follows a store"
            )
        value = self._value(init, line, target)
        row = self.rows_by_name.get(target)
        if row is not None and value not in (_UNKNOWN, self.row_numbers[row]):
            self.reported.append(
                f"line {line}: {target} is not the Program's row {row} of that name"
            )
        # A local with the name of a row but another value is reported once: expressions that depend
        # on it are compared as if its value were correct.
        self.scope.values[target] = self.row_numbers[row] if row is not None else value

    def _unread(self) -> None:
        """Report casts to void of an argument that is read, or of another name."""
        names_read, arguments = (
            {name.partition("->")[0] for name in names} for names in (self.read, self.inputs)
        )
        unread = self.scope.unread
        self.reported += [
            f"(void){name} although {name} is read or is not an argument"
            for name in sorted(unread & names_read) + sorted(unread - arguments)
        ]

    def _store(self, target: str, element: int, expression: Any, line: int) -> None:
        """Match a store to an element of a result, which is stored once, or of the workspace."""
        if self._is_work(target) and self.scope.parameters is not None:
            assert self.text.work is not None
            size = self.text.work.element
            self.work[element] = self._value(expression, line, f"{target}[{element}]")
            if element >= size:
                self.reported.append(
                    f"line {line}: {target}[{element}] is beyond the {size} numbers of that array"
                )
            return
        port = self.outputs.get(target) if self.scope.sees(target) else None
        if port is None or element >= port.size or (port.name, element) in self.stored:
            self.reported.append(
                f"line {line}: {target}[{element}] is stored twice, or is not an element of a"
                " result"
            )
            return
        if isinstance(expression, c_ast.ArrayRef) and not self._is_work(name_of(expression.name)):
            self.reported.append(
                f"line {line}: {target}[{element}] is stored from an argument that a result may"
                " alias"
            )
        self.stored[port.name, element] = self._value(expression, line, f"{target}[{element}]")

    def _part(self, statement: Statement) -> None:
        """Match the statements of a part, which has its own locals, where the part is called."""
        target, (parameters, inner), line = statement.target, statement.expression, statement.line
        work = self.text.work
        allowed_parameters = {*self.text.parameters}
        if work is not None:
            allowed_parameters |= {
                (const, work.expression, work.target, str(work.element)) for const in (False, True)
            }
            if work.expression != self.program.real or work.target in {
                *self.inputs,
                *self.outputs,
            }:
                self.reported.append(
                    f"line {work.line}: {work.target} is not a local array of {self.program.real}"
                )
        if not set(parameters) <= allowed_parameters:
            self.reported.append(
                f"line {line}: the parameters of {target} are not all those of {self.text.symbol}"
            )
        scope_of_function = self.scope
        self.scope = _Scope(frozenset(name for _, _, name, _ in parameters))
        self.work = dict(self.work)
        self._statements(inner)
        self.scope = scope_of_function

    def _is_work(self, name: str) -> bool:
        work = self.text.work
        return work is not None and name == work.target and self.scope.sees(name)

    def _is_declared(self, name: str) -> bool:
        return name in self.inputs or self.scope.declares(name)

    def _array(self, target: str, declared: tuple[str, Any, Sequence[Any]], line: int) -> None:
        """Match the array of all angles, which zeros fill up to the end of the loop."""
        kind, size, elements = declared
        sizes = (f"{self.name}_ANGLES", str(self.angles_per_call))
        is_expected = (
            kind == f"const {self.program.real}"
            and str(getattr(size, "value", name_of(size))) in sizes
        )
        if (
            self.scope.stores
            or self.looped
            or not is_expected
            or len(elements) != self.angles_per_call
            or self._is_declared(target)
        ):
            self.reported.append(
                f"line {line}: {target} is not an array of {self.angles_per_call} angles, is a"
                " second one, or follows a store"
            )
        angles: list[int | None] = [
            None if self._zero(element) else self._value(element, line, target)
            for element in elements
        ]
        nonzero_angles = [angle for angle in angles if angle is not None]
        arguments = [
            angle
            for angle, element in zip(angles, elements, strict=True)
            if isinstance(element, c_ast.ArrayRef)
        ]
        if angles[: len(nonzero_angles)] != nonzero_angles or len(set(arguments)) != len(arguments):
            self.reported.append(
                f"line {line}: {target} has an argument twice, or an angle after a zero"
            )
        self.scope.angles[target], self.looped = angles, True

    def _zero(self, node: Any) -> bool:
        return isinstance(node, c_ast.Constant) and literal(node.value, self.real) == nearest(
            Fraction(0), self.real
        )

    def _turn(self, target: str, init: Any, line: int) -> None:
        """Match the declaration of a local that holds sines and cosines, `NAME_sincos(angle)`.

        The argument is one angle, or the array of all angles.
        """
        # The second name is that of the preprocessed text.
        sine_names = (f"{self.name}_sincos", f"{self.text.symbol}_sincos")
        is_call = (
            isinstance(init, c_ast.FuncCall)
            and name_of(init.name) in sine_names
            and init.args
            and len(init.args.exprs) == 1
        )
        argument = init.args.exprs[0] if is_call else None
        if self.angles_per_call:
            angles = [] if self.scope.turns else self.scope.angles.get(name_of(argument), [])
        else:
            angles = [] if argument is None else [self._value(argument, line, target)]
        if self.scope.stores or not angles or self._is_declared(target):
            self.reported.append(
                f"line {line}: {target} is not the sine and cosine of an angle, is declared twice,"
                " or follows a store"
            )
        elif isinstance(argument, c_ast.ArrayRef) and any(
            angles == angles_of_turn for angles_of_turn in self.scope.turns.values()
        ):
            self.reported.append(
                f"line {line}: {target} computes the sine and cosine of an angle a second time"
            )
        self.scope.turns[target] = angles

    def _value(self, node: Any, line: int, target: str) -> int:
        """Return the structure number of an expression; report a difference in it."""
        try:
            return self._number(node)
        except _Difference as difference:
            self.reported.append(f"line {line}: {target}: {difference}")
            return _UNKNOWN

    def _number(self, node: Any) -> int:
        """Return the structure number of an expression. Raises _Difference if no row has it."""
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
        """Count an operation; return its structure number."""
        self.operation_count += 1
        if _UNKNOWN in key[1:]:
            return _UNKNOWN
        return self._look_up(key, f"this {key[0]} of these operands")

    def _opposite(self, node: Any) -> int:
        """Return the structure number of a negative; of a constant it is another constant."""
        if isinstance(node, c_ast.Constant):
            key = ("const", opposite(self._literal(node.value)))
            return self._look_up(key, f"the literal -{node.value}")
        inner = self._number(node)
        if inner in self.constants:
            key = ("const", opposite(self.constants[inner]))
            return self._look_up(key, "the opposite of that constant")
        return self._operation(("neg", inner))

    def _called(self, node: Any) -> str | None:
        """Return the operation of a call; None for an unknown function or a wrong arity."""
        op = self.calls.get(name_of(node.name))
        return op if op and node.args and len(node.args.exprs) == ARITY[op] else None

    def _pair(self, node: Any) -> Key | None:
        """Return the structure of `turn.sine`, `turn.cosine[index]` and the like.

        Return None for any other expression.
        """
        index, member = "0", node
        if self.angles_per_call:
            index, member = (
                (getattr(node.subscript, "value", ""), node.name)
                if isinstance(node, c_ast.ArrayRef)
                else ("", None)
            )
        if (
            not isinstance(member, c_ast.StructRef)
            or member.type != "."
            or member.field.name not in _PAIR
            or not INDEX.fullmatch(index)
        ):
            return None
        turn, at = name_of(member.name), int(index)
        angles = self.scope.turns.get(turn, [])
        if at >= len(angles) or angles[at] is None:
            return None
        self.read.add(f"{turn}[{at}]")
        return _PAIR[member.field.name], angles[at]

    def _look_up(self, key: Key, description: str) -> int:
        """Return the structure number of a key. Raises _Difference if no row has it."""
        if key not in self.numbers:
            kind = "constant" if key[0] == "const" else "row"
            raise _Difference(f"no {kind} of the Program is {description}")
        return self.numbers[key]

    def _element(self, node: Any) -> int:
        """Return the structure number of an element of an argument or of the workspace."""
        index, name = getattr(node.subscript, "value", ""), name_of(node.name)
        if self._is_work(name) and INDEX.fullmatch(index):
            if int(index) not in self.work:
                raise _Difference(f"{name}[{index}] is read before it is stored")
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
        """Return the value of a literal, which must be of the Program's real type."""
        number = literal(text, self.real)
        if number is None:
            raise _Difference(f"the literal {text} is not of the type {self.program.real}")
        return number


class _Difference(Exception):
    """An error in one expression."""
