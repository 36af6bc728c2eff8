"""A function that calls others, made of their finished Programs: the rows of each stand where it is called, then the passes run.

So what is composed shares every equation with what it is made of, which is verified by itself.
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

Made = Callable[[str], Program]
"""The Program of a function by name."""
Result = tuple[str, tuple[int, ...], list[Scalar]]
"""Name, shape and elements."""


def composed(
    mechanism: Mechanism,
    function: str,
    method: str,
    compose: Compose,
    options: ProgramOptions,
    made: Made,
) -> Program:
    """The Program of a function that `compose` makes of those that `made` gives.

    Raises TooManyRows when it has more than `deriving.ROW_BUDGET` rows, or its derivation four times as many.
    """
    what = FUNCTIONS[function]

    def results(home: Derivation) -> list[Result]:
        found = compose(Inlining(mechanism, home, made))
        sizes = mechanism.sizes._replace(
            NL=loop_closure.rows(mechanism) if loop_closure.known(mechanism, function) else 0
        )
        return [
            (one.name, one.sizes(sizes), atoms)
            for one, atoms in zip(what.results, found, strict=True)
        ]

    return put_together(mechanism, what, method, options, results)


def put_together(
    mechanism: Mechanism,
    what: Function,
    method: str,
    options: ProgramOptions,
    results: Callable[[Derivation], list[Result]],
) -> Program:
    """The Program of these results, after all passes."""
    links = options.at_run_time
    arguments = [
        *what.arguments,
        *(a.of_each(len(links[a.name])) for a in what.depends_on if a.name in links),
    ]
    taken = (
        adjusting.adjusting(mechanism, options.parameters).prepared.size
        if options.parameters
        else 0
    )
    sizes = mechanism.sizes._replace(NW=len(options.wrenches), NS=taken)
    shapes = {a.name: a.sizes(sizes) for a in arguments}
    with constants.precision():
        home = Derivation(
            {name: prod(shape) for name, shape in shapes.items()}, 4 * derive.ROW_BUDGET
        )
        frozen = home.freeze(what.name, method, results(home), shapes)
    prepare = passes.begin if options.series else passes.run
    found = derive.without_idle(prepare(frozen), len(what.arguments))
    if len(found.rows) > derive.ROW_BUDGET:
        raise TooManyRows(f"{len(found.rows)} rows")
    return replace(
        found,
        quaternions=mechanism.quaternions,
        real=options.real,
        joints=tuple(joint.kind for joint in mechanism.leading),
    )


class Inlining:
    """`symgen.methods.shared.composition.Calls` of one robot, by the Programs that `made` gives."""

    def __init__(self, mechanism: Mechanism, home: Derivation, made: Made) -> None:
        self.mechanism, self.home, self.made = mechanism, home, made
        self.inputs: Mapping[str, list[Scalar]] = home.inputs

    def __call__(
        self, function: str, stage: str = "", **arguments: Sequence[Scalar]
    ) -> tuple[list[Scalar], ...]:
        """See `Calls`."""
        program = self.made(function)
        given = {**self.inputs, **arguments}
        return inlined(program, self.home, [given[port.name] for port in program.inputs], stage)


def inlined(
    program: Program, home: Derivation, given: Sequence[Sequence[Scalar]], stage: str = ""
) -> tuple[list[Scalar], ...]:
    """The results of a Program, its rows recorded anew with its arguments (flat) bound to what is `given`.

    Names of rows begin with the `stage`, and so do the comments that they stand under.
    """
    binary = {
        "mul": home.multiply,
        "add": home.sum,
        "sub": lambda a, b: home.sum(a, -b),
        "div": home.divide,
        "atan2": home.atan2,
    }
    unary = {
        "neg": lambda a: -a,
        "sin": home.sin,
        "cos": home.cos,
        "sqrt": home.sqrt,
        "log": home.log,
    }
    found: list[Scalar] = []
    under = -1
    for row in program.rows:
        if row.op == "input":
            found.append(given[row.value[0]][row.value[1]])
            continue
        if row.step not in (under, -1):
            under = row.step
            home.step(f"{stage}: {program.steps[under]}" if stage else program.steps[under])
        operands = [found[a] for a in row.args]
        if row.op == "const":
            found.append(home.constant(row.value))
        elif row.op in unary:
            found.append(unary[row.op](*operands))
        elif row.op in BY_SERIES:
            found.append(home.by_series(row.op, *operands))
        else:
            found.append(binary[row.op](*operands))
        if row.name:
            home.name(f"{stage}_{row.name}" if stage else row.name, found[-1])
    return tuple([found[r] for r in port.rows] for port in program.outputs)
