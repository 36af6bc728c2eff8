"""The two ways through the rows: on from the arguments, and back from the results."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from symgen.pipeline.differentiation._partials import Factor, factors
from symgen.pipeline.differentiation._tape import Number, Numbers, Tape


def pushed(tape: Tape, end: int, seeds: Mapping[int, int]) -> Numbers:
    """What each of the first `end` rows changes by, where those of `seeds` change by the rows that they name."""
    changes: Numbers = [None] * end
    for i, change in seeds.items():
        changes[i] = change
    for i, row in enumerate(tape.rows[:end]):
        if i in seeds or all(changes[a] is None for a in row.args):
            continue
        tape.under(row.step)
        for a, factor in zip(row.args, factors(tape, row, i), strict=True):
            changes[i] = _with(tape, changes[i], changes[a], factor)
    return changes


def pulled(
    tape: Tape, begin: int, end: int, seeds: Mapping[int, int], wanted: Collection[int]
) -> dict[int, int]:
    """The weight of each of the rows `wanted` that has one, where rows weigh in with what `seeds` name.

    The rows from `begin` to `end` are gone through, those that depend on one that is wanted.
    """
    weights: dict[int, Number] = {**seeds}
    live = set(wanted)
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
                weights[a] = _with(tape, weights.get(a), weights[i], factor)
    return {i: weight for i in wanted if (weight := weights.get(i)) is not None}


def _with(tape: Tape, total: Number, by: Number, factor: Factor | None) -> Number:
    """total + factor·by. A factor is worked out where it is needed."""
    if by is None or factor is None:
        return total
    found, negative = factor()
    term = by if found is None else tape.put("mul", found, by)
    return tape.less(total, term) if negative else tape.plus(total, term)
