"""Mimic joints in the proofs: the bodies that each entry of v moves, the nonzero pattern of M, and
the ranges of followers.

An entry of v moves the joint of its own body and the joints of the followers that mimic this joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from symgen.mechanism.mechanism import Mechanism

Number = Fraction | float


class DrivenBody(NamedTuple):
    """A body whose joint is moved by an entry of v: at `rate` per unit of the entry, along degree
    of freedom `column` of the joint.
    """

    body: int
    column: int
    rate: Fraction


@lru_cache(maxsize=64)
def driven_bodies(mechanism: Mechanism) -> tuple[tuple[DrivenBody, ...], ...]:
    """Return for each entry of v the bodies whose joints it moves, its own body first."""
    result = [[DrivenBody(body, column, Fraction(1))] for body, column in mechanism.dofs]
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
    entry: int = mechanism.v_slices[body if coupling is None else coupling.leader].start
    return entry


@lru_cache(maxsize=64)
def mass_matrix_pattern(mechanism: Mechanism) -> tuple[tuple[int, ...], ...]:
    """Return for each row of M the columns of its nonzero elements up to the diagonal, ascending.

    The element of two entries of v is nonzero if some body is moved by both: the body of a joint
    that one entry moves is the body of a joint that the other entry moves, or its descendant.
    """
    paths = [{body, *ancestors(mechanism, body)} for body in range(len(mechanism.bodies))]
    joint_bodies = [
        [driven_body.body for driven_body in bodies] for bodies in driven_bodies(mechanism)
    ]

    def is_nonzero(i: int, j: int) -> bool:
        return any(a in paths[b] or b in paths[a] for a in joint_bodies[i] for b in joint_bodies[j])

    return tuple(
        tuple(column for column in range(row + 1) if is_nonzero(column, row))
        for row in range(mechanism.nv)
    )


def filled_pattern(mechanism: Mechanism) -> list[list[int]]:
    """Return `mass_matrix_pattern` with the fill-in of an elimination from the last row on."""
    rows = [set(row) for row in mass_matrix_pattern(mechanism)]
    for pivot in reversed(range(len(rows))):
        columns = rows[pivot] - {pivot}
        for k in columns:
            rows[k] |= {i for i in columns if i <= k}
    return [sorted(row) for row in rows]


def coupled_entries(mechanism: Mechanism, k: int) -> list[int]:
    """Return the entries of v that are coupled with entry k in the trailing block of M from k on,
    directly or through other entries of this block, ascending.
    """
    rows = mass_matrix_pattern(mechanism)
    coupled, unvisited = {k}, [k]
    while unvisited:
        i = unvisited.pop()
        neighbours = {j for j in range(k, len(rows)) if min(i, j) in rows[max(i, j)]} - coupled
        coupled |= neighbours
        unvisited += neighbours
    return sorted(coupled)


def joint_ranges(
    mechanism: Mechanism, q: Sequence[tuple[Number, Number]], joint: int
) -> list[tuple[Fraction, Fraction]]:
    """Return the least and largest value of each coordinate of a joint, from those of the entries
    of q; a follower's from the range of its leader.
    """
    coupling = mechanism.joint_couplings[joint]
    if coupling is None:
        return [(Fraction(low), Fraction(high)) for low, high in q[mechanism.q_slices[joint]]]
    low, high = (
        coupling.multiplier * Fraction(end) + coupling.offset
        for end in q[mechanism.q_slices[coupling.leader].start]
    )
    return [(min(low, high), max(low, high))]
