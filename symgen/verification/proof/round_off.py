"""Errors of the computed results: proved over the ranges or at each of many states, and observed.

A Program without divisions has one bound for every state of the box. If a Program divides, interval
bounds over a box soon become infinite. Then the running error (Higham, §3.3) is bounded at each of
the states, and the states between them are not covered. The compiled C is compared with the
reference: in float64 for float, in balls for double.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symgen.certificate.boxes import VALUES, points, subdivide
from symgen.certificate.ranges import Ranges
from symgen.certificate.rounding import Arithmetic, Rounded, propagate
from symgen.ir.program import POSITIONS, Program
from symgen.mechanism.mechanism import Mechanism
from symgen.reference import precision
from symgen.reference.adaptive_precision import evaluate_adaptively
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array, Scalars, arb
from symgen.vocabulary.functions import FUNCTIONS, PREPARED
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.reals import DOUBLE, FLOAT, REALS

DIGITS, KNOWN = 40, 31
IN_BALLS = 64
"""Number of states at which a double is compared, since balls are slow."""
REFERENCE = {FLOAT.name: 1e-11, DOUBLE.name: 1e-30}
"""Error of the reference itself, for a float and for a double, as a fraction of the largest result
at a state. It is subtracted from the observed error.
"""
_CHUNK = 2048

Results = dict[str, Array]
"""Arrays of shape (count, elements), or (1, elements) for all states, by result name."""


@dataclass(frozen=True)
class RoundOff:
    """Round-off of one function: `bound` by result name (states or 1, elements).

    `everywhere` is True if the bound holds over the ranges. `observed` (states compared, elements)
    and `largest`, the largest exact result, are by result name; they are empty without the C.
    """

    everywhere: bool
    bound: Results
    observed: Results = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)

    def most(self, name: str) -> float:
        """Return the largest bound of a result's elements."""
        return float(self.bound[name].max())

    def largest_observed(self, name: str) -> float | None:
        """Return the largest observed error."""
        return float(self.observed[name].max()) if name in self.observed else None

    def ratio(self, name: str) -> float | None:
        """Return the largest bound divided by the largest observed error, both at the compared
        states.
        """
        observed = self.largest_observed(name)
        return (
            None
            if not observed
            else float(self.bound[name][: len(self.observed[name])].max()) / observed
        )

    def nearest(self, name: str) -> float | None:
        """Return the largest quotient observed/bound of one element at one state; 0/0 is 0."""
        if name not in self.observed:
            return None
        observed = self.observed[name]
        bound = np.broadcast_to(self.bound[name][: len(observed)], observed.shape)
        with np.errstate(all="ignore"):
            return float(np.where(observed == 0, 0.0, observed / bound).max())

    @property
    def holds(self) -> bool:
        """True if no observation exceeds its bound."""
        return all((ratio := self.nearest(name)) is None or ratio <= 1 for name in self.bound)


def bound_round_off(
    program: Program, ranges: Ranges, states: Mapping[str, Array], arithmetic: Arithmetic
) -> RoundOff:
    """Return the bound over the ranges if it is finite, else the bound at each of `states`."""
    if all(row.op not in ("div", "sqrt", "log") for row in program.rows):
        everywhere = _errors(
            program,
            propagate(
                program, subdivide(program, ranges), arithmetic, requested_rows=_outputs(program)
            ),
            1,
        )
        if all(np.isfinite(bound).all() for bound in everywhere.values()):
            return RoundOff(
                True, {name: bound.max(axis=0, keepdims=True) for name, bound in everywhere.items()}
            )
    return RoundOff(False, bounds_at_states(program, states, arithmetic))


def bounds_at_states(
    program: Program, states: Mapping[str, Array], arithmetic: Arithmetic
) -> Results:
    """Return the running error bound of each result's elements at each state: (count, elements)."""
    output_rows = _outputs(program)
    errors_by_chunk = [
        _errors(
            program,
            propagate(program, points(chunk), arithmetic, requested_rows=output_rows),
            len(next(iter(chunk.values()))),
        )
        for chunk in _chunks(program, states)
    ]
    return {
        port.name: np.concatenate([errors[port.name] for errors in errors_by_chunk])
        for port in program.outputs
    }


def _outputs(program: Program) -> list[int]:
    return [row for port in program.outputs for row in port.rows]


def _chunks(program: Program, states: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    arguments = {port.name: states[port.name] for port in program.inputs}
    chunk = max(1, min(_CHUNK, VALUES // len(program.rows)))
    for start in range(0, len(next(iter(arguments.values()))), chunk):
        yield {name: values[start : start + chunk] for name, values in arguments.items()}


def _errors(program: Program, rows: Mapping[int, Rounded], count: int) -> Results:
    by_result = {}
    for port in program.outputs:
        errors = [np.where(np.isnan(rows[row].error), np.inf, rows[row].error) for row in port.rows]
        by_result[port.name] = np.stack(np.broadcast_arrays(*errors, np.zeros(count))[:-1], axis=-1)
    return by_result


def observe(
    mechanism: Mechanism,
    program: Program,
    options: ProgramOptions,
    states: Mapping[str, Array],
    run: Any,
    bound: RoundOff,
) -> RoundOff:
    """Return `bound` with the observed error of the compiled `run`: at `states` for float, at the
    first IN_BALLS of them for double.
    """
    balls = options.real == DOUBLE.name
    scalars = arb(DIGITS) if balls else precision.FLOAT
    shapes = {port.name: port.shape for port in program.inputs}
    compared = {
        name: (values[:IN_BALLS] if balls else values).reshape(
            -1, *shapes.get(name, values.shape[1:])
        )
        for name, values in states.items()
    }
    real = np.dtype(REALS[options.real].numpy)
    results = run(*(compared[port.name].astype(real) for port in program.inputs))
    results = results if isinstance(results, tuple) else (results,)
    exact = _exact_results(mechanism, program.function, options, compared, scalars)
    observed, largest = {}, {}
    for port, values in zip(program.outputs, results, strict=True):
        expected = exact[port.name].reshape(len(values), -1)
        with scalars.working():
            computed = scalars.array(values.astype(float).reshape(expected.shape))
            errors = np.abs(computed - expected).astype(float)
        sizes = np.abs(expected.astype(float)).max(axis=-1, keepdims=True)
        observed[port.name] = np.maximum(errors - REFERENCE[options.real] * sizes, 0.0)
        largest[port.name] = float(sizes.max())
    return RoundOff(bound.everywhere, bound.bound, observed, largest)


def _exact_results(
    mechanism: Mechanism,
    function: str,
    options: ProgramOptions,
    states: Mapping[str, Array],
    scalars: Scalars,
) -> dict[str, Array]:
    """Return the reference's results at the states, over floats or balls."""
    spec = FUNCTIONS[function]
    links = {
        argument.name: getattr(options, argument.name)
        for argument in spec.depends_on
        if argument != PREPARED
    }
    loads = [argument for argument in spec.depends_on if links.get(argument.name) is not None]
    arguments = {a.name: scalars.array(states[a.name]) for a in (*spec.arguments, *loads)}
    for name in POSITIONS:
        if name in arguments:
            arguments[name] = _with_unit_quaternions(mechanism, arguments[name], scalars)
    reference = Reference(
        mechanism,
        scalars,
        frame=options.frame if spec.needs_frame else None,
        convention=options.convention,
        task_rows=options.rows,
        contact=options.contact,
        **links,
    )
    if scalars.dtype is object:
        return evaluate_adaptively(reference, DIGITS, function, arguments, KNOWN)
    return reference.evaluate(function, arguments)


def _with_unit_quaternions(mechanism: Mechanism, q: Array, scalars: Scalars) -> Array:
    """Return q (..., NQ) with every quaternion normalized."""
    q = q.copy()
    with scalars.working():
        for first in mechanism.quaternions:
            entries = slice(first, first + 4)
            q[..., entries] = (
                q[..., entries]
                / np.sqrt((q[..., entries] * q[..., entries]).sum(axis=-1))[..., None]
            )
    return q
