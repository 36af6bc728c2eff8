"""Search for values that are a sum or a product of two others, or of one and of a sum or product of
two more.

All values are compared at once modulo a small prime, up to their sign. A match is a proposal, not a
proof: one in a billion is accidental.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from symgen.ir.passes._network import Way

PRIME = 1618033961
"""The sum of two residues up to half of it fits into 32 bits, their product into 64. It is near no
power of two, since constants are.
"""
SUM, DIFFERENCE, PRODUCT = range(3)
OPERATIONS = ("add", "add", "mul")
SPARE_BITS, LEAST_BITS, MOST_BITS = 3, 18, 26
"""Bits of a hash table of residues: how many more than its entries need, the least and the most."""
ALIKE = 12
"""Largest number of pairs of equal value that are used."""
MANY = 100
"""Largest number of ways of one target that are used."""
CHUNK = 500_000
"""Residues compared at once."""

Values = NDArray[np.int32]
Places = NDArray[np.int64]
Pair = tuple[int, int, int]
"""(SUM, DIFFERENCE or PRODUCT, indices of the two)."""
Single = tuple[int, str, int, int]
"""(target, operation, x, y)."""
Double = tuple[int, str, int, Way]
"""(target, operation, x, way of y)."""


def single(values: Sequence[int], targets: Sequence[int], among: Sequence[int]) -> list[Single]:
    """Return the targets that equal a sum, difference or product of two quantities in `among`."""
    if not targets:
        return []
    target_residues = _UnsignedResidues(values, targets).values
    pairs = _Pairs(
        _UnsignedResidues(values, among),
        range(len(among)),
        (SUM, DIFFERENCE, PRODUCT),
        _Table(target_residues),
    )
    order = np.argsort(target_residues, kind="stable")
    low, high = (
        np.searchsorted(target_residues[order], pairs.values, side) for side in ("left", "right")
    )
    matching = np.flatnonzero(high > low)
    result = []
    for first, end, (kind, a, b) in zip(
        low[matching].tolist(), high[matching].tolist(), pairs.decode(matching), strict=True
    ):
        for t in [targets[k] for k in order[first:end].tolist()]:
            if t not in (among[a], among[b]):
                result.append((t, OPERATIONS[kind], among[a], among[b]))
    return sorted(result)


def double(
    values: Sequence[int], targets: Sequence[int], among: Sequence[int], sums: bool = False
) -> list[Double]:
    """Return the targets that equal a sum or product of a quantity and of a sum or product of two
    more; all are in `among`.

    With `sums`, return only sums and differences of three.
    """
    if not targets:
        return []
    target_set = set(targets)
    among = [*targets, *(c for c in among if c not in target_set)]  # pairs with a target come first
    residues, m, n = _UnsignedResidues(values, among), len(targets), len(among)
    target_pairs = _Pairs(residues, range(m), (SUM, DIFFERENCE))
    pairs = [target_pairs, _Pairs(residues, range(m, n), (SUM, DIFFERENCE), target_pairs.table)]
    pairs += [] if sums else [_Pairs(residues, range(n), (PRODUCT,), target_pairs.table)]
    result = [
        (among[t], "add", among[x], _way(pair, among, residues))
        for group in _repeated(pairs)
        for t, x, pair in _sums_equal_to_pairs(group, m)
    ]
    result += [
        (among[t], "mul", among[x], _way(pair, among, residues))
        for t, x, pair in ([] if sums else _quotients(residues, m))
        if t not in (x, *pair[1:])
    ]
    return _limit_per_target(sorted(result))


def _sums_equal_to_pairs(group: Sequence[Pair], m: int) -> Iterator[tuple[int, int, Pair]]:
    """Return (t, x, pair) of pairs of equal value, where t ± x is one of them and t is one of the
    first m.
    """
    for pair in group:
        kind, a, b = pair
        if kind == PRODUCT or a == b:
            continue
        for t, x in ((a, b), (b, a)):
            if t < m:
                yield from ((t, x, y) for y in group if t not in y[1:])


def _limit_per_target(ways: list[Double]) -> list[Double]:
    """Return at most MANY ways of each target."""
    count: dict[int, int] = {}
    limited = []
    for way in ways:
        count[way[0]] = count.get(way[0], 0) + 1
        if count[way[0]] <= MANY:
            limited.append(way)
    return limited


def _way(pair: Pair, among: Sequence[int], residues: _UnsignedResidues) -> Way:
    kind, a, b = pair
    opposite = kind != PRODUCT and (kind == DIFFERENCE) != (
        residues.negated[a] != residues.negated[b]
    )
    return Way(OPERATIONS[kind], among[a], among[b], 1, -1 if opposite else 1)


class _UnsignedResidues:
    """Residues up to their sign; `negated` tells which are replaced by their negatives."""

    def __init__(self, values: Sequence[int], quantities: Sequence[int]) -> None:
        residues = np.array([values[c] for c in quantities], dtype=np.int64)
        self.wide = np.minimum(residues, PRIME - residues)
        self.negated: list[bool] = (self.wide != residues).tolist()
        self.values: Values = self.wide.astype(np.int32)


class _Table:
    """Hash table of residues: finds most that are not among its own."""

    def __init__(self, values: Values) -> None:
        bits = min(MOST_BITS, max(LEAST_BITS, len(values).bit_length() + SPARE_BITS))
        self._mask = np.int32((1 << bits) - 1)
        self._table = np.zeros(1 << bits, dtype=bool)
        self._table[values & self._mask] = True

    def hits(self, values: Values) -> Places:
        """Return the indices of values that may be in the table."""
        return np.flatnonzero(self._table[values & self._mask])


class _Pairs:
    """Sums, differences and products of pairs, whose first index is in `rows` and not above the
    second.
    """

    def __init__(
        self,
        residues: _UnsignedResidues,
        rows: range,
        kinds: Sequence[int],
        table: _Table | None = None,
    ) -> None:
        """Collect the pairs, only those with values in `table` if there is one."""
        n = self.count = len(residues.values)
        values, codes = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        step = max(1, CHUNK // max(1, n))
        for start in range(rows.start, rows.stop, step):
            stop = min(start + step, rows.stop)
            for kind in kinds:
                flat = _combined(residues, slice(start, stop), start, kind).ravel()
                indices = np.arange(len(flat)) if table is None else table.hits(flat)
                left, right = np.divmod(indices, n - start)
                upper = (left <= right) & (flat[indices] != 0)
                values.append(flat[indices[upper]])
                codes.append(((left[upper] + start) * n + right[upper] + start) * 3 + kind)
        self.values: Values = np.concatenate(values)
        self.codes: Places = np.concatenate(codes)

    @property
    def table(self) -> _Table:
        return _Table(self.values)

    def decode(self, indices: Places) -> list[Pair]:
        return _decode(self.codes[indices], self.count)


def _combined(residues: _UnsignedResidues, rows: slice, start: int, kind: int) -> Values:
    if kind == PRODUCT:
        return _canonical(residues.wide[rows, None] * residues.wide[None, start:] % PRIME)
    a, b = residues.values[rows, None], residues.values[None, start:]
    result: Values = np.minimum(a + b, PRIME - a - b) if kind == SUM else np.abs(a - b)
    return result


def _canonical(x: NDArray[np.int64]) -> Values:
    return np.minimum(x, PRIME - x).astype(np.int32)


def _decode(codes: Places, n: int) -> list[Pair]:
    pairs, kinds = np.divmod(codes, 3)
    left, right = np.divmod(pairs, n)
    return list(zip(kinds.tolist(), left.tolist(), right.tolist(), strict=True))


def _repeated(all_pairs: Sequence[_Pairs]) -> Iterator[list[Pair]]:
    """Yield the groups of pairs of equal value."""
    values, codes = (
        np.concatenate([pairs.values for pairs in all_pairs]),
        np.concatenate([pairs.codes for pairs in all_pairs]),
    )
    bits = min(MOST_BITS, len(values).bit_length() + SPARE_BITS // 2)
    cells = values & np.int32((1 << bits) - 1)
    last, shared = np.empty(1 << bits, dtype=np.int32), np.zeros(1 << bits, dtype=bool)
    order = np.arange(len(values), dtype=np.int32)
    last[cells] = order
    shared[cells[last[cells] != order]] = True
    shared_cells = np.flatnonzero(shared[cells])
    shared_cells = shared_cells[np.lexsort((codes[shared_cells], values[shared_cells]))]
    keys = values[shared_cells]
    sizes = np.diff(np.flatnonzero(keys[1:] != keys[:-1]) + 1, prepend=0, append=len(keys))
    number = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    used = (number < ALIKE) & (np.repeat(sizes, sizes) > 1)
    decoded = _decode(codes[shared_cells[used]], all_pairs[0].count)
    end = 0
    for size in np.minimum(sizes, ALIKE)[sizes > 1].tolist():
        start, end = end, end + size
        yield decoded[start:end]


def _quotients(residues: _UnsignedResidues, m: int) -> Iterator[tuple[int, int, Pair]]:
    """Yield (t, x, pair), where t is one of the first m and the pair may equal t/x."""
    n = len(residues.values)
    inverses = np.array([pow(v, -1, PRIME) for v in residues.wide.tolist()], dtype=np.int64)
    step = max(1, CHUNK // max(1, n))
    rests: Values = np.empty(m * n, np.int32)
    for start in range(0, m, step):
        dividends = residues.wide[start : min(start + step, m), None]
        rests[start * n : start * n + dividends.size * n] = _canonical(
            dividends * inverses[None, :] % PRIME
        ).ravel()
    pairs = _Pairs(residues, range(n), (SUM, DIFFERENCE, PRODUCT), _Table(rests))
    indices = pairs.table.hits(rests)
    matches = _Table(rests[indices]).hits(pairs.values)
    matches = matches[np.argsort(pairs.values[matches], kind="stable")]
    keys, decoded = pairs.values[matches], pairs.decode(matches)
    low, high = (np.searchsorted(keys, rests[indices], side) for side in ("left", "right"))
    matching = np.flatnonzero(high > low)
    for index, first, end in zip(
        indices[matching].tolist(), low[matching].tolist(), high[matching].tolist(), strict=True
    ):
        for pair in decoded[first : min(end, first + ALIKE)]:
            yield index // n, index % n, pair
