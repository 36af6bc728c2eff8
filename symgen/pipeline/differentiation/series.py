"""Expansion of functions of a rotation (`symgen.ir.program.BY_SERIES`) into rows after
differentiation, without a branch.

Stumpff's functions obey c_k = 1/k! − y c_{k+2}. Up to y = LIMIT, the last even and the last odd one
are power series, and the lower ones follow by the recurrence downwards. From LIMIT on, they follow
upwards from cos √y and sin √y/√y, by divisions by y.

The rows contain both parts at every y: the series at min(y, LIMIT), and the upward recurrence at
max(y, LIMIT), minus its value at LIMIT. The part on the other side of LIMIT is constant and
cancels. So every function has an error of a few round-offs of 1 at any y ≥ 0, and no divisor is
less than LIMIT.

The truncation error of the series is below 2⁻¹⁴⁶, since a Program is exact to about 44 digits in
all real types.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from math import factorial

from symgen.ir.program import BY_SERIES, STUMPFF, Program, Row
from symgen.pipeline.differentiation._tape import Tape

LIMIT = Fraction(1)
"""Largest y at which the series are used: rotations of 2 rad."""
QUARTER = Fraction(5, 2)
"""Upper bound of the square of a quarter turn, the largest θ of an arc."""
LEFT_OUT = Fraction(1, 2**146)
DIGITS = 2**340


def expanded(program: Program) -> Program:
    """Return the Program with every function of a rotation expanded into rows."""
    if not any(row.op in BY_SERIES for row in program.rows):
        return program
    tape = Tape(program.with_rows((), ()))
    orders_by_angle: dict[int, set[int]] = {}
    for row in program.rows:
        if row.op in STUMPFF:
            orders_by_angle.setdefault(row.args[0], set()).add(STUMPFF.index(row.op))
    recorded: list[int] = []
    functions: dict[int, Mapping[int, int]] = {}
    for row in program.rows:
        tape.under(row.step)
        args = tuple(recorded[a] for a in row.args)
        if row.op in STUMPFF:
            (y,) = row.args
            if y not in functions:
                series = _arc_functions if program.rows[y].op == "arc_square" else _all_functions
                functions[y] = series(tape, args[0], orders_by_angle[y])
            recorded.append(functions[y][STUMPFF.index(row.op)])
        elif row.op in ("arc", "still"):
            recorded.append(args[0])
        elif row.op == "arc_square":
            x, c = args
            one_minus_square = tape.put("sub", tape.constant(1), tape.put("mul", c, c))
            recorded.append(tape.put("mul", tape.put("mul", x, x), one_minus_square))
        else:
            tape.rows.append(Row(row.op, args, row.value, row.name, row.step))
            recorded.append(len(tape.rows) - 1)
    return program.with_rows(
        tape.rows,
        [port._replace(rows=tuple(recorded[r] for r in port.rows)) for port in program.outputs],
    )


def _arc_functions(tape: Tape, y: int, orders: set[int]) -> dict[int, int]:
    """Return the functions of the square of an angle up to a quarter turn."""
    return _downwards(tape, y, orders, QUARTER)


def _all_functions(tape: Tape, y: int, orders: set[int]) -> dict[int, int]:
    """Return the functions of any y ≥ 0, by the two parts of the module's docstring."""
    half, limit = tape.constant(Fraction(1, 2)), tape.constant(LIMIT)
    beyond = tape.put("sub", y, limit)
    absolute = tape.put("sqrt", tape.put("mul", beyond, beyond))
    total = tape.put("add", y, limit)
    lower, upper = (tape.put("mul", half, tape.put(op, total, absolute)) for op in ("sub", "add"))
    downward, upward = _downwards(tape, lower, orders, LIMIT), _upwards(tape, upper, max(orders))
    return {
        k: tape.put(
            "add", downward[k], tape.put("sub", upward[k], tape.constant(_rounded(_value(k))))
        )
        for k in orders
    }


def _downwards(tape: Tape, y: int, orders: set[int], limit: Fraction) -> dict[int, int]:
    """Return c_k of y up to `limit`: the last even and the last odd one by series, the lower ones
    by the recurrence.
    """
    functions: dict[int, int] = {}
    for parity in {k % 2 for k in orders}:
        same_parity = [k for k in orders if k % 2 == parity]
        last = max(same_parity)
        functions[last] = _series(tape, y, last, limit)
        for k in range(last - 2, min(same_parity) - 1, -2):
            functions[k] = tape.put(
                "sub",
                tape.constant(Fraction(1, factorial(k))),
                tape.put("mul", y, functions[k + 2]),
            )
    return functions


def _series(tape: Tape, y: int, k: int, limit: Fraction) -> int:
    """Return Σ (−y)ʲ/(2j + k)!, summed from the last significant term."""
    count = next(n for n in range(1, 200) if limit**n / factorial(2 * n + k) < LEFT_OUT)
    total = tape.constant(Fraction(1, factorial(2 * count - 2 + k)))
    for j in range(count - 2, -1, -1):
        total = tape.put(
            "sub", tape.constant(Fraction(1, factorial(2 * j + k))), tape.put("mul", y, total)
        )
    return total


def _upwards(tape: Tape, y: int, last: int) -> dict[int, int]:
    """Return c_k of y from LIMIT on: c₀ and c₁ from cosine and sine, the higher ones by the
    recurrence.
    """
    root = tape.put("sqrt", y)
    inverse = tape.put("div", tape.constant(1), y)
    functions = {0: tape.put("cos", root), 1: tape.put("div", tape.put("sin", root), root)}
    for k in range(2, last + 1):
        difference = tape.put("sub", tape.constant(Fraction(1, factorial(k - 2))), functions[k - 2])
        functions[k] = tape.put("mul", difference, inverse)
    return functions


@cache
def _value(k: int) -> Fraction:
    """Return c_k of LIMIT."""
    return sum(((-LIMIT) ** j / factorial(2 * j + k) for j in range(80)), Fraction(0))


def _rounded(x: Fraction) -> Fraction:
    """Return a number rounded to 102 digits, like all constants that are not short fractions."""
    return Fraction(round(x * DIGITS), DIGITS)
