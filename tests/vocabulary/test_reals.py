"""Real types, compared with NumPy's IEEE 754 types."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from symgen.vocabulary.reals import REALS


@pytest.mark.parametrize(("name", "theirs"), [("float", np.float32), ("double", np.float64)])
def test_limits_of_real_types_are_those_of_ieee_754(name: str, theirs: type[np.floating]) -> None:
    ours, info = REALS[name], np.finfo(theirs)
    assert ours.largest == Fraction(float(info.max))
    assert ours.least == Fraction(float(info.tiny))
    assert ours.smallest == Fraction(float(info.smallest_subnormal))
    assert (ours.eps, ours.unit) == (float(info.eps), float(info.eps) / 2)
