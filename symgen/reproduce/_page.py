"""What one reproduced result is made of, and how its page, its table and its picture are written."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import symgen
from symgen.errors import RequestError
from symgen.plotting import STYLE

WIDTH, HEIGHT = 9.0, 6.0
"""Inches of one chart: at half its size the text is still that of a printed page."""


@dataclass(frozen=True)
class Page:
    """`says`: what the paper says, with where; `found`: what was measured here; `differs`: where the two differ.

    `columns` and `rows` are the CSV, `notes` what each column is; `draw(figure)` makes the picture, `panels` charts wide.
    `machine`: what the figures depend on, empty where they are the same on every machine.
    """

    source: str
    says: str
    found: str
    differs: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: Mapping[str, str]
    draw: Callable[[Any], None]
    panels: int = 1
    machine: Mapping[str, str] = field(default_factory=dict)

    def csv(self) -> str:
        """Comma-separated, floats with six digits, a missing figure empty."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_cell(x) for x in row] for row in self.rows)
        return out.getvalue()

    def markdown(self, name: str, title: str) -> str:
        """One page: the picture, the paper's words and ours side by side, the columns, the machine."""
        lines = [f"# {title}", "", f"`symgen reproduce {name}` · {self.source}", "", f"![{title}]({name}.svg)", "",
                 "| the paper | measured here |", "|---|---|", f"| {self.says} | {self.found} |", "",
                 f"**Where they differ.** {self.differs}", "", f"Figures: [{name}.csv]({name}.csv)", ""]
        lines += [f"- `{column}`: {self.notes[column]}" for column in self.columns]
        if self.machine:
            lines += ["", "Measured on:", "", *(f"- {what}: {value}" for what, value in self.machine.items())]
        else:
            lines += ["", f"Counted on Programs of symgen {symgen.__version__}: the same on every machine."]
        return "\n".join(lines) + "\n"


def _cell(x: Any) -> Any:
    if x is None:
        return ""
    return f"{x:.6g}" if isinstance(x, float) else x


def pictures() -> Callable[[Page], dict[str, bytes]]:
    """What draws a page as {"svg": …, "png": …}; RequestError without matplotlib."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise RequestError("'symgen reproduce' draws with matplotlib, which is not installed; "
                           "pip install 'symgen[plot]'") from None

    def draw(page: Page) -> dict[str, bytes]:
        found = {}
        for ending in ("svg", "png"):
            with matplotlib.rc_context(STYLE):
                figure = Figure(figsize=(WIDTH * page.panels, HEIGHT), layout="constrained")
                page.draw(figure)
                whole = io.BytesIO()
                figure.savefig(whole, format=ending, dpi=110, metadata={"Date": None} if ending == "svg" else None)
            found[ending] = whole.getvalue()
        return found

    return draw


def doubling_ticks(axis: Any, values: Sequence[int]) -> None:
    """The numbers of links as they were measured, on an axis with a logarithmic scale."""
    axis.set_ticks(list(values), [str(n) for n in values], minor=False)
    axis.set_ticks([], minor=True)


def slope(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """(a, b) of the least-squares line y = a + b x."""
    n = len(x)
    mx, my = sum(x) / n, sum(y) / n
    b = sum((u - mx) * (v - my) for u, v in zip(x, y, strict=True)) / sum((u - mx) ** 2 for u in x)
    return my - b * mx, b
