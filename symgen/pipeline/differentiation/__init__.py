"""Derivatives of Programs, as Programs: by the equation that a Program solves, by the chain rule,
or row by row.

Each mode has a file and works on the recorded rows: `forward` goes from the arguments to the
results, `reverse` from the results to the arguments. `jacobian` is as many sweeps of either as
needed, `hessian` one over the other. `implicit` differentiates the solution of an equation,
`chain_rule` a composition of functions. `shortest` selects the shortest of several ways.
`_partials` has the partial derivatives of the operations, `_draft` the steps of positions. `series`
expands the functions of a rotation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any, NamedTuple, cast

from symgen.description.arguments import validated
from symgen.ir import passes
from symgen.ir.program import Program
from symgen.mechanism.joints import joint_type
from symgen.pipeline.derive import ROW_BUDGET, moves_positions
from symgen.pipeline.differentiation.chain_rule import jacobian as by_chain_rule
from symgen.pipeline.differentiation.implicit import Equation
from symgen.pipeline.differentiation.length import lengths
from symgen.pipeline.differentiation.shortest import shortest_derivative
from symgen.support.collector import collector_at_rest
from symgen.support.errors import ArgumentError, TooLong
from symgen.vocabulary import derivatives
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.functions import AT_RUN_TIME, FUNCTIONS, GAINS
from symgen.vocabulary.names import nearest

__all__ = [
    "RECURSION",
    "by_chain_rule",
    "derivative",
    "differentiate",
    "of_steps",
    "recursive",
    "require_arguments",
]


RECURSION = "derivative_recursion"
LEFT = 4
"""Largest ratio of recorded rows to the rows that the passes leave."""


class Origin(NamedTuple):
    """The request that a Program comes from, and the Program's contents, which identify an
    unchanged Program.
    """

    contents: tuple[Any, ...]
    get_program: Callable[..., Program]
    """Builds another function of the same robot by name, with the same method and options."""

    @staticmethod
    def of(program: Program) -> tuple[Any, ...]:
        return program.inputs, program.outputs, program.rows


@validated
def derivative(
    program: Program, wrt: str | Iterable[str] | None = None, mode: str = "jacobian"
) -> Program:
    """Return the derivative of a Program, as a Program.

    `wrt` names arguments ("q", "q,v" or a list; None: all except a payload and wrenches), and
    `mode` is one of `symgen.vocabulary.derivatives.MODES`. "jacobian" has a result dy_dx for each
    result y and argument x. "jvp" takes changes dx and returns dy. "vjp" takes weights y_bar and
    returns x_bar. "hvp" takes both and returns dx_bar, the change of x_bar.

    Positions change by a step, q ⊕ dq, of the length of v. The derivative of a function that
    integrates positions of joints with several degrees of freedom is that of the same request by
    `symgen.program`: the derivatives of the Program's own rows have a precision loss at small
    rotations.

    Raises ArgumentError for an unknown argument or mode, for a derivative of a derivative, and for
    such a Program if its rows were changed; TooLong beyond the row budget.
    """
    nearest(mode, derivatives.MODES, f"derivative of {program.function}")
    if derivatives.parse_derivative(program.function) is not None:
        raise ArgumentError(
            f"{program.function} is already a derivative; differentiate"
            f" {derivatives.base_function(program.function)}, whose mode hvp is the second"
            " derivative along a direction"
        )
    switches = [a.name for f in FUNCTIONS.values() for a in f.arguments if a.switch]
    arguments = [port.name for port in program.inputs if port.name not in switches]
    default_arguments = [
        name for name in arguments if name not in [array.name for array in AT_RUN_TIME]
    ]
    requested = (
        default_arguments if wrt is None else wrt.split(",") if isinstance(wrt, str) else wrt
    )
    named = [
        nearest(word.strip(), arguments, f"argument of {program.function}") for word in requested
    ]
    by = tuple(name for name in arguments if name in named)
    specification = Derivative(program.function, mode, () if [*by] == default_arguments else by)
    if not _integrates_rotations(program):
        return differentiate(program, specification)
    if program.origin is None or program.origin.contents != Origin.of(program):
        raise ArgumentError(
            f"the rows of {program.function} were changed, so its derivative at small rotations is"
            " inexact; differentiate the Program that symgen.program returns, or request"
            f" '{specification.name}' from it"
        )
    return cast(Program, program.origin.get_program(function=specification.name))


def with_origin(program: Program, get_program: Callable[..., Program]) -> Program:
    """Return a Program with its origin, if it integrates rotations: `derivative` then requests rows
    with exact derivatives.
    """
    return (
        replace(program, origin=Origin(Origin.of(program), get_program))
        if _integrates_rotations(program)
        else program
    )


def _integrates_rotations(program: Program) -> bool:
    """True if a function integrates or compares positions, and a joint's rotation has more than one
    coordinate.
    """
    function = FUNCTIONS.get(program.function)
    if function is None or function.derivative is not None:
        return False
    return moves_positions(function) and any(
        joint_type(kind).along is not None for kind in program.joints
    )


def differentiate(
    program: Program, derivative: Derivative, equation: Program | None = None
) -> Program:
    """Return a derivative of a Program. With an `equation` that the function solves, the Program is
    that of its solution.
    """
    arguments = derivative.by or FUNCTIONS[derivative.of].own_arguments
    solves = None if equation is None else _equation(equation, derivative.of)
    estimates = (
        lengths(program, derivative.mode, arguments)
        if solves is None or derivative.mode != "jacobian"
        else lengths(solves.program, derivative.mode, solves.of(arguments))
    )
    if min(estimates) > LEFT * ROW_BUDGET:
        raise TooLong(_too_long(derivative, arguments, f"about {min(estimates)}"))
    with collector_at_rest():
        derived = shortest_derivative(
            program, derivative._replace(by=arguments), derivative.name, solves
        )
    if len(derived.rows) > ROW_BUDGET:
        raise TooLong(_too_long(derivative, arguments, str(len(derived.rows))))
    return derived


def _equation(equation: Program, function: str) -> Equation:
    """Return the Equation of a function, from the Program of its equation."""
    specification = FUNCTIONS[function]
    solved = specification.solves
    assert solved is not None
    argument_names, result_names = (
        {array.name for array in arrays}
        for arrays in (specification.arguments, specification.results)
    )
    return Equation(
        equation,
        solved.unknowns,
        solved.rights,
        tuple(name for name in solved.rights.values() if name not in argument_names),
        tuple(name for name in solved.unknowns.values() if name not in result_names),
    )


def require_arguments(program: Program, derivative: Derivative, requested: Collection[str]) -> None:
    """Raise ArgumentError if a derivative is by an argument that the function's Program does not
    have.

    `requested` are the requested run-time arguments: a Program drops those that no row reads.
    """
    present = [port.name for port in program.inputs]
    missing = next((name for name in derivative.by if name not in present), None)
    if missing is None:
        return
    if missing in requested:
        raise ArgumentError(
            f"{derivative.name}: {derivative.of} of this robot does not depend on '{missing}', and"
            f" the derivative is zero; leave '{missing}' out"
        )
    option = (
        "baumgarte (--baumgarte)"
        if missing == GAINS.name
        else f"{missing} (--{missing}), which names a link that moves"
    )
    raise ArgumentError(
        f"{derivative.name}: {derivative.of} has no argument '{missing}' here; request it with"
        f" {option}"
    )


def recursive(derivative: Derivative) -> str | None:
    """Return the function that has this derivative by RECURSION among its results; None if there is
    none.
    """
    source = FUNCTIONS[derivative.of].jacobian_from
    if derivative.mode != "jacobian" or source is None:
        return None
    blocks = FUNCTIONS[derivative.name].results
    return source.function if all(block.name in source.blocks for block in blocks) else None


def of_steps(derivative: Derivative) -> bool:
    """True for a derivative of a function that integrates positions: it is long, and uses the chain
    rule call by call.
    """
    return any("NQ" in result.shape for result in FUNCTIONS[derivative.of].results)


def extract_derivative(source_program: Program, derivative: Derivative) -> Program:
    """Return the derivative, extracted from the Program of `recursive`."""
    source, blocks = (
        FUNCTIONS[derivative.of].jacobian_from,
        {port.name: port for port in source_program.outputs},
    )
    assert source is not None
    outputs = [
        blocks[source.blocks[block.name]]._replace(name=block.name)
        for block in FUNCTIONS[derivative.name].results
    ]
    return passes.run(
        replace(source_program.with_rows(source_program.rows, outputs), function=derivative.name)
    )


def _too_long(derivative: Derivative, arguments: tuple[str, ...], rows: str) -> str:
    """Return the message of a derivative with too many rows, with shorter alternatives."""
    suggestions = (
        [f"{derivative.of}:vjp or {derivative.of}:jvp, which are a row or a column at a time"]
        if derivative.mode == "jacobian"
        else []
    )
    suggestions += (
        [f"a part of it, as {derivative._replace(by=arguments[:1]).name}"]
        if len(arguments) > 1
        else []
    )
    advice = (
        f"request {', or '.join(suggestions)}"
        if suggestions
        else "lock joints that do not matter with --lock"
    )
    return f"{derivative.name} needs {rows} rows, more than {ROW_BUDGET}; {advice}"
