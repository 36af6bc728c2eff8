"""How long a derivative will be, by the structure alone: so that no minutes are spent on a refusal."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.ir.program import Program

A_PRODUCT = 2
"""Rows that a factor and its sum take."""
TWICE = 4
"""How many times as many rows the derivative of a derivative takes as the derivative."""


def lengths(program: Program, mode: str, by: Sequence[str]) -> list[int]:
    """Rows of the derivative, about: of a Jacobian by columns and by rows, else of the one way that there is."""
    places = {port.name: place for place, port in enumerate(program.inputs)}
    wanted = [places[name] for name in by]
    first, directions = {}, 0
    for place in (
        wanted
    ):  # a bit a direction; where a coordinate is moved by several, a bit a coordinate is as good
        first[place], directions = directions, directions + program.inputs[place].size
    moves = [0] * len(program.rows)
    for i, row in enumerate(program.rows):
        if row.op == "input" and row.value[0] in first:
            moves[i] = 1 << first[row.value[0]] + row.value[1]
        for a in row.args:
            moves[i] |= moves[a]
    if mode != "jacobian":
        once = sum(A_PRODUCT * (moves[a] > 0) for row in program.rows for a in row.args)
        return [len(program.rows) + once * (1 + TWICE * (mode == "hvp"))]
    weighs = [0] * len(program.rows)
    results = [r for port in program.outputs for r in port.rows]
    for k, r in enumerate(results):
        weighs[r] |= 1 << k
    for i, row in reversed([*enumerate(program.rows)]):
        for a in row.args:
            weighs[a] |= weighs[i]
    columns = sum(A_PRODUCT * moves[a].bit_count() for row in program.rows for a in row.args)
    rows = sum(
        A_PRODUCT * weighs[i].bit_count()
        for i, row in enumerate(program.rows)
        for a in row.args
        if moves[a]
    )
    return [len(program.rows) + columns, len(program.rows) + rows]
