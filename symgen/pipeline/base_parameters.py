"""Base parameters of a robot, from its regressor at random states."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any

from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.base_parameters import BALLS, BaseParameters, independent_columns
from symgen.derivation.coupling import Coupling
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import declared
from symgen.derivation.scalars import Derivation
from symgen.ir.passes import FIRST
from symgen.ir.program import Program, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.states import draw_states
from symgen.vocabulary.functions import FUNCTIONS

FUNCTION, METHOD = "regressor", "newton_euler"
BATCH, ENOUGH = 8, 3
"""Number of states that are drawn at a time, and of consecutive states that must add no column."""


@lru_cache(maxsize=32)
def base_parameters(mechanism: Mechanism) -> BaseParameters:
    """Return the independent columns of the regressor, and the linear combination of each base
    parameter.
    """
    return k.with_enough_precision(lambda: independent_columns(_rows(mechanism), ENOUGH))


def _rows(mechanism: Mechanism) -> Iterator[list[list[Any]]]:
    """Yield the rows of the regressor at state after state."""
    program = _regressor(mechanism)
    for seed in range(10 * len(mechanism.bodies)):
        states = draw_states(mechanism, BATCH, seed)
        for state in range(BATCH):
            arguments = {
                name: [BALLS.constant(x) for x in states[name][state]] for name in ("q", "v", "a")
            }
            (flat,) = evaluate(program, arguments, BALLS).values()
            width = len(flat) // mechanism.nv
            yield [flat[j * width : (j + 1) * width] for j in range(mechanism.nv)]


def _regressor(mechanism: Mechanism) -> Program:
    """Return the regressor in the declared frames, without repeated rows."""
    function = FUNCTIONS[FUNCTION]
    shapes = {a.name: a.sizes(mechanism.sizes) for a in function.arguments}
    derivation = Derivation({name: prod(shape) for name, shape in shapes.items()})
    results = methods.derivation(METHOD, FUNCTION)(
        Linkage(declared(mechanism), derivation, coupling=Coupling.of(mechanism))
    )
    program = derivation.freeze(
        FUNCTION,
        METHOD,
        [(r.name, (len(x),), x) for r, x in zip(function.results, results, strict=True)],
        shapes,
    )
    for run_pass in FIRST:
        program = run_pass(program)
    return program
