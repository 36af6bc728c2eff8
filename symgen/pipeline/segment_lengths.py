"""Where a chain is cut into segments: evenly, unless a segment's last links would be light by themselves beside what stands
behind them.
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
"""Links of a group of segments, and how many groups there are at most. What a group keeps of so many stays near the processor."""
LIGHT = 100.0
"""Times that a joint may resist less without what is behind a cut, before another place is looked for. So much is within the
bound of `verify`, which counts the operations that follow each other.
"""
ASIDE = 3
"""Of a segment's links, of which there are four or more, that part to either side is looked through: two cuts do not meet."""


def segments(mechanism: Mechanism, real: str) -> int:
    """How many segments a chain is cut into."""
    return REALS[real].lanes * max(1, min(MOST, mechanism.nv // GROUP))


@lru_cache(maxsize=16)
def cut(mechanism: Mechanism, count: int) -> tuple[tuple[int, ...], float]:
    """How many links each segment of a chain has, and how many times less a joint of a segment resists
    by itself than in the chain, the most. Raises OutOfReach where there is no cut before which all joints resist.
    """
    from symgen.reference.truncated_pivots import (
        tails,  # NumPy, which a cached Program does without
    )

    freer = cache(tails(mechanism).freer)
    plain = even_lengths(len(mechanism.joints), count)
    found = ends(plain, freer)
    most = max(map(freer, found[:-1]), default=1.0)
    if most == float("inf"):
        last = mechanism.bodies[max(found[:-1], key=freer) - 1].name
        raise OutOfReach(
            f"forward_dynamics of '{mechanism.name}' is not cut into {count} segments, since without what is behind "
            f"link '{last}', or near it, a joint moves nothing that is heavy; take --method riccati"
        )
    return tuple(b - a for a, b in pairwise((0, *found))), most


def ends(plain: Sequence[int], freer: Callable[[int], float]) -> list[int]:
    """Behind how many links each segment ends, of which none is longer than the first: where `plain` lengths have it, or at the
    nearest place that is as good as others need be, or that does least harm.
    """
    aside, whole, count = max(1, plain[-1] // ASIDE), sum(plain), len(plain)
    found: list[int] = []
    for g, near in enumerate([*accumulate(plain)][:-1]):
        first, last = near - aside, near + aside
        if found:  # no longer than the first one, and the rest has room
            first = max(first, whole - (count - 1 - g) * found[0])
            last = min(last, found[-1] + found[0])
        else:
            first = near
        several = [
            end for _, end in sorted((abs(end - near), end) for end in range(first, last + 1))
        ]
        found.append(next((end for end in several if freer(end) <= LIGHT), min(several, key=freer)))
    return [*found, whole]


def larger(mechanism: Mechanism, real: str) -> float:
    """How many times larger the terms of segments are than those of the chain, but for LIGHT times."""
    return max(1.0, cut(mechanism, segments(mechanism, real))[1] / LIGHT)
