"""WHAT as text: a letter, the indices of an entry or a block, and behind a block the place in it: M[1,2], P[2], P[2][0,5]."""

from __future__ import annotations

import re
from dataclasses import dataclass

from symgen.errors import ArgumentError, UnknownName
from symgen.mechanism import Mechanism

_WHAT = re.compile(r"\s*([A-Za-z]\w*)\s*(?:\[([^\[\]]*)\]\s*)?(?:\[([^\[\]]*)\]\s*)?")


@dataclass(frozen=True)
class Words:
    """A request taken apart: None where no brackets stood."""

    what: str
    letter: str
    indices: tuple[str, ...] | None
    place: tuple[str, ...] | None


def taken_apart(what: str) -> Words | None:
    """None where it is no letter with brackets."""
    found = _WHAT.fullmatch(what)
    if found is None:
        return None
    inside = [None if part is None else tuple(word.strip() for word in part.split(",")) for part in (found[2], found[3])]
    return Words(what.strip(), found[1], inside[0], inside[1])


def counted(words: Words, given: tuple[str, ...], takes: int) -> None:
    """RequestError unless so many indices were given."""
    if len(given) != takes:
        raise ArgumentError(f"'{words.what}' has {len(given)} indices, {words.letter} takes {takes}")


def joint(mechanism: Mechanism, text: str) -> int:
    """A joint by its number from 0 or its name."""
    if not re.fullmatch(r"-?\d{1,6}", text):
        return mechanism.joint_index(text)
    if not 0 <= int(text) < mechanism.nv:
        raise UnknownName(f"index {text} is outside this robot's joints; they count from 0 to {mechanism.nv - 1}")
    return int(text)


def plain(text: str, size: int, of: str) -> int:
    """A row or a column by its number from 0."""
    if not re.fullmatch(r"-?\d{1,6}", text) or not 0 <= int(text) < size:
        raise UnknownName(f"index '{text}' is outside {of}, which counts from 0 to {size - 1}")
    return int(text)
