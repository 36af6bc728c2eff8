"""Points of links that may touch something, as users name them: LINK, or LINK:x,y,z (m) in the axes of the link's frame."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from symgen.support.errors import ArgumentError, printable
from symgen.vocabulary.poses import ZERO3, Vector3

_NUMBER = re.compile(r"[+-]?(\d{1,30}\.?\d{0,30}|\.\d{1,30})([eE][+-]?\d{1,2})?")


class Contact(NamedTuple):
    """A point fixed to a link, in its declared frame (m)."""

    link: str
    point: Vector3 = ZERO3


def told(text: str) -> Contact:
    """What LINK or LINK:x,y,z names; ArgumentError where the point is no three numbers.

    A name may have colons: a point is what follows the last one, where that has a comma or is a number.
    """
    link, colon, written = text.rpartition(":")
    words = [word.strip() for word in written.split(",")]
    numbers = [_NUMBER.fullmatch(word) is not None for word in words]
    if not colon or not (len(words) > 1 or numbers[0]):
        return Contact(text)
    if len(words) != 3 or not all(numbers):
        raise ArgumentError(
            f"the contact '{printable(text, 60)}' does not give its point as three numbers; write LINK:x,y,z in "
            "m, as foot:0,0,-0.02, or LINK for the origin of its frame"
        )
    x, y, z = (Fraction(word) for word in words)
    return Contact(link, (x, y, z))


def settled(texts: Iterable[str]) -> tuple[str, ...]:
    """The contacts as they are written down, without spaces; ArgumentError where two are the same point of a link."""
    found: dict[Contact, str] = {}
    for text in (one.strip() for one in texts):
        contact = told(text)
        if contact in found:
            raise ArgumentError(
                f"the contacts '{printable(found[contact], 60)}' and '{printable(text, 60)}' are the same point; "
                "name every point once"
            )
        _, _, written = (
            text.rpartition(":") if contact.point != ZERO3 or text != contact.link else ("", "", "")
        )
        found[contact] = f"{contact.link}:{''.join(written.split())}" if written else contact.link
    return tuple(found.values())
