"""Tables as plain text for a terminal and as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

MOST_ROWS = 60
"""Number of rows of a table that a notebook shows; the rest is counted."""


def span(least_and_most: Sequence[int | None] | None) -> str:
    """Return a range as text: '12 to 34', '12' if both ends are equal, 'at least 12', 'unknown'."""
    if least_and_most is None:
        return "unknown"
    least, most = least_and_most
    return (
        f"at least {least}"
        if most is None
        else f"{least}"
        if least == most
        else f"{least} to {most}"
    )


def table(rows: Sequence[Sequence[object]], texts: Collection[int] = (0,)) -> list[str]:
    """Return lines of aligned columns. The first row is the heading. Columns in `texts` are
    left-aligned, the others right-aligned.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]

    def aligned(row: Sequence[str]) -> str:
        pairs = enumerate(zip(row, widths, strict=True))
        return "  ".join(
            cell.ljust(width) if i in texts else cell.rjust(width) for i, (cell, width) in pairs
        )

    return [aligned(row).rstrip() for row in cells]


def html_table(
    title: str,
    rows: Sequence[Sequence[object]],
    texts: Collection[int] = (0,),
    below: Sequence[str] = (),
) -> str:
    """Return an HTML table with every cell escaped: a title, the rows, and lines `below` it."""

    def cells(row: Sequence[object], tag: str) -> str:
        leaning = (
            f' style="text-align:{"left" if i in texts else "right"}"' for i in range(len(row))
        )
        return "".join(
            f"<{tag}{style}>{escape(str(cell))}</{tag}>"
            for cell, style in zip(row, leaning, strict=True)
        )

    head, *body = rows
    lines = [
        "<table>",
        f'<caption style="text-align:left">{escape(title)}</caption>',
        f"<thead><tr>{cells(head, 'th')}</tr></thead>",
        "<tbody>",
        *(f"<tr>{cells(row, 'td')}</tr>" for row in body[:MOST_ROWS]),
        "</tbody>",
        "</table>",
    ]
    omitted_rows = [f"… and {len(body) - MOST_ROWS} more"] if len(body) > MOST_ROWS else []
    return "\n".join([*lines, *(f"<p>{escape(line)}</p>" for line in (*omitted_rows, *below))])
