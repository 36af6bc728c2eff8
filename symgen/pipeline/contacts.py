"""Contact points of a robot: whether they are valid, and whether the contact forces are unique."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.support import cache
from symgen.support.errors import ArgumentError
from symgen.vocabulary.contacts import parse_contact
from symgen.vocabulary.functions import FUNCTIONS


def validate(mechanism: Mechanism, contacts: Iterable[str]) -> None:
    """Raise UnknownName for a link that the robot does not have, ArgumentError for a point that no
    joint moves.
    """
    named = tuple(contacts)
    for text in named:
        if mechanism.contact(text).body == BASE:
            raise ArgumentError(
                f"contact '{text}' of '{mechanism.name}': the base does not move; choose a link"
                " below a joint, or use --base free"
            )
    for text in _immovable(mechanism, named):
        raise ArgumentError(
            f"contact '{text}' of '{mechanism.name}': no joint moves this point, which lies on the"
            " axes of its joints; choose another point with --contact"
            f" {parse_contact(text).link}:x,y,z (m, in the link's frame)"
        )


@lru_cache(maxsize=64)
def _immovable(mechanism: Mechanism, contacts: tuple[str, ...]) -> tuple[str, ...]:
    if not contacts:
        return ()
    from symgen.reference.contacts import immovable  # NumPy, which a cached Program does without

    cached = cache.find("immovable", mechanism.content, contacts)
    if cached is None:
        cached = list(immovable(mechanism, contacts))
        cache.keep(cached, "immovable", mechanism.content, contacts)
    return tuple(cached)


def refusal(mechanism: Mechanism, function: str, contacts: tuple[str, ...]) -> str | None:
    """Return why a function of contacts does not exist if none is named, in one sentence; None if
    it exists.
    """
    if contacts or not FUNCTIONS[function].counts("NT"):
        return None
    return (
        f"{function} of '{mechanism.name}' needs contact points; name each with --contact LINK or"
        " --contact LINK:x,y,z"
    )


@lru_cache(maxsize=64)
def solve_count(mechanism: Mechanism, contacts: tuple[str, ...]) -> int:
    """Return the number of solves for the contact forces, with one elimination; see
    `symgen.reference.contacts`.
    """
    # NumPy, which a cached Program does without
    from symgen.reference.contacts import solve_count as compute
    from symgen.reference.mechanics import Reference

    cached = cache.find("solves", mechanism.content, contacts)
    if cached is None:
        cached = compute(mechanism, contacts, Reference)
        cache.keep(cached, "solves", mechanism.content, contacts)
    return int(cached)


def redundant(mechanism: Mechanism, contacts: tuple[str, ...]) -> bool:
    """True if forces of closed loops and of all contacts are redundant at every state: then the
    functions use minimum-norm forces.
    """
    return solve_count(mechanism, contacts) > 1
