"""Lists in messages: at most a number of items, then how many are left out."""

from __future__ import annotations

import pytest

from symgen.support.lists import shortened_list


@pytest.mark.parametrize(
    ("count", "limit", "text"),
    [
        (0, 2, ""),
        (1, 2, "a"),
        (2, 2, "a, b"),
        (3, 2, "a, b and 1 more"),
        (5, 2, "a, b and 3 more"),
        (3, None, "a, b, c"),
        (3, 1, "a and 2 more"),
    ],
)
def test_a_list_names_at_most_limit_items_and_counts_the_others(
    count: int, limit: int | None, text: str
) -> None:
    assert shortened_list("abcde"[:count], limit) == text


def test_separator_and_conjunction_can_be_chosen() -> None:
    assert shortened_list(iter("abc"), 2, "; ", " … and ") == "a; b … and 1 more"
