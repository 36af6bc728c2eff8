"""Error bounds of the C of a derivative: a running error analysis of its rows at each state.

A derivative has no natural size: its terms are products along every path through the rows. So its
bound is the running error analysis of its rows (`symgen.certificate.rounding`), at each state of a
check. If M is ill-conditioned, the bound grows with the result, and it includes the cost of a
division by a small number. The bound is valid for the rows in this order, whatever they compute;
the algebra check shows that they compute the derivative.

The derivative of an integration step is smooth in the rotation angle, and its size is known. Its
bound is at most some round-offs of that size, so that the rows' own bound does not excuse
cancellation at a small rotation.
"""

from __future__ import annotations

import numpy as np

from symgen.certificate.intervals import Interval
from symgen.certificate.rounding import Arithmetic, propagate
from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.ir.program import Program
from symgen.reference.precision import Array
from symgen.verification.exact_results import ExactResults
from symgen.verification.magnitude import LEAST, largest
from symgen.verification.scales.integration import derivative_sizes
from symgen.vocabulary.functions import CLOSED, FUNCTIONS, PREPARING, Function
from symgen.vocabulary.options import PLAIN, TextOptions
from symgen.vocabulary.reals import REALS

CANCELLED = 16
"""Largest precision loss of the rows of an integration step's derivative, in eps of its size:
larger cancellation fails.
"""


def running_error_bounds(
    program: Form, exact_results: ExactResults, text: TextOptions = PLAIN
) -> dict[str, Array]:
    """Return the error bound of each entry of each result, (count, …), in eps; infinite if there is
    no finite bound.

    The result is empty for functions whose results have natural sizes. Bounds exist for
    derivatives, for functions of run-time parameters, and for functions of closed loops, whose
    closed states no real type represents exactly.
    """
    if program.looped or not _needs_row_bounds(program, exact_results):
        return {}
    key = (program.function, program.method, program.real, text.trig)
    if key not in exact_results.bounds or exact_results.bounds[key][0] is not program:
        exact_results.bounds[key] = (program, _compute_bounds(program, exact_results, text))
    return exact_results.bounds[key][1]


def unit_sizes(program: Form, exact_results: ExactResults) -> dict[str, Array]:
    """Return 1 for each entry of a derivative's results, in SI units: the size against which a zero
    result is compared.
    """
    return (
        {port.name: np.ones((exact_results.count, *port.shape)) for port in program.outputs}
        if _needs_row_bounds(program, exact_results)
        else {}
    )


def _needs_row_bounds(program: Form, exact_results: ExactResults) -> bool:
    """True if the function's results have no natural size: a derivative, or a function of
    parameters or closed loops.
    """
    if program.function not in FUNCTIONS:
        return False
    function = FUNCTIONS[program.function]
    return (
        function.derivative is not None
        or program.function in PREPARING
        or _depends_on_closed_loops(function, exact_results)
    )


def _depends_on_closed_loops(function: Function, exact_results: ExactResults) -> bool:
    """True if the function depends on the robot's closed loops."""
    return function.holds_loops_closed and bool(exact_results.mechanism.loops)


def _compute_bounds(
    program: Program, exact_results: ExactResults, text: TextOptions
) -> dict[str, Array]:
    """Return the running error bounds of a Program at the states, with the floor LEAST for each
    result.
    """
    entries = frozenset(first + k for first in program.quaternions for k in range(4))
    function = FUNCTIONS[program.function]
    rounded = frozenset(
        array.name
        for array in function.arguments
        if array.drawn in CLOSED and _depends_on_closed_loops(function, exact_results)
    )
    arithmetic = Arithmetic(
        program.real,
        trig=float(printer().ulps[text.trig]),
        unit_entries=entries,
        rounded_arguments=rounded,
    )
    arguments = exact_results.arguments(program.function, exact_results.floats)
    boxes = {
        port.name: [Interval(x, x) for x in arguments[port.name].reshape(exact_results.count, -1).T]
        for port in program.inputs
    }
    rows = propagate(program, boxes, arithmetic)
    bounds = {}
    for port in program.outputs:
        errors = [np.broadcast_to(rows[r].error, (exact_results.count,)) for r in port.rows]
        bounds[port.name] = (
            np.stack(errors, axis=-1).reshape(exact_results.count, *port.shape)
            / REALS[program.real].eps
        )
    if function.derivative is not None and FUNCTIONS[function.derivative.of].smooth:
        limit = CANCELLED * derivative_sizes(exact_results, function.derivative)
        bounds = {
            name: np.minimum(sizes, limit.reshape(-1, *[1] * (sizes.ndim - 1)))
            for name, sizes in bounds.items()
        }
    divisor_bounds = {
        name: LEAST * np.maximum(largest(sizes), 1.0) for name, sizes in bounds.items()
    }
    return {
        name: np.maximum(sizes, divisor_bounds[name].reshape(-1, *[1] * (sizes.ndim - 1)))
        for name, sizes in bounds.items()
    }
