"""A covering design: few rows in which every two values of two factors meet at least once, where
that is legal.

Rows are chosen greedily and in a fixed order, without chance: each starts at the first pair that no
row has yet, and then takes for one factor after the other the value that adds most pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

Choice = dict[str, str]
"""A value by the name of its factor; factors that are missing are not chosen yet."""
Legal = Callable[[Choice], bool]
"""A predicate: True if a choice, some of whose factors may be missing, breaks no rule."""
Pair = tuple[tuple[str, str], tuple[str, str]]


def covering(factors: Mapping[str, Sequence[str]], legal: Legal) -> list[Choice]:
    """Return the rows. A factor takes its first value if another value would cover no new pair."""
    uncovered: dict[Pair, None] = {
        ((f, x), (g, y)): None
        for f, g in combinations(factors, 2)
        for x in factors[f]
        for y in factors[g]
        if legal({f: x, g: y})
    }
    rows: list[Choice] = []
    while uncovered:
        pair = next(iter(uncovered))
        row = _complete(dict(pair), factors, legal, uncovered)
        if (
            row is None
        ):  # the pair is legal, but rules about three or more factors forbid each of its rows
            del uncovered[pair]
            continue
        for met in combinations(((f, row[f]) for f in factors), 2):
            uncovered.pop(met, None)
        rows.append(row)
    return rows


def _complete(
    row: Choice,
    factors: Mapping[str, Sequence[str]],
    legal: Legal,
    uncovered: Mapping[Pair, None],
) -> Choice | None:
    """The row with a value for every factor, or None. Goes back where a later factor has no legal
    value.
    """
    missing = [factor for factor in factors if factor not in row]
    if not missing:
        return row
    factor, factor_index = missing[0], list(factors).index

    def gain(value: str) -> int:
        return sum(
            (
                ((factor, value), (g, y))
                if factor_index(factor) < factor_index(g)
                else ((g, y), (factor, value))
            )
            in uncovered
            for g, y in row.items()
        )

    for value in sorted(factors[factor], key=gain, reverse=True):
        tried = {**row, factor: value}
        if legal(tried):
            complete = _complete(tried, factors, legal, uncovered)
            if complete is not None:
                return complete
    return None
