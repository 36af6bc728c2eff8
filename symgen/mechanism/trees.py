"""Trees by index: `parents[i]` stands before i, and is -1 where it is the base. Every answer takes time as they have nodes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def children(parents: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Of each node, and last of the base, which is node -1, those whose parent it is, ascending."""
    found: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for i, parent in enumerate(parents):
        found[parent].append(i)
    return tuple(map(tuple, found))


def depths(parents: Sequence[int]) -> list[int]:
    """Of each node, how many stand between it and the base, itself among them."""
    found: list[int] = []
    for parent in parents:
        found.append(1 + (found[parent] if parent >= 0 else 0))
    return found


def slices(sizes: Sequence[int]) -> tuple[slice, ...]:
    """Consecutive slices of these sizes."""
    ends = accumulate(sizes)
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True))
