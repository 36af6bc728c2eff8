"""Page that compares one published result with its reproduction: text, table and picture."""

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
"""Size of a picture in inches. The charts of a picture are one below the other, so that their text
is 9 pixels high on a phone with a width of 360 pixels.
"""
WARNING = "#b3261e"


@dataclass(frozen=True)
class Page:
    """Comparison of one published result with its reproduction.

    - `source`: the paper. `says`: its statement, with the page or figure.
    - `measured`: the reproduced result. `differs`: the differences between both.
    - `columns`, `rows`: the table of the CSV file. `notes`: the meaning of each column.
    - `draw`: draws the picture on a Matplotlib figure, which is `height` inches high.
    - `machine`: properties of the computer on which the numbers depend. It is empty if the numbers
      are the same on every computer.
    - `busy`: what disturbed a measurement of times, or empty.
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
        """Return comma-separated values; a float has six digits, a missing number is empty."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_cell(x) for x in row] for row in self.rows)
        return out.getvalue()

    def markdown(self, name: str, title: str) -> str:
        """Return the page in Markdown: the picture, the paper and the reproduction side by side,
        the meaning of the columns, and the computer.
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
    """Return a number as the CSV file has it: empty for None, a float with six digits."""
    if x is None:
        return ""
    return f"{x:.6g}" if isinstance(x, float) else x


def pictures() -> Callable[[Page], dict[str, bytes]]:
    """Return the function that draws a page as {"svg": …, "png": …}.

    Raises RequestError if matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401 -- imported to check that it is installed
    except ImportError:
        raise RequestError(
            "'symgen reproduce' draws with matplotlib, which is not installed; "
            "pip install 'symgen[plot]'"
        ) from None
    return lambda page: {suffix: picture(page, suffix) for suffix in ("svg", "png")}


def picture(page: Page, suffix: str) -> bytes:
    """Return the picture of a page as an image of one format, "svg" or "png"."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, page.height), layout="constrained")
        page.draw(figure)
        if page.busy:
            figure.suptitle(page.busy, fontsize=11, color=WARNING, x=0.99, ha="right")
        image = io.BytesIO()
        # Without a date, the same page gives the same SVG file.
        metadata = {"Date": None} if suffix == "svg" else None
        figure.savefig(image, format=suffix, dpi=110, metadata=metadata)
    return image.getvalue()


def doubling_ticks(axis: Any, values: Sequence[int]) -> None:
    """Label a logarithmic axis at the measured numbers of links, `values`, only."""
    axis.set_ticks(list(values), [str(n) for n in values], minor=False)
    axis.set_ticks([], minor=True)


def legend_below(figure: Any, chart: Any, columns: int = 1) -> None:
    """Draw the legend of `chart`, valid for all charts, below the charts, where it hides no
    line."""
    figure.legend(
        *chart.get_legend_handles_labels(),
        loc="outside lower left",
        frameon=False,
        fontsize=13,
        ncols=columns,
    )


def label_ends(chart: Any, ends: Sequence[tuple[float, str, str]], gap: float = 0.055) -> None:
    """Write labels beside the right edge of a chart, each at the height of the end of its line.

    `ends` holds (y of the end, text, colour). Labels are at least `gap` apart, as a share of the
    height of the chart. Set the limits of the chart before the call.
    """

    def height(y: float) -> float:
        return float(
            chart.transAxes.inverted().transform(
                chart.transData.transform((chart.get_xlim()[0], y))
            )[1]
        )

    label_height = 2.0
    for y, text, colour in sorted(ends, reverse=True):
        label_height = min(height(y), label_height - gap)
        chart.annotate(
            text,
            (1.01, label_height),
            xycoords="axes fraction",
            color=colour,
            fontsize=12,
            va="center",
            annotation_clip=False,
        )


def slope(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Return (a, b) of the least-squares line y = a + b x."""
    n = len(x)
    mean_x, mean_y = sum(x) / n, sum(y) / n
    covariance = sum((u - mean_x) * (v - mean_y) for u, v in zip(x, y, strict=True))
    b = covariance / sum((u - mean_x) ** 2 for u in x)
    return mean_y - b * mean_x, b
