"""Cutting a long function into parts: places of the cuts, and what goes from one part to the next."""

from __future__ import annotations

from typing import Any

from symgen.emission.parts import _across, _pieces

Line = tuple[str, dict[str, Any]]


def lines_of(values: list[str], kinds: dict[int, str] | None = None) -> list[Line]:
    """Return one statement a value: x0 = value 0, x1 = value 1, …."""
    kinds = kinds or {}
    return [
        ("step", {"name": f"x{n}", "value": value, "kind": kinds.get(n, "double")})
        for n, value in enumerate(values)
    ]


def names(piece: list[Line]) -> list[str]:
    return [line["name"] for _, line in piece]


def test_lines_that_do_not_depend_on_each_other_are_cut_into_equal_pieces() -> None:
    for count, length, expected in ((40, 10, [10] * 4), (41, 21, [20, 21]), (30, 100, [30])):
        pieces = _pieces(lines_of(["q"] * count), length, "")
        assert [len(piece) for piece in pieces] == expected
        assert [line for piece in pieces for line in piece] == lines_of(["q"] * count)
    assert _pieces([], 10, "") == []


def test_a_cut_is_moved_to_where_the_fewest_values_go_across() -> None:
    """x21 reads three earlier values, so three values go across all places but the one behind x21."""
    values = ["q"] * 40
    values[18:22] = ["q", "q", "q", "x18 + x19 + x20"]
    first, second = _pieces(lines_of(values), 20, "")
    assert names(first)[-1] in ("x17", "x21")
    assert len(first) + len(second) == 40


def test_no_pair_is_torn() -> None:
    """A pair of a sine and a cosine is used up to x22, so that the nearest cut is behind x22."""
    values = ["q"] * 40
    values[22] = "x18.sine"
    first, _ = _pieces(lines_of(values, {18: "pair_t"}), 20, "pair_t")
    assert names(first)[-1] in ("x17", "x22")
    _, torn = _across(lines_of(values, {18: "pair_t"}), "pair_t")
    assert [n for n, count in enumerate(torn) if count] == [19, 20, 21, 22]


def test_values_go_across_from_their_line_to_their_last_use() -> None:
    across, torn = _across(lines_of(["q", "q", "x0 + x1", "x0", "q"]), "")
    assert across[:5] == [0, 1, 2, 1, 0]
    assert not any(torn)
