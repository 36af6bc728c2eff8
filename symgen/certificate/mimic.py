"""Mimic joints in the proofs: the bodies that an entry of v moves, its coupling in M, and the
ranges of followers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from symgen.mechanism.mechanism import Mechanism

Number = Fraction | float


class DrivenBody(NamedTuple):
    """A body whose joint moves at `rate` per unit of an entry of v, by velocity `of` of that joint."""

    body: int
    of: int
    rate: Fraction


@lru_cache(maxsize=64)
def driven_bodies(mechanism: Mechanism) -> tuple[tuple[DrivenBody, ...], ...]:
    """Return for each entry of v the bodies whose joints it moves, its own body first."""
    result = [[DrivenBody(body, velocity, Fraction(1))] for body, velocity in mechanism.dofs]
    for body, coupling in enumerate(mechanism.joint_couplings):
        if coupling is not None:
            result[mechanism.v_slices[coupling.leader].start].append(
                DrivenBody(body, 0, coupling.multiplier)
            )
    return tuple(map(tuple, result))


def ancestors(mechanism: Mechanism, body: int) -> list[int]:
    """Return the ancestors of a body, the nearest first."""
    result: list[int] = []
    while (body := mechanism.joints[body].parent) >= 0:
        result.append(body)
    return result


def first_entry(mechanism: Mechanism, body: int) -> int:
    """Return the first entry of v that moves a body's joint."""
    coupling = mechanism.joint_couplings[body]
    first: int = mechanism.v_slices[body if coupling is None else coupling.leader].start
    return first


@lru_cache(maxsize=64)
def pattern(mechanism: Mechanism) -> tuple[tuple[int, ...], ...]:
    """Return for each entry of v the entries up to it with a nonzero element of M, ascending.

    An element is nonzero if one entry moves bodies that the other one moves.
    """
    paths = [{body, *ancestors(mechanism, body)} for body in range(len(mechanism.bodies))]
    moved_bodies = [
        [driven_body.body for driven_body in bodies] for bodies in driven_bodies(mechanism)
    ]
    return tuple(
        tuple(
            i
            for i in range(j + 1)
            if any(f in paths[g] or g in paths[f] for f in moved_bodies[i] for g in moved_bodies[j])
        )
        for j in range(mechanism.nv)
    )


def filled_pattern(mechanism: Mechanism) -> list[list[int]]:
    """Return the pattern of M including the fill-in of its elimination from the last entry on."""
    rows = [set(row) for row in pattern(mechanism)]
    for j in reversed(range(len(rows))):
        above = rows[j] - {j}
        for k in above:
            rows[k] |= {i for i in above if i <= k}
    return [sorted(row) for row in rows]


def coupled_entries(mechanism: Mechanism, k: int) -> list[int]:
    """Return the entries of v from k on that are coupled with k, directly or through others from k
    on, ascending.
    """
    rows = pattern(mechanism)
    result, waiting = {k}, [k]
    while waiting:
        i = waiting.pop()
        neighbours = {
            j for j in range(k, len(rows)) if (i in rows[j] if i <= j else j in rows[i])
        } - result
        result |= neighbours
        waiting += neighbours
    return sorted(result)


def joint_ranges(
    mechanism: Mechanism, q: Sequence[tuple[Number, Number]], joint: int
) -> list[tuple[Fraction, Fraction]]:
    """Return the ranges of a joint's own coordinates, from those of q."""
    coupling = mechanism.joint_couplings[joint]
    if coupling is None:
        return [(Fraction(low), Fraction(high)) for low, high in q[mechanism.q_slices[joint]]]
    low, high = (
        coupling.multiplier * Fraction(end) + coupling.offset
        for end in q[mechanism.q_slices[coupling.leader].start]
    )
    return [(min(low, high), max(low, high))]
