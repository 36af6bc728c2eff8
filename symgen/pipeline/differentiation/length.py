"""Estimated length of a derivative, from structure alone, so that a refusal takes no minutes."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.ir.program import Program

A_PRODUCT = 2
"""Rows of a factor and its sum."""
TWICE = 4
"""Ratio of the rows of a second derivative to those of the first."""


def lengths(program: Program, mode: str, by: Sequence[str]) -> list[int]:
    """Return the approximate rows of the derivative: of a Jacobian by columns and by rows, else of
    the single way.
    """
    indices = {port.name: index for index, port in enumerate(program.inputs)}
    chosen = [indices[name] for name in by]
    first, directions = {}, 0
    for (
        index
    ) in chosen:  # one bit a direction; for positions, one bit a coordinate is accurate enough
        first[index], directions = directions, directions + program.inputs[index].size
    depends_on = [0] * len(program.rows)
    for i, row in enumerate(program.rows):
        if row.op == "input" and row.value[0] in first:
            depends_on[i] = 1 << first[row.value[0]] + row.value[1]
        for a in row.args:
            depends_on[i] |= depends_on[a]
    if mode != "jacobian":
        once = sum(A_PRODUCT * (depends_on[a] > 0) for row in program.rows for a in row.args)
        return [len(program.rows) + once * (1 + TWICE * (mode == "hvp"))]
    affects = [0] * len(program.rows)
    results = [r for port in program.outputs for r in port.rows]
    for k, r in enumerate(results):
        affects[r] |= 1 << k
    for i, row in reversed([*enumerate(program.rows)]):
        for a in row.args:
            affects[a] |= affects[i]
    columns = sum(A_PRODUCT * depends_on[a].bit_count() for row in program.rows for a in row.args)
    rows = sum(
        A_PRODUCT * affects[i].bit_count()
        for i, row in enumerate(program.rows)
        for a in row.args
        if depends_on[a]
    )
    return [len(program.rows) + columns, len(program.rows) + rows]
