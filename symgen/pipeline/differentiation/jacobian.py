"""Jacobian by one forward sweep a column (`by_columns`) or one reverse sweep a row (`by_rows`); the
caller chooses.

Structural zeros are known in advance: such an entry has no row and no operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from symgen.ir.program import Port, Program
from symgen.pipeline.differentiation._draft import Draft, Result
from symgen.pipeline.differentiation._sweeps import pull_back, push_forward
from symgen.pipeline.differentiation._tape import Number, Numbers
from symgen.vocabulary import derivatives

Blocks = dict[tuple[str, str], list[Numbers]]
"""Jacobian blocks by result and argument.

A block has a row for each element of the result, and a column for each element of the argument's
change.
"""


def by_columns(program: Program, by: Sequence[str], function: str = "") -> Program:
    """Return dy_dx of every result y and each of the arguments `by`, column by column, before any
    optimisation pass.
    """
    draft = Draft(program)
    draft.tape.comment("change: ", program.steps)
    blocks: Blocks = {}
    for name, index, step in steps(draft, by):
        changes = push_forward(draft.tape, draft.end, draft.changes(index, step))
        for port in program.outputs:
            block = blocks.setdefault(
                (port.name, name), [[] for _ in range(prod(draft.shape(port)))]
            )
            for row, change in zip(block, draft.result_changes(port, changes), strict=True):
                row.append(change)
    return draft.program_of(function or program.function, ordered_results(draft, by, blocks))


def by_rows(program: Program, by: Sequence[str], function: str = "") -> Program:
    """Return dy_dx of every result y and each of the arguments `by`, row by row, before any
    optimisation pass.
    """
    draft = Draft(program)
    draft.tape.comment("weight: ", program.steps)
    argument_indices = [draft.argument_index(name) for name in by]
    blocks: Blocks = {}
    unit_row = draft.tape.constant(1)
    for port in program.outputs:
        size = prod(draft.shape(port))
        for k in range(size):
            weights = pull_back(
                draft.tape,
                0,
                draft.end,
                draft.element_weights(port, unit(size, k, unit_row)),
                draft.elements(argument_indices),
            )
            for name, index in zip(by, argument_indices, strict=True):
                blocks.setdefault((port.name, name), []).append(
                    draft.argument_weights(index, weights)
                )
    return draft.program_of(function or program.function, ordered_results(draft, by, blocks))


def steps(draft: Draft, by: Sequence[str]) -> Iterator[tuple[str, int, Numbers]]:
    """Yield every argument with a unit step in each of its directions."""
    unit_row = draft.tape.constant(1)
    for name in by:
        argument = draft.argument_index(name)
        size = prod(draft.shape(draft.program.inputs[argument]))
        for k in range(size):
            yield name, argument, unit(size, k, unit_row)


def unit(size: int, k: int, unit_row: int) -> list[Number]:
    """Return a unit vector: `unit_row`, the row of the constant 1, at index k, and structural zeros
    (None) elsewhere.
    """
    return [unit_row if i == k else None for i in range(size)]


def ordered_results(draft: Draft, by: Sequence[str], blocks: Blocks) -> list[Result]:
    """Return the blocks in the order of the results, and within a result in the order of the
    arguments.
    """
    return [
        (
            derivatives.derivative_name(port.name, name),
            (
                *draft.shape(port),
                *_flat_shape(draft, draft.program.inputs[draft.argument_index(name)]),
            ),
            [entry for row in blocks.get((port.name, name), []) for entry in row],
        )
        for port in draft.program.outputs
        for name in by
    ]


def _flat_shape(draft: Draft, port: Port) -> tuple[int, ...]:
    """Return the shape of an argument's change as one index; empty for a number."""
    shape = draft.shape(port)
    return (prod(shape),) if shape else ()
