"""Where a value is a sum or a product of two others, or of another and a sum or a product of two more.

All are compared at once modulo a small prime, up to their sign. What is found is proposed, not proved: one in a billion is an
accident.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from symgen.ir.passes._network import Way

PRIME = 1618033961
"""Twice half of it fits into 32 bits, the product of two halves into 64. Near no power of two, as constants are such."""
SUM, DIFFERENCE, PRODUCT = range(3)
OPERATIONS = ("add", "add", "mul")
SPARE_BITS, LEAST_BITS, MOST_BITS = 3, 18, 26
"""Of a table by which most residues are told apart: more than its entries need, and the least and the most that it has."""
ALIKE = 12
"""Pairs of equal value that are looked at, of those that there are."""
MANY = 100
"""Ways of one target, likewise."""
CHUNK = 500_000
"""Residues that are compared at once."""

Values = NDArray[np.int32]
Places = NDArray[np.int64]
Pair = tuple[int, int, int]
"""(SUM, DIFFERENCE or PRODUCT, places of the two)."""
Single = tuple[int, str, int, int]
"""(target, operation, x, y)."""
Double = tuple[int, str, int, Way]
"""(target, operation, x, way of y)."""


def single(values: Sequence[int], targets: Sequence[int], among: Sequence[int]) -> list[Single]:
    """What the targets may be, of two of what is `among`."""
    if not targets:
        return []
    at = _Some(values, targets).values
    pairs = _Pairs(_Some(values, among), range(len(among)), (SUM, DIFFERENCE, PRODUCT), _Table(at))
    order = np.argsort(at, kind="stable")
    low, high = (np.searchsorted(at[order], pairs.values, side) for side in ("left", "right"))
    some = np.flatnonzero(high > low)
    found = []
    for first, end, (kind, a, b) in zip(
        low[some].tolist(), high[some].tolist(), pairs.told(some), strict=True
    ):
        for t in [targets[k] for k in order[first:end].tolist()]:
            if t not in (among[a], among[b]):
                found.append((t, OPERATIONS[kind], among[a], among[b]))
    return sorted(found)


def double(
    values: Sequence[int], targets: Sequence[int], among: Sequence[int], sums: bool = False
) -> list[Double]:
    """What the targets, which are `among` the others, may be: of one of those and a sum or a product of two more.

    With `sums` only as sums and differences of three.
    """
    if not targets:
        return []
    wanted = set(targets)
    among = [*targets, *(c for c in among if c not in wanted)]  # pairs with a target come first
    others, m, n = _Some(values, among), len(targets), len(among)
    own = _Pairs(others, range(m), (SUM, DIFFERENCE))
    pairs = [own, _Pairs(others, range(m, n), (SUM, DIFFERENCE), own.table)]
    pairs += [] if sums else [_Pairs(others, range(n), (PRODUCT,), own.table)]
    found = [
        (among[t], "add", among[x], _way(pair, among, others))
        for group in _repeated(pairs)
        for t, x, pair in _sums_equal_to_pairs(group, m)
    ]
    found += [
        (among[t], "mul", among[x], _way(pair, among, others))
        for t, x, pair in ([] if sums else _quotients(others, m))
        if t not in (x, *pair[1:])
    ]
    return _few(sorted(found))


def _sums_equal_to_pairs(group: Sequence[Pair], m: int) -> Iterator[tuple[int, int, Pair]]:
    """(t, x, pair) of pairs of equal value, where t ± x is one of them and t is one of the first m."""
    for pair in group:
        kind, a, b = pair
        if kind == PRODUCT or a == b:
            continue
        for t, x in ((a, b), (b, a)):
            if t < m:
                yield from ((t, x, y) for y in group if y is not pair and t not in y[1:])


def _few(found: list[Double]) -> list[Double]:
    """At most MANY of each target."""
    seen: dict[int, int] = {}
    kept = []
    for one in found:
        seen[one[0]] = seen.get(one[0], 0) + 1
        if seen[one[0]] <= MANY:
            kept.append(one)
    return kept


def _way(pair: Pair, among: Sequence[int], others: _Some) -> Way:
    kind, a, b = pair
    opposite = kind != PRODUCT and (kind == DIFFERENCE) != (others.turned[a] != others.turned[b])
    return Way(OPERATIONS[kind], among[a], among[b], 1, -1 if opposite else 1)


class _Some:
    """Values up to their sign; `turned` are those that stand for their opposites."""

    def __init__(self, values: Sequence[int], places: Sequence[int]) -> None:
        wide = np.array([values[c] for c in places], dtype=np.int64)
        self.wide = np.minimum(wide, PRIME - wide)
        self.turned: list[bool] = (self.wide != wide).tolist()
        self.values: Values = self.wide.astype(np.int32)


class _Table:
    """Tells of most residues that they are not among some."""

    def __init__(self, values: Values) -> None:
        bits = min(MOST_BITS, max(LEAST_BITS, len(values).bit_length() + SPARE_BITS))
        self._mask = np.int32((1 << bits) - 1)
        self._table = np.zeros(1 << bits, dtype=bool)
        self._table[values & self._mask] = True

    def hits(self, values: Values) -> Places:
        """The places of what may be among them."""
        return np.flatnonzero(self._table[values & self._mask])


class _Pairs:
    """Of the pairs whose first stands in some rows, and whose second does not stand before it: sums, differences, products."""

    def __init__(
        self, others: _Some, rows: range, kinds: Sequence[int], table: _Table | None = None
    ) -> None:
        """What is in no `table` is left out."""
        n = self.count = len(others.values)
        values, codes = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        step = max(1, CHUNK // max(1, n))
        for start in range(rows.start, rows.stop, step):
            stop = min(start + step, rows.stop)
            for kind in kinds:
                flat = _combined(others, slice(start, stop), start, kind).ravel()
                places = np.arange(len(flat)) if table is None else table.hits(flat)
                left, right = np.divmod(places, n - start)
                upper = (left <= right) & (flat[places] != 0)
                values.append(flat[places[upper]])
                codes.append(((left[upper] + start) * n + right[upper] + start) * 3 + kind)
        self.values: Values = np.concatenate(values)
        self.codes: Places = np.concatenate(codes)

    @property
    def table(self) -> _Table:
        return _Table(self.values)

    def told(self, places: Places) -> list[Pair]:
        return _told(self.codes[places], self.count)


def _combined(others: _Some, rows: slice, start: int, kind: int) -> Values:
    if kind == PRODUCT:
        return _canonical(others.wide[rows, None] * others.wide[None, start:] % PRIME)
    a, b = others.values[rows, None], others.values[None, start:]
    result: Values = np.minimum(a + b, PRIME - a - b) if kind == SUM else np.abs(a - b)
    return result


def _canonical(x: NDArray[np.int64]) -> Values:
    return np.minimum(x, PRIME - x).astype(np.int32)


def _told(codes: Places, n: int) -> list[Pair]:
    places, kinds = np.divmod(codes, 3)
    left, right = np.divmod(places, n)
    return list(zip(kinds.tolist(), left.tolist(), right.tolist(), strict=True))


def _repeated(some: Sequence[_Pairs]) -> Iterator[list[Pair]]:
    """Those of equal value."""
    values, codes = (
        np.concatenate([pairs.values for pairs in some]),
        np.concatenate([pairs.codes for pairs in some]),
    )
    bits = min(MOST_BITS, len(values).bit_length() + SPARE_BITS // 2)
    cells = values & np.int32((1 << bits) - 1)
    last, shared = np.empty(1 << bits, dtype=np.int32), np.zeros(1 << bits, dtype=bool)
    order = np.arange(len(values), dtype=np.int32)
    last[cells] = order
    shared[cells[last[cells] != order]] = True
    kept = np.flatnonzero(shared[cells])
    kept = kept[np.lexsort((codes[kept], values[kept]))]
    keys = values[kept]
    alike = keys[1:] == keys[:-1]
    again = np.append(False, alike)[: len(kept)]
    kept = kept[again | np.append(again[1:], False)[: len(kept)]]
    keys = values[kept]
    place = np.arange(len(keys))
    first = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    kept = kept[place - np.maximum.accumulate(np.where(first, place, 0)) < ALIKE]
    told, keys = _told(codes[kept], some[0].count), values[kept]
    start = 0
    for end in (
        [] if not told else [*(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), len(keys)]
    ):
        yield told[start:end]
        start = end


def _quotients(others: _Some, m: int) -> Iterator[tuple[int, int, Pair]]:
    """(t, x, a pair that may be t/x) for the first m."""
    n = len(others.values)
    inverses = np.array([pow(v, -1, PRIME) for v in others.wide.tolist()], dtype=np.int64)
    step = max(1, CHUNK // max(1, n))
    rests: Values = np.empty(m * n, np.int32)
    for start in range(0, m, step):
        some = others.wide[start : min(start + step, m), None]
        rests[start * n : start * n + some.size * n] = _canonical(
            some * inverses[None, :] % PRIME
        ).ravel()
    pairs = _Pairs(others, range(n), (SUM, DIFFERENCE, PRODUCT), _Table(rests))
    places = pairs.table.hits(rests)
    kept = _Table(rests[places]).hits(pairs.values)
    kept = kept[np.argsort(pairs.values[kept], kind="stable")]
    keys, told = pairs.values[kept], pairs.told(kept)
    low, high = (np.searchsorted(keys, rests[places], side) for side in ("left", "right"))
    found = np.flatnonzero(high > low)
    for place, first, end in zip(
        places[found].tolist(), low[found].tolist(), high[found].tolist(), strict=True
    ):
        for pair in told[first : min(end, first + ALIKE)]:
            yield place // n, place % n, pair
