"""Points that may touch something: whether a robot has them, and whether it can hold all of them still in one way only."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.support import cache
from symgen.support.errors import ArgumentError
from symgen.vocabulary.contacts import parse_contact
from symgen.vocabulary.functions import FUNCTIONS


def validate(mechanism: Mechanism, contacts: Iterable[str]) -> None:
    """UnknownName for a link that the robot has not, ArgumentError for a point that no joint moves."""
    named = tuple(contacts)
    for text in named:
        if mechanism.contact(text).body == BASE:
            raise ArgumentError(
                f"the contact '{text}' of '{mechanism.name}' is on its base, which nothing moves; name a link "
                "that a joint carries, or let the base move with --base free"
            )
    for text in _immovable(mechanism, named):
        raise ArgumentError(
            f"no joint moves the contact '{text}' of '{mechanism.name}', which lies on the axes of those that "
            f"carry it; move it with --contact {parse_contact(text).link}:x,y,z (m, in the link's frame)"
        )


@lru_cache(maxsize=64)
def _immovable(mechanism: Mechanism, contacts: tuple[str, ...]) -> tuple[str, ...]:
    if not contacts:
        return ()
    from symgen.reference.contacts import immovable  # NumPy, which a cached Program does without

    known = cache.find("immovable", mechanism.content, contacts)
    if known is None:
        known = list(immovable(mechanism, contacts))
        cache.keep(known, "immovable", mechanism.content, contacts)
    return tuple(known)


def refusal(mechanism: Mechanism, function: str, contacts: tuple[str, ...]) -> str | None:
    """Why a function of contacts does not exist without any, in one sentence; None when it does."""
    if contacts or not FUNCTIONS[function].counts("NT"):
        return None
    return (
        f"{function} of '{mechanism.name}' is about points that touch something, and none is named; name each with "
        "--contact LINK or --contact LINK:x,y,z"
    )


@lru_cache(maxsize=64)
def solve_count(mechanism: Mechanism, contacts: tuple[str, ...]) -> int:
    """How often forces are solved for, with one elimination; see `symgen.reference.contacts`."""
    from symgen.reference.contacts import (
        solve_count as count,
    )  # NumPy, which a cached Program does without
    from symgen.reference.mechanics import Reference

    known = cache.find("solves", mechanism.content, contacts)
    if known is None:
        known = count(mechanism, contacts, Reference)
        cache.keep(known, "solves", mechanism.content, contacts)
    return int(known)


def redundant(mechanism: Mechanism, contacts: tuple[str, ...]) -> bool:
    """Whether forces of loops and at all contacts at once can do nothing, at any state: then the least forces are taken."""
    return solve_count(mechanism, contacts) > 1
