"""Run a Program over a stack of states, in balls or in the machine's floats."""

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
"""Arguments by name, (count, …) each, to results by name, (count, …) each."""


def over(scalars: Scalars, program: Form) -> Runner:
    """The Program as a function on stacks of states in `scalars`. Constants are entered exactly, or as tight balls."""
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


def in_decimals(digits: int, form: Form) -> Runner:
    """Loops as a function on stacks of states in numbers of `digits` decimal digits, a state at a time: of ten thousand links
    nothing is quicker here. What goes in and comes out are those of `symgen.reference.midpoint_numbers`.
    """

    def entered(x: Any) -> Decimal:
        return _decimal(x, digits) if isinstance(x, Point) else Decimal(float(x))

    def through(name: str) -> Callable[[Decimal], Decimal]:
        return lambda x: _through(name, x, digits)

    numbers = Numbers(
        lambda x: Decimal(x.numerator) / x.denominator,
        through("sin"),
        through("cos"),
        Decimal.sqrt,
        through("log"),
    )

    def run(arguments: Mapping[str, Array]) -> Results:
        with localcontext() as context, flint.ctx.workdps(digits):
            context.prec = digits
            found: dict[str, list[list[Any]]] = {port.name: [] for port in form.outputs}
            for state in range(len(next(iter(arguments.values())))):
                given = {
                    port.name: [entered(x) for x in flat(arguments[port.name][state])]
                    for port in form.inputs
                }
                for name, values in form.run(given, numbers).items():
                    found[name].append([Point(flint.arb(str(x))) for x in values])
            return {
                port.name: np.array(found[port.name], dtype=object).reshape(-1, *port.shape)
                for port in form.outputs
            }

    return run


def _decimal(x: Point, digits: int) -> Decimal:
    return Decimal(x.ball.str(digits, radius=False))


@lru_cache(maxsize=1 << 15)
def _through(name: str, x: Decimal, digits: int) -> Decimal:
    """A function of a number, computed with so many digits; functions of a robot often take the same angles."""
    return _decimal(getattr(Point(flint.arb(str(x))), name)(), digits)


def flat(values: Any) -> Array:
    """The elements of one state, which may be a single one, in their order."""
    return np.ravel(np.asarray(values, dtype=object))


FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log, math.atan2)
"""Of a single state."""


def in_machine_reals(program: Form) -> Runner:
    """The Program in NumPy's float64 or float32: the same operations, in the same order, as its C."""
    real = np.dtype(REALS[program.real].numpy).type

    def run(arguments: Mapping[str, Array]) -> Results:
        rounded = {name: np.asarray(values, dtype=real) for name, values in arguments.items()}
        if real is np.float64 and all(len(values) == 1 for values in rounded.values()):
            with suppress(
                ArithmeticError, ValueError
            ):  # Python's floats are as good and quicker, but divide by nothing
                return _gather(program, rounded, FLOATS)
        with np.errstate(all="ignore"):
            return _gather(
                program,
                rounded,
                Numbers(lambda x: real(float(x)), np.sin, np.cos, np.sqrt, np.log, atan2),
            )

    return run


def _gather(program: Form, arguments: Mapping[str, Array], numbers: Numbers) -> Results:
    """`evaluate` with element arrays of all states at once, reshaped into (count, …) results."""
    count = len(next(iter(arguments.values())))
    elements: dict[str, list[Any]] = {
        port.name: list(arguments[port.name].reshape(count, -1).T) for port in program.inputs
    }
    if numbers is FLOATS:
        elements = {name: [float(x[0]) for x in values] for name, values in elements.items()}
    found = program.run(elements, numbers)
    dtype = next(iter(arguments.values())).dtype
    results = {}
    for port in program.outputs:
        columns = [np.broadcast_to(np.asarray(x, dtype=dtype), (count,)) for x in found[port.name]]
        results[port.name] = np.stack(columns, axis=-1).reshape(count, *port.shape)
    return results
