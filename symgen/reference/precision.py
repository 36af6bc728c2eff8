"""Scalar types of the reference: float64 over stacks of states, and balls of any precision.

A declaration is exact (`Fraction`, `Angle`) and is converted into a scalar type once. Over
`arb(digits)` the entries of a NumPy object array are `flint.arb` balls: intervals given by midpoint
and radius that contain the exact value, so each result has an error bound. python-flint keeps its
working precision in a global context, which `Scalars.working` opens.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import numpy.typing as npt

from symgen.support.errors import RequestError
from symgen.vocabulary.poses import Angle

Array = npt.NDArray[Any]


class TooFewDigits(RequestError):
    """The balls do not decide whether a matrix is invertible: the matrix is singular, or the balls
    are too wide.
    """


class Entered:
    """Base class of composite number types, such as jets: `Scalars.array` stores them without
    conversion.
    """

    __slots__ = ()


@dataclass(frozen=True)
class Scalars:
    """Scalar type: conversion from exact numbers, and the linear algebra that NumPy has for float64
    only.

    `working` opens the context (the working precision) in which every operation on the scalars
    belongs.
    """

    name: str
    dtype: Any
    constant: Callable[[Fraction], Any]
    sine_cosine: Callable[[Angle], tuple[Any, Any]]
    product: Callable[[Array, Array], Array]
    """(..., n, m), (..., m, k) → (..., n, k): faster than `@` for balls."""
    solve: Callable[[Array, Array], Array]
    """(..., n, n), (..., n, k) → the solution, (..., n, k)."""
    determinant: Callable[[Array], Array]
    log_determinant: Callable[[Array], Array]
    """ln of the determinant, NaN if that is not positive; the determinant itself may overflow."""
    working: Callable[[], AbstractContextManager[Any]]

    def array(self, values: Any) -> Array:
        """Return `values` (nested numbers of any kind, binary floats taken exactly) as an array of
        this scalar.
        """
        if self.dtype is not object:
            return np.asarray(values, dtype=self.dtype)
        with self.working():
            entries = np.asarray(values, dtype=object)
            return np.asarray(np.frompyfunc(self._enter, 1, 1)(entries))

    def _enter(self, value: Any) -> Any:
        if isinstance(value, Fraction):
            return self.constant(value)
        return value if isinstance(value, flint.arb | Entered) else flint.arb(value)


def atan2(y: Array, x: Array) -> Array:
    """Return the angle from the x axis to (x, y), from -π to π, entry by entry. NumPy has it for
    floats only.
    """
    if any(np.asarray(array).dtype == object for array in (y, x)):
        return np.asarray(np.frompyfunc(_angle, 2, 1)(y, x))
    return np.asarray(np.arctan2(y, x))


def _angle(y: Any, x: Any) -> Any:
    """Return the angle of one entry. For balls, atan2 is a class method of two arguments."""
    return flint.arb.atan2(y, x) if isinstance(y, flint.arb) else y.atan2(x)


_QUARTER_SINES = (0.0, 1.0, 0.0, -1.0)


def _float_sine_cosine(angle: Angle) -> tuple[float, float]:
    k = angle.quarter_turns
    if k is not None:  # exact zeros: a quarter turn is a signed permutation
        return _QUARTER_SINES[k % 4], _QUARTER_SINES[(k + 1) % 4]
    return float(np.sin(float(angle))), float(np.cos(float(angle)))


def _float_log_determinant(matrices: Array) -> Array:
    sign, logarithm = np.linalg.slogdet(matrices)
    return np.where(sign > 0, logarithm, np.nan)


def _nearest_float(value: Fraction) -> float:
    """Return `float(value)`, in half of the time of `Fraction.__float__`."""
    return value.numerator / value.denominator


FLOAT = Scalars(
    "float64",
    np.float64,
    _nearest_float,
    _float_sine_cosine,
    np.matmul,
    np.linalg.solve,
    np.linalg.det,
    _float_log_determinant,
    nullcontext,
)
"""Double precision, vectorised over thousands of states."""


def _fmpq(value: Fraction) -> Any:
    return flint.fmpq(value.numerator, value.denominator)


def _ball_sine_cosine(angle: Angle) -> tuple[Any, Any]:
    if angle.radians == 0:
        sine, cosine = flint.arb.sin_cos_pi_fmpq(_fmpq(angle.pi))
    else:
        sine, cosine = (
            flint.arb(_fmpq(angle.radians)) + flint.arb.pi() * flint.arb(_fmpq(angle.pi))
        ).sin_cos()
    return sine, cosine


def _over_states(
    matrices: Array,
    rights: Array | None,
    operation: Callable[[Any, Any], Any],
    shape: tuple[int, ...],
) -> Array:
    """Return `operation(matrix, right)` for each state of a stack of ball matrices, gathered into
    `shape`.
    """
    out = np.empty(shape, dtype=object)
    n = matrices.shape[-1]
    for state in np.ndindex(*matrices.shape[:-2]):
        right = None
        if rights is not None:
            right = flint.arb_mat(n, rights.shape[-1], rights[state].ravel().tolist())
        result = operation(flint.arb_mat(n, n, matrices[state].ravel().tolist()), right)
        out[state] = result if rights is None else np.array(result.tolist(), dtype=object)
    return out


def _ball_product(left: Array, right: Array) -> Array:
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    (n, m), k = left.shape[-2:], right.shape[-1]
    left, right = np.broadcast_to(left, (*batch, n, m)), np.broadcast_to(right, (*batch, m, k))
    out = np.empty((*batch, n, k), dtype=object)
    for state in np.ndindex(*batch):
        product = flint.arb_mat(n, m, left[state].ravel().tolist()) * flint.arb_mat(
            m, k, right[state].ravel().tolist()
        )
        out[state] = np.array(product.entries(), dtype=object).reshape(n, k)
    return out


def _ball_solve(matrices: Array, right: Array) -> Array:
    batch = np.broadcast_shapes(matrices.shape[:-2], right.shape[:-2])
    right = np.broadcast_to(right, batch + right.shape[-2:])
    matrices = np.broadcast_to(matrices, batch + matrices.shape[-2:])
    try:
        return _over_states(matrices, right, lambda m, b: m.solve(b), right.shape)
    except ZeroDivisionError:
        raise TooFewDigits(
            f"{flint.ctx.dps} digits do not decide whether the matrix is invertible; use more"
            " digits, or a state at which the matrix is regular"
        ) from None


def _ball_determinant(matrices: Array) -> Array:
    return _over_states(matrices, None, lambda m, _: m.det(), matrices.shape[:-2])


def _ball_log_determinant(matrices: Array) -> Array:
    return _over_states(matrices, None, lambda m, _: m.det().log(), matrices.shape[:-2])


def arb(digits: int) -> Scalars:
    """Return balls of `digits` decimal digits (python-flint's `arb`): every result encloses the
    exact value.
    """
    return Scalars(
        f"arb({digits})",
        object,
        lambda value: flint.arb(_fmpq(value)),
        _ball_sine_cosine,
        _ball_product,
        _ball_solve,
        _ball_determinant,
        _ball_log_determinant,
        lambda: flint.ctx.workdps(digits),
    )
