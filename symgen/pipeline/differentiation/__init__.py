"""Derivatives of Programs, as Programs: by the equation that a Program solves, by the chain rule, or row by row.

One mode a file, over the rows as they stand: `forward` goes on from the arguments and `reverse` back from the results; `jacobian`
is as many sweeps of either, `hessian` one over the other. `implicit` differentiates what solves an equation, `chain_rule` what
calls other functions. `shortest` takes the shortest of several ways. Partial derivatives of the operations stand in `_partials`,
and how positions are moved in `_draft`. `series` takes apart the functions of a turn.
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
from symgen.pipeline.differentiation.shortest import differentiated
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
    "out_of",
    "recursive",
    "remembered",
    "require_arguments",
]


RECURSION = "derivative_recursion"
LEFT = 4
"""Times as many rows are recorded as the passes leave, at most."""


class Origin(NamedTuple):
    """The request that a Program comes from, and the Program's contents, by which a changed one is recognized."""

    contents: tuple[Any, ...]
    made: Callable[..., Program]
    """Takes the name of another function of the same robot, by the same method and options."""

    @staticmethod
    def of(program: Program) -> tuple[Any, ...]:
        return program.inputs, program.outputs, program.rows


@validated
def derivative(
    program: Program, wrt: str | Iterable[str] | None = None, mode: str = "jacobian"
) -> Program:
    """The derivative of a Program, as a Program.

    `wrt` names arguments ("q", "q,v" or a list; None: all but a payload and wrenches), and `mode` is one of
    `symgen.vocabulary.derivatives.MODES`. "jacobian" has a result dy_dx for each result y and argument x; "jvp" takes changes dx and gives
    dy; "vjp" takes weights y_bar and gives x_bar; "hvp" takes both and gives dx_bar, what x_bar changes by. Positions change by a
    step, q ⊕ dq, as long as v. Of a function that moves positions of joints with several degrees of freedom the derivative is
    that of the same request, as `symgen.program` gives it, since slopes of the Program's own rows lose their digits at small
    turns. Raises ArgumentError for an unknown argument or mode, for a derivative of a derivative, and for such a Program whose
    rows were changed; TooLong beyond the row budget.
    """
    nearest(mode, derivatives.MODES, f"derivative of {program.function}")
    if derivatives.parse_derivative(program.function) is not None:
        raise ArgumentError(
            f"{program.function} is a derivative already; differentiate {derivatives.base_function(program.function)}, of "
            "which hvp is the second derivative along a direction"
        )
    switches = [a.name for f in FUNCTIONS.values() for a in f.arguments if a.switch]
    known = [port.name for port in program.inputs if port.name not in switches]
    own = [name for name in known if name not in [array.name for array in AT_RUN_TIME]]
    words = own if wrt is None else wrt.split(",") if isinstance(wrt, str) else wrt
    named = [nearest(word.strip(), known, f"argument of {program.function}") for word in words]
    by = tuple(name for name in known if name in named)
    wanted = Derivative(program.function, mode, () if [*by] == own else by)
    if not _turns(program):
        return differentiate(program, wanted)
    if program.origin is None or program.origin.contents != Origin.of(program):
        raise ArgumentError(
            f"the rows of {program.function} were changed, and slopes of its turns need others; differentiate "
            f"the Program that symgen.program gives, or ask it for '{wanted.name}'"
        )
    return cast(Program, program.origin.made(function=wanted.name))


def remembered(program: Program, made: Callable[..., Program]) -> Program:
    """Return a Program of turns with its origin, from which `derivative` asks for rows whose slopes keep their digits."""
    return replace(program, origin=Origin(Origin.of(program), made)) if _turns(program) else program


def _turns(program: Program) -> bool:
    """True if a function moves positions, or tells them apart, and a joint turns by more than a coordinate of its own."""
    known = FUNCTIONS.get(program.function)
    if known is None or known.derivative is not None:
        return False
    return moves_positions(known) and any(
        joint_type(kind).along is not None for kind in program.joints
    )


def differentiate(program: Program, wanted: Derivative, equation: Program | None = None) -> Program:
    """`wanted` of a Program. With an `equation`, that its function solves, the Program is that of its solution."""
    by = wanted.by or FUNCTIONS[wanted.of].own_arguments
    solves = None if equation is None else _equation(equation, wanted.of)
    long = (
        lengths(program, wanted.mode, by)
        if solves is None or wanted.mode != "jacobian"
        else lengths(solves.program, wanted.mode, solves.of(by))
    )
    if min(long) > LEFT * ROW_BUDGET:
        raise TooLong(_too_long(wanted, by, f"about {min(long)}"))
    with collector_at_rest():
        derived = differentiated(program, wanted._replace(by=by), wanted.name, solves)
    if len(derived.rows) > ROW_BUDGET:
        raise TooLong(_too_long(wanted, by, str(len(derived.rows))))
    return derived


def _equation(equation: Program, function: str) -> Equation:
    what = FUNCTIONS[function]
    solved = what.solves
    assert solved is not None
    own, given = ({array.name for array in arrays} for arrays in (what.arguments, what.results))
    return Equation(
        equation,
        solved.unknowns,
        solved.rights,
        tuple(one for one in solved.rights.values() if one not in own),
        tuple(one for one in solved.unknowns.values() if one not in given),
    )


def require_arguments(program: Program, wanted: Derivative, asked: Collection[str]) -> None:
    """Raise ArgumentError where `wanted` is by an argument that the function's Program does not have.

    `asked` are the arguments at run time that were asked for: a Program drops those that no row reads.
    """
    there = [port.name for port in program.inputs]
    absent = next((name for name in wanted.by if name not in there), None)
    if absent is None:
        return
    if absent in asked:
        raise ArgumentError(
            f"{wanted.name}: {wanted.of} of this robot does not depend on '{absent}', and the derivative is "
            f"zero; leave '{absent}' out"
        )
    way = (
        "baumgarte (--baumgarte)"
        if absent == GAINS.name
        else f"{absent} (--{absent}), which names a link that moves"
    )
    raise ArgumentError(
        f"{wanted.name}: {wanted.of} has no argument '{absent}' here; request it with {way}"
    )


def recursive(wanted: Derivative) -> str | None:
    """The function that has this derivative by RECURSION among its results, None where there is none."""
    source = FUNCTIONS[wanted.of].jacobian_from
    if wanted.mode != "jacobian" or source is None:
        return None
    blocks = FUNCTIONS[wanted.name].results
    return source.function if all(block.name in source.blocks for block in blocks) else None


def of_steps(wanted: Derivative) -> bool:
    """True for a derivative of a function that moves positions: it is long, and the chain rule goes through it call by call."""
    return any("NQ" in result.shape for result in FUNCTIONS[wanted.of].results)


def out_of(whole: Program, wanted: Derivative) -> Program:
    """The derivative out of the Program of `recursive`."""
    source, blocks = FUNCTIONS[wanted.of].jacobian_from, {port.name: port for port in whole.outputs}
    assert source is not None
    outputs = [
        blocks[source.blocks[block.name]]._replace(name=block.name)
        for block in FUNCTIONS[wanted.name].results
    ]
    return passes.run(replace(whole.with_rows(whole.rows, outputs), function=wanted.name))


def _too_long(wanted: Derivative, by: tuple[str, ...], rows: str) -> str:
    ways = (
        [f"{wanted.of}:vjp or {wanted.of}:jvp, which are a row or a column at a time"]
        if wanted.mode == "jacobian"
        else []
    )
    ways += [f"a part of it, as {wanted._replace(by=by[:1]).name}"] if len(by) > 1 else []
    way = f"ask for {', or '.join(ways)}" if ways else "lock joints that do not matter with --lock"
    return f"{wanted.name} needs {rows} rows, more than {ROW_BUDGET}; {way}"
