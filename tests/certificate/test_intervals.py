"""Interval arithmetic encloses exact ranges, and exceeds them by roundings only."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from operator import add, mul, sub, truediv
from typing import Any

import numpy as np
import pytest

from symgen.certificate.intervals import HALF_TURN, Interval, hypotenuse, summed, times
from symgen.reference.precision import Array

ENDS = (-3.7, -1.1, -1.0, -0.1, 0.0, 1e-3, 0.3, 2.0, 5.9)
PAIRS = [(low, high) for low, high in product(ENDS, ENDS) if low <= high]
BOXES = [(*a, *b) for a, b in product(PAIRS, PAIRS)]
X = Interval(*(np.array([box[end] for box in BOXES]) for end in (0, 1)))
Y = Interval(*(np.array([box[end] for box in BOXES]) for end in (2, 3)))
SAMPLES = 2001
ANGLES = [
    (low, low + width)
    for low in (-9.3, -6.2, -3.2, -1.6, -0.4, 0.0, 0.9, 1.5, 3.0, 4.6)
    for width in (0.0, 0.1, 0.5, 1.7, 3.2, 5.0, 6.2, 6.4)
]


def assert_tight(result: Interval, low: list[Fraction], high: list[Fraction]) -> None:
    """The exact range is inside, and each bound is at most 4 spacings of float64 away from it."""
    for k, (least, most) in enumerate(zip(low, high, strict=True)):
        lo, hi = float(result.lo[k]), float(result.hi[k])
        assert 0 <= least - Fraction(lo) <= 4 * Fraction(math.ulp(lo))
        assert 0 <= Fraction(hi) - most <= 4 * Fraction(math.ulp(hi))


@pytest.mark.parametrize("operation", [add, sub, mul, truediv])
def test_operations_enclose_the_exact_values_at_the_corners(
    operation: Callable[[Any, Any], Any],
) -> None:
    """Each operation is monotone along every edge of a box, so the corners have its extremes."""
    use = [operation is not truediv or y0 > 0 or y1 < 0 for _, _, y0, y1 in BOXES]
    corners = [
        [operation(Fraction(x), Fraction(y)) for x in (x0, x1) for y in (y0, y1)]
        for chosen, (x0, x1, y0, y1) in zip(use, BOXES, strict=True)
        if chosen
    ]
    result = operation(X, Y)
    assert_tight(
        Interval(result.lo[use], result.hi[use]),
        [min(values) for values in corners],
        [max(values) for values in corners],
    )


def test_a_quotient_is_unbounded_exactly_where_the_divisor_may_be_zero() -> None:
    quotient = X / Y
    crosses = np.array([y0 <= 0 <= y1 for _, _, y0, y1 in BOXES])
    np.testing.assert_array_equal(np.isneginf(quotient.lo), crosses)
    np.testing.assert_array_equal(np.isposinf(quotient.hi), crosses)


def test_a_square_is_the_product_of_one_number_with_itself() -> None:
    """The least square is 0 where the interval contains 0."""
    squares = [[Fraction(x) ** 2 for x in pair] for pair in PAIRS]
    least = [
        Fraction(0) if a <= 0 <= b else min(s) for (a, b), s in zip(PAIRS, squares, strict=True)
    ]
    x = Interval(*(np.array([pair[end] for pair in PAIRS]) for end in (0, 1)))
    for result in (x.squared(), x * x):
        assert np.all(result.lo >= 0)
        assert_tight(result, least, [max(s) for s in squares])


def test_magnitudes_and_parts_of_intervals_are_their_definitions() -> None:
    for k, (x0, x1, _, _) in enumerate(BOXES[:: len(PAIRS)]):
        x = Interval(X.lo[k * len(PAIRS)], X.hi[k * len(PAIRS)])
        inside = np.linspace(x0, x1, SAMPLES)
        assert x.size == np.abs(inside).max()
        assert x.least == (0 if x0 <= 0 <= x1 else np.abs(inside).min())
        assert (-x).lo == -x1
        assert (-x).hi == -x0
        assert (x.clipped(-1.0, 2.0).lo, x.clipped(-1.0, 2.0).hi) == (
            min(max(x0, -1.0), 2.0),
            min(max(x1, -1.0), 2.0),
        )
        if x0 <= 1.5 and x1 >= -1.5:
            part = inside[np.abs(inside) <= 1.5]
            within = x.within(1.5)
            assert max(x0, -1.5) == within.lo
            assert within.hi == min(x1, 1.5)
            assert not len(part) or (within.lo <= part[0] and part[-1] <= within.hi)
        wide = x.widened(np.array(0.25))
        assert_tight(
            Interval(np.array([wide.lo]), np.array([wide.hi])),
            [Fraction(x0) - Fraction(1, 4)],
            [Fraction(x1) + Fraction(1, 4)],
        )


@pytest.mark.parametrize(("name", "shift"), [("sine", 0.5), ("cosine", 0.0)])
def test_sines_and_cosines_have_the_range_of_their_samples(name: str, shift: float) -> None:
    """A sample is at most half a step h from an extremum; its value differs by at most h²/8."""
    low, high = (np.array([pair[end] for pair in ANGLES]) for end in (0, 1))
    result: Interval = getattr(Interval(low, high), name)()
    angles = np.linspace(low, high, SAMPLES)
    values = np.cos(angles - shift * np.pi)
    gap = ((high - low) / (SAMPLES - 1)) ** 2 / 8 + 1e-14
    least, most = values.min(axis=0), values.max(axis=0)
    assert np.all(result.lo <= least + 1e-15)
    assert np.all(least - gap <= result.lo)
    assert np.all(result.hi >= most - 1e-15)
    assert np.all(result.hi <= most + gap)
    assert np.all(np.abs([result.lo, result.hi]) <= 1)


def test_sines_and_cosines_are_at_most_one_beside_their_extrema() -> None:
    """The value there rounds to ±1, and its bound to the next number."""
    beside = np.array([turn * math.pi / 2 + 1e-8 for turn in range(-4, 5)])
    narrow = Interval(beside, beside + 1e-9)
    for result in (narrow.sine(), narrow.cosine()):
        assert np.all(result.lo >= -1)
        assert np.all(result.hi <= 1)


def test_sines_of_huge_angles_are_arbitrary() -> None:
    """Float64 does not resolve multiples of π there."""
    huge = Interval(np.array([-2e6, 0.5, 2e6]), np.array([-2e6, 2e6, 2e6]))
    for result in (huge.sine(), huge.cosine()):
        assert np.all(result.lo == -1)
        assert np.all(result.hi == 1)


def test_roots_and_logarithms_are_those_of_the_ends() -> None:
    positive = Interval(np.array([1e-3, 0.3, 2.0]), np.array([0.3, 2.0, 2.0]))
    for result, function in ((positive.sqrt(), np.sqrt), (positive.logarithm(), np.log)):
        for bound, end, below in (
            (result.lo, positive.lo, True),
            (result.hi, positive.hi, False),
        ):
            value = function(end)
            np.testing.assert_allclose(bound, value, rtol=1e-15, atol=1e-15)
            assert np.all(bound <= value) if below else np.all(bound >= value)
    root = Interval(np.array([-1.0, -2.0]), np.array([4.0, -1.0])).sqrt()
    assert np.all(root.lo == 0)
    assert root.hi[0] >= 2
    assert 0 <= root.hi[1] < 1e-300
    unknown = Interval(np.array([0.0, 1.0]), np.array([1.0, 2.0])).logarithm()
    assert np.all(np.isneginf(unknown.lo))
    assert np.all(np.isposinf(unknown.hi))


def test_an_angle_has_the_range_of_its_samples_unless_it_jumps() -> None:
    """Atan2 jumps across y = 0, x ≤ 0; elsewhere its extremes are at corners of the box."""
    result = Y.angle(X)
    for k, (x0, x1, y0, y1) in enumerate(BOXES):
        jumps = y0 <= 0 <= y1 and x0 <= 0
        assert bool(Y.cuts(X)[k]) == jumps
        corners = [math.atan2(y, x) for x in (x0, x1) for y in (y0, y1)]
        low, high = (-HALF_TURN, HALF_TURN) if jumps else (min(corners), max(corners))
        np.testing.assert_allclose(
            [result.lo[k], result.hi[k]], [low, high], rtol=1e-15, atol=1e-15
        )
        assert result.lo[k] <= low
        assert result.hi[k] >= high


def test_upper_bounds_of_sums_products_and_hypotenuses_are_just_above() -> None:
    a, b = (np.array(x) for x in zip(*product((0.0, 0.1, 0.3, 7.1), repeat=2), strict=True))

    def assert_above(bound: Array, exact: list[Fraction]) -> None:
        for value, least in zip(bound, exact, strict=True):
            assert 0 <= Fraction(float(value)) - least <= 6 * Fraction(math.ulp(float(value)))

    pairs = [(Fraction(x), Fraction(y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert_above(summed(a, b, a), [2 * x + y for x, y in pairs])
    assert_above(times(a, b), [x * y for x, y in pairs])
    root = hypotenuse(a, b)
    np.testing.assert_allclose(root, np.hypot(a, b), rtol=1e-15, atol=1e-150)
    assert all(
        Fraction(r) ** 2 >= x * x + y * y for r, (x, y) in zip(root.tolist(), pairs, strict=True)
    )
    assert times(0.0, np.inf) == 0
    assert times(np.inf, 0.0) == 0
    assert times(2.0, np.inf) == np.inf
