"""Real types, compared with NumPy's IEEE 754 types."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from symgen.support.errors import RequestError
from symgen.vocabulary.reals import LOST, REALS, VECTOR, Real, loses


@pytest.mark.parametrize(("name", "theirs"), [("float", np.float32), ("double", np.float64)])
def test_limits_of_real_types_are_those_of_ieee_754(name: str, theirs: type[np.floating]) -> None:
    ours, info = REALS[name], np.finfo(theirs)
    assert ours.largest == Fraction(float(info.max))
    assert ours.least == Fraction(float(info.tiny))
    assert ours.smallest == Fraction(float(info.smallest_subnormal))
    assert (ours.eps, ours.unit) == (float(info.eps), float(info.eps) / 2)


TYPES = [(REALS["float"], np.float32), (REALS["double"], np.float64)]
NUMPY_TYPES = pytest.mark.parametrize(
    ("real", "theirs"), TYPES, ids=[real.name for real, _ in TYPES]
)


def sample_numbers(theirs: type[np.floating]) -> list[np.floating]:
    """Return numbers of a type: powers of two, their neighbours, subnormal and random ones."""
    info, random = np.finfo(theirs), Random(7)
    numbers = [theirs(1), theirs(0.1), theirs(3), info.tiny, info.smallest_subnormal]
    for exponent in (info.minexp - 3, info.minexp, info.minexp + 1, -1, 0, 5, info.maxexp - 1):
        power = theirs(2.0**exponent)
        numbers += [power, np.nextafter(power, theirs(0)), np.nextafter(power, info.max)]
    numbers += [theirs(random.uniform(1, 2) * 2.0 ** random.randint(-40, 40)) for _ in range(20)]
    return [*numbers, *(-number for number in numbers)]


@NUMPY_TYPES
def test_the_names_and_sizes_of_a_real_type_are_those_of_numpy(
    real: Real, theirs: type[np.floating]
) -> None:
    assert np.dtype(real.numpy) == theirs
    assert real.size == np.dtype(theirs).itemsize
    assert real.lanes * real.size == VECTOR
    # IEEE 754: this number of decimals distinguishes any two numbers with `digits` binary digits
    assert real.decimals == math.ceil(1 + real.digits * math.log10(2))
    assert real.libm("sqrt") == {"float": "sqrtf", "double": "sqrt"}[real.name]


@NUMPY_TYPES
def test_the_spacing_of_a_number_is_the_distance_to_the_next_larger_magnitude(
    real: Real, theirs: type[np.floating]
) -> None:
    assert real.spacing(0.0) == real.smallest
    for number in sample_numbers(theirs):
        assert real.spacing(float(number)) == Fraction(float(np.spacing(abs(number)))), number


@NUMPY_TYPES
def test_a_fraction_is_rounded_once_to_the_nearest_number_and_a_tie_to_the_even_one(
    real: Real, theirs: type[np.floating]
) -> None:
    """Fractions between two neighbours, a little off their middle and at it."""
    integer = np.dtype(f"i{np.dtype(theirs).itemsize}")
    for number in sample_numbers(theirs):
        low, high = sorted((number, np.nextafter(number, theirs(0))), key=abs)
        below, above = Fraction(float(low)), Fraction(float(high))
        middle, gap = (below + above) / 2, above - below
        even = next(x for x in (low, high) if int(x.view(integer)) % 2 == 0)
        for value, expected in (
            (above, high),
            (middle, even),
            (middle - gap / 10**30, low),
            (middle + gap / 10**30, high),
        ):
            assert real.nearest(value) == Fraction(float(expected)), (number, value)
            rounded = real.rounded(value)
            assert rounded == float(expected)
            assert value == 0 or math.copysign(1, rounded) == math.copysign(1, value)


@NUMPY_TYPES
def test_a_constant_is_refused_from_half_a_spacing_above_the_largest_number(
    real: Real, theirs: type[np.floating]
) -> None:
    largest = Fraction(float(np.finfo(theirs).max))
    half = real.spacing(float(largest)) / 2
    for sign in (1, -1):
        assert real.rounded(sign * (largest + half * Fraction(999, 1000))) == sign * largest
        with pytest.raises(RequestError, match=rf"about 1e\d+ does not fit into a {real.name}"):
            real.rounded(sign * (largest + half))
    exponent = len(str(largest.numerator)) + 20
    with pytest.raises(RequestError, match=f"about 1e{exponent} does not"):
        real.rounded(-(Fraction(10) ** exponent))


@NUMPY_TYPES
def test_the_shortest_decimal_reads_back_and_has_as_few_digits_as_numpys(
    real: Real, theirs: type[np.floating]
) -> None:
    for number in sample_numbers(theirs):
        text = real.shortest(Fraction(float(number)))
        assert text == repr(float(text))
        assert theirs(float(text)) == number
        digits = [
            len(np.format_float_scientific(x, unique=True, trim="-").partition("e")[0].strip("-"))
            for x in (np.float64(text), number)
        ]
        assert digits[0] == digits[1], number
    assert real.shortest(Fraction(1, 10)) == "0.1"


@pytest.mark.parametrize("name", REALS)
def test_an_answer_is_lost_if_its_error_exceeds_a_thousandth_or_is_no_number(name: str) -> None:
    limit = LOST / REALS[name].eps
    assert LOST == 1e-3
    assert [loses(limit * factor, name) for factor in (0, 0.999, 1, 1.001, 10)] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert loses(math.nan, name)
    assert loses(math.inf, name)
