"""Lower bounds of divisors of a robot with run-time parameters: half of HᵀMH of the joint's own
link.

D_k ≥ H_kᵀ M_k H_k holds for any bodies (`bodies`). So the bound is computed from the new
parameters, when they are regrouped, and appended to the functions' argument
(`symgen.pipeline.adjusting`). The round-off of a pivot cannot be proved for unknown parameters:
half of the bound is left for it, and a pivot that has lost more is refused. Rows are assigned to
pivots by value, on a robot with random parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import NamedTuple

from symgen.certificate.bodies import Bodies
from symgen.certificate.divisors import lower_bound, rounded_down
from symgen.certificate.ranges import declared_ranges
from symgen.certificate.recognition import Recognition, divisor_rows
from symgen.certificate.sum_of_squares import positive_bounds
from symgen.ir.program import EXACT, Bound, Element, Program, Row, evaluate
from symgen.mechanism.adjustable import adjust_mechanism, adjustable_parameters
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.adjusting import make_adjusting
from symgen.vocabulary.functions import PREPARED, REGROUP
from symgen.vocabulary.options import ProgramOptions

SEED = 141421


def run_time_bounds(
    mechanism: Mechanism, programs: Mapping[str, Program], options: ProgramOptions
) -> dict[str, dict[int, Bound]]:
    """Return {function: {row: bound}} of the divisors with a known bound: a number, or an element
    of the argument `prepared`.

    `programs` must contain REGROUP, and have the bounds of pivots among their inputs
    (`ProgramOptions.divisor_bounds`).
    """
    parameters = _draw_parameters(mechanism, options)
    numbers = [x for values in parameters.values() for x in values]
    prepared = evaluate(programs[REGROUP], {"parameters": numbers}, EXACT)["prepared"]
    sample = (
        adjust_mechanism(mechanism, parameters),
        replace(options, parameters=(), divisor_bounds=False),
    )
    pivots = _pivot_bounds(mechanism, options)
    return {
        function: _divisor_bounds(program, prepared, sample, pivots)
        for function, program in programs.items()
    }


def _draw_parameters(
    mechanism: Mechanism, options: ProgramOptions
) -> dict[str, tuple[Fraction, ...]]:
    """Return random positive numbers for each run-time parameter, by name, in their order."""
    random = Random(SEED)
    return {
        parameter.name: tuple(
            Fraction(random.randint(64, 1024), 1024) for _ in range(parameter.size)
        )
        for parameter in adjustable_parameters(mechanism, options.parameters)
    }


class PivotBounds(NamedTuple):
    """Lower bounds of pivots, by entry of v.

    `prepared`: the entries whose bound is an element at the end of `prepared`, in that order.
    `sound`: the entries that move only bodies without negative energy. `constant`: the bounds of
    sound entries that no parameter changes.
    """

    prepared: list[int]
    sound: set[int]
    constant: dict[int, Fraction]


def _pivot_bounds(mechanism: Mechanism, options: ProgramOptions) -> PivotBounds:
    """Return the source of each pivot's lower bound."""
    bodies = Bodies(
        mechanism, declared_ranges(mechanism, wrenches=len(options.wrenches) or 1), options.payload
    )
    sound = {
        entry
        for entry in range(mechanism.nv)
        if all(bodies.weakness(b) is None for b in bodies.moved_bodies(entry))
    }
    constant = {
        entry: rounded_down(inertia / 2)
        for entry in sound
        if (inertia := _own_inertia(bodies, entry)) > 0
    }
    prepared = [*make_adjusting(mechanism, options.parameters).prepared.least]
    return PivotBounds(prepared, sound, constant)


def _divisor_bounds(
    program: Program,
    prepared: list[Fraction],
    sample: tuple[Mechanism, ProgramOptions],
    pivots: PivotBounds,
) -> dict[int, Bound]:
    """Return the bounds of the divisors of one Program, by row; divisors are assigned to pivots at
    the `sample`.
    """
    port = next(
        (k for k, input_port in enumerate(program.inputs) if input_port.name == PREPARED.name), None
    )
    if port is None or not (rows := divisor_rows(program.rows)):
        return {}
    mechanism, options = sample
    recognised = Recognition(mechanism, _with_prepared(program, port, prepared), options)
    divisors = {row: recognised.pivot(row) for row in rows}
    least_values = positive_bounds(
        program, [row for row, entry in divisors.items() if entry is None]
    )
    bounds: dict[int, Bound] = {row: rounded_down(bound) for row, bound in least_values.items()}
    first = program.inputs[port].size - len(pivots.prepared)
    for row, entry in divisors.items():
        if entry in pivots.prepared and entry in pivots.sound:
            bounds[row] = Element(port, first + pivots.prepared.index(entry))
        elif entry in pivots.constant and entry not in pivots.prepared:
            bounds[row] = pivots.constant[entry]
    return bounds


def _with_prepared(program: Program, port: int, numbers: list[Fraction]) -> Program:
    """Return the Program for these numbers, with the same rows at the same indices."""
    rows = tuple(
        Row("const", (), Fraction(numbers[row.value[1]]), row.name, row.step)
        if row.op == "input" and row.value[0] == port
        else row
        for row in program.rows
    )
    return replace(program, rows=rows, inputs=program.inputs[:port])


def _own_inertia(bodies: Bodies, entry: int) -> Fraction:
    inertia = bodies.own_inertia(entry)
    return Fraction(0) if inertia is None else lower_bound(inertia)
