"""Reference states and answers for NAME_selftest.c: exact answers at seeded states, with the round-off allowed to C.

The answers come from the reference at 60 digits and more, not from the program that they test. The allowance is that of `verify`:
`depth` + 2 units of round-off of the natural size of the answer. For a function that solves with M it bounds the residual joint
by joint, and the error by |M⁻¹| times that.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from symgen.delivery.folder import SelfTestCase
from symgen.ir import Program
from symgen.mechanism import Mechanism
from symgen.options import PLAIN, ProgramOptions, TextOptions
from symgen.reals import REALS
from symgen.reference.precision import Array
from symgen.verification.floating import allowance
from symgen.verification.residuals import RESIDUALS
from symgen.verification.sizes import largest
from symgen.verification.truth import Truth

STATES = 3
SEED = 7
ROUNDING = 1   # unit more: the answer itself is printed in the real type


def cases(mechanism: Mechanism, programs: Mapping[str, Program], options: ProgramOptions,
          text: TextOptions = PLAIN) -> list[SelfTestCase]:
    """Three states for every program; deterministic."""
    truth = Truth(mechanism, STATES, SEED, frame=options.frame, payload=options.payload, wrench=options.wrench)
    found = []
    for function, program in programs.items():
        exact = truth.results(function)
        arguments = truth.arguments(function, truth.states)
        bounds = _bounds(program, exact, truth, text)
        for state in range(STATES):
            found.append(SelfTestCase(
                function,
                tuple(tuple(arguments[port.name][state].ravel()) for port in program.inputs),
                tuple(tuple(_fraction(x) for x in np.ravel(exact[port.name][state])) for port in program.outputs),
                tuple(float(bounds[port.name][state]) for port in program.outputs),
            ))
    return found


def _fraction(ball: Any) -> Fraction:
    """The midpoint, at 40 digits: many more than are printed."""
    return Fraction(ball.str(40, radius=False))


def _bounds(program: Program, exact: Mapping[str, Array], truth: Truth, text: TextOptions) -> dict[str, Array]:
    """Absolute error allowed to each result at each state, one number for all its elements."""
    unit = REALS[program.real].eps * (allowance(program, truth, text) + ROUNDING)
    if program.function in RESIDUALS:
        with truth.scalars.working():
            size = RESIDUALS[program.function](exact, truth).size
        inverse = np.abs(np.asarray(truth.results("inverse_mass_matrix")["Minv"], dtype=float))
        reached = inverse @ (size if size.ndim == 3 else size[..., None])
        return {name: unit * largest(reached) for name in exact}
    return {name: unit * truth.sizes.of(program.function, name) for name in exact}
