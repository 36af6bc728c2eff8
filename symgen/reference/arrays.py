"""Vectors and 3x3 matrices, and stacks of them, for any scalar and any leading dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symgen.reference.precision import Array, Scalars


def identity(scalars: Scalars) -> Array:
    return scalars.array(np.eye(3))


def times(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0]


def transposed(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def added(terms: Any) -> Array:
    total: Array | None = None
    for term in terms:
        total = term if total is None else total + term
    assert total is not None
    return total


def stacked(*vectors: Array) -> list[Array]:
    """Return vectors (..., n) broadcast over one stack of states; each keeps its n."""
    states = np.broadcast_shapes(*(v.shape[:-1] for v in vectors))
    return [np.broadcast_to(v, (*states, v.shape[-1])) for v in vectors]


def stack(columns: Sequence[Array]) -> Array:
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def cross(a: Array, b: Array) -> Array:
    (a0, a1, a2), (b0, b1, b2) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


def skew(a: Array) -> Array:
    zero = 0 * a[0]
    return np.array([[zero, -a[2], a[1]], [a[2], zero, -a[0]], [-a[1], a[0], zero]], dtype=a.dtype)


def skewed(a: Array) -> Array:
    """Return `skew` of a stack (..., 3): (..., 3, 3)."""
    return np.moveaxis(skew(np.moveaxis(a, -1, 0)), (0, 1), (-2, -1))


def axial(matrix: Array) -> Array:
    """Return the vector of a skew-symmetric matrix."""
    return np.stack([matrix[..., 2, 1], matrix[..., 0, 2], matrix[..., 1, 0]], axis=-1)


def quaternion(q: Array) -> Array:
    """Return the rotation matrix (..., 3, 3) of a unit quaternion x y z w (..., 4).

    It is (w² − u·u) 1 + 2 u uᵀ + 2 w u×, with u = (x, y, z).
    """
    u, w = q[..., :3], q[..., 3, None, None]
    square = np.asarray((u * u).sum(axis=-1))[
        ..., None, None
    ]  # asarray: a sum over one state is a scalar
    return np.asarray(
        (w * w - square) * np.eye(3, dtype=int)
        + 2 * (u[..., :, None] * u[..., None, :] + w * skewed(u))
    )


def rodrigues(axis: Array, sine: Any, cosine: Any) -> Array:
    """Return the rotation about a unit axis (3,) by angles (...): 1 + sin K + (1 − cos) K²
    (Rodrigues), with K = axis×.
    """
    spin = skew(axis)
    return turned_by(spin, spin @ spin, sine, cosine)


def turned_by(spin: Array, spin_squared: Array, sine: Any, cosine: Any) -> Array:
    """Return the rotation by angles (...) of `rodrigues`, from K and K²."""
    sine, cosine = np.asarray(sine)[..., None, None], np.asarray(cosine)[..., None, None]
    return np.asarray(_ONE + sine * spin + (1 - cosine) * spin_squared)


_ONE = np.eye(3, dtype=int)
