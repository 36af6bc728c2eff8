"""What tells two declared things apart: a hash of all their numbers and names."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from fractions import Fraction
from typing import Any

LATER = ("drive", "friction_speed", "gravcomp", "loops", "start", "each")
"""Fields that declarations have not always had."""
NAMED = ("independent", "actuated")
"""Likewise, and alike in what they hold, so that their names are told with them."""


def content_of(value: Any, silent: tuple[str, ...] = ()) -> str:
    """Hash of all that a dataclass declares, except its `silent` fields and those that are not compared."""
    return hashlib.sha256(json.dumps(_told_fields(value, silent)).encode()).hexdigest()


def _told(value: Any) -> Any:
    """A declared value as plain JSON, every number whole: what two mechanisms differ in, this differs in.

    No repr is asked, since that is made for people and leaves things out.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, tuple):
        return [_told(one) for one in value]
    return [type(value).__name__, *_told_fields(value)]


def _told_fields(value: Any, silent: tuple[str, ...] = ()) -> list[Any]:
    """What later fields say is told where it is not their default, so that a mechanism without them is called what it was."""
    own = (
        (one, getattr(value, one.name))
        for one in fields(value)
        if one.compare and one.name not in silent
    )
    there = [
        (one, given)
        for one, given in own
        if one.name not in (*LATER, *NAMED) or given != one.default
    ]
    return [[one.name, _told(given)] if one.name in NAMED else _told(given) for one, given in there]
