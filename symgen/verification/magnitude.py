"""Magnitudes of stacks of floats or balls, rounded up."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np

from symgen.reference.precision import Array

LEAST = 1e-20
"""Share of a result's largest entry. No entry counts as smaller, so that the radius of a ball round zero is no error."""


def above(values: Array) -> Array:
    """Every magnitude, as floats rounded up: of floats, or of balls with their radii."""
    if values.dtype != object:
        return np.asarray(np.where(np.isfinite(values), np.abs(values), np.inf))
    with np.errstate(invalid="ignore"):  # of a ball round what is not finite
        return np.asarray(np.frompyfunc(_above, 1, 1)(values), dtype=float)


def largest(values: Array) -> Array:
    """Largest magnitude per state (count,), as floats rounded up: of floats, or of balls with their radii."""
    return np.asarray(above(values).reshape(len(values), -1).max(axis=-1))


def _above(ball: Any) -> float:
    upper = float(flint.arb(abs(ball)).upper()) if isinstance(ball, flint.arb) else abs(float(ball))
    return upper if upper == upper else float("inf")
