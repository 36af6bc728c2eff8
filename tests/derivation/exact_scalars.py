"""Scalars of exact constants: an operation on them is carried out at once, in rationals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from symgen.derivation import constants as k
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import Vector


def scalars(derivation: Derivation, numbers: Iterable[Any]) -> list[Scalar]:
    """Return constants as Scalars."""
    return [derivation.constant(k.rational(Fraction(x))) for x in numbers]


def vector(derivation: Derivation, *numbers: Any) -> Vector:
    return Vector(scalars(derivation, numbers))


def number(scalar: Scalar) -> Fraction:
    """Return the value of a constant Scalar."""
    assert scalar.is_constant
    return Fraction(k.to_fraction(scalar.value))


def numbers(entries: Iterable[Scalar]) -> list[Fraction]:
    return [number(entry) for entry in entries]


def array(rows: Sequence[Sequence[Scalar]]) -> np.ndarray:
    """Return a matrix of Scalars as an array of Fractions."""
    return np.array([numbers(row) for row in rows], dtype=object)
