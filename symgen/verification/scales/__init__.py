"""How large the terms of an answer are, entry by entry at each state. Round-off is measured against them.

A force is a sum over parts of levers times masses times accelerations. Its size takes every term with its absolute value. The
lever is the farthest that the part gets from the joint on its way out. No choice of frames changes this size, and it stays honest
where the sum itself cancels (a wrist that gravity does not load).

Functions that solve with M are measured joint by joint. An elimination of a positive definite M is exact for a matrix that
differs by a few eps √(s_i s_j) in entry ij, with s_j the size of M_jj (Higham, Accuracy and Stability of Numerical Algorithms,
theorem 10.5, after Demmel). That holds in any units of the joints. So a wrist of 1e-4 kg m² is judged by its own scale, and a
loss at the shoulder does not excuse it.

Scales are found by discovery: a file without a leading underscore has BY_RESULT or BY_FUNCTION.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import numpy as np

from symgen.reference.precision import Array
from symgen.support.leaves import leaf_names
from symgen.verification.exact import ExactAnswers
from symgen.verification.magnitude import LEAST, largest
from symgen.verification.scales._bodies import Bodies
from symgen.vocabulary.functions import FUNCTIONS

_LEAVES = [import_module(f"{__name__}.{name}") for name in leaf_names(__path__)]
BY_FUNCTION: dict[str, Callable[[Bodies], dict[str, Array]]] = {
    function: scale
    for leaf in _LEAVES
    for function, scale in getattr(leaf, "BY_FUNCTION", {}).items()
}
"""The sizes of all results of a function, by its name, where a result of this name has another size elsewhere."""
BY_RESULT: dict[str, Callable[[Bodies], Array]] = {
    result: scale for leaf in _LEAVES for result, scale in getattr(leaf, "BY_RESULT", {}).items()
}
"""The size of a result of every other function, by the result's name. Solutions have none: they are judged by their residual."""


class Scales(Bodies):
    """The sizes at the states of `truth`."""

    def of(self, function: str, result: str) -> Array:
        """Natural size of every entry of one result of a function, (count, …) as the result."""
        size = self._of(function, result)
        if FUNCTIONS[function].follows_convention and self.truth.convention.order == "linear":
            half = [*range(3, 6), *range(3)]
            size = size[..., half] if result == "Jdot_v" else size[..., half, :]
        return np.maximum(size, LEAST * largest(size).reshape(-1, *[1] * (size.ndim - 1)))

    def _of(self, function: str, result: str) -> Array:
        if function in BY_FUNCTION:
            return BY_FUNCTION[function](self)[result]
        return BY_RESULT[result](self)


class ScalesOfFrames(Scales):
    """The sizes where several frames are named: of what is there for each of them stacked, of the rest as for the first."""

    def __init__(self, truth: ExactAnswers, each: Sequence[Scales]) -> None:
        super().__init__(truth)
        self.each = each

    def _of(self, function: str, result: str) -> Array:
        if FUNCTIONS[function].uses_all_frames:
            return np.stack([scales._of(function, result) for scales in self.each], axis=1)
        return self.each[0]._of(function, result)
