"""Picture of `symgen inspect --plot`: sizes of matrix entries at a pose, and entries that are zero
in every pose.

A shade is the logarithm of a magnitude. Entries that are zero in every pose stay white and show the
structure. Rows and columns have the names of their joints. The picture is as large as the names
need, so that no name is cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from symgen.pages.pictures.comparison import canvas

if TYPE_CHECKING:
    from symgen.inspection.pattern import Groups, Pattern

LIGHT, DARK = (0.84, 0.90, 0.95), (0.03, 0.19, 0.38)
"""Colours of the least and of the largest magnitude."""
LINE, INK, DOT = "#c9ced4", "#333333", "#e08214"
DECADES = 8
"""Magnitudes that far below the largest one are all drawn alike."""
CELL, LEAST, MOST = 0.66, 3.0, 9.6
"""Inches: a cell at most, and the shortest and the longest side of the matrix."""
ROOM = 0.42
"""Inches of a cell that holds its number."""
SMALL, USUAL = 7.5, 12.0
"""Points of a name, at least and at most."""
GAP, EDGE, BAR = 0.1, 0.25, 0.22
"""Inches: between parts, around everything, the width of the scale."""
POINT = 72.0


def drawer(file: str) -> Callable[[str, Pattern], None]:
    """Return a function that draws a pattern of a robot into `file`; raises as
    `symgen.pages.pictures.comparison.canvas`.
    """
    paint = canvas(file)
    return lambda robot, pattern: paint(lambda figure_type: _draw(figure_type, robot, pattern))


def _draw(figure_type: Any, robot: str, pattern: Pattern) -> Any:
    """Return the figure of a pattern."""
    height, width = len(pattern.kinds), len(pattern.kinds[0])
    cell = min(CELL, max(LEAST / max(height, width), MOST / max(height, width)))
    wide, high = cell * width, cell * height
    figure = figure_type(figsize=(wide, high))
    chart = figure.add_axes((0, 0, 1, 1))
    _matrix(chart, pattern, cell)
    left = _names(chart.yaxis, pattern.rows, cell, upright=False)
    above = _names(
        chart.xaxis,
        pattern.columns,
        cell,
        upright=max(len(name) for name, _ in pattern.columns) * 0.11 > cell,
    )
    title = chart.text(
        0, 0, f"{pattern.label} of {robot}", fontsize=16, color=INK, parse_math=False
    )
    lines = _lines(pattern)
    under = chart.text(0, 0, lines, fontsize=12, color=INK, linespacing=1.35)
    scale = _scale(figure, pattern)
    figure.draw_without_rendering()
    dpi = figure.dpi

    def inches(texts: Sequence[Any], dimension: str) -> float:
        return max(
            (
                getattr(text.get_window_extent(), dimension) / dpi
                for text in texts
                if text.get_text()
            ),
            default=0.0,
        )

    at_left = EDGE + inches(left, "width") + GAP
    at_right = EDGE + (
        (GAP * 3 + BAR + GAP + inches(scale.get_yticklabels(), "width") + 0.45) if scale else 0.0
    )
    legend = _legend(chart, pattern)
    figure.draw_without_rendering()
    below = EDGE + 2 * GAP + legend.get_window_extent().height / dpi
    words = inches([title], "height") + GAP + inches([under], "height")
    on_top = EDGE + words + GAP + inches(above, "height") + GAP
    across = max(
        at_left + wide + at_right,
        2 * EDGE
        + max(inches([title, under], "width"), legend.get_window_extent().width / dpi) * 1.06,
    )
    up = below + high + on_top
    figure.set_size_inches(across, up)
    chart.set_position((at_left / across, below / up, wide / across, high / up))
    if scale:
        tall = min(high, 3.2)
        scale.set_position(
            (
                (at_left + wide + 3 * GAP) / across,
                (below + high - tall) / up,
                BAR / across,
                tall / up,
            )
        )
    for text, drop in ((title, 0.0), (under, inches([title], "height") + GAP)):
        text.set_transform(figure.transFigure)
        text.set_position((EDGE / across, 1 - (EDGE + drop) / up))
        text.set_verticalalignment("top")
    legend.set_bbox_to_anchor((EDGE / across, EDGE / up), transform=figure.transFigure)
    return figure


def _lines(pattern: Pattern) -> str:
    """Return the title and the pose in lines."""
    count = sum(len(row) for row in pattern.kinds)
    zeros = sum(kind == 0 for row in pattern.kinds for kind in row)
    pose = (
        ""
        if not pattern.pose
        else f" at {pattern.pose}"
        if pattern.chosen and len(pattern.pose) < 60
        else " at the requested pose"
        if pattern.chosen
        else " at a generic pose"
    )
    return f"magnitudes of the entries{pose} (SI units)\n{zeros} of {count} are zero at every pose"


# -- the matrix ------------------------------------------------------------------------------------


def _range(pattern: Pattern) -> tuple[float, float] | None:
    """Return the smallest and the largest magnitude of the scale: powers of ten, or the magnitudes.
    None if all are zero.
    """
    sizes = [abs(x) for row in pattern.values for x in row if x]
    if not sizes:
        return None
    most = max(sizes)
    least = max(min(sizes), most * 10.0**-DECADES)
    return (least, most) if most > least * 1.5 else (most / 10, most)


def _shade(x: float, smallest: float, largest: float) -> tuple[float, float, float]:
    t = min(1.0, max(0.0, math.log(abs(x) / smallest) / math.log(largest / smallest))) if x else 0.0
    a, b, c = (low + t * (high - low) for low, high in zip(LIGHT, DARK, strict=True))
    return a, b, c


def _matrix(chart: Any, pattern: Pattern, cell: float) -> None:
    """Draw the shades, the lines between entries, dots of constants, and numbers where there is
    room.
    """
    magnitudes = _range(pattern)
    shades = [
        [
            (1.0, 1.0, 1.0) if not kind or magnitudes is None else _shade(x, *magnitudes)
            for kind, x in zip(*pair, strict=True)
        ]
        for pair in zip(pattern.kinds, pattern.values, strict=True)
    ]
    chart.imshow(shades, interpolation="nearest", aspect="auto")
    chart.spines[:].set(visible=True, color=LINE, linewidth=1)
    _dividers(chart.axhline, pattern.rows, len(shades), cell)
    _dividers(chart.axvline, pattern.columns, len(shades[0]), cell)
    _dots(chart, pattern, cell)
    if cell >= ROOM and magnitudes is not None:
        _numbers(chart, pattern, shades, cell)


def _dividers(draw: Any, groups: Groups, count: int, cell: float) -> None:
    """Draw thick lines between groups of rows or columns, and thin lines between entries if they
    are wide enough.
    """
    edges = set(accumulate(size for _, size in groups))
    for edge in range(1, count):
        if cell > ROOM / 3 or edge in edges:
            between_groups = edge in edges and len(edges) < count
            draw(edge - 0.5, color=LINE, linewidth=1.2 if between_groups else 0.5)


def _dots(chart: Any, pattern: Pattern, cell: float) -> None:
    """Mark constant entries with dots: in a corner if a number has room."""
    constant = [
        (c, r) for r, row in enumerate(pattern.kinds) for c, kind in enumerate(row) if kind == 1
    ]
    if not constant or cell * POINT <= 3:
        return
    off, size = (0.36, 0.1) if cell >= ROOM else (0.0, 0.3)
    chart.scatter(
        [c - off for c, _ in constant],
        [r - off for _, r in constant],
        marker="o",
        linewidths=0,
        color=DOT,
        s=(size * cell * POINT) ** 2,
    )


def _numbers(
    chart: Any, pattern: Pattern, shades: list[list[tuple[float, float, float]]], cell: float
) -> None:
    """Write the numbers of entries that are not always zero."""
    for r, (kinds, values) in enumerate(zip(pattern.kinds, pattern.values, strict=True)):
        for c, (kind, x) in enumerate(zip(kinds, values, strict=True)):
            if not kind:
                continue
            text = _number(x)
            width = max(4.0, len(text) + text.count("−") / 2)  # a wide sign
            chart.text(
                c,
                r,
                text,
                ha="center",
                va="center",
                color="white" if sum(shades[r][c]) < 1.95 else INK,
                fontsize=min(11.0, 1.5 * cell * POINT / width),
            )


def _number(x: float) -> str:
    """Return two digits of a number: 1.2, 0.043, 3e-5."""
    if not x:
        return "0"
    text = f"{x:.2g}"
    mantissa, _, exponent = text.partition("e")
    return (f"{mantissa}e{int(exponent)}" if exponent else text).replace("-", "−")


# -- names, scale, legend --------------------------------------------------------------------------


def _names(axis: Any, groups: Groups, cell: float, upright: bool) -> list[Any]:
    """Write names in the middle of their rows or columns; omit some if all of them would be smaller
    than SMALL.
    """
    points = min(USUAL, 0.8 * cell * POINT * min(size for _, size in groups))
    step = math.ceil(SMALL / points)
    middles, names, at = [], [], 0.0
    for n, (name, size) in enumerate(groups):
        if n % step == 0:
            middles.append(at + (size - 1) / 2)
            names.append(name)
        at += size
    axis.set_ticks(
        middles, names, fontsize=max(SMALL, points), rotation=90 if upright else 0, color=INK
    )
    if axis.axis_name == "x":
        axis.set_ticks_position("top")
    axis.set_tick_params(length=0, pad=GAP * POINT / 2)
    labels = axis.get_ticklabels()
    for label in labels:
        label.set_parse_math(False)
    return list(labels)


def _scale(figure: Any, pattern: Pattern) -> Any:
    """Draw the scale of shades with its powers of ten; None if all entries are zero."""
    magnitudes = _range(pattern)
    if magnitudes is None:
        return None
    scale = figure.add_axes((0, 0, 0.1, 0.1))
    low, high = (math.log10(x) for x in magnitudes)
    steps = 64
    scale.imshow(
        [
            [_shade(10 ** (low + (high - low) * (n + 0.5) / steps), *magnitudes)]
            for n in range(steps)
        ],
        aspect="auto",
        origin="lower",
        extent=(0, 1, low, high),
    )
    exponents = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
    every = math.ceil(len(exponents) / 6) if exponents else 1
    ticks = [float(n) for n in exponents[::every]] if len(exponents) > 1 else [low, high]
    scale.set_yticks(ticks, [_power(x) for x in ticks], fontsize=11, color=INK)
    scale.yaxis.set_ticks_position("right")
    scale.set_xticks([])
    scale.spines[:].set(visible=True, color=LINE)
    scale.tick_params(length=3, color=LINE)
    return scale


def _power(x: float) -> str:
    """Return a power of ten, or another number with two digits."""
    if x == round(x):
        return (
            f"{10 ** int(x)}"
            if 0 <= x <= 3
            else f"{10**x:g}"
            if -3 <= x < 0
            else f"1e{int(x)}".replace("-", "−")
        )
    return _number(10**x)


def _legend(chart: Any, pattern: Pattern) -> Any:
    """Draw the meaning of white and of a dot, if the picture has any."""
    kinds = {kind for row in pattern.kinds for kind in row}
    white = chart.scatter(
        [], [], marker="s", s=150, color="white", edgecolors="#888888", label="zero at every pose"
    )
    dot = chart.scatter([], [], marker="o", s=22, color=DOT, label="the same at every pose")
    handles = [handle for kind, handle in ((0, white), (1, dot)) if kind in kinds]
    return chart.legend(
        handles=handles,
        loc="lower left",
        frameon=False,
        fontsize=11,
        borderpad=0,
        borderaxespad=0,
        ncols=2,
        handletextpad=0.4,
        columnspacing=1.5,
        labelcolor=INK,
    )
