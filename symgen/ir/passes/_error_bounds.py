"""First-order bounds of each row's round-off at a few states, in doubles, to find the more accurate
of two equal rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from itertools import count

from symgen.ir.program import Program

GOLDEN = (math.sqrt(5) - 1) / 2
"""The golden section, whose multiples modulo 1 are the most evenly spread."""
STATES = (0.0, 0.1, None)
"""States at which errors are bounded: two without symmetry, and None for angles near 0 or π/2.

Robots often are in such a state, in which differences such as 1 − s² cancel.
"""
NEAR = 0.04

Errors = list[float]
"""Error bound of every row in units of round-off; not finite if the value is no finite double or
the row is not needed.
"""


def round_offs(program: Program, requested_rows: Iterable[int]) -> list[Errors]:
    """Return the error bounds of `requested_rows` and of their operands, at each state that can be
    evaluated.
    """
    return [errors for _, errors in values_and_errors(program, requested_rows)]


def values_and_errors(
    program: Program, requested_rows: Iterable[int]
) -> list[tuple[list[float], Errors]]:
    """Return values and error bounds of the `requested_rows` and of their operands, at each state
    that can be evaluated.
    """
    needed = [False] * len(program.rows)
    for row in requested_rows:
        needed[row] = True
    for i in reversed(range(len(needed))):
        if needed[i]:
            for a in program.rows[i][1]:
                needed[a] = True
    result = []
    for state in STATES:
        with suppress(ArithmeticError, ValueError):  # a division by zero, say
            result.append(_errors(program, _arguments(program, state), needed))
    return result


def _arguments(program: Program, shift: float | None) -> list[list[float]]:
    """Return a value for each element of each argument; quaternions have length 1."""
    generic = ((n * (GOLDEN + (shift or 0)) + 1 / 8) % 1 - 1 / 2 for n in count(1))
    values = [[next(generic) for _ in range(port.size)] for port in program.inputs]
    if shift is None:
        values = [[NEAR * x + (n % 2) * math.pi / 2 for n, x in enumerate(port)] for port in values]
    else:
        values = [[3 * x for x in port] for port in values]
    for port, first in program.unit_quaternions:
        four = values[port][first : first + 4]
        values[port][first : first + 4] = [x / math.hypot(*four) for x in four]
    return values


def _errors(
    program: Program, arguments: list[list[float]], needed: list[bool]
) -> tuple[list[float], Errors]:
    values: list[float] = []
    errors: Errors = []
    for i, (op, args, value, _, _) in enumerate(program.rows):
        if not needed[i]:
            values.append(math.nan)
            errors.append(math.nan)
            continue
        if op == "mul":
            a, b = args
            x = values[a] * values[b]
            e = abs(values[a]) * errors[b] + abs(values[b]) * errors[a]
        elif op == "add" or op == "sub":
            a, b = args
            x = values[a] + values[b] if op == "add" else values[a] - values[b]
            e = errors[a] + errors[b]
        elif op == "const":
            x, e = float(value), 0.0
        elif op == "input":
            values.append(arguments[value[0]][value[1]])
            errors.append(0.0)
            continue
        elif op == "div":
            a, b = args
            x = values[a] / values[b]
            e = (errors[a] + abs(x) * errors[b]) / abs(values[b])
        elif op == "neg":
            values.append(-values[args[0]])
            errors.append(errors[args[0]])
            continue
        elif op == "atan2":
            a, b = args
            x = math.atan2(values[a], values[b])
            e = (abs(values[b]) * errors[a] + abs(values[a]) * errors[b]) / (
                values[a] ** 2 + values[b] ** 2
            )
        else:
            x, slope = _function(op, values[args[0]])
            e = slope * errors[args[0]]
        values.append(x)
        errors.append(e + abs(x))
    return values, errors


def _function(op: str, x: float) -> tuple[float, float]:
    """Return value and magnitude of the slope."""
    if op == "sin":
        return math.sin(x), abs(math.cos(x))
    if op == "cos":
        return math.cos(x), abs(math.sin(x))
    if op == "log":
        return math.log(x), abs(1 / x)
    root = math.sqrt(x)
    return root, 0.5 / root
