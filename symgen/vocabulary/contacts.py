"""Contact points as users name them: LINK, or LINK:x,y,z (m) in the axes of the link's frame."""

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


def parse_contact(text: str) -> Contact:
    """Parse LINK or LINK:x,y,z. Raises ArgumentError if the point is not three numbers.

    Names of links may contain colons. The text after the last colon is a point if it contains a
    comma or is a number.
    """
    link, colon, point = text.rpartition(":")
    words = [word.strip() for word in point.split(",")]
    are_numbers = [_NUMBER.fullmatch(word) is not None for word in words]
    if not colon or not (len(words) > 1 or are_numbers[0]):
        return Contact(text)
    if len(words) != 3 or not all(are_numbers):
        raise ArgumentError(
            f"the contact '{printable(text, 60)}' does not give its point as three numbers; write"
            " LINK:x,y,z in m, as foot:0,0,-0.02, or LINK for the origin of its frame"
        )
    x, y, z = (Fraction(word) for word in words)
    return Contact(link, (x, y, z))


def validate_contacts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the contacts as written, without spaces. Raises ArgumentError if two contacts are the
    same point.
    """
    texts_by_contact: dict[Contact, str] = {}
    for text in (text.strip() for text in texts):
        contact = parse_contact(text)
        if contact in texts_by_contact:
            raise ArgumentError(
                f"the contacts '{printable(texts_by_contact[contact], 60)}' and"
                f" '{printable(text, 60)}' are the same point; name every point once"
            )
        point = "".join(text.rpartition(":")[2].split())
        texts_by_contact[contact] = text if text == contact.link else f"{contact.link}:{point}"
    return tuple(texts_by_contact.values())
