"""Plain tables for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def table(rows: Sequence[Sequence[object]], texts: Collection[int] = (0,)) -> list[str]:
    """Lines of aligned columns: the first row is the heading, the columns in `texts` lean left, the others (figures) right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]

    def aligned(row: Sequence[str]) -> str:
        pairs = enumerate(zip(row, widths, strict=True))
        return "  ".join(cell.ljust(width) if i in texts else cell.rjust(width) for i, (cell, width) in pairs)

    return [aligned(row).rstrip() for row in cells]
