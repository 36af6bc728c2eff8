"""Lists in messages, cut after some items."""

from __future__ import annotations

from collections.abc import Iterable


def shortened_list(
    items: Iterable[str],
    limit: int | None,
    separator: str = ", ",
    conjunction: str = " and ",
) -> str:
    """Return the joined items, at most `limit` (None: all), then the number of those left out.

    For example 'a, b and 7 more'. `conjunction` is printed before the number.
    """
    texts = [*items]
    shown = texts[:limit]
    omitted = len(texts) - len(shown)
    return separator.join(shown) + (f"{conjunction}{omitted} more" if omitted else "")
