"""Reasons that several names share, each said once."""

from __future__ import annotations

from collections.abc import Mapping


def said_once(refused: Mapping[str, str]) -> list[str]:
    """A line a reason of {name: why}, in order; of names whose reasons differ in nothing but the name, the first one's."""
    groups: dict[str, list[str]] = {}
    for name, why in refused.items():
        groups.setdefault(why.removeprefix(name), []).append(name)
    lines = []
    for first, *others in groups.values():
        why = refused[first]
        line = why if why.startswith(first) else f"{first}: {why}"
        lines.append(line + (f"; likewise {', '.join(others)}" if others else ""))
    return lines
