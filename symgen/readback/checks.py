"""The checks of a function of `--checked`, read back: what stands between its statements, and whether it is all of it.

`unfold` takes the text apart into plain statements, as an unchecked function has them, and conditions in their order;
`differences` compares the conditions with what the Program asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from pycparser import c_ast

from symgen.ir.program import Bound, Element, Program
from symgen.readback.literals import Number, nearest
from symgen.readback.required_checks import (
    FARTHEST,
    STATUSES,
    bounds,
    computed,
    finite,
    length,
    turned,
)
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import REALS

Condition = tuple[bool, int, Number | Element]
"""Of a magnitude?, the number of the expression's structure, the bound."""


class Checks(NamedTuple):
    """Every condition as (the status, by macro or number; the expression that must hold; plain statements before it)."""

    conditions: tuple[tuple[str, Any, int], ...] = ()


def unfold(items: list[Any]) -> tuple[list[Any], Checks]:
    """The plain statements of a checked function's body and its checks; ProgramError for another shape.

    int status = NAME_OK; … if (!(…)) status = NAME_…; else if … else { … } return status;
    """
    begun, ended = items[:1], items[-1:]
    status = begun[0].name if begun and isinstance(begun[0], c_ast.Decl) else ""
    typed = (
        bool(begun)
        and getattr(getattr(begun[0].type, "type", None), "names", []) == ["int"]
        and not begun[0].quals
    )
    if (
        not typed
        or not ended
        or not isinstance(ended[0], c_ast.Return)
        or _name(ended[0].expr) != status
    ):
        raise ProgramError("a checked function begins with its status and ends with returning it")
    plain: list[Any] = []
    conditions = [("", begun[0].init, 0)]
    block = list(items[1:-1])
    while block and isinstance(block[-1], c_ast.If):
        plain += block[:-1]
        node = block[-1]
        only: list[Any] = (
            (node.iftrue.block_items or [None])
            if isinstance(node.iftrue, c_ast.Compound)
            else [None]
        )
        stated = (
            len(only) == 1
            and isinstance(only[0], c_ast.Assignment)
            and (only[0].op, _name(only[0].lvalue)) == ("=", status)
        )
        if (
            not stated
            or not isinstance(node.cond, c_ast.UnaryOp)
            or node.cond.op != "!"
            or node.iffalse is None
        ):
            raise ProgramError(
                f"line {node.coord.line}: a check states what does not hold and leaves the rest to its else"
            )
        conditions.append((_status(only[0].rvalue), node.cond.expr, len(plain)))
        block = (
            [node.iffalse]
            if isinstance(node.iffalse, c_ast.If)
            else list(node.iffalse.block_items or [])
        )
    return plain + block, Checks(tuple(conditions))


def differences(
    checks: Checks,
    program: Program,
    name: str,
    inline: bool,
    floors: Mapping[int, Bound],
    first_store: int,
    zeros: str,
    number: Callable[[int, Any], int],
    of_row: Mapping[int, int],
    literal: Callable[[str], Number],
    places: Mapping[str, int],
) -> list[str]:
    """What the conditions lack; `zeros` is the local that is zero when all arguments are finite, `places` those of arguments.

    `number` is that of an expression's structure behind so many plain statements, `of_row` that of a row, `literal` the value of
    a literal.
    """
    rows, real = computed(program), REALS[program.real]
    wanted: list[tuple[str, set[Any]]] = [("OK", set()), ("NOT_FINITE", set())]
    units: set[Any] = {
        (*one, nearest(length(program.real), real)) for one in program.unit_quaternions
    }
    farthest = nearest(FARTHEST, real)
    angles: set[Condition] = (
        {(True, of_row[row], farthest) for row in turned(program, rows)} if inline else set()
    )
    kept: set[Condition] = {
        (
            owed.magnitude,
            of_row[row],
            owed.least if isinstance(owed.least, Element) else nearest(owed.least, real),
        )
        for row, owed in bounds(program, rows, floors).items()
    }
    results = {of_row[row] for row in finite(program, rows)}
    wanted += [
        (status, asked)
        for status, asked in (
            ("NOT_UNIT", units),
            ("OUT_OF_RANGE", angles),
            ("DIVISOR", kept),
            ("RESULT_NOT_FINITE", results),
        )
        if asked
    ]
    spelt = [(f"{name}_{status}", str(STATUSES.index(status))) for status, _ in wanted]
    stated = [one for one, _, _ in checks.conditions[1:]]
    if len(stated) != len(wanted) - 1 or any(
        one not in known for one, known in zip(stated, spelt[1:], strict=True)
    ):
        return [
            f"the checks are not those of {', '.join(status for status, _ in wanted[1:])}, in this order"
        ]
    found = []
    if _status(checks.conditions[0][1]) not in spelt[0]:
        found.append(f"the status does not begin as {name}_OK")
    if checks.conditions[-1][2] > first_store:
        found.append("a result is stored before the last check")
    for (_, condition, at), (status, asked) in zip(checks.conditions[1:], wanted[1:], strict=True):
        sign = "<=" if status == "OUT_OF_RANGE" else ">="
        if status == "NOT_UNIT":
            squares = [
                _unit(part, real.libm("fabs"), places, literal) for part in _joined(condition, "&&")
            ]
            if squares != sorted(asked):
                found.append(
                    f"the condition of {name}_{status} is not the one that the Program asks for"
                )
            continue
        if status == "RESULT_NOT_FINITE":
            right = {number(at, one) for one in _finite(condition, literal)} == asked
        elif status == "NOT_FINITE":
            right = (
                isinstance(condition, c_ast.BinaryOp)
                and condition.op == ">="
                and _name(condition.left) == zeros
                and isinstance(condition.right, c_ast.Constant)
                and literal(condition.right.value)[1] == 0
            )
        else:
            there = partial(number, at)
            read = [
                _condition(part, sign, real.libm("fabs"), there, literal, places)
                for part in _joined(condition, "&&")
            ]
            right = len(read) == len(asked) and set(read) == asked
        if not right:
            found.append(
                f"the condition of {name}_{status} is not the one that the Program asks for"
            )
    return found


def zeros(
    program: Program, node: Any, inputs: Mapping[str, int], literal: Callable[[str], Number]
) -> bool:
    """True if an expression is the sum of zero times every element of every argument, in order."""
    factors = _times_zero(node, literal)
    if not all(
        isinstance(factor, c_ast.ArrayRef) and isinstance(factor.subscript, c_ast.Constant)
        for factor in factors
    ):
        return False
    read = [(inputs.get(_name(factor.name)), factor.subscript.value) for factor in factors]
    return read == [(i, str(k)) for i, port in enumerate(program.inputs) for k in range(port.size)]


def _times_zero(node: Any, literal: Callable[[str], Number]) -> list[Any]:
    """The factors x of a sum of products 0*x, in order; None for a term of another shape."""
    factors = []
    for term in _joined(node, "+"):
        product = (
            isinstance(term, c_ast.BinaryOp)
            and term.op == "*"
            and isinstance(term.left, c_ast.Constant)
        )
        factors.append(term.right if product and literal(term.left.value)[1] == 0 else None)
    return factors


def _finite(node: Any, literal: Callable[[str], Number]) -> list[Any]:
    """Locals and elements x of a condition (0*x + …) >= 0 && …; empty for a condition of another shape."""
    found: list[Any] = []
    for part in _joined(node, "&&"):
        compared = (
            isinstance(part, c_ast.BinaryOp)
            and part.op == ">="
            and isinstance(part.right, c_ast.Constant)
            and literal(part.right.value)[1] == 0
        )
        factors = _times_zero(part.left, literal) if compared else [None]
        if not all(isinstance(factor, c_ast.ID | c_ast.ArrayRef) for factor in factors):
            return []
        found += factors
    return found


def _joined(node: Any, operator: str) -> list[Any]:
    """The operands of a chain of one operator that is grouped from the left, in order."""
    operands = []
    while isinstance(node, c_ast.BinaryOp) and node.op == operator:
        operands.append(node.right)
        node = node.left
    return [node, *reversed(operands)]


def _unit(
    node: Any, fabs: str, places: Mapping[str, int], literal: Callable[[str], Number]
) -> tuple[int, int, Number] | None:
    """(argument, k, bound) of fabs(q[k]*q[k] + … + q[k+3]*q[k+3] - 1) <= bound, q being that argument."""
    called = (
        isinstance(node, c_ast.BinaryOp)
        and node.op == "<="
        and isinstance(node.left, c_ast.FuncCall)
        and isinstance(node.right, c_ast.Constant)
    )
    if not called or _name(node.left.name) != fabs or len(node.left.args.exprs) != 1:
        return None
    less = node.left.args.exprs[0]
    if (
        not isinstance(less, c_ast.BinaryOp)
        or less.op != "-"
        or not isinstance(less.right, c_ast.Constant)
        or literal(less.right.value)[1] != 1
    ):
        return None
    found = []
    for term in _joined(less.left, "+"):
        if not isinstance(term, c_ast.BinaryOp) or term.op != "*":
            return None
        both = [
            (places.get(_name(side.name)), side.subscript.value)
            for side in (term.left, term.right)
            if isinstance(side, c_ast.ArrayRef) and isinstance(side.subscript, c_ast.Constant)
        ]
        if len(both) != 2 or both[0] != both[1] or both[0][0] is None:
            return None
        found.append((both[0][0], int(both[0][1])))
    place, first = found[0]
    return (
        (place, first, literal(node.right.value))
        if found == [(place, first + k) for k in range(4)]
        else None
    )


def _condition(
    node: Any,
    sign: str,
    fabs: str,
    number: Callable[[Any], int],
    literal: Callable[[str], Number],
    places: Mapping[str, int],
) -> Condition | None:
    bound = (
        _bound(node.right, literal, places)
        if isinstance(node, c_ast.BinaryOp) and node.op == sign
        else None
    )
    if bound is None:
        return None
    value, magnitude = node.left, isinstance(node.left, c_ast.FuncCall)
    if magnitude:
        if _name(value.name) != fabs or len(value.args.exprs) != 1:
            return None
        value = value.args.exprs[0]
    if not isinstance(value, c_ast.ID | c_ast.ArrayRef):
        return None
    return magnitude, number(value), bound


def _bound(
    node: Any, literal: Callable[[str], Number], places: Mapping[str, int]
) -> Number | Element | None:
    """A literal, or an element of an argument."""
    if isinstance(node, c_ast.Constant):
        return literal(node.value)
    if (
        isinstance(node, c_ast.ArrayRef)
        and isinstance(node.subscript, c_ast.Constant)
        and _name(node.name) in places
    ):
        return Element(places[_name(node.name)], int(node.subscript.value))
    return None


def _status(node: Any) -> str:
    """Its macro, or its number where a preprocessor has been."""
    return str(node.value) if isinstance(node, c_ast.Constant) else _name(node)


def _name(node: Any) -> str:
    """Return the name of an identifier, or of the one that `prepared->value` points from; "" of anything else."""
    if isinstance(node, c_ast.StructRef) and node.type == "->" and isinstance(node.name, c_ast.ID):
        return f"{node.name.name}->{node.field.name}"
    return str(node.name) if isinstance(node, c_ast.ID) else ""
