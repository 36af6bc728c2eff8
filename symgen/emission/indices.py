"""Indices of elements as text, and lists of numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from symgen.emission.c_text import WIDTH


def numbered(classes: Iterable[int]) -> list[int]:
    """Of each its number among those of its class."""
    seen: dict[int, int] = {}
    found = []
    for own in classes:
        found.append(seen.get(own, 0))
        seen[own] = found[-1] + 1
    return found


def times(factor: int, index: str) -> str:
    plain = index[1:-1] if index.startswith("(") else index
    return "0" if factor == 0 else plain if factor == 1 else f"{factor}*{index}"


def plus(product: str, number: int) -> str:
    grouped = f"({product})" if "*" in product else product
    return (
        f"{grouped} + {number}" if number and product != "0" else str(number) if number else product
    )


def listed(numbers: Iterable[str], indent: int) -> str:
    """Numbers with commas between them, over lines of that indent."""
    return f"\n{' ' * indent}".join(
        textwrap.wrap(
            ", ".join(numbers), WIDTH - indent, break_long_words=False, break_on_hyphens=False
        )
    )
