"""The Jacobian itself, by as many sweeps as it has columns or rows, whichever is less.

What is zero by structure is known before anything is computed: such an entry is no row at all, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from symgen.ir.program import Port, Program
from symgen.pipeline.differentiation._draft import Draft, Result
from symgen.pipeline.differentiation._sweeps import pulled, pushed
from symgen.pipeline.differentiation._tape import Number, Numbers
from symgen.vocabulary import derivatives

Blocks = dict[tuple[str, str], list[Numbers]]
"""By result and argument: a row an element of the result, a column an element of what the argument changes by."""


def by_columns(program: Program, by: Sequence[str], function: str = "") -> Program:
    """dy_dx of every result y and each of the arguments `by`, column by column. No pass has run over it."""
    draft = Draft(program)
    draft.tape.comment("change: ", program.steps)
    found: Blocks = {}
    for name, which, step in steps(draft, by):
        changes = pushed(draft.tape, draft.end, draft.changes(which, step))
        for port in program.outputs:
            block = found.setdefault(
                (port.name, name), [[] for _ in range(prod(draft.shape(port)))]
            )
            for row, change in zip(block, draft.changed(port, changes), strict=True):
                row.append(change)
    return draft.program_of(function or program.function, laid_out(draft, by, found))


def by_rows(program: Program, by: Sequence[str], function: str = "") -> Program:
    """The same, row by row."""
    draft = Draft(program)
    draft.tape.comment("weight: ", program.steps)
    wanted = [draft.which(name) for name in by]
    found: Blocks = {}
    one = draft.tape.constant(1)
    for port in program.outputs:
        size = prod(draft.shape(port))
        for k in range(size):
            weights = pulled(
                draft.tape,
                0,
                draft.end,
                draft.weighed(port, unit(size, k, one)),
                draft.elements(wanted),
            )
            for name, which in zip(by, wanted, strict=True):
                found.setdefault((port.name, name), []).append(draft.weighs(which, weights))
    return draft.program_of(function or program.function, laid_out(draft, by, found))


def steps(draft: Draft, by: Sequence[str]) -> Iterator[tuple[str, int, Numbers]]:
    """Every argument in each of its directions."""
    one = draft.tape.constant(1)
    for name in by:
        which = draft.which(name)
        size = prod(draft.shape(draft.program.inputs[which]))
        for k in range(size):
            yield name, which, unit(size, k, one)


def unit(size: int, k: int, one: int) -> list[Number]:
    """One in one direction."""
    return [one if i == k else None for i in range(size)]


def laid_out(draft: Draft, by: Sequence[str], found: Blocks) -> list[Result]:
    """The blocks in the order of the results, those of a result in the order of the arguments. A result may have no entries."""
    return [
        (
            derivatives.derivative_name(port.name, name),
            (*draft.shape(port), *_flat(draft, draft.program.inputs[draft.which(name)])),
            [entry for row in found.get((port.name, name), []) for entry in row],
        )
        for port in draft.program.outputs
        for name in by
    ]


def _flat(draft: Draft, port: Port) -> tuple[int, ...]:
    """What an argument changes by, as one index; none for a number."""
    shape = draft.shape(port)
    return (prod(shape),) if shape else ()
