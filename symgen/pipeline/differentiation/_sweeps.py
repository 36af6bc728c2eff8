"""Forward and reverse sweeps through the rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from symgen.pipeline.differentiation._partials import Factor, factors
from symgen.pipeline.differentiation._tape import Number, Numbers, Tape


def push_forward(tape: Tape, end: int, seeds: Mapping[int, int]) -> Numbers:
    """Return the change of each of the first `end` rows, when the rows of `seeds` change by the
    rows that they name.
    """
    changes: Numbers = [None] * end
    for i, change in seeds.items():
        changes[i] = change
    for i, row in enumerate(tape.rows[:end]):
        if i in seeds or all(changes[a] is None for a in row.args):
            continue
        tape.under(row.step)
        for a, factor in zip(row.args, factors(tape, row, i), strict=True):
            changes[i] = _add_product(tape, changes[i], changes[a], factor)
    return changes


def pull_back(
    tape: Tape, begin: int, end: int, seeds: Mapping[int, int], requested_rows: Collection[int]
) -> dict[int, int]:
    """Return the weights of `requested_rows`, for the weights of other rows in `seeds` (row:
    weight).

    The sweep visits the rows from `begin` to `end` that depend on a wanted row.
    """
    weights: dict[int, Number] = {**seeds}
    live = set(requested_rows)
    for i in range(begin, end):
        if not live.isdisjoint(tape.rows[i].args):
            live.add(i)
    for i in range(end - 1, begin - 1, -1):
        row = tape.rows[i]
        if i not in live or weights.get(i) is None:
            continue
        tape.under(row.step)
        for a, factor in zip(row.args, factors(tape, row, i), strict=True):
            if a in live:
                weights[a] = _add_product(tape, weights.get(a), weights[i], factor)
    return {i: weight for i in requested_rows if (weight := weights.get(i)) is not None}


def _add_product(tape: Tape, total: Number, by: Number, factor: Factor | None) -> Number:
    """Return total + factor·by. A factor is recorded only if it is needed."""
    if by is None or factor is None:
        return total
    magnitude, negative = factor()
    term = by if magnitude is None else tape.put("mul", magnitude, by)
    return tape.less(total, term) if negative else tape.plus(total, term)
