"""Division of a long function into parts.

A compiler's time grows faster than the length of a function. Therefore each part is a function with
its own locals. A local that later parts read is saved in the work array of the function that calls
the parts. A part loads values from the array before its statements and saves values after them. An
element that a part loads for the last time is free for a value that the same part saves.

Results may alias arguments. Therefore a part stores results only if later parts read no arguments.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

LONGEST = 5000
"""Largest number of rows of a function in one piece."""
LINES = 500
"""Approximate number of statements of a part."""
LONGEST_OF_MANY, LINES_OF_MANY = 3000, 60
"""LONGEST and LINES of a function whose body is in loops over lanes.

A compiler's time grows faster with the length of a loop than with the length of a function. Storing
a vector in the work array takes as long as spilling a register.
"""
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_NEAR = 8
"""Divisor of the length of a part: the distance by which a cut is moved to cross fewer values."""

Groups = Sequence[Mapping[str, Any]]
"""Locals, grouped under the comments of their steps by the writer."""


class Store(NamedTuple):
    """The store of a result, `name`[`element`] = `value`."""

    name: str
    element: int
    value: str


class Part(NamedTuple):
    """One part of a function.

    - `loads`: locals that it loads from the work array, each with its element of the array.
    - `groups`: statements.
    - `saves`: elements of the work array, each with the local that it saves there.
    - `stores`: stores of results.
    - `reads`: names of the arguments that it reads.
    """

    loads: tuple[tuple[str, int], ...]
    groups: list[dict[str, Any]]
    saves: tuple[tuple[int, str], ...]
    stores: tuple[Store, ...]
    reads: frozenset[str]


class Cut(NamedTuple):
    """A function in parts.

    - `parts`: the parts in their order.
    - `size`: the number of elements of the work array.
    - `places`: the element of each local in the work array.
    - `ends`: at index k the number of parts that the first k blocks have.
    """

    parts: tuple[Part, ...]
    size: int
    places: dict[str, int]
    ends: tuple[int, ...]


Line = tuple[str, Mapping[str, str]]
"""The comment of a step, and a local of the step."""


@dataclass(frozen=True)
class _Pieces:
    """The lines of each part, the words of its values, the arguments that it reads and the results
    that it stores.

    `piece_of` maps each local to the number of the part that declares it.
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
        """Return the pieces with the words that they read and the results that they store.

        A piece stores a result once the result is computed and no later piece reads an argument.
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
        """Yield the words in the values of piece n, then the results that it stores."""
        yield from self.words[n]
        yield from (store.value for store in self.stored[n])

    def last_uses(self) -> dict[str, int]:
        """Return for each local the number of the last piece that uses it."""
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
    """Return parts of about `length` statements; a function without statements has one part.

    No part has statements of two `blocks`. `arguments` are the names of the arguments.
    `block_counts` maps each local that the caller reads to the number of blocks before the read.
    All uses of an array, or of a local of type `pair`, are in the part that declares it.
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
    last_uses = pieces.last_uses()
    for name in pieces.piece_of.keys() & block_counts.keys():
        last_uses[name] = max(last_uses[name], ends[block_counts[name]])
    parts, size, places = _allocate(pieces, last_uses)
    return Cut(tuple(parts), size, places, tuple(ends))


def _allocate(
    pieces: _Pieces, last_uses: Mapping[str, int]
) -> tuple[list[Part], int, dict[str, int]]:
    """Return the parts, the size of the work array, and the element of each local in it.

    `last_uses` maps each local to the number of the last part that reads it. A local gets the
    lowest free element.
    """
    places: dict[str, int] = {}
    occupied: list[tuple[int, int]] = []
    free_elements: list[int] = []
    size, parts = 0, []
    for n, piece in enumerate(pieces.lines):
        while occupied and occupied[0][0] <= n:
            heapq.heappush(free_elements, heapq.heappop(occupied)[1])
        saves = []
        for _, line in piece:
            name = line["name"]
            if last_uses[name] > n:
                if not free_elements:
                    heapq.heappush(free_elements, size)
                    size += 1
                places[name] = heapq.heappop(free_elements)
                heapq.heappush(occupied, (last_uses[name], places[name]))
                saves.append((places[name], name))
        earlier_names = dict.fromkeys(
            name for name in pieces.used(n) if pieces.piece_of.get(name, n) < n
        )
        loads = tuple((name, places[name]) for name in earlier_names)
        stores = tuple(pieces.stored[n])
        parts.append(Part(loads, _grouped(piece), tuple(saves), stores, pieces.reads[n]))
    return parts, size, places


def _grouped(piece: Iterable[Line]) -> list[dict[str, Any]]:
    """Return lines as groups: consecutive locals of one step under its comment."""
    groups: list[dict[str, Any]] = []
    for comment, line in piece:
        if not groups or groups[-1]["comment"] != comment:
            groups.append({"comment": comment, "locals": []})
        groups[-1]["locals"].append(line)
    return groups


def _pieces(lines: list[Line], length: int, pair: str) -> list[list[Line]]:
    """Return lines in pieces of about equal length.

    A cut crosses few values, and no array and no local of type `pair`.
    """
    if not lines:
        return []
    count = -(-len(lines) // length)
    values, pairs = _crossings(lines, pair)
    piece_length = len(lines) / count
    distance = int(piece_length / _NEAR)
    cuts = [0]
    for k in range(1, count):
        middle = round(k * piece_length)
        window = [n for n in range(middle - distance, middle + distance + 1) if not pairs[n]]
        if window:
            cuts.append(min(window, key=lambda n: (values[n], abs(n - middle))))
    return [lines[start:end] for start, end in zip(cuts, [*cuts[1:], len(lines)], strict=True)]


def _crossings(lines: Sequence[Line], pair: str) -> tuple[list[int], list[int]]:
    """Return the number of values, and of arrays and pairs, that a cut before each line crosses."""
    names = [line["name"].partition("[")[0] for _, line in lines]
    last_uses = {name: n for n, name in enumerate(names)}
    for n, (_, line) in enumerate(lines):
        for word in _WORD.findall(line["value"]):
            if word in last_uses:
                last_uses[word] = n
    counts = []
    for counts_pairs in (False, True):
        changes = [0] * (len(lines) + 2)
        for n, (_, line) in enumerate(lines):
            if (line["kind"] == pair or line["name"] != names[n]) is counts_pairs:
                changes[n + 1] += 1
                changes[last_uses[names[n]] + 1] -= 1
        counts.append(list(accumulate(changes)))
    return counts[0], counts[1]
