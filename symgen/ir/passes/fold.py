"""Take away what value numbering has shown to be trivial: x − x, x + 0, 1·x, constants on constants, −(−x)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction

from symgen.ir.passes.rewrite import Rewriter, with_args
from symgen.ir.program import Program, Row

_ACT = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def fold(program: Program) -> Program:
    """The same Program with trivial rows replaced by what they equal."""
    rows = program.rows
    first, constants = _settled(rows)
    if first == len(rows):
        return program
    out = Rewriter(program, first)
    place, keep = out.place, out.keep
    fixed = {i: rows[i].value for i in constants.values()}
    """The constants by where they now stand."""

    def constant(value: Fraction) -> int:
        key = value.numerator, value.denominator  # told apart sooner than a Fraction
        if key not in constants:
            constants[key] = out.put(Row("const", (), value))
            fixed[constants[key]] = value
        return constants[key]

    for row in rows[first:]:
        op, args = row[0], row[1]
        if len(args) == 2:
            a, b = place[args[0]], place[args[1]]
            if a not in fixed and b not in fixed and (a != b or op != "sub"):  # as most are
                place.append(keep(row))
                continue
        elif op != "const" and op != "neg":
            place.append(keep(row))
            continue
        moved = out.moved(args)
        place.append(_simpler(row, moved, [fixed.get(x) for x in moved], constant, out))
    return out.finish()


def _settled(rows: Sequence[Row]) -> tuple[int, dict[tuple[int, int], int]]:
    """How many rows at the beginning are not trivial, and where the constants among them stand."""
    constants: dict[tuple[int, int], int] = {}
    fixed: set[int] = set()
    units: set[int] = set()
    """0 and 1."""
    for i, (op, args, value, name, step) in enumerate(rows):
        if len(args) == 2:
            a, b = args
            if a in fixed or b in fixed:
                if (
                    b in units
                    or (a in units and (op != "div" or not rows[a].value))
                    or (a in fixed and b in fixed)
                ):
                    return i, constants
            elif a == b and op == "sub":
                return i, constants
        elif op == "const":
            key = value.numerator, value.denominator
            if key in constants or name or step >= 0:
                return i, constants
            constants[key] = i
            fixed.add(i)
            if key in ((0, 1), (1, 1)):
                units.add(i)
        elif op == "neg" and (args[0] in fixed or rows[args[0]].op == "neg"):
            return i, constants
    return len(rows), constants


def _simpler(
    row: Row,
    args: tuple[int, ...],
    values: list[Fraction | None],
    constant: Callable[[Fraction], int],
    out: Rewriter,
) -> int:
    """Where the row's value stands: an existing row when it is trivial, else the row itself, put."""
    op = row.op
    if op == "const":
        return constant(row.value)
    if op in _ACT:
        a, b = values
        if a is not None and b is not None:
            return constant(_ACT[op](a, b))
    if op == "sub" and args[0] == args[1]:
        return constant(Fraction(0))
    if op in ("add", "sub") and values[1] == 0:
        return args[0]
    if op == "add" and values[0] == 0:
        return args[1]
    if op == "sub" and values[0] == 0:
        return out.put(Row("neg", (args[1],), None, row.name, row.step))
    if op == "mul":
        for one, other in ((0, 1), (1, 0)):
            if values[one] == 1:
                return args[other]
            if values[one] == 0:
                return args[one]
    if op == "div" and (values[1] == 1 or values[0] == 0):
        return args[0]
    if op == "neg" and out.rows[args[0]].op == "neg":
        return out.rows[args[0]].args[0]
    if op == "neg" and (value := values[0]) is not None:
        return constant(-value)
    return out.put(with_args(row, args))
