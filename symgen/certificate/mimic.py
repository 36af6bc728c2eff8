"""Joints that follow others, to the proofs: what an entry of v moves, what M couples it with, and the range of a follower."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from symgen.mechanism.mechanism import Mechanism

Number = Fraction | float


class Driven(NamedTuple):
    """A body whose joint moves at `rate` for a unit of an entry of v, by velocity `of` of that joint."""

    body: int
    of: int
    rate: Fraction


@lru_cache(maxsize=64)
def driven(mechanism: Mechanism) -> tuple[tuple[Driven, ...], ...]:
    """Of each entry of v the bodies whose joints go by it, its own first."""
    found = [[Driven(body, of, Fraction(1))] for body, of in mechanism.dofs]
    for body, follows in enumerate(mechanism.follows):
        if follows is not None:
            found[mechanism.v_slices[follows.leader].start].append(
                Driven(body, 0, follows.multiplier)
            )
    return tuple(map(tuple, found))


def ancestors(mechanism: Mechanism, body: int) -> list[int]:
    """The bodies that carry a body, the nearest first."""
    found: list[int] = []
    while (body := mechanism.joints[body].parent) >= 0:
        found.append(body)
    return found


def entry(mechanism: Mechanism, body: int) -> int:
    """The first entry of v that a body's joint goes by."""
    follows = mechanism.follows[body]
    first: int = mechanism.v_slices[body if follows is None else follows.leader].start
    return first


@lru_cache(maxsize=64)
def pattern(mechanism: Mechanism) -> tuple[tuple[int, ...], ...]:
    """Of each entry of v, those up to it that M does not vanish with: one moves what the other one moves. Ascending."""
    ways = [{body, *ancestors(mechanism, body)} for body in range(len(mechanism.bodies))]
    moved = [[one.body for one in bodies] for bodies in driven(mechanism)]
    return tuple(
        tuple(
            i
            for i in range(j + 1)
            if any(f in ways[g] or g in ways[f] for f in moved[i] for g in moved[j])
        )
        for j in range(mechanism.nv)
    )


def filled(mechanism: Mechanism) -> list[list[int]]:
    """The same of M and of what its elimination from the last entry on leaves of it."""
    rows = [set(row) for row in pattern(mechanism)]
    for j in reversed(range(len(rows))):
        above = rows[j] - {j}
        for k in above:
            rows[k] |= {i for i in above if i <= k}
    return [sorted(row) for row in rows]


def together(mechanism: Mechanism, k: int) -> list[int]:
    """The entries of v from k on that move with k, directly or by way of others from k on, ascending."""
    rows = pattern(mechanism)
    found, waiting = {k}, [k]
    while waiting:
        i = waiting.pop()
        near = {
            j for j in range(k, len(rows)) if (i in rows[j] if i <= j else j in rows[i])
        } - found
        found |= near
        waiting += near
    return sorted(found)


def own_ranges(
    mechanism: Mechanism, q: Sequence[tuple[Number, Number]], joint: int
) -> list[tuple[Fraction, Fraction]]:
    """The ranges of a joint's own coordinates, from those of q."""
    follows = mechanism.follows[joint]
    if follows is None:
        return [(Fraction(low), Fraction(high)) for low, high in q[mechanism.q_slices[joint]]]
    low, high = (
        follows.multiplier * Fraction(end) + follows.offset
        for end in q[mechanism.q_slices[follows.leader].start]
    )
    return [(min(low, high), max(low, high))]
