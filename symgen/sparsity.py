"""The picture of `symgen inspect --plot`: which entries of a matrix are zero, which are numbers, which move with the robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from symgen.plotting import canvas

COLOURS = ((0.97, 0.97, 0.97), (0.66, 0.75, 0.83), (0.12, 0.35, 0.58))
MEANINGS = ("zero", "a number", "moves with the robot")
CELL, LEAST, MOST = 0.5, 3.6, 9.0
LEFT, RIGHT, BELOW, ABOVE = 0.9, 3.2, 0.8, 0.9
"""Inches: a cell, the shortest and the longest side of the matrix, and the room for words around it."""
TICKS = 14
"""More rows than this are numbered six by six where they come in sixes, a link each."""


def drawer(file: str) -> Callable[[str, str, Sequence[Sequence[int]]], None]:
    """What draws a pattern (robot, name of the matrix, 0, 1 or 2 row by row) into `file`; raises as `plotting.canvas`."""
    paint = canvas(file)
    return lambda robot, label, pattern: paint(lambda figure_type: _draw(figure_type, robot, label, pattern))


def _draw(figure_type: Any, robot: str, label: str, pattern: Sequence[Sequence[int]]) -> Any:
    height, width = len(pattern), len(pattern[0])
    cell = max(LEAST / max(height, width), min(CELL, MOST / max(height, width)))
    wide, high = cell * width, cell * height
    across, up = LEFT + max(wide, LEAST) + RIGHT, BELOW + high + ABOVE
    figure = figure_type(figsize=(across, up))
    chart = figure.add_axes((LEFT / across, BELOW / up, wide / across, high / up))
    chart.imshow([[COLOURS[kind] for kind in row] for row in pattern], interpolation="nearest", aspect="auto")
    filled = sum(1 for row in pattern for kind in row if kind)
    chart.set_title(f"{label} of {robot}\n{filled} of {height * width} entries are not zero", loc="left")
    chart.set_xlabel("column")
    chart.set_ylabel("row")
    for axis, count in ((chart.xaxis, width), (chart.yaxis, height)):
        step = 1 if count <= TICKS else 6 if count % 6 == 0 else -(-count // TICKS)
        axis.set_ticks(range(0, count, step))
        axis.set_ticks([edge - 0.5 for edge in range(0, count + 1, step)], minor=True)
    chart.grid(which="minor", color="white", linewidth=2 if max(height, width) <= TICKS else 1)
    chart.tick_params(which="both", length=0)
    chart.spines[:].set_visible(False)
    handles = [chart.scatter([], [], marker="s", s=140, color=[COLOURS[kind]], edgecolors="#777777", label=MEANINGS[kind])
               for kind in sorted({kind for row in pattern for kind in row})]
    chart.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, borderaxespad=0.2)
    return figure
