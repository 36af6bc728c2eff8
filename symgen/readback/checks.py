"""Comparison of the conditions of a checked function with those that its Program requires."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from symgen.ir.program import Bound, Element, Program
from symgen.readback.literals import Number, nearest
from symgen.readback.parsing import INDEX, Checks, name_of, status_of
from symgen.readback.required_checks import (
    FARTHEST,
    STATUSES,
    angle_rows,
    bounds,
    computed,
    finite,
    unit_length_tolerance,
)
from symgen.vocabulary.reals import REALS

Condition = tuple[bool, int, Number | Element]
"""A comparison: (True if of a magnitude, structure number of the expression, bound)."""


@dataclass(frozen=True)
class Body:
    """Names and structure numbers of a checked function that its conditions refer to.

    A structure number identifies an operation with its operands (`symgen.readback.rows`). `name` is
    the name of the robot. `zeros` is the local that is zero if all arguments are finite.
    """

    name: str
    zeros: str
    first_store: int
    """Number of statements before the first store."""
    arguments: Mapping[str, int]
    """Index of each argument, by name."""
    rows: Mapping[int, int]
    """Structure number of each row."""
    number: Callable[[int, Any], int]
    """Function that returns the structure number of an expression after so many statements."""
    literal: Callable[[str], Number]
    """Function that returns the value of a literal."""
    fabs: str
    """Name of the C function that returns a magnitude."""

    def is_literal(self, node: Any, value: int) -> bool:
        """True if an expression is a literal with this magnitude."""
        return isinstance(node, c_ast.Constant) and self.literal(node.value)[1] == value

    def element(self, node: Any) -> Element | None:
        """Return the element of an argument that an expression reads; None for any other."""
        if not isinstance(node, c_ast.ArrayRef) or not isinstance(node.subscript, c_ast.Constant):
            return None
        port, index = self.arguments.get(name_of(node.name)), node.subscript.value
        return Element(port, int(index)) if port is not None and INDEX.fullmatch(index) else None

    def bound(self, node: Any) -> Number | Element | None:
        """Return the value of a literal, or the element of an argument; None for any other."""
        return self.literal(node.value) if isinstance(node, c_ast.Constant) else self.element(node)

    def condition(self, node: Any, sign: str, at: int) -> Condition | None:
        """Return the comparison `value sign bound` or `fabs(value) sign bound`.

        It stands after `at` statements. Return None for a condition of another form.
        """
        bound = self.bound(node.right) if _is_operation(node, sign) else None
        if bound is None:
            return None
        magnitude = isinstance(node.left, c_ast.FuncCall)
        value = _argument(node.left, self.fabs) if magnitude else node.left
        if not isinstance(value, c_ast.ID | c_ast.ArrayRef):
            return None
        return magnitude, self.number(at, value), bound

    def unit(self, node: Any) -> tuple[int, int, Number] | None:
        """Return (argument, k, bound) of `fabs(q[k]*q[k] + … + q[k+3]*q[k+3] - 1) <= bound`.

        q is the argument with that index. Return None for a condition of another form.
        """
        if not _is_operation(node, "<=") or not isinstance(node.right, c_ast.Constant):
            return None
        difference = _argument(node.left, self.fabs)
        if not _is_operation(difference, "-") or not self.is_literal(difference.right, 1):
            return None
        squared = [self._squared(term) for term in _operands(difference.left, "+")]
        if squared[0] is None:
            return None
        port, first = squared[0]
        complete = squared == [(port, first + k) for k in range(4)]
        return (port, first, self.literal(node.right.value)) if complete else None

    def _squared(self, node: Any) -> Element | None:
        """Return the element of an argument whose square an expression is; None for any other."""
        if not _is_operation(node, "*"):
            return None
        left = self.element(node.left)
        return left if left == self.element(node.right) else None


def differences(
    checks: Checks, program: Program, body: Body, divisor_bounds: Mapping[int, Bound], inline: bool
) -> list[str]:
    """List the differences between the conditions of a function and the required conditions.

    `inline`: angles must be in the range of the text's own sines.
    """
    name, required = body.name, _required(program, body, divisor_bounds, inline)
    statuses = ["OK", "NOT_FINITE", *required]
    spellings = {status: (f"{name}_{status}", str(STATUSES.index(status))) for status in statuses}
    status_words = [word for word, _, _ in checks.conditions[1:]]
    if len(status_words) != len(statuses) - 1 or any(
        word not in spellings[status]
        for word, status in zip(status_words, statuses[1:], strict=True)
    ):
        return [f"the checks are not those of {', '.join(statuses[1:])}, in this order"]
    differences = []
    if status_of(checks.conditions[0][1]) not in spellings["OK"]:
        differences.append(f"the status is not initialized with {name}_OK")
    if checks.conditions[-1][2] > body.first_store:
        differences.append("a result is stored before the last check")
    for (_, condition, at), status in zip(checks.conditions[1:], statuses[1:], strict=True):
        if not _is_required(condition, at, status, required.get(status, ()), body):
            differences.append(
                f"the condition of {name}_{status} is not the one that the Program asks for"
            )
    return differences


def _required(
    program: Program, body: Body, divisor_bounds: Mapping[int, Bound], inline: bool
) -> dict[str, set[Any]]:
    """Return the required conditions of a Program by status, in the order of the text.

    A status without a condition is left out.
    """
    rows, real = computed(program), REALS[program.real]
    farthest = nearest(FARTHEST, real)
    required: dict[str, set[Any]] = {
        "NOT_UNIT": {
            (*quaternion, nearest(unit_length_tolerance(program.real), real))
            for quaternion in program.unit_quaternions
        },
        "OUT_OF_RANGE": {
            (True, body.rows[row], farthest) for row in angle_rows(program, rows) if inline
        },
        "DIVISOR": {
            (
                bound.magnitude,
                body.rows[row],
                bound.least if isinstance(bound.least, Element) else nearest(bound.least, real),
            )
            for row, bound in bounds(program, rows, divisor_bounds).items()
        },
        "RESULT_NOT_FINITE": {body.rows[row] for row in finite(program, rows)},
    }
    return {status: conditions for status, conditions in required.items() if conditions}


def _is_required(
    condition: Any, at: int, status: str, required: Collection[Any], body: Body
) -> bool:
    """True if a condition after `at` statements is the required condition of its status."""
    parts = _operands(condition, "&&")
    match status:
        case "NOT_FINITE":
            return (
                _is_operation(condition, ">=")
                and name_of(condition.left) == body.zeros
                and body.is_literal(condition.right, 0)
            )
        case "NOT_UNIT":
            return [body.unit(part) for part in parts] == sorted(required)
        case "RESULT_NOT_FINITE":
            return {body.number(at, node) for node in _finite(parts, body)} == required
        case _:
            sign = "<=" if status == "OUT_OF_RANGE" else ">="
            conditions = [body.condition(part, sign, at) for part in parts]
            return len(conditions) == len(required) and set(conditions) == required


def zeros(
    program: Program, node: Any, inputs: Mapping[str, int], literal: Callable[[str], Number]
) -> bool:
    """True if an expression is the sum of 0·x over all elements x of all arguments, in order."""
    factors = _times_zero(node, literal)
    if not all(
        isinstance(factor, c_ast.ArrayRef) and isinstance(factor.subscript, c_ast.Constant)
        for factor in factors
    ):
        return False
    elements = [(inputs.get(name_of(factor.name)), factor.subscript.value) for factor in factors]
    return elements == [
        (i, str(k)) for i, port in enumerate(program.inputs) for k in range(port.size)
    ]


def _times_zero(node: Any, literal: Callable[[str], Number]) -> list[Any]:
    """Return the factors x of a sum of products 0*x, in order; None for any other summand."""
    factors = []
    for term in _operands(node, "+"):
        product = _is_operation(term, "*") and isinstance(term.left, c_ast.Constant)
        factors.append(term.right if product and literal(term.left.value)[1] == 0 else None)
    return factors


def _finite(parts: list[Any], body: Body) -> list[Any]:
    """Return the locals and elements x of `(0*x + …) >= 0 && …`.

    `parts` are the operands of `&&`. The result is empty for a condition of another form.
    """
    factors_of_all: list[Any] = []
    for part in parts:
        is_comparison = _is_operation(part, ">=") and body.is_literal(part.right, 0)
        factors = _times_zero(part.left, body.literal) if is_comparison else [None]
        if not all(isinstance(factor, c_ast.ID | c_ast.ArrayRef) for factor in factors):
            return []
        factors_of_all += factors
    return factors_of_all


def _operands(node: Any, operator: str) -> list[Any]:
    """Return the operands of a left-associative chain of one operator, in order."""
    operands = []
    while _is_operation(node, operator):
        operands.append(node.right)
        node = node.left
    return [node, *reversed(operands)]


def _is_operation(node: Any, operator: str) -> bool:
    """True if an expression is this operator applied to two operands."""
    return isinstance(node, c_ast.BinaryOp) and node.op == operator


def _argument(node: Any, function: str) -> Any:
    """Return the only argument of a call of `function`; None for any other expression."""
    is_call = isinstance(node, c_ast.FuncCall) and name_of(node.name) == function and node.args
    return node.args.exprs[0] if is_call and len(node.args.exprs) == 1 else None
