"""Each reason once, also when several names share it."""

from __future__ import annotations

from collections.abc import Mapping


def said_once(refused: Mapping[str, str]) -> list[str]:
    """One line for each reason in {name: why}, in order. Where reasons differ only in the name, the first one's is given."""
    groups: dict[str, list[str]] = {}
    for name, why in refused.items():
        groups.setdefault(why.removeprefix(name), []).append(name)
    lines = []
    for first, *others in groups.values():
        why = refused[first]
        line = why if why.startswith(first) else f"{first}: {why}"
        lines.append(line + (f"; likewise {', '.join(others)}" if others else ""))
    return lines
