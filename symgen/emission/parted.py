"""Chains in parts: NAME_<function>.c, and the function of a block of states.

Each part is one lane of a vector in the former; each state is one lane in the latter. Element k of
lane l of saved values, carries and link constants is x[k][l]. A step of a sweep, of a map or of a
pair of rows is a loop over lanes (`lanes`), which is called for each row. A step of a sequential
scan or of a pair of parts is a straight-line function for one state, and a loop over lanes for a
block of states. The package `lowering` has the stages; templates have the tables and the text
around functions. The groups of a stage run in parallel if the compiler has OpenMP.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

from symgen.emission import definition, loop_work, render
from symgen.emission.c_text import C
from symgen.emission.definition import calls
from symgen.emission.lane_steps import angles, braced, wrapped
from symgen.emission.lowering import loop_tables, parallel_scan, sequential_scan
from symgen.emission.lowering.chain import Chain, Table
from symgen.emission.lowering.lane_function import Vectors
from symgen.emission.lowering.lane_function import text as lane_text
from symgen.emission.lowering.loop_checks import guarded
from symgen.emission.print import write
from symgen.emission.statements import (
    Block,
    Declare,
    For,
    Function,
    If,
    Sizes,
    Statement,
    check,
)
from symgen.ir.loops import LoopProgram
from symgen.support.errors import RequestError
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target


class Lowered(NamedTuple):
    """A form in parts as functions: the chain with its steps, the tables of integers, and the
    functions of the stages.
    """

    chain: Chain
    tables: Sequence[Table]
    functions: Sequence[Function]


def lower(form: LoopProgram, target: Target, states: bool) -> Lowered:
    """Return the functions of a form for one state, or for a block of states if `states`."""
    chain = Chain(guarded(form, target) if target.checked else form, target, states)
    lowering: parallel_scan.Lowering | sequential_scan.Lowering
    if form.maps:
        lowering = parallel_scan.Lowering(chain)
    else:
        lowering = sequential_scan.Lowering(chain)
    functions = [*lowering.functions()]
    rows = form.part_count // chain.parts_per_group * chain.rows_per_group
    width = form.link_classes[0].width
    lanes = [] if states else [chain.parts_per_group]
    sizes_by_name: dict[str, Sizes] = {table.name: table.size for table in lowering.tables}
    sizes_by_name |= {chain.constants_table: (rows, width, *lanes)}
    step_names = [step["symbol"] for step in chain.steps] + [name for name, _ in chain.functions]
    sizes_by_name |= dict.fromkeys([*step_names, *definition.macros(target)], ())
    return Lowered(chain, lowering.tables, check(functions, sizes_by_name))


def source(form: LoopProgram, target: Target) -> str:
    """Return the text of NAME_<function>.c.

    Raises RequestError if the number of parts is no multiple of the number of lanes.
    """
    lanes = REALS[form.real].lanes
    if form.part_count % lanes:
        raise RequestError(
            f"{form.function}: {form.part_count} segments do not fill vectors of {lanes} lanes;"
            f" take a multiple of {lanes}"
        )
    chain, tables, functions = lower(form, target, states=False)
    if form.maps:
        title = "for {} links, by cyclic reduction over {} segments"
        description = (
            "a row is a joint and the link before it; the link before the first joint is the base."
        )
    else:
        title = "for {} links in {} segments"
        description = (
            f"{form.link_cost} operations for each link, plus operations once for each segment."
            " Operations for one link:"
        )
    angle_count = angles(chain.steps, lanes, form.real)
    vectors = Vectors(form.real, lanes, target.name, calls(form.real, target))
    return render(
        "c99",
        "parted.c.j2",
        **target.context,
        symbol=chain.symbol,
        title=title.format(len(form), form.part_count),
        method=C.comment(form.method),
        description=description,
        real=form.real,
        lanes=lanes,
        work_size=loop_work.work(form, target.checked),
        width=form.link_classes[0].width,
        constants=wrapped([*_constants(form, lanes)]),
        tables=[table.context() for table in tables],
        steps=chain.steps,
        functions=[text for _, text in chain.functions],
        algorithm=write(functions, C),
        uses_sincos=any(step["uses_sincos"] for step in chain.steps),
        uses_sincos_loop=any(step["uses_sincos_loop"] for step in chain.steps),
        angles=angle_count,
        step_functions=lane_text(vectors.steps(chain.steps, chain.symbol)),
    )


def block(form: LoopProgram, target: Target) -> dict[str, Any]:
    """Return the facts of the function of a block of states for the template `looped_batch.c.j2`.

    `local` is the number of elements of local arrays for one state.
    """
    chain, tables, functions = lower(form, target, states=True)
    constants = [
        braced([C.literal(value, REALS[form.real]) for value in _constants_of(form, part, row)])
        for part in range(form.part_count)
        for row in range(form.longest_part)
    ]
    name, size = chain.constants_table, (len(constants), form.link_classes[0].width)
    *stages, whole_function = functions
    return {
        "steps": chain.steps,
        "step_comments": [f"{step['symbol']}, {step['comment']}" for step in chain.steps],
        "arrays": [
            loop_tables.Table(form.real, name, size, tuple(wrapped(constants))),
            *(table.plain for table in tables),
        ],
        "block": write(functions, C),
        "local": _local_numbers(whole_function.body)
        + 2 * max(_local_numbers(f.body) for f in stages),
    }


def _local_numbers(statements: Iterable[Statement]) -> int:
    """Return the number of elements of the arrays of reals that statements declare."""
    count = 0
    for statement in statements:
        match statement:
            case Declare(size=size, pointer="", kind="float" | "double"):
                count += prod(map(int, size)) if size else 0
            case For(body=inner) | Block(body=inner):
                count += _local_numbers(inner)
            case If(body=inner, otherwise=otherwise):
                otherwise_body = (otherwise,) if isinstance(otherwise, If) else otherwise
                count += _local_numbers(inner) + _local_numbers(otherwise_body)
    return count


def _constants(form: LoopProgram, lanes: int) -> Iterator[str]:
    """Yield the rows of the table of link constants: the vectors of constants of a group's row."""
    for first in range(0, form.part_count, lanes):
        for row in range(form.longest_part):
            links = [_constants_of(form, part, row) for part in range(first, first + lanes)]
            yield braced(
                [
                    braced([C.literal(value, REALS[form.real]) for value in vector])
                    for vector in zip(*links, strict=True)
                ]
            )


def _constants_of(form: LoopProgram, part: int, row: int) -> tuple[Fraction, ...]:
    """Return the link constants of a row of a part; an idle row has those of an earlier link."""
    if form.maps:
        return form.constants_of(form.longest_part * part + row)
    links = form.parts[part]
    return form.constants[links[0] - (form.longest_part - len(links)) + row]
