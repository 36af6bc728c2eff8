"""A long function cut into parts: which statements each part holds, and what goes from one to the
next.

A compiler's time grows faster than the length of a function. Each part is a function of its own,
with its own locals. A local that later parts read is kept in the work array of the function that
calls the parts. A part takes from the array before its statements and puts into it behind them. So
an element that a part reads for the last time can be used again by that part.

Results may alias arguments. So a part stores results only where no later part reads an argument.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

LONGEST = 5000
"""Rows of a function that stays in one piece."""
LINES = 500
"""Statements of a part, about."""
LONGEST_OF_MANY, LINES_OF_MANY = 3000, 60
"""Limits of a function whose body is in loops over lanes.

A compiler's time grows faster with the length of a loop, and a vector is stored in the work array
as quickly as in a spilled register.
"""
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_NEAR = 8
"""A cut is moved by at most this share of a part to where fewer values go across."""

Groups = Sequence[Mapping[str, Any]]
"""Locals under the comments of their steps, as the writer gives them."""


class Store(NamedTuple):
    """`name`[`element`] = `value`."""

    name: str
    element: int
    value: str


class Part(NamedTuple):
    """One part: `takes` (local, place in the work array), its statements, `puts` (place, local),
    and the results it stores.

    `reads` are the arguments it reads, in no order.
    """

    takes: tuple[tuple[str, int], ...]
    groups: list[dict[str, Any]]
    puts: tuple[tuple[int, str], ...]
    stores: tuple[Store, ...]
    reads: frozenset[str]


class Cut(NamedTuple):
    """The parts in their order, the size of the work array, and the element of every local that has
    one.

    `ends` counts the parts of the first blocks: of none, of one, and so on.
    """

    parts: tuple[Part, ...]
    size: int
    places: dict[str, int]
    ends: tuple[int, ...]


Line = tuple[str, Mapping[str, str]]
"""A local under the comment of its step."""


@dataclass(frozen=True)
class _Pieces:
    """Lines by part; the arguments that each part reads, the results that it stores, and where each
    local begins.
    """

    lines: Sequence[Sequence[Line]]
    words: Sequence[Sequence[str]]
    reads: Sequence[frozenset[str]]
    stored: Sequence[Sequence[Store]]
    piece_of: Mapping[str, int]

    @classmethod
    def of(
        cls,
        lines: Sequence[Sequence[Line]],
        arguments: Collection[str],
        stores: Iterable[Store],
    ) -> _Pieces:
        """Read the words of each piece; a result is stored where it is known and no later piece
        reads an argument.
        """
        words = [
            [word for _, line in piece for word in _WORD.findall(line["value"])] for piece in lines
        ]
        piece_of = {line["name"]: n for n, piece in enumerate(lines) for _, line in piece}
        reads = [frozenset(word for word in piece if word in arguments) for piece in words]
        first = max((n for n, names in enumerate(reads) if names), default=0)
        stored: list[list[Store]] = [[] for _ in lines]
        for store in stores:
            stored[max(first, piece_of.get(store.value, first))].append(store)
        return cls(lines, words, reads, stored, piece_of)

    def used(self, n: int) -> Iterator[str]:
        """Words of the values of piece n, then of the results that it stores."""
        yield from self.words[n]
        yield from (store.value for store in self.stored[n])

    def last_uses(self) -> dict[str, int]:
        """For each local, the last piece that uses it."""
        last = dict(self.piece_of)
        for n in range(len(self.lines)):
            for name in self.used(n):
                if name in last:
                    last[name] = max(last[name], n)
        return last


def cut(
    blocks: Sequence[Groups],
    length: int,
    arguments: Collection[str],
    stores: Iterable[Store],
    block_counts: Mapping[str, int],
    pair: str = "",
) -> Cut:
    """Parts of about `length` statements. No part holds statements of two `blocks`; without any
    statement there is one part.

    `arguments` are the names of the arguments. `block_counts` maps each local that
    the caller reads to the number of blocks before the read.
    `pair` is the type of a local that does not go across, as an array does not.
    """
    lines: list[list[Line]] = []
    ends = [0]
    for groups in blocks:
        block = [(group["comment"], line) for group in groups for line in group["locals"]]
        lines += _pieces(block, length, pair)
        ends.append(len(lines))
    if not lines:
        lines, ends[-1] = [[]], 1
    pieces = _Pieces.of(lines, arguments, stores)
    last = pieces.last_uses()
    for name in pieces.piece_of.keys() & block_counts.keys():
        last[name] = max(last[name], ends[block_counts[name]])
    parts, size, places = _allocate(pieces, last)
    return Cut(tuple(parts), size, places, tuple(ends))


def _allocate(pieces: _Pieces, last: Mapping[str, int]) -> tuple[list[Part], int, dict[str, int]]:
    """The parts, with places in the work array for what goes across: each the lowest free one."""
    places: dict[str, int] = {}
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    size, parts = 0, []
    for n, piece in enumerate(pieces.lines):
        while busy and busy[0][0] <= n:
            heapq.heappush(free, heapq.heappop(busy)[1])
        puts = []
        for _, line in piece:
            name = line["name"]
            if last[name] > n:
                if not free:
                    heapq.heappush(free, size)
                    size += 1
                places[name] = heapq.heappop(free)
                heapq.heappush(busy, (last[name], places[name]))
                puts.append((places[name], name))
        earlier_names = dict.fromkeys(
            name for name in pieces.used(n) if pieces.piece_of.get(name, n) < n
        )
        takes = tuple((name, places[name]) for name in earlier_names)
        stores = tuple(pieces.stored[n])
        parts.append(Part(takes, _grouped(piece), tuple(puts), stores, pieces.reads[n]))
    return parts, size, places


def _grouped(piece: Iterable[Line]) -> list[dict[str, Any]]:
    """Statements under the comments of their steps again."""
    groups: list[dict[str, Any]] = []
    for comment, line in piece:
        if not groups or groups[-1]["comment"] != comment:
            groups.append({"comment": comment, "locals": []})
        groups[-1]["locals"].append(line)
    return groups


def _pieces(lines: list[Line], length: int, pair: str) -> list[list[Line]]:
    """Lines in pieces of about equal length, cut where few values go across and no pair does."""
    if not lines:
        return []
    count = -(-len(lines) // length)
    across, torn = _across(lines, pair)
    piece_length = len(lines) / count
    near = int(piece_length / _NEAR)
    cuts = [0]
    for k in range(1, count):
        middle = round(k * piece_length)
        around = [at for at in range(middle - near, middle + near + 1) if not torn[at]]
        if around:
            cuts.append(min(around, key=lambda at: (across[at], abs(at - middle))))
    return [lines[begin:end] for begin, end in zip(cuts, [*cuts[1:], len(lines)], strict=True)]


def _across(lines: Sequence[Line], pair: str) -> tuple[list[int], list[int]]:
    """How many values, and how many pairs and arrays, go across the place before each line."""
    names = [line["name"].partition("[")[0] for _, line in lines]
    begins = {name: n for n, name in enumerate(names)}
    ends = dict(begins)
    for n, (_, line) in enumerate(lines):
        for word in _WORD.findall(line["value"]):
            if word in ends:
                ends[word] = n
    counts = []
    for pairs in (False, True):
        steps = [0] * (len(lines) + 2)
        for n, (_, line) in enumerate(lines):
            if (line["kind"] == pair or line["name"] != names[n]) is pairs:
                steps[n + 1] += 1
                steps[ends[names[n]] + 1] -= 1
        counts.append(list(accumulate(steps)))
    return counts[0], counts[1]
