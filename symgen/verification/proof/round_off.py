"""How far the computed results are from the exact ones: proved over the ranges, or at each of many states; and observed.

A Program without divisions gets one bound for every state of the box. Where a Program divides, interval bounds over a box soon
become infinite. There the running error (Higham, §3.3) is bounded at each of the states, and nothing is proved of the states
between. The compiled C is observed against the reference: in float64 for float, in balls for double.
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
"""States at which a double is compared. Balls are slow."""
REFERENCE = {FLOAT.name: 1e-11, DOUBLE.name: 1e-30}
"""Share of the largest answer at a state: the error that the reference for a float (double) may itself have. It is subtracted
from what is observed.
"""
_CHUNK = 2048

Results = dict[str, Array]
"""By result name: (count, elements), or (1, elements) for all states."""


@dataclass(frozen=True)
class RoundOff:
    """Of one function: `bound` by result name (states or 1, elements), `everywhere` True when it holds over the ranges.

    `observed` (states compared, elements) and `largest`, the largest exact answer seen, by result name; empty without the C.
    """

    everywhere: bool
    bound: Results
    observed: Results = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)

    def most(self, name: str) -> float:
        """The largest bound of a result's elements."""
        return float(self.bound[name].max())

    def seen(self, name: str) -> float | None:
        """The largest error observed."""
        return float(self.observed[name].max()) if name in self.observed else None

    def ratio(self, name: str) -> float | None:
        """The largest bound over the largest error observed, both at the states that were compared."""
        seen = self.seen(name)
        return (
            None if not seen else float(self.bound[name][: len(self.observed[name])].max()) / seen
        )

    def nearest(self, name: str) -> float | None:
        """The largest quotient observed/bound of one element at one state; 0/0 is 0."""
        if name not in self.observed:
            return None
        seen = self.observed[name]
        bound = np.broadcast_to(self.bound[name][: len(seen)], seen.shape)
        with np.errstate(all="ignore"):
            return float(np.where(seen == 0, 0.0, seen / bound).max())

    @property
    def holds(self) -> bool:
        """Whether no observation exceeds its bound."""
        return all((near := self.nearest(name)) is None or near <= 1 for name in self.bound)


def bounded(
    program: Program, ranges: Ranges, states: Mapping[str, Array], arithmetic: Arithmetic
) -> RoundOff:
    """The bound over the ranges where there is a finite one, else the bound at each of `states`."""
    if all(row.op not in ("div", "sqrt", "log") for row in program.rows):
        everywhere = _errors(
            program,
            propagate(program, subdivide(program, ranges), arithmetic, wanted=_outputs(program)),
            1,
        )
        if all(np.isfinite(bound).all() for bound in everywhere.values()):
            return RoundOff(
                True, {name: bound.max(axis=0, keepdims=True) for name, bound in everywhere.items()}
            )
    return RoundOff(False, at_states(program, states, arithmetic))


def at_states(program: Program, states: Mapping[str, Array], arithmetic: Arithmetic) -> Results:
    """The running error bound of every result's elements at every state: (count, elements)."""
    wanted = _outputs(program)
    found = [
        _errors(
            program,
            propagate(program, points(part), arithmetic, wanted=wanted),
            len(next(iter(part.values()))),
        )
        for part in _parts(program, states)
    ]
    return {
        port.name: np.concatenate([one[port.name] for one in found]) for port in program.outputs
    }


def _outputs(program: Program) -> list[int]:
    return [row for port in program.outputs for row in port.rows]


def _parts(program: Program, states: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    given = {port.name: states[port.name] for port in program.inputs}
    chunk = max(1, min(_CHUNK, VALUES // len(program.rows)))
    for start in range(0, len(next(iter(given.values()))), chunk):
        yield {name: values[start : start + chunk] for name, values in given.items()}


def _errors(program: Program, rows: Mapping[int, Rounded], count: int) -> Results:
    found = {}
    for port in program.outputs:
        errors = [np.where(np.isnan(rows[row].error), np.inf, rows[row].error) for row in port.rows]
        found[port.name] = np.stack(np.broadcast_arrays(*errors, np.zeros(count))[:-1], axis=-1)
    return found


def observe(
    mechanism: Mechanism,
    program: Program,
    options: ProgramOptions,
    states: Mapping[str, Array],
    run: Any,
    bound: RoundOff,
) -> RoundOff:
    """`bound` with the observed error of the compiled `run`: at `states` for float, at the first IN_BALLS of them for double."""
    balls = options.real == DOUBLE.name
    scalars = arb(DIGITS) if balls else precision.FLOAT
    shapes = {port.name: port.shape for port in program.inputs}
    seen = {
        name: (values[:IN_BALLS] if balls else values).reshape(
            -1, *shapes.get(name, values.shape[1:])
        )
        for name, values in states.items()
    }
    real = np.dtype(REALS[options.real].numpy)
    results = run(*(seen[port.name].astype(real) for port in program.inputs))
    results = results if isinstance(results, tuple) else (results,)
    exact = _exact_results(mechanism, program.function, options, seen, scalars)
    observed, largest = {}, {}
    for port, values in zip(program.outputs, results, strict=True):
        truth = exact[port.name].reshape(len(values), -1)
        with scalars.working():
            computed = scalars.array(values.astype(float).reshape(truth.shape))
            missed = np.abs(computed - truth).astype(float)
        sizes = np.abs(truth.astype(float)).max(axis=-1, keepdims=True)
        observed[port.name] = np.maximum(missed - REFERENCE[options.real] * sizes, 0.0)
        largest[port.name] = float(sizes.max())
    return RoundOff(bound.everywhere, bound.bound, observed, largest)


def _exact_results(
    mechanism: Mechanism,
    function: str,
    options: ProgramOptions,
    states: Mapping[str, Array],
    scalars: Scalars,
) -> dict[str, Array]:
    """The reference's answers at the states, over floats or balls."""
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
            arguments[name] = _of_unit_length(mechanism, arguments[name], scalars)
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


def _of_unit_length(mechanism: Mechanism, q: Array, scalars: Scalars) -> Array:
    """q (..., NQ) with every quaternion in it scaled to unit length."""
    q = q.copy()
    with scalars.working():
        for first in mechanism.quaternions:
            own = slice(first, first + 4)
            q[..., own] = q[..., own] / np.sqrt((q[..., own] * q[..., own]).sum(axis=-1))[..., None]
    return q
