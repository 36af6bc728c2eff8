"""Small matrices over any numbers, as NumPy object arrays, and block matrices made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from symgen.reference.precision import Array
from symgen.support.errors import RequestError


def zeros(*shape: int) -> Array:
    """Return an array of exact zeros."""
    array = np.empty(shape, dtype=object)
    array.fill(fmpq(0))
    return array


def identity(n: int) -> Array:
    """Return the n x n identity."""
    array = zeros(n, n)
    for i in range(n):
        array[i, i] = fmpq(1)
    return array


def stacked(blocks: Sequence[Sequence[Array]]) -> Array:
    """Return the matrix of these rows of blocks."""
    return np.block([list(row) for row in blocks])


def cross_matrix(v: Sequence[Any] | Array) -> Array:
    """Return the matrix of w ↦ v × w."""
    x, y, z = v
    zero = fmpq(0)
    return np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]], dtype=object)


def force_shift(rotation: Array, shift: Array) -> Array:
    """Return the 6x6 matrix that takes a wrench (moment, force) on a frame to another frame, in
    which the first one has this rotation and shift. Its transpose takes twists the other way.
    """
    return stacked([[rotation, cross_matrix(shift) @ rotation], [zeros(3, 3), rotation]])


def inverse(matrix: Array) -> Array:
    """Return the inverse of a matrix over any field, by elimination; a pivot that is zero is
    exchanged.

    RequestError if the matrix is singular.
    """
    n = len(matrix)
    rows = np.concatenate([matrix, identity(n)], axis=1)
    for c in range(n):
        pivot = next((r for r in range(c, n) if rows[r, c] != 0), None)
        if pivot is None:
            raise RequestError(
                "a matrix that the paper divides by is singular at this state; give the links mass"
            )
        if pivot != c:
            rows[[c, pivot]] = rows[[pivot, c]]
        rows[c] = rows[c] * (1 / rows[c, c])
        for r in range(n):
            if r != c and rows[r, c] != 0:
                rows[r] = rows[r] - rows[c] * rows[r, c]
    return rows[:, n:]


class Matrix:
    """A matrix over exact rationals, held by FLINT, or over other numbers, as a NumPy object array.

    It has `@`, `+`, `-`, `.T`, `==` and `.entries`. It cannot be hashed.
    """

    __slots__ = ("content", "shape")

    def __init__(self, content: Any, shape: tuple[int, int]) -> None:
        self.content, self.shape = content, shape

    @staticmethod
    def of(array: Array) -> Matrix:
        """Return a matrix of these entries; a vector becomes a column."""
        if array.ndim == 1:
            array = array.reshape(-1, 1)
        rows, columns = array.shape
        if all(isinstance(x, fmpq | int) for x in array.flat):
            return Matrix(fmpq_mat(rows, columns, list(array.flat)), (rows, columns))
        return Matrix(array, (rows, columns))

    @staticmethod
    def column(entries: Iterable[Any]) -> Matrix:
        """Return the column of these entries."""
        return Matrix.of(np.array(list(entries), dtype=object))

    @staticmethod
    def identity(n: int) -> Matrix:
        """Return the n x n identity."""
        return Matrix.of(identity(n))

    @staticmethod
    def zeros(rows: int, columns: int) -> Matrix:
        """Return a matrix of zeros."""
        return Matrix.of(zeros(rows, columns))

    @staticmethod
    def diagonal(blocks: Sequence[Array]) -> Matrix:
        """Return the block diagonal matrix of these blocks, which may be rectangular."""
        heights, widths = [len(block) for block in blocks], [block.shape[1] for block in blocks]
        return assembled({(i, i): block for i, block in enumerate(blocks)}, heights, widths)

    @staticmethod
    def of_parts(rows: Iterable[Sequence[Matrix]]) -> Matrix:
        """Return the matrix of these rows of matrices."""
        return Matrix.of(stacked([[block.entries for block in row] for row in rows]))

    @staticmethod
    def below(blocks: Iterable[Matrix]) -> Matrix:
        """Return these matrices below each other."""
        return Matrix.of_parts([block] for block in blocks)

    @property
    def entries(self) -> Array:
        """The entries as a NumPy object array."""
        if isinstance(self.content, fmpq_mat):
            return np.array(self.content.entries(), dtype=object).reshape(self.shape)
        entries: Array = self.content
        return entries

    def _pair(self, right: Matrix) -> tuple[Any, Any]:
        if isinstance(self.content, fmpq_mat) and isinstance(right.content, fmpq_mat):
            return self.content, right.content
        return self.entries, right.entries

    def __matmul__(self, other: Matrix) -> Matrix:
        a, b = self._pair(other)
        return Matrix(a * b if isinstance(a, fmpq_mat) else a @ b, (self.shape[0], other.shape[1]))

    def __add__(self, other: Matrix) -> Matrix:
        a, b = self._pair(other)
        return Matrix(a + b, self.shape)

    def __sub__(self, other: Matrix) -> Matrix:
        a, b = self._pair(other)
        return Matrix(a - b, self.shape)

    def __neg__(self) -> Matrix:
        return Matrix(-self.content, self.shape)

    @property
    def T(self) -> Matrix:
        """The transpose."""
        content = self.content
        return Matrix(
            content.transpose() if isinstance(content, fmpq_mat) else content.T,
            (self.shape[1], self.shape[0]),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matrix) or self.shape != other.shape:
            return False
        a, b = self._pair(other)
        return bool(a == b) if isinstance(a, fmpq_mat) else bool((a - b == 0).all())


Blocks = Mapping[tuple[int, int], Array]
"""Blocks of a matrix by (row, column); the others are zero."""


def assembled(blocks: Blocks, heights: Sequence[int], widths: Sequence[int]) -> Matrix:
    """Return the matrix of these blocks, with rows of blocks of these heights and columns of these
    widths.
    """
    matrix = zeros(sum(heights), sum(widths))
    for (i, j), block in blocks.items():
        top, left = sum(heights[:i]), sum(widths[:j])
        matrix[top : top + heights[i], left : left + widths[j]] = block
    return Matrix.of(matrix)
