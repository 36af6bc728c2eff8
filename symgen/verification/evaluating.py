"""Evaluation of a Program over a stack of states, in balls or in the machine's floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import flint
import numpy as np

from symgen.ir.loops import Form
from symgen.ir.program import Numbers
from symgen.reference.midpoint_numbers import Point
from symgen.reference.precision import Array, Scalars, atan2
from symgen.vocabulary.reals import REALS

Results = dict[str, Array]
Runner = Callable[[Mapping[str, Array]], Results]
"""Function of arguments by name, (count, …) each, that returns results by name, (count, …) each."""


def scalar_runner(scalars: Scalars, program: Form) -> Runner:
    """Return the Program as a function on stacks of states in `scalars`. Constants are exact, or
    tight balls.
    """
    constants: dict[Fraction, Any] = {}

    def constant(value: Fraction) -> Any:
        if value not in constants:
            constants[value] = scalars.constant(value)
        return constants[value]

    def run(arguments: Mapping[str, Array]) -> Results:
        with scalars.working(), np.errstate(all="ignore"):
            return _gather(
                program, arguments, Numbers(constant, np.sin, np.cos, np.sqrt, np.log, atan2)
            )

    return run


def decimal_runner(digits: int, form: Form) -> Runner:
    """Return a looped function on stacks of states in numbers of `digits` decimal digits, one state
    at a time.

    For ten thousand links this is the fastest evaluation. Arguments and results are
    `symgen.reference.midpoint_numbers`.
    """

    def to_decimal(x: Any) -> Decimal:
        return _decimal(x, digits) if isinstance(x, Point) else Decimal(float(x))

    def elementary(name: str) -> Callable[[Decimal], Decimal]:
        return lambda x: _elementary(name, x, digits)

    numbers = Numbers(
        lambda x: Decimal(x.numerator) / x.denominator,
        elementary("sin"),
        elementary("cos"),
        Decimal.sqrt,
        elementary("log"),
    )

    def run(arguments: Mapping[str, Array]) -> Results:
        with localcontext() as context, flint.ctx.workdps(digits):
            context.prec = digits
            results: dict[str, list[list[Any]]] = {port.name: [] for port in form.outputs}
            for state in range(len(next(iter(arguments.values())))):
                state_arguments = {
                    port.name: [to_decimal(x) for x in flatten_state(arguments[port.name][state])]
                    for port in form.inputs
                }
                for name, values in form.run(state_arguments, numbers).items():
                    results[name].append([Point(flint.arb(str(x))) for x in values])
            return {
                port.name: np.array(results[port.name], dtype=object).reshape(-1, *port.shape)
                for port in form.outputs
            }

    return run


def _decimal(x: Point, digits: int) -> Decimal:
    return Decimal(x.ball.str(digits, radius=False))


@lru_cache(maxsize=1 << 15)
def _elementary(name: str, x: Decimal, digits: int) -> Decimal:
    """Return an elementary function of a number with this many digits. Cached: a robot's functions
    often share angles.
    """
    return _decimal(getattr(Point(flint.arb(str(x))), name)(), digits)


def flatten_state(values: Any) -> Array:
    """Return the elements of one state in order; the state may be a single number."""
    return np.ravel(np.asarray(values, dtype=object))


FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log, math.atan2)
"""Numbers for a single state in Python floats."""


def machine_runner(program: Form) -> Runner:
    """Return the Program in NumPy's float64 or float32: the same operations in the same order as
    its C.
    """
    real = np.dtype(REALS[program.real].numpy).type

    def run(arguments: Mapping[str, Array]) -> Results:
        rounded = {name: np.asarray(values, dtype=real) for name, values in arguments.items()}
        if real is np.float64 and all(len(values) == 1 for values in rounded.values()):
            # Python's floats are equal and faster, but raise on a division by zero
            with suppress(ArithmeticError, ValueError):
                return _gather(program, rounded, FLOATS)
        with np.errstate(all="ignore"):
            return _gather(
                program,
                rounded,
                Numbers(lambda x: real(float(x)), np.sin, np.cos, np.sqrt, np.log, atan2),
            )

    return run


def _gather(program: Form, arguments: Mapping[str, Array], numbers: Numbers) -> Results:
    """Return results, (count, …) each, of one evaluation with arrays of all states as elements."""
    count = len(next(iter(arguments.values())))
    elements: dict[str, list[Any]] = {
        port.name: list(arguments[port.name].reshape(count, -1).T) for port in program.inputs
    }
    if numbers is FLOATS:
        elements = {name: [float(x[0]) for x in values] for name, values in elements.items()}
    columns_by_name = program.run(elements, numbers)
    dtype = next(iter(arguments.values())).dtype
    results = {}
    for port in program.outputs:
        columns = [
            np.broadcast_to(np.asarray(x, dtype=dtype), (count,))
            for x in columns_by_name[port.name]
        ]
        results[port.name] = np.stack(columns, axis=-1).reshape(count, *port.shape)
    return results
