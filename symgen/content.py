"""What a declared value says, as plain JSON: what two mechanisms differ in, this differs in."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any


def told(value: Any) -> Any:
    """A declared value, every number whole.

    No repr is asked, since that is made for people and leaves things out.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, tuple):
        return [told(one) for one in value]
    return [type(value).__name__, *told_fields(value)]


def told_fields(value: Any, silent: tuple[str, ...] = ()) -> list[Any]:
    """What later fields say is told where it is not their default, so that a mechanism without them is called what it was."""
    own = ((one, getattr(value, one.name)) for one in fields(value) if one.name not in silent)
    return [told(given) for one, given in own if one.name not in _LATER or given != one.default]


_LATER = ("drive", "friction_speed", "loops", "start")
