"""Page of one reproduced result, and the writers of its text, table and pictures."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from symgen.pages.pictures.comparison import STYLE
from symgen.support.errors import RequestError
from symgen.support.version import __version__

WIDTH, HEIGHT = 7.5, 5.0
"""Inches of a chart. Charts are below each other: on a phone, 360 pixels wide, their text is 9
pixels high.
"""
WARNING = "#b3261e"


@dataclass(frozen=True)
class Page:
    """One result: `says`, the paper's statement with its place; `measured`, the measurement;
    `differs`, where the two differ.

    `columns` and `rows` are the CSV, `notes` the meaning of each column. `draw(figure)` makes the
    picture, `height` inches high. `machine` is what the figures depend on, empty if they are the
    same on every machine; `busy` is what disturbed a measurement.
    """

    source: str
    says: str
    measured: str
    differs: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: Mapping[str, str]
    draw: Callable[[Any], None]
    height: float = HEIGHT
    machine: Mapping[str, str] = field(default_factory=dict)
    busy: str = ""

    def csv(self) -> str:
        """Return comma-separated values; floats have six digits, a missing figure is empty."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_cell(x) for x in row] for row in self.rows)
        return out.getvalue()

    def markdown(self, name: str, title: str) -> str:
        """Return the page: the picture, the paper and the measurement side by side, the columns,
        the machine.
        """
        lines = [
            f"# {title}",
            "",
            f"`symgen reproduce {name}` · {self.source}",
            "",
            f"![{title}]({name}.svg)",
            "",
            "| the paper | measured here |",
            "|---|---|",
            f"| {self.says} | {self.measured} |",
            "",
            f"**Where they differ.** {self.differs}",
            "",
            f"Figures: [{name}.csv]({name}.csv)",
            "",
        ]
        lines += [f"- `{column}`: {self.notes[column]}" for column in self.columns]
        if self.busy:
            lines += ["", f"**These times were {self.busy}: measure again on a quiet one.**"]
        if self.machine:
            lines += [
                "",
                "Measured on:",
                "",
                *(f"- {quantity}: {value}" for quantity, value in self.machine.items()),
            ]
        else:
            lines += [
                "",
                f"Counted on Programs of symgen {__version__}: the same on every machine.",
            ]
        return "\n".join(lines) + "\n"


def _cell(x: Any) -> Any:
    """Return one value of the CSV."""
    if x is None:
        return ""
    return f"{x:.6g}" if isinstance(x, float) else x


def pictures() -> Callable[[Page], dict[str, bytes]]:
    """Return a function drawing a page as {"svg": …, "png": …}. RequestError without matplotlib."""
    try:
        import matplotlib  # noqa: F401 -- asked only whether it is installed
    except ImportError:
        raise RequestError(
            "'symgen reproduce' draws with matplotlib, which is not installed; "
            "pip install 'symgen[plot]'"
        ) from None
    return lambda page: {ending: picture(page, ending) for ending in ("svg", "png")}


def picture(page: Page, ending: str) -> bytes:
    """Return the picture of a page as an image of one type, "svg" or "png"."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, page.height), layout="constrained")
        page.draw(figure)
        if page.busy:
            figure.suptitle(page.busy, fontsize=11, color=WARNING, x=0.99, ha="right")
        image = io.BytesIO()
        metadata = {"Date": None} if ending == "svg" else None
        figure.savefig(image, format=ending, dpi=110, metadata=metadata)
    return image.getvalue()


def doubling_ticks(axis: Any, values: Sequence[int]) -> None:
    """Label a logarithmic axis with the measured numbers of links."""
    axis.set_ticks(list(values), [str(n) for n in values], minor=False)
    axis.set_ticks([], minor=True)


def legend_below(figure: Any, chart: Any, columns: int = 1) -> None:
    """Draw one legend for all charts, below them, so that it takes no room from the lines."""
    figure.legend(
        *chart.get_legend_handles_labels(),
        loc="outside lower left",
        frameon=False,
        fontsize=13,
        ncols=columns,
    )


def label_ends(chart: Any, ends: Sequence[tuple[float, str, str]], gap: float = 0.055) -> None:
    """Write (y, text, colour) beside the right edge, each at the height of its line's end, at least
    `gap` of the chart apart.

    Call it after the limits of the chart are set.
    """

    def height(y: float) -> float:
        return float(
            chart.transAxes.inverted().transform(
                chart.transData.transform((chart.get_xlim()[0], y))
            )[1]
        )

    above = 2.0
    for y, text, colour in sorted(ends, reverse=True):
        above = min(height(y), above - gap)
        chart.annotate(
            text,
            (1.01, above),
            xycoords="axes fraction",
            color=colour,
            fontsize=12,
            va="center",
            annotation_clip=False,
        )


def slope(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Return (a, b) of the least-squares line y = a + b x."""
    n = len(x)
    mx, my = sum(x) / n, sum(y) / n
    b = sum((u - mx) * (v - my) for u, v in zip(x, y, strict=True)) / sum((u - mx) ** 2 for u in x)
    return my - b * mx, b
