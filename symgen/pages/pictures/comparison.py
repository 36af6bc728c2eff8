"""Picture of `symgen compare --plot`: a row of bar charts for each function, a bar for each method;
and the canvas of every picture.

Methods with identical C share a bar. The scale of round-off is logarithmic, because lost digits are
powers of ten.

matplotlib is optional (`pip install 'symgen[plot]'`) and imported at the first picture.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from math import isfinite, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symgen.support import files
from symgen.support.errors import ArgumentError, RequestError

if TYPE_CHECKING:
    from symgen.benchmarks.compare import Comparison, Comparisons, Row

ENDINGS = ("svg", "png")
PANELS: tuple[tuple[str, str], ...] = (
    ("operations", "mul + add + div"),
    ("nanoseconds", "time (ns a call)"),
    ("round_off_double", "round-off, double (eps)"),
    ("round_off_float", "round-off, float (eps)"),
)
LOGARITHMIC = ("round_off_double", "round_off_float")
LEAST = 0.01
"""Round-off at which a logarithmic bar begins. Smaller ones, zero too, have no bar."""
WIDTH, BAR, FRAME = 17.0, 0.36, 1.2
"""Inches: of the picture, of a bar with its gap, and of what stands above and below a chart."""
STYLE: Any = {
    "font.size": 14,
    "axes.titlesize": 15,
    "axes.labelsize": 14,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "symgen",  # text stays text, and the same figures give the same bytes
}
DEFAULT, OTHER = "#1f5a94", "#a9bfd4"
"""The default method's bars, and all others'."""


def drawer(file: str) -> Callable[[Comparisons], None]:
    """Return a function that draws a comparison into `file`; raises as `canvas`."""
    paint = canvas(file)
    return lambda compared: paint(lambda figure_type: _draw(figure_type, compared))


def canvas(file: str) -> Callable[[Callable[[Any], Any]], None]:
    """Return a function that writes a figure into `file`; the figure is made by a function of
    matplotlib's class.

    Raises RequestError for an ending that is not one of ENDINGS, for a folder that does not exist,
    or without matplotlib.
    """
    ending = Path(file).suffix.removeprefix(".").lower()
    if ending not in ENDINGS:
        raise ArgumentError(
            f"a picture cannot be written to '{file}'; name a file that ends with .svg or .png"
        )
    if not (folder := Path(file).resolve().parent).is_dir():
        raise ArgumentError(
            f"a picture cannot be written to '{file}': the folder {folder} does not exist; make it"
            " first"
        )
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise RequestError(
            "--plot draws with matplotlib, which is not installed; pip install 'symgen[plot]'"
        ) from None

    def paint(make: Callable[[Any], Any]) -> None:
        with matplotlib.rc_context(STYLE):
            figure = make(Figure)
            picture = io.BytesIO()
            figure.savefig(
                picture,
                format=ending,
                dpi=110,
                metadata={"Date": None} if ending == "svg" else None,
            )
        try:
            files.write_file(Path(file), picture.getvalue())
        except OSError as error:
            reason = f"a picture cannot be written to '{file}': {error.strerror or error}"
            raise RequestError(f"{reason}; make room or name another file") from None

    return paint


def _draw(figure_type: Any, compared: Comparisons) -> Any:
    """Draw all functions, a row of charts for each."""
    functions = [(comparison, merged(comparison.rows)) for comparison in compared.compared]
    functions = [(comparison, groups) for comparison, groups in functions if groups]
    if not functions:
        raise RequestError(
            f"no method supports '{compared.robot}', so there is no picture; leave out --plot to"
            " read why"
        )
    heights = [FRAME + BAR * len(groups) for _, groups in functions]
    figure = figure_type(figsize=(WIDTH, sum(heights) + 0.8), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12, w_pad=0.08)
    hatched = any(group[0].unjudged for _, groups in functions for group in groups)
    legend = "; hatched: not judged, since the answer loses its digits" if hatched else ""
    figure.suptitle(
        f"{compared.robot}: less is better; dark: the default method{legend}", fontsize=17
    )
    charts = figure.subplots(
        len(functions), len(PANELS), squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for line, (comparison, groups) in zip(charts, functions, strict=True):
        line[0].set_title(comparison.function, loc="left", fontweight="bold")
        for column, ((key, label), chart) in enumerate(zip(PANELS, line, strict=True)):
            _bars(chart, comparison, groups, key)
            chart.set_xlabel(label)
            if column:
                chart.set_yticklabels([])
    return figure


def merged(rows: Iterable[Row]) -> list[list[Row]]:
    """Return the rows with figures; methods with identical C are one group."""
    by_code: dict[str, list[Row]] = {}
    for row in rows:
        if row.figures:
            by_code.setdefault(row.twin or row.method, []).append(row)
    return list(by_code.values())


def _named(group: list[Row]) -> str:
    """Return short names of methods, such as riccati, :fd2, :fd4; a method of another paper keeps
    its whole name.
    """
    first, *variants = (row.method for row in group)
    paper = first.partition(":")[0]
    return ", ".join(
        [
            first,
            *(
                method.removeprefix(paper) if method.startswith(f"{paper}:") else method
                for method in variants
            ),
        ]
    )


def _bars(chart: Any, comparison: Comparison, groups: list[list[Row]], key: str) -> None:
    """Draw one chart: the methods from top to bottom, each figure at the end of its bar."""
    rows = [group[0] for group in groups]
    figures = [row.cost if key == "operations" else row.figures.get(key) for row in rows]
    colours = [
        DEFAULT if any(row.method == comparison.default for row in group) else OTHER
        for group in groups
    ]
    draw = _logarithmic_bars if key in LOGARITHMIC else _linear_bars
    bars = draw(chart, figures, colours)
    for bar, row in zip(bars, rows, strict=True):
        if key in row.unjudged:
            bar.set_hatch("///")
            bar.set_edgecolor("white")
    chart.bar_label(bars, [_written(figure) for figure in figures], padding=4)
    chart.set_yticks(range(len(rows)), [_named(group) for group in groups])
    chart.tick_params(axis="y", length=0)
    chart.set_ylim(len(rows) - 0.5, -0.5)


def _longest(figures: Sequence[float | None]) -> float:
    """Return the length of the longest bar; 1 if every figure is missing or zero."""
    return max((figure for figure in figures if figure is not None), default=1.0) or 1.0


def _logarithmic_bars(chart: Any, figures: Sequence[float | None], colours: list[str]) -> Any:
    """Draw bars from LEAST on a logarithmic axis."""
    longest = _longest(figures)
    decades = max(1.0, log10(longest / LEAST)) if isfinite(longest) else 20.0
    chart.set_xscale("log")
    chart.set_xlim(LEAST, LEAST * 10 ** (1.35 * decades))
    lengths = [min(figure or 0.0, LEAST * 10**decades) for figure in figures]
    bars = chart.barh(
        range(len(figures)),
        [max(0.0, length - LEAST) for length in lengths],
        left=LEAST,
        color=colours,
        height=0.72,
    )
    chart.xaxis.get_major_locator().set_params(numticks=5)
    chart.minorticks_off()
    return bars


def _linear_bars(chart: Any, figures: Sequence[float | None], colours: list[str]) -> Any:
    """Draw bars from zero, with room for the figure behind the longest."""
    bars = chart.barh(
        range(len(figures)), [figure or 0.0 for figure in figures], color=colours, height=0.72
    )
    chart.set_xlim(0, 1.25 * _longest(figures))
    chart.locator_params(axis="x", nbins=4)
    return bars


def _written(figure: float | None) -> str:
    """Return a figure as the chart writes it."""
    if figure is None:
        return "–"
    return f"{figure:.2g}" if figure < 10 or figure >= 1e6 else f"{figure:.0f}"
