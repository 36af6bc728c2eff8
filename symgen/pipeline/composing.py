"""Composition of a function from the finished Programs of functions that it calls: their rows are
inlined, then the passes run.

So a composed function shares every equation with the functions that it calls, which are verified
separately.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

from symgen.derivation import constants
from symgen.derivation.scalars import Derivation, Scalar, TooManyRows
from symgen.ir import passes
from symgen.ir.program import BY_SERIES, Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.composition import Compose
from symgen.pipeline import adjusting, derive, loop_closure
from symgen.vocabulary.functions import FUNCTIONS, Function
from symgen.vocabulary.options import ProgramOptions

GetProgram = Callable[[str], Program]
"""Function that returns the Program of a function by name."""
Result = tuple[str, tuple[int, ...], list[Scalar]]
"""Name, shape and elements."""


def compose_program(
    mechanism: Mechanism,
    function: str,
    method: str,
    compose: Compose,
    options: ProgramOptions,
    get_program: GetProgram,
) -> Program:
    """Return the Program of a function that `compose` builds from the Programs of `get_program`.

    Raises TooManyRows if it has more than `derive.ROW_BUDGET` rows, or its derivation four times as
    many.
    """
    specification = FUNCTIONS[function]

    def results(derivation: Derivation) -> list[Result]:
        values = compose(Inlining(mechanism, derivation, get_program))
        sizes = mechanism.sizes._replace(
            NL=loop_closure.rows(mechanism)
            if loop_closure.depends_on_loops(mechanism, function)
            else 0
        )
        return [
            (result.name, result.sizes(sizes), atoms)
            for result, atoms in zip(specification.results, values, strict=True)
        ]

    return build_from_results(mechanism, specification, method, options, results)


def build_from_results(
    mechanism: Mechanism,
    specification: Function,
    method: str,
    options: ProgramOptions,
    results: Callable[[Derivation], list[Result]],
) -> Program:
    """Return the Program of these results, after all passes."""
    links = options.at_run_time
    arguments = [
        *specification.arguments,
        *(a.of_each(len(links[a.name])) for a in specification.depends_on if a.name in links),
    ]
    prepared_size = (
        adjusting.make_adjusting(mechanism, options.parameters).prepared.size
        if options.parameters
        else 0
    )
    sizes = mechanism.sizes._replace(NW=len(options.wrenches), NS=prepared_size)
    shapes = {a.name: a.sizes(sizes) for a in arguments}
    with constants.precision():
        derivation = Derivation(
            {name: prod(shape) for name, shape in shapes.items()}, 4 * derive.ROW_BUDGET
        )
        frozen = derivation.freeze(specification.name, method, results(derivation), shapes)
    prepare = passes.begin if options.series else passes.run
    program = derive.without_idle(prepare(frozen), len(specification.arguments))
    if len(program.rows) > derive.ROW_BUDGET:
        raise TooManyRows(f"{len(program.rows)} rows")
    return replace(
        program,
        quaternions=mechanism.quaternions,
        real=options.real,
        joints=tuple(joint.kind for joint in mechanism.leading),
    )


class Inlining:
    """`symgen.methods.shared.composition.Calls` of one robot, with its Programs.

    `get_program` returns a Program, whose rows are recorded where it is called.
    """

    def __init__(
        self, mechanism: Mechanism, derivation: Derivation, get_program: GetProgram
    ) -> None:
        self.mechanism, self.derivation, self.get_program = mechanism, derivation, get_program
        self.inputs: Mapping[str, list[Scalar]] = derivation.inputs

    def __call__(
        self, function: str, stage: str = "", **arguments: Sequence[Scalar]
    ) -> tuple[list[Scalar], ...]:
        """See `Calls`."""
        program = self.get_program(function)
        arrays = {**self.inputs, **arguments}
        return inline_program(
            program, self.derivation, [arrays[port.name] for port in program.inputs], stage
        )


def inline_program(
    program: Program, derivation: Derivation, arguments: Sequence[Sequence[Scalar]], stage: str = ""
) -> tuple[list[Scalar], ...]:
    """Return the results of a Program whose rows are recorded again, with its flat inputs bound to
    `arguments`.

    The `stage` precedes the names of rows and their comments.
    """
    binary = {
        "mul": derivation.multiply,
        "add": derivation.sum,
        "sub": lambda a, b: derivation.sum(a, -b),
        "div": derivation.divide,
        "atan2": derivation.atan2,
    }
    unary = {
        "neg": lambda a: -a,
        "sin": derivation.sin,
        "cos": derivation.cos,
        "sqrt": derivation.sqrt,
        "log": derivation.log,
    }
    scalars: list[Scalar] = []
    current_step = -1
    for row in program.rows:
        if row.op == "input":
            scalars.append(arguments[row.value[0]][row.value[1]])
            continue
        if row.step not in (current_step, -1):
            current_step = row.step
            derivation.step(
                f"{stage}: {program.steps[current_step]}" if stage else program.steps[current_step]
            )
        operands = [scalars[a] for a in row.args]
        if row.op == "const":
            scalars.append(derivation.constant(row.value))
        elif row.op in unary:
            scalars.append(unary[row.op](*operands))
        elif row.op in BY_SERIES:
            scalars.append(derivation.by_series(row.op, *operands))
        else:
            scalars.append(binary[row.op](*operands))
        if row.name:
            derivation.name(f"{stage}_{row.name}" if stage else row.name, scalars[-1])
    return tuple([scalars[r] for r in port.rows] for port in program.outputs)
