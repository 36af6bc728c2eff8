"""Picture of a matrix: shades by magnitude, lines between entries, and numbers where there is room."""

from __future__ import annotations

from typing import Any

import pytest

from symgen.inspection.pattern import MOVES, NUMBER, ZERO, Pattern
from symgen.pages.pictures import pattern as pictures


class Spines:
    """The frame of a chart."""

    def __getitem__(self, _: Any) -> Spines:
        return self

    def set(self, **_: Any) -> None: ...


class Chart:
    """A chart that keeps what is drawn."""

    def __init__(self) -> None:
        self.shades: list[list[tuple[float, float, float]]] = []
        self.texts: list[tuple[float, float, str]] = []
        self.dots: list[tuple[float, float]] = []
        self.across: list[tuple[float, float]] = []
        self.down: list[tuple[float, float]] = []
        self.spines = Spines()

    def imshow(self, shades: Any, **_: Any) -> None:
        self.shades = shades

    def text(self, x: float, y: float, text: str, **_: Any) -> None:
        self.texts.append((x, y, text))

    def scatter(self, x: Any, y: Any, **_: Any) -> None:
        self.dots += zip(x, y, strict=True)

    def axhline(self, at: float, linewidth: float, **_: Any) -> None:
        self.across.append((at, linewidth))

    def axvline(self, at: float, linewidth: float, **_: Any) -> None:
        self.down.append((at, linewidth))


def draw_matrix(cell: float, values: tuple[tuple[float, ...], ...] | None = None) -> Chart:
    """Draw a 2x3 matrix with one zero and one constant entry; its columns are of two joints."""
    chart = Chart()
    matrix = Pattern(
        "M",
        ((MOVES, ZERO, NUMBER), (MOVES, MOVES, MOVES)),
        values or ((100.0, 0.0, 0.5), (-1e-3, 2.0, 30.0)),
        (("shoulder", 1), ("elbow", 1)),
        (("shoulder", 2), ("elbow", 1)),
        "",
        False,
    )
    pictures._matrix(chart, matrix, cell)
    return chart


def test_numbers_are_written_only_where_a_cell_has_room() -> None:
    chart = draw_matrix(pictures.ROOM)
    assert [(x, y) for x, y, _ in chart.texts] == [(0, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
    assert draw_matrix(pictures.ROOM * 0.99).texts == []


def test_a_matrix_without_magnitudes_has_no_shades_and_no_numbers() -> None:
    chart = draw_matrix(pictures.ROOM, ((0.0,) * 3,) * 2)
    assert chart.texts == []
    assert {shade for row in chart.shades for shade in row} == {(1.0, 1.0, 1.0)}


def test_larger_entries_are_darker_and_entries_that_are_always_zero_are_white() -> None:
    shades = draw_matrix(1.0).shades
    assert shades[0][1] == (1.0, 1.0, 1.0)
    by_magnitude = [shades[1][0], shades[0][2], shades[1][1], shades[1][2], shades[0][0]]
    brightness = [sum(shade) for shade in by_magnitude]
    assert brightness == sorted(brightness, reverse=True)
    assert by_magnitude[-1] == pytest.approx(pictures.DARK)


def test_lines_between_joints_are_thicker_and_stay_in_small_pictures() -> None:
    chart = draw_matrix(pictures.ROOM)
    assert chart.down == [(0.5, 0.5), (1.5, 1.2)]
    assert chart.across == [(0.5, 0.5)]  # each row is a joint
    small = draw_matrix(pictures.ROOM / 3)
    assert [at for at, _ in small.down] == [1.5]


def test_constant_entries_have_dots() -> None:
    ((x, y),) = draw_matrix(pictures.ROOM * 0.9).dots
    assert (x, y) == (2, 0)
    ((x, y),) = draw_matrix(pictures.ROOM).dots
    assert x < 2
    assert y < 0
    assert draw_matrix(3 / pictures.POINT).dots == []
