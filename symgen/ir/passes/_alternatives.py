"""Spare rows (`symgen.ir.program.SPARE`): a second computation of values that other rows of the
derivation compute, kept until a pass chooses one of the two.
"""

from __future__ import annotations

from symgen.ir.passes.rewrite import with_args
from symgen.ir.program import SPARE, Port, Program


def results(program: Program) -> tuple[Port, ...]:
    """Return the outputs of a Program without its spare rows."""
    return tuple([port for port in program.outputs if port.name != SPARE])


def without_spare(program: Program) -> Program:
    """Return the Program without its spare output, so that rows that serve only that are dead."""
    requested = results(program)
    return (
        program
        if len(requested) == len(program.outputs)
        else program.with_rows(program.rows, requested)
    )


def spare_only_rows(program: Program) -> set[int]:
    """Return the rows that no result depends on."""
    requested = results(program)
    if len(requested) == len(program.outputs):
        return set()
    unneeded = set(range(len(program.rows)))
    to_visit = [r for port in requested for r in port.rows]
    while to_visit:
        r = to_visit.pop()
        if r in unneeded:
            unneeded.remove(r)
            to_visit += program.rows[r].args
    return unneeded


def with_spare_rows_last(program: Program) -> Program:
    """Return the Program with the spare rows after all other rows, so that value numbering keeps
    the row that is not spare.
    """
    spare_rows = spare_only_rows(program)
    if not spare_rows:
        return program
    order = [i for i in range(len(program.rows)) if i not in spare_rows] + sorted(spare_rows)
    new_index = {old: new for new, old in enumerate(order)}
    rows = [
        with_args(program.rows[i], tuple([new_index[a] for a in program.rows[i].args]))
        for i in order
    ]
    return program.with_rows(
        rows,
        [port._replace(rows=tuple([new_index[r] for r in port.rows])) for port in program.outputs],
    )
