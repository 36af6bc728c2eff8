"""Where a chain is cut into segments: into as many as each other's links, unless a segment's last links would be light by
themselves beside what stands behind them.
"""

from __future__ import annotations

from functools import lru_cache

from symgen.errors import OutOfReach
from symgen.mechanism import Mechanism
from symgen.reals import REALS
from symgen.segmented import even

GROUP, MOST = 1024, 8
"""Links of a group of segments, and how many groups there are at most. What a group keeps of so many stays near the processor."""
LIGHT = 100.0
"""Times that a joint may resist less without what is behind a cut, before another place is looked for. So much is within the
bound of `verify`, which counts the operations that follow each other.
"""
ASIDE = 3
"""Of a segment's links, that part to either side is looked through."""


def segments(mechanism: Mechanism, real: str) -> int:
    """How many segments a chain is cut into."""
    return REALS[real].lanes * max(1, min(MOST, mechanism.nv // GROUP))


@lru_cache(maxsize=16)
def cut(mechanism: Mechanism, count: int) -> tuple[tuple[int, ...], float]:
    """How many links each segment of a chain has, none where they are even, and how many times less a joint of a segment resists
    by itself than in the chain, the most. Raises OutOfReach where there is no cut before which all joints resist.
    """
    from symgen.reference.tails import tails  # NumPy, which a cached Program does without

    plain = even(len(mechanism.joints), count)
    aside, chain = max(1, plain[-1] // ASIDE), tails(mechanism)
    known: dict[int, float] = {}

    def freer(end: int) -> float:
        if end not in known:
            known[end] = chain.freer(end)
        return known[end]

    def best(near: int, first: int, last: int) -> int:
        """The end of a segment there, the nearest one that will do, or the one that does least harm."""
        several = sorted(range(first, last + 1), key=lambda end: (abs(end - near), end))
        return next((end for end in several if freer(end) <= LIGHT), min(several, key=freer))

    ends, at = [], 0
    for length in plain[:-1]:
        at += length
        ends.append(best(at, at - aside, at + aside))
    if ends:   # no segment is longer than the first
        longest = max(b - a for a, b in zip(ends, [*ends[1:], len(mechanism.joints)], strict=True))
        if ends[0] < longest:
            ends[0] = best(longest, longest, max(longest, ends[1] - 1 if len(ends) > 1 else longest))
    most = max((freer(end) for end in ends), default=1.0)
    if most == float("inf"):
        worst = max(ends, key=freer)
        raise OutOfReach(f"forward_dynamics of '{mechanism.name}' is not cut into {count} segments, since without what is behind "
                         f"link '{mechanism.bodies[worst - 1].name}', or near it, a joint moves nothing that is heavy; take "
                         "--method riccati")
    lengths = tuple(b - a for a, b in zip([0, *ends], [*ends, len(mechanism.joints)], strict=True))
    return (() if list(lengths) == plain else lengths), most


def larger(mechanism: Mechanism, real: str) -> float:
    """How many times larger the terms of segments are than those of the chain, but for LIGHT times."""
    return max(1.0, cut(mechanism, segments(mechanism, real))[1] / LIGHT)
