"""Cuts of a chain into segments: even, unless the last links of a segment are light compared with
the links behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import accumulate, pairwise

from symgen.ir.loops import even_lengths
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import OutOfReach
from symgen.vocabulary.reals import REALS

GROUP, MOST = 1024, 8
"""Links of a group of segments, and the maximum number of groups. The saved values of one group fit
into the processor's cache.
"""
LIGHT = 100.0
"""Largest accepted ratio of a joint's pivot in the whole chain to its pivot without the links
behind a cut. Up to this ratio the error is within the bound of `verify`, which counts the longest
chain of operations.
"""
ASIDE = 3
"""The cut is searched within this fraction of a segment's four or more links to either side, so
that two cuts do not meet.
"""


def segment_count(mechanism: Mechanism, real: str) -> int:
    """Return the number of segments of a chain."""
    return REALS[real].lanes * max(1, min(MOST, mechanism.nv // GROUP))


@lru_cache(maxsize=16)
def balanced_lengths(mechanism: Mechanism, count: int) -> tuple[tuple[int, ...], float]:
    """Return the number of links of each segment, and the largest pivot ratio between chain and
    segment.

    Raises OutOfReach if every cut leaves a joint with a zero pivot.
    """
    from symgen.reference.truncated_pivots import (
        tails,  # NumPy, which a cached Program does without
    )

    pivot_ratio = cache(tails(mechanism).largest_pivot_ratio)
    even = even_lengths(len(mechanism.joints), count)
    segment_ends = segment_stops(even, pivot_ratio)
    most = max(map(pivot_ratio, segment_ends[:-1]), default=1.0)
    if most == float("inf"):
        link = mechanism.bodies[max(segment_ends[:-1], key=pivot_ratio) - 1].name
        raise OutOfReach(
            f"forward_dynamics of '{mechanism.name}' cannot be cut into {count} segments: without"
            f" the links behind '{link}', or near it, a joint moves no inertia; use --method"
            " riccati"
        )
    return tuple(b - a for a, b in pairwise((0, *segment_ends))), most


def segment_stops(even_parts: Sequence[int], pivot_ratio: Callable[[int], float]) -> list[int]:
    """Return the index of the last link of each segment plus one; no segment is longer than the
    first.

    Each end is at its position in `even_parts`, or at the nearest one whose pivot ratio is
    accepted, or else at the one with the least ratio.
    """
    margin, total, count = max(1, even_parts[-1] // ASIDE), sum(even_parts), len(even_parts)
    segment_ends: list[int] = []
    for g, even_end in enumerate([*accumulate(even_parts)][:-1]):
        first, last = even_end - margin, even_end + margin
        if segment_ends:  # at most as long as the first one, and the rest fits
            first = max(first, total - (count - 1 - g) * segment_ends[0])
            last = min(last, segment_ends[-1] + segment_ends[0])
        else:
            first = even_end
        nearest_first = [
            end for _, end in sorted((abs(end - even_end), end) for end in range(first, last + 1))
        ]
        segment_ends.append(
            next(
                (end for end in nearest_first if pivot_ratio(end) <= LIGHT),
                min(nearest_first, key=pivot_ratio),
            )
        )
    return [*segment_ends, total]


def term_ratio(mechanism: Mechanism, real: str) -> float:
    """Ratio of a segment's terms to the chain's, above the accepted LIGHT; at least 1."""
    return max(1.0, balanced_lengths(mechanism, segment_count(mechanism, real))[1] / LIGHT)
