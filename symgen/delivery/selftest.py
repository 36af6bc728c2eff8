"""Reference states and answers for NAME_selftest.c: exact answers at seeded states, with tolerances
for the round-off of the C.

The answers come from the reference at 60 digits and more, not from the program under test. The
tolerance is that of `verify`: `depth` + 2 units of round-off of the natural size of each entry. A
solution of M x = b is judged by M x − b, joint by joint, because an error of the answer itself says
little if M is ill-conditioned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from symgen.delivery.cases import Equation, SelfTestCase
from symgen.description.tip import tip
from symgen.ir.loops import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.assembling import APART, assemble, open_states
from symgen.reference.precision import Array
from symgen.support.collector import collector_at_rest
from symgen.verification import running_error
from symgen.verification.adjusted import draw_adjusted_robot
from symgen.verification.evaluating import flatten_state, scalar_runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import allowance, is_difference
from symgen.verification.long import LONG, LongExactResults
from symgen.verification.residuals import (
    RESIDUALS,
    SOLVED,
    is_solved,
    natural_size,
    right_hand_side,
)
from symgen.vocabulary.functions import ASSEMBLE, ASSEMBLING, FUNCTIONS, PREPARING
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions
from symgen.vocabulary.reals import REALS

STATES = 3
SEED = 7
LONG_ROBOT_STATES = 1  # of a long robot, whose numbers are many
ZERO = 1e-30
"""An answer below this share of its bound is zero except for the last digits of constants."""
ROUNDING = 1  # unit more: the answer itself is printed in the real type


def cases(
    mechanism: Mechanism,
    programs: Mapping[str, Form],
    options: ProgramOptions,
    text: TextOptions = PLAIN,
) -> list[SelfTestCase]:
    """Return three states for every program: fewer if its real type has no digits there, or for a
    long robot; deterministic.
    """
    loops = [form for form in programs.values() if form.looped and len(mechanism.joints) > LONG]
    frame = options.frame
    checks = {FUNCTIONS[form.function].long_check for form in loops}
    if not frame and mechanism.frames and checks - {"forces", "solution"}:
        frame = tip(mechanism)  # forces and accelerations depend on no frame
    long_exact_results = (
        LongExactResults(mechanism, LONG_ROBOT_STATES, SEED, frame) if loops else None
    )
    with collector_at_rest():
        long_cases = [
            case
            for form in loops
            if long_exact_results is not None
            for case in _of_loops(form, long_exact_results, text)
        ]
    programs = {f: program for f, program in programs.items() if program not in loops}
    return long_cases + (_near(mechanism, programs, options, text) if programs else [])


def _near(
    mechanism: Mechanism, programs: Mapping[str, Form], options: ProgramOptions, text: TextOptions
) -> list[SelfTestCase]:
    """Return the cases of programs that the reference can evaluate in time."""
    anew = draw_adjusted_robot(mechanism, programs, options, SEED)
    exact_results = ExactResults(
        mechanism,
        STATES,
        SEED,
        frame=options.frame,
        payload=options.payload,
        wrench=options.wrench,
        task_rows=options.rows,
        contact=options.contact,
        convention=options.convention,
        adjusted=anew,
        baumgarte=options.baumgarte,
    )
    exact_results.set_results(
        {
            f: scalar_runner(exact_results.scalars, program)
            for f, program in programs.items()
            if f in PREPARING
        }
    )
    return [
        case for program in programs.values() for case in _cases(program, exact_results, text)
    ] + _starts(mechanism, programs)


def _of_loops(
    form: Form, exact_results: LongExactResults, text: TextOptions
) -> Iterable[SelfTestCase]:
    """Yield cases of a looped function of a long robot; none at states without a certain digit."""
    exact, bounds = exact_results.exact_results(form), exact_results.bounds(form, text, ROUNDING)
    for state in range(exact_results.count):
        results = [flatten_state(exact[port.name][state]) for port in form.outputs]
        judged = [*zip(bounds[state], results, strict=True)]
        if any(not bound < float(np.abs(values.astype(float)).max()) for bound, values in judged):
            continue
        arguments = tuple(
            tuple(Fraction(x) for x in flatten_state(exact_results.floats[port.name][state]))
            for port in form.inputs
        )
        yield SelfTestCase(
            form.function,
            arguments,
            tuple(
                tuple(Fraction(x.ball.str(40, radius=False)) for x in values) for values in results
            ),
            tuple((bound,) * len(values) for bound, values in judged),
            (None,) * len(results),
        )


def _starts(mechanism: Mechanism, programs: Mapping[str, Form]) -> list[SelfTestCase]:
    """Return positions near closed loops for the driver that closes them; empty without the driver.
    The residual judges it.
    """
    if not all(name in programs for name in ASSEMBLING):
        return []
    near = open_states(mechanism, assemble(mechanism), STATES, SEED, APART)
    return [SelfTestCase(ASSEMBLE, (tuple(q),), (), ()) for q in near]


def _cases(program: Form, exact_results: ExactResults, text: TextOptions) -> Iterable[SelfTestCase]:
    """Yield the cases of one program, at states where its real type has a digit of every result."""
    exact = exact_results.results(program.function)
    arguments = exact_results.arguments(program.function, exact_results.states)
    bounds, equations = _bounds_and_equations(program, exact_results, text, exact)
    names = [port.name for port in program.outputs]
    for state in range(exact_results.count):
        if not _is_judged(program, bounds, equations, exact, state):
            continue
        yield SelfTestCase(
            program.function,
            tuple(tuple(np.ravel(arguments[port.name][state])) for port in program.inputs),
            tuple(_fractions(exact[name][state]) for name in names),
            tuple(tuple(np.ravel(bounds[name][state]).tolist()) for name in names),
            tuple(equations[name][state] if name in equations else None for name in names),
        )


def _bounds_and_equations(
    program: Form, exact_results: ExactResults, text: TextOptions, exact: Mapping[str, Array]
) -> tuple[dict[str, Array], dict[str, list[Equation]]]:
    """Return error bounds of every result, and the equations of results that solve M x = b, by
    name.
    """
    eps = REALS[program.real].eps
    unit, as_difference = (
        eps * (allowance(program, exact_results, text) + ROUNDING),
        is_difference(program, exact_results),
    )
    summed = (
        eps * (exact_results.mechanism.nv + 3) / 2
    )  # M and b are printed, and M x − b summed, in the real type
    running = running_error.running_error_bounds(program, exact_results, text)
    bounds, equations = {}, {}
    for name in (port.name for port in program.outputs):
        if not is_solved(program.function, name):
            bounds[name] = unit * natural_size(
                program.function, name, exact_results, as_difference, running
            )
            continue
        with exact_results.scalars.working():
            size = SOLVED[name](exact, exact_results).size
        if name in RESIDUALS:
            bounds[name] = unit * _answer_error(size, exact_results)
            equations[name] = _equations(name, exact_results, (unit + summed) * size)
        else:
            bounds[name] = unit * (size if name == "Minv" else _answer_error(size, exact_results))
    return bounds, equations


def _is_judged(
    program: Form,
    bounds: Mapping[str, Array],
    equations: Mapping[str, list[Equation]],
    exact: Mapping[str, Array],
    state: int,
) -> bool:
    """True if the real type has a digit of every result, and of the argument of every logarithm, at
    a state.

    An argument of a logarithm that may be off by its own size need not even be positive.
    """
    names = [port.name for port in program.outputs]
    if any(
        _says_nothing(exact[name][state], bounds[name][state])
        for name in names
        if name not in equations
    ):
        return False
    return "log" not in program.operations or all(
        not np.max(bounds[name][state]) >= 1 for name in names
    )


def _says_nothing(exact: Array, bounds: Array) -> bool:
    """True if no entry of a result exceeds its bound, or if a bound is not finite; False for a zero
    result.
    """
    allowed = np.ravel(np.asarray(bounds, dtype=float))
    if not np.isfinite(allowed).all():  # a derivative may divide by zero
        return True
    sizes = np.array([abs(float(x)) for x in _fractions(exact)])
    return bool(ZERO * allowed.min() < sizes.max() and not (sizes > allowed).any())


def _fractions(balls: Array) -> tuple[Fraction, ...]:
    """Return the midpoints at 40 digits, many more than are printed."""

    def middle(ball: Any) -> Fraction:
        return Fraction(ball.str(40, radius=False))

    return tuple(middle(ball) for ball in np.ravel(balls))


def _equations(name: str, exact_results: ExactResults, tolerances: Array) -> list[Equation]:
    """Return M x = b at every state, with the lower triangle of M."""
    lower = np.tril_indices(exact_results.mechanism.nv)
    return [
        Equation(_fractions(mass[lower]), _fractions(b), tuple(np.ravel(allowed).tolist()))
        for mass, b, allowed in zip(
            exact_results.mass_matrix, right_hand_side(exact_results, name), tolerances, strict=True
        )
    ]


def _answer_error(size: Array, exact_results: ExactResults) -> Array:
    """Return how far a residual of this size, a vector or columns, can move the answer: |M⁻¹| times
    the size.
    """
    inverse = np.abs(np.asarray(exact_results.results("inverse_mass_matrix")["Minv"], dtype=float))
    return np.asarray(inverse @ size if size.ndim > 2 else (inverse @ size[..., None])[..., 0])
