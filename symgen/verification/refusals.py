"""Grouping of equal reasons for several functions."""

from __future__ import annotations

from collections.abc import Mapping


def lines_by_reason(refused: Mapping[str, str]) -> list[str]:
    """Return one line for each reason in {name: why}, in order.

    If reasons differ only in the name, the line has the first name's reason and lists the other
    names.
    """
    groups: dict[str, list[str]] = {}
    for name, why in refused.items():
        groups.setdefault(why.removeprefix(name), []).append(name)
    lines = []
    for first, *more_names in groups.values():
        why = refused[first]
        line = why if why.startswith(first) else f"{first}: {why}"
        lines.append(line + (f"; likewise {', '.join(more_names)}" if more_names else ""))
    return lines
