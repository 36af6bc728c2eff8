"""Picture of `symgen inspect --plot`: shades, dots, numbers, lines between groups, the scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from symgen.inspection.pattern import Pattern
from symgen.pages.pictures.pattern import (
    CELL,
    EDGE,
    GAP,
    _dividers,
    _dots,
    _draw,
    _legend,
    _lines,
    _matrix,
    _names,
    _number,
    _numbers,
    _power,
    _range,
    _scale,
    _shade,
)

Figure = pytest.importorskip("matplotlib.figure").Figure
POINTS_PER_INCH = 72


def pattern_of(values: list[list[float]], kinds: list[list[int]], **changes: Any) -> Pattern:
    """Build a pattern with one group for each row and column."""
    facts: dict[str, Any] = {
        "label": "M",
        "pose": "",
        "chosen": False,
        "rows": tuple((f"r{k}", 1) for k in range(len(values))),
        "columns": tuple((f"c{k}", 1) for k in range(len(values[0]))),
        "kinds": tuple(map(tuple, kinds)),
        "values": tuple(map(tuple, values)),
    } | changes
    return Pattern(**facts)


def chart() -> Any:
    return Figure(figsize=(4, 4)).add_axes((0, 0, 1, 1))


VALUES = [[100.0, -1.0, 0.0], [-1.0, 0.01, 0.0]]
KINDS = [[1, 2, 0], [2, 2, 2]]


def test_the_scale_spans_the_magnitudes_but_at_most_eight_decades() -> None:
    assert _range(pattern_of(VALUES, KINDS)) == (0.01, 100.0)
    assert _range(pattern_of([[1e-30, -50.0]], [[2, 2]])) == pytest.approx((5e-7, 50.0))
    assert _range(pattern_of([[0.0, 0.0]], [[2, 0]])) is None
    # nearly equal magnitudes are all drawn dark, at the end of one decade
    assert _range(pattern_of([[-3.0, 2.9]], [[2, 2]])) == pytest.approx((0.3, 3.0))


def test_a_shade_is_linear_in_the_logarithm_of_the_magnitude_between_light_and_dark() -> None:
    light, middle, dark = (_shade(x, 0.01, 100.0) for x in (0.01, -1.0, 100.0))
    assert middle == pytest.approx([(a + b) / 2 for a, b in zip(light, dark, strict=True)])
    assert all(a > b for a, b in zip(light, dark, strict=True))
    assert _shade(0.0, 0.01, 100.0) == _shade(1e-9, 0.01, 100.0) == light
    assert _shade(-1e9, 0.01, 100.0) == dark


def test_entries_that_are_always_zero_are_white_and_others_have_the_shade_of_their_magnitude() -> (
    None
):
    axes = chart()
    _matrix(axes, pattern_of(VALUES, KINDS), 0.5)
    (image,) = axes.images
    shades = image.get_array()
    assert shades.shape == (2, 3, 3)
    for r, c in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)):
        expected = _shade(VALUES[r][c], 0.01, 100.0) if KINDS[r][c] else (1.0, 1.0, 1.0)
        assert tuple(shades[r, c]) == pytest.approx(expected)


@pytest.mark.parametrize(("cell", "has_numbers"), [(0.66, True), (0.42, True), (0.41, False)])
def test_numbers_are_written_only_in_cells_with_room(cell: float, has_numbers: bool) -> None:
    axes = chart()
    _matrix(axes, pattern_of(VALUES, KINDS), cell)
    written = {text.get_position(): text.get_text() for text in axes.texts}
    shown = {(0, 0): "1e2", (1, 0): "−1", (0, 1): "−1", (1, 1): "0.01", (2, 1): "0"}
    assert written == (shown if has_numbers else {})
    zeros = chart()
    _matrix(zeros, pattern_of([[0.0]], [[2]]), cell)
    assert not zeros.texts  # the picture of a matrix that is zero at the pose has no scale


def test_a_number_is_white_on_a_dark_shade_and_fits_its_cell() -> None:
    axes, cell = chart(), 0.5
    values = pattern_of([[100.0, -0.000123, 1.0]], [[2, 2, 2]])
    shades = [[_shade(x, 0.0001, 100.0) for x in values.values[0]]]
    _numbers(axes, values, shades, cell)
    white = {text.get_text(): text.get_color() == "white" for text in axes.texts}
    assert white == {
        _number(x): sum(shade) / 3 < 0.65
        for x, shade in zip(values.values[0], shades[0], strict=True)
    }
    assert white["1e2"] != white["−0.00012"]
    sizes = {text.get_text(): text.get_fontsize() for text in axes.texts}
    assert sizes["1"] == sizes["1e2"] == 11.0
    # a digit is about 0.6 of the size wide
    assert 0.6 * sizes["−0.00012"] * len("−0.00012") < cell * POINTS_PER_INCH
    assert sizes["−0.00012"] < 11.0


@pytest.mark.parametrize(
    ("cell", "offset", "diameter"), [(0.5, 0.36, 0.1), (0.42, 0.36, 0.1), (0.2, 0.0, 0.3)]
)
def test_a_dot_marks_each_constant_in_a_corner_if_a_number_has_room(
    cell: float, offset: float, diameter: float
) -> None:
    axes = chart()
    _dots(axes, pattern_of([[1.0, 2.0], [0.0, 3.0]], [[1, 2], [0, 1]]), cell)
    (dots,) = axes.collections
    assert dots.get_offsets().tolist() == [[-offset, -offset], [1 - offset, 1 - offset]]
    # the size of a marker is the square of its diameter in points
    assert math.sqrt(dots.get_sizes()[0]) == pytest.approx(diameter * cell * POINTS_PER_INCH)


def test_no_dot_is_drawn_without_constants_or_in_cells_of_three_points() -> None:
    axes = chart()
    _dots(axes, pattern_of([[1.0]], [[2]]), 0.5)
    _dots(axes, pattern_of([[1.0]], [[1]]), 3 / POINTS_PER_INCH)
    assert not axes.collections


def lines_between(groups: list[int], cell: float) -> dict[float, float]:
    """Return {position: width} of the lines between entries in groups of these sizes."""
    drawn: dict[float, float] = {}
    _dividers(
        lambda at, color, linewidth: drawn.update({at: linewidth}),
        tuple((str(k), size) for k, size in enumerate(groups)),
        sum(groups),
        cell,
    )
    return drawn


def test_lines_between_groups_are_thicker_and_remain_in_small_cells() -> None:
    wide = lines_between([2, 1, 2], 0.5)
    assert set(wide) == {0.5, 1.5, 2.5, 3.5}
    thick = {at for at, width in wide.items() if width > min(wide.values())}
    assert thick == {1.5, 2.5}
    assert set(lines_between([2, 1, 2], 0.1)) == {1.5, 2.5}
    single = lines_between([1, 1, 1], 0.1)  # every line is between groups: all are thin
    assert single == dict.fromkeys((0.5, 1.5), min(wide.values()))


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.0, "0"),
        (1.25, "1.2"),
        (-0.0432, "−0.043"),
        (3.04e-5, "3e−5"),
        (-1.26e12, "−1.3e12"),
        (99.0, "99"),
        (120.0, "1.2e2"),
    ],
)
def test_a_number_has_two_digits_and_no_leading_zero_in_its_exponent(x: float, text: str) -> None:
    assert _number(x) == text
    assert float(text.replace("−", "-")) == pytest.approx(x, rel=0.05)


def test_a_tick_of_the_scale_shows_its_power_of_ten() -> None:
    texts = [_power(float(x)) for x in (-4, -3, -1, 0, 1, 3, 4, 12)]
    assert texts == ["1e−4", "0.001", "0.1", "1", "10", "1000", "1e4", "1e12"]
    for x in (-3.7, 0.5, 5.2):
        assert float(_power(x).replace("−", "-")) == pytest.approx(10**x, rel=0.05)


@pytest.mark.parametrize(
    ("least", "largest", "exponents"),
    [
        (0.01, 100.0, [-2, -1, 0, 1, 2]),
        (1e-3, 100.0, [-3, -2, -1, 0, 1, 2]),
        (1e-4, 100.0, [-4, -2, 0, 2]),  # seven powers of ten: every second has a tick
        (0.5, 300.0, [0, 1, 2]),
    ],
)
def test_the_scale_has_at_most_six_ticks_at_powers_of_ten(
    least: float, largest: float, exponents: list[int]
) -> None:
    scale = _scale(Figure(), pattern_of([[least, largest]], [[2, 2]]))
    assert scale.get_yticks().tolist() == exponents
    assert [label.get_text() for label in scale.get_yticklabels()] == [
        _power(float(n)) for n in exponents
    ]
    (image,) = scale.images
    assert image.get_extent()[2:] == pytest.approx((math.log10(least), math.log10(largest)))
    shades = np.asarray(image.get_array())[:, 0]
    steps = shades[1:] - shades[:-1]
    assert (steps < 0).all()  # dark is above
    assert np.allclose(steps, steps[0])


def test_a_scale_of_one_power_shows_its_ends() -> None:
    scale = _scale(Figure(), pattern_of([[2.0, 8.0]], [[2, 2]]))
    assert scale.get_yticks().tolist() == pytest.approx([math.log10(2), math.log10(8)])
    assert _scale(Figure(), pattern_of([[0.0]], [[2]])) is None


@pytest.mark.parametrize(
    ("pose", "chosen", "words"),
    [
        ("", False, " (SI"),
        ("", True, " (SI"),
        ("q0 = 1", True, " at q0 = 1 (SI"),
        ("q0 = 1", False, " at a generic pose (SI"),
        ("q" * 59, True, f" at {'q' * 59} (SI"),
        ("q" * 60, True, " at the requested pose (SI"),
    ],
)
def test_the_title_states_the_pose_and_the_number_of_zeros(
    pose: str, chosen: bool, words: str
) -> None:
    kinds = [[1, 2, 0], [2, 2, 0]]
    title, zeros = _lines(pattern_of(VALUES, kinds, pose=pose, chosen=chosen)).splitlines()
    assert title.startswith(f"magnitudes of the entries{words}")
    assert zeros.startswith("2 of 6 are zero")


def test_names_are_in_the_middle_of_their_groups_and_some_are_omitted_in_small_cells() -> None:
    groups = (("a", 1), ("b", 3), ("c_0$", 2))
    axes = chart()
    labels = _names(axes.xaxis, groups, 0.5, upright=True)
    assert axes.xaxis.get_ticklocs().tolist() == [0.0, 2.0, 4.5]
    assert [label.get_text() for label in labels] == ["a", "b", "c_0$"]
    assert {label.get_rotation() for label in labels} == {90.0}
    assert axes.xaxis.get_ticks_position() == "top"
    rows = chart()
    labels = _names(rows.yaxis, groups, 0.08, upright=False)
    assert rows.yaxis.get_ticklocs().tolist() == [0.0, 4.5]
    assert {label.get_rotation() for label in labels} == {0.0}
    assert min(label.get_fontsize() for label in labels) == 7.5


class Boxes:
    """Boxes (left, bottom, right, top) in inches of the parts of a picture."""

    def __init__(self, pattern: Pattern) -> None:
        figure = _draw(Figure, "arm", pattern)
        figure.draw_without_rendering()
        self.width, self.height = figure.get_size_inches()
        self.dpi = figure.dpi
        chart, *scales = figure.axes
        self.chart = self.of(chart)
        self.title, self.under = (
            self.of(text) for text in chart.texts if text.get_transform() == figure.transFigure
        )
        self.rows = [self.of(label) for label in chart.get_yticklabels()]
        self.columns = [self.of(label) for label in chart.get_xticklabels()]
        self.legend = self.of(chart.get_legend())
        self.scale = [self.of(scale) for scale in scales]
        self.ticks = [self.of(label) for scale in scales for label in scale.get_yticklabels()]

    def of(self, part: Any) -> tuple[float, float, float, float]:
        box = part.get_window_extent()
        left, bottom, right, top = (float(x) / self.dpi for x in box.extents)
        return left, bottom, right, top


def test_the_parts_of_a_picture_have_equal_distances_and_no_name_is_cut() -> None:
    boxes = Boxes(pattern_of(VALUES, KINDS, rows=(("a long name", 1), ("r1", 1))))
    left, bottom, right, top = boxes.chart
    # names are half a gap away from the matrix, and a gap and a half from the edge or the text
    assert min(row[0] for row in boxes.rows) == pytest.approx(EDGE + GAP / 2, abs=0.03)
    assert max(row[2] for row in boxes.rows) == pytest.approx(left - GAP / 2, abs=0.03)
    assert min(column[1] for column in boxes.columns) == pytest.approx(top + GAP / 2, abs=0.03)
    above = boxes.under[1] - max(column[3] for column in boxes.columns)
    assert above == pytest.approx(1.5 * GAP, abs=0.03)
    # the cells are as large as allowed
    assert (right - left, top - bottom) == pytest.approx((3 * CELL, 2 * CELL))
    # title and pose are at the upper left, the legend at the lower left
    assert (boxes.title[0], boxes.height - boxes.title[3]) == pytest.approx((EDGE, EDGE), abs=0.03)
    assert (boxes.under[0], boxes.title[1] - boxes.under[3]) == pytest.approx((EDGE, GAP), abs=0.03)
    assert boxes.legend[:2] == pytest.approx((EDGE, EDGE), abs=0.03)
    assert bottom - boxes.legend[3] == pytest.approx(2 * GAP, abs=0.03)
    # the scale is beside the matrix, and as high
    (scale,) = boxes.scale
    assert scale == pytest.approx((right + 3 * GAP, bottom, right + 3 * GAP + 0.22, top))
    assert max(tick[2] for tick in boxes.ticks) < boxes.width - EDGE
    # a twentieth is spared for the text, which is the widest part of this picture
    text = max(boxes.under[2], boxes.title[2], boxes.legend[2]) - EDGE
    assert 1.04 * text < boxes.width - 2 * EDGE < 1.12 * text


@pytest.mark.parametrize("is_zero", [False, True])
def test_a_wide_matrix_decides_the_width(is_zero: bool) -> None:
    """A matrix of 15 columns is 9.6 inches wide; one that is zero has no scale."""
    boxes = Boxes(pattern_of([[0.0 if is_zero else 5.0] * 15], [[2] * 15]))
    left, _, right, _ = boxes.chart
    assert right - left == pytest.approx(9.6)
    if is_zero:
        assert boxes.scale == []
        assert boxes.width == pytest.approx(right + EDGE)
        return
    widest = max(tick[2] - tick[0] for tick in boxes.ticks)
    assert boxes.width == pytest.approx(right + 4 * GAP + 0.22 + widest + 0.45 + EDGE, abs=0.03)


@pytest.mark.parametrize(("count", "side"), [(1, CELL), (14, 9.24), (24, 9.6)])
def test_a_matrix_is_at_most_ten_inches_high_and_its_scale_about_three(
    count: int, side: float
) -> None:
    boxes = Boxes(pattern_of([[1.0]] * count, [[2]] * count))
    _, bottom, _, top = boxes.chart
    assert top - bottom == pytest.approx(side)
    (scale,) = boxes.scale
    assert (scale[3], scale[3] - scale[1]) == pytest.approx((top, min(side, 3.2)))


@pytest.mark.parametrize(
    ("kinds", "texts"),
    [
        ([[0, 1, 2]], ["zero at every pose", "the same at every pose"]),
        ([[0, 2]], ["zero at every pose"]),
        ([[1, 2]], ["the same at every pose"]),
        ([[2, 2]], []),
    ],
)
def test_the_legend_explains_only_what_is_drawn(kinds: list[list[int]], texts: list[str]) -> None:
    legend = _legend(chart(), pattern_of([[1.0] * len(kinds[0])], kinds))
    assert [text.get_text() for text in legend.get_texts()] == texts
