"""Magnitudes of stacks of floats or balls, rounded up."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np

from symgen.reference.precision import Array

LEAST = 1e-20
"""Least size of an entry, as a fraction of the result's largest entry. So the radius of a ball
around zero is no error.
"""


def upper_magnitudes(values: Array) -> Array:
    """Return every magnitude as a float, rounded up; for balls, including their radii."""
    if values.dtype != object:
        return np.asarray(np.where(np.isfinite(values), np.abs(values), np.inf))
    with np.errstate(invalid="ignore"):  # a ball may be infinite
        return np.asarray(np.frompyfunc(_above, 1, 1)(values), dtype=float)


def largest(values: Array) -> Array:
    """Return the largest magnitude per state (count,) as a float, rounded up; for balls, including
    their radii.
    """
    return np.asarray(upper_magnitudes(values).reshape(len(values), -1).max(axis=-1))


def _above(ball: Any) -> float:
    upper = float(flint.arb(abs(ball)).upper()) if isinstance(ball, flint.arb) else abs(float(ball))
    return upper if upper == upper else float("inf")
