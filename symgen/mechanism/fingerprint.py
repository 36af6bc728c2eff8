"""Hash of all numbers and names that a mechanism declares."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from fractions import Fraction
from typing import Any

LATER = ("drive", "friction_speed", "gravcomp", "loops", "start", "each")
"""Fields added later. They enter the hash only where they are not default, so that old hashes stay valid."""
NAMED = ("independent", "actuated")
"""Further fields added later. Both hold the same type, so that their names enter the hash too."""


def content_of(value: Any, silent: tuple[str, ...] = ()) -> str:
    """Hash all that a dataclass declares, except its `silent` fields and those that are not compared."""
    return hashlib.sha256(json.dumps(_plain_fields(value, silent)).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Write a declared value as plain JSON with whole numbers, different for different values.

    The repr is not used: it is made for people and leaves things out.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return [type(value).__name__, *_plain_fields(value)]


def _plain_fields(value: Any, silent: tuple[str, ...] = ()) -> list[Any]:
    """Write the fields that are compared; of LATER and NAMED only those that are not default."""
    plain = []
    for field in fields(value):
        entry = getattr(value, field.name)
        is_default = field.name in (*LATER, *NAMED) and entry == field.default
        if field.compare and field.name not in silent and not is_default:
            plain.append([field.name, _plain(entry)] if field.name in NAMED else _plain(entry))
    return plain
