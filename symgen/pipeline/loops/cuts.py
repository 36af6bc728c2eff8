"""Smallest cut of a graph of operands: the fewest rows on all paths from some rows to others
(Menger), by augmenting paths.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

UNLIMITED = 1 << 30
SOURCE, SINK = -1, -2


def least_cut(
    operands: Sequence[Sequence[int]], first: Collection[int], last: Collection[int]
) -> list[int]:
    """Return the fewest rows that separate `last` from `first`: every path between them leads
    through one.

    Of several choices the rows nearest to `last` are returned; rows of `first` and `last` may be
    among them. The operands of a row stand before it.
    """
    rows = sorted(behind(operands, last, first))
    capacity: dict[int, dict[int, int]] = {SOURCE: {}, SINK: {}}

    def add_edge(a: int, b: int, limit: int) -> None:
        capacity.setdefault(a, {})[b] = limit
        capacity.setdefault(b, {}).setdefault(a, 0)

    for k in rows:  # a row is two nodes, 2k and 2k + 1, with an edge for one path between them
        add_edge(2 * k, 2 * k + 1, 1)
        if k in first:
            add_edge(SOURCE, 2 * k, UNLIMITED)
        else:
            for a in operands[k]:
                add_edge(2 * a + 1, 2 * k, UNLIMITED)
        if k in last:
            add_edge(2 * k + 1, SINK, UNLIMITED)
    _augment(capacity)
    to_sink = _reaching_the_sink(capacity)
    return [k for k in rows if 2 * k + 1 in to_sink and 2 * k not in to_sink]


def behind(
    operands: Sequence[Sequence[int]], last: Collection[int], first: Collection[int] = ()
) -> set[int]:
    """Return the rows that `last` are computed from, and `last` themselves, no further back than
    `first`.
    """
    descendants: set[int] = set()
    waiting = list(last)
    while waiting:
        k = waiting.pop()
        if k not in descendants:
            descendants.add(k)
            if k not in first:
                waiting.extend(operands[k])
    return descendants


def _augment(capacity: dict[int, dict[int, int]]) -> None:
    """Add paths from source to sink, each by the shortest way, until there is none (Edmonds and
    Karp).
    """
    while True:
        came_from = {SOURCE: SOURCE}
        waiting = deque([SOURCE])
        while waiting and SINK not in came_from:
            a = waiting.popleft()
            for b, left in capacity[a].items():
                if left and b not in came_from:
                    came_from[b] = a
                    waiting.append(b)
        if SINK not in came_from:
            return
        b = SINK
        while b != SOURCE:
            a = came_from[b]
            capacity[a][b] -= 1
            capacity[b][a] += 1
            b = a


def _reaching_the_sink(capacity: dict[int, dict[int, int]]) -> set[int]:
    """Return the nodes from which capacity is left all the way to the sink."""
    sources: dict[int, list[int]] = {}
    for a, ends in capacity.items():
        for b, left in ends.items():
            if left:
                sources.setdefault(b, []).append(a)
    reached = {SINK}
    waiting = deque([SINK])
    while waiting:
        for a in sources.get(waiting.popleft(), ()):
            if a not in reached:
                reached.add(a)
                waiting.append(a)
    return reached
