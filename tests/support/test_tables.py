"""Tables for a terminal and for a notebook, and ranges as text."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from symgen.support.tables import MOST_ROWS, html_table, span, table

ROWS = [("name", "count", "note"), ("arm", 7, "x"), ("longer", 1234, "a b")]


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        (None, "unknown"),
        ((12, None), "at least 12"),
        ((12, 12), "12"),
        ((12, 34), "12 to 34"),
        ((0, 0), "0"),
        ((0, 1), "0 to 1"),
    ],
)
def test_a_range_is_printed_by_its_ends(ends: tuple[int, int | None] | None, text: str) -> None:
    assert span(ends) == text


def test_texts_are_aligned_to_the_left_and_numbers_to_the_right() -> None:
    assert table(ROWS, texts=(0, 2)) == [
        "name    count  note",
        "arm         7  x",
        "longer   1234  a b",
    ]
    assert table(ROWS) == [
        "name    count  note",
        "arm         7     x",
        "longer   1234   a b",
    ]


def parsed(rows: list[tuple[object, ...]], **options: object) -> ElementTree.Element:
    table = html_table("A & B", rows, **options)  # type: ignore[arg-type]
    return ElementTree.fromstring(f"<div>{table}</div>")


def test_a_table_in_html_has_a_title_a_heading_and_aligned_escaped_cells() -> None:
    div = parsed([("name", "n"), ("<b>", 7)], below=("at most 1 < 2",))
    assert [caption.text for caption in div.iter("caption")] == ["A & B"]
    cells = [(cell.tag, cell.text, cell.get("style")) for cell in div.iter() if cell.get("style")]
    assert cells[1:] == [
        ("th", "name", "text-align:left"),
        ("th", "n", "text-align:right"),
        ("td", "<b>", "text-align:left"),
        ("td", "7", "text-align:right"),
    ]
    assert [line.text for line in div.iter("p")] == ["at most 1 < 2"]


def test_a_table_in_html_shows_sixty_rows_and_counts_the_others() -> None:
    assert MOST_ROWS == 60
    for count, more in ((60, []), (61, ["… and 1 more"]), (100, ["… and 40 more"])):
        div = parsed([("n",), *((k,) for k in range(count))])
        assert [cell.text for cell in div.iter("td")] == [str(k) for k in range(60)]
        assert [line.text for line in div.iter("p")] == more
    assert [line.text for line in parsed([("n",), (1,)]).iter("p")] == []
