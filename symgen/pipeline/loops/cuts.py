"""The fewest values that separate what was computed before from what is computed after: Menger's theorem, by augmenting paths."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

MANY = 1 << 30
SOURCE, SINK = -1, -2


def least_cut(
    takes: Sequence[Sequence[int]], first: Collection[int], last: Collection[int]
) -> list[int]:
    """Rows, as few as can be, through one of which every way from `first` to `last` leads; of several choices those nearest to
    `last`. Rows of `first` and `last` may be among them. `takes` are each row's operands, which stand before it.
    """
    ways = sorted(behind(takes, last, first))
    room: dict[int, dict[int, int]] = {SOURCE: {}, SINK: {}}

    def edge(a: int, b: int, much: int) -> None:
        room.setdefault(a, {})[b] = much
        room.setdefault(b, {}).setdefault(a, 0)

    for k in ways:  # a row is two nodes, 2k and 2k + 1, with a place for one way between them
        edge(2 * k, 2 * k + 1, 1)
        if k in first:
            edge(SOURCE, 2 * k, MANY)
        else:
            for a in takes[k]:
                edge(2 * a + 1, 2 * k, MANY)
        if k in last:
            edge(2 * k + 1, SINK, MANY)
    _fill(room)
    open_ends = _reaching_the_sink(room)
    return [k for k in ways if 2 * k + 1 in open_ends and 2 * k not in open_ends]


def behind(
    takes: Sequence[Sequence[int]], last: Collection[int], first: Collection[int] = ()
) -> set[int]:
    """The rows that `last` are made of, no further back than `first`, and `last` themselves."""
    found: set[int] = set()
    waiting = list(last)
    while waiting:
        k = waiting.pop()
        if k not in found:
            found.add(k)
            if k not in first:
                waiting.extend(takes[k])
    return found


def _fill(room: dict[int, dict[int, int]]) -> None:
    """As many ways as there are, one after the other, each by the shortest (Edmonds and Karp)."""
    while True:
        came = {SOURCE: SOURCE}
        waiting = deque([SOURCE])
        while waiting and SINK not in came:
            a = waiting.popleft()
            for b, left in room[a].items():
                if left and b not in came:
                    came[b] = a
                    waiting.append(b)
        if SINK not in came:
            return
        b = SINK
        while b != SOURCE:
            a = came[b]
            room[a][b] -= 1
            room[b][a] += 1
            b = a


def _reaching_the_sink(room: dict[int, dict[int, int]]) -> set[int]:
    before: dict[int, list[int]] = {}
    for a, ends in room.items():
        for b, left in ends.items():
            if left:
                before.setdefault(b, []).append(a)
    found = {SINK}
    waiting = deque([SINK])
    while waiting:
        for a in before.get(waiting.popleft(), ()):
            if a not in found:
                found.add(a)
                waiting.append(a)
    return found
