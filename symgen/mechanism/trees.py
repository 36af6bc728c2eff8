"""Trees of nodes with indices: `parents[i]` is less than i, and is -1 for a child of the base. Each
function takes linear time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def children(parents: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the children of each node in ascending order; the last entry has the children of the
    base, node -1.
    """
    children_of: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for i, parent in enumerate(parents):
        children_of[parent].append(i)
    return tuple(map(tuple, children_of))


def depths(parents: Sequence[int]) -> list[int]:
    """Return the depth of each node: the number of nodes on the path from the base to it, itself
    included.
    """
    depths: list[int] = []
    for parent in parents:
        depths.append(1 + (depths[parent] if parent >= 0 else 0))
    return depths


def slices(sizes: Sequence[int]) -> tuple[slice, ...]:
    """Return consecutive slices of these sizes."""
    stops = accumulate(sizes)
    return tuple(slice(end - size, end) for size, end in zip(sizes, stops, strict=True))
