"""Sizes of the terms of results, entry by entry at each state. Round-off is measured relative to
them.

A force is a sum over parts of levers times masses times accelerations. Its size is the same sum
with absolute values. The lever is the largest distance of the part from a joint on its path. The
size depends on no choice of frames, and it remains valid where the sum itself cancels, as for a
wrist that carries no weight.

Functions that solve with M are measured joint by joint. An elimination of a positive definite M is
exact for a nearby matrix: entry ij differs by a few eps √(s_i s_j), with s_j the size of M_jj
(Higham, Accuracy and Stability of Numerical Algorithms, theorem 10.5, after Demmel). That holds in
any units of the joints. So a wrist of 1e-4 kg m² has its own scale, and a large error at the
shoulder does not excuse one at the wrist.

Scales are found by discovery: a file without a leading underscore has BY_RESULT or BY_FUNCTION.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import numpy as np

from symgen.reference.precision import Array
from symgen.support.leaves import leaf_names
from symgen.verification.magnitude import LEAST, largest
from symgen.verification.reference_results import ReferenceResults
from symgen.verification.scales._bodies import Bodies
from symgen.vocabulary.functions import FUNCTIONS

_LEAVES = [import_module(f"{__name__}.{name}") for name in leaf_names(__path__)]
BY_FUNCTION: dict[str, Callable[[Bodies], dict[str, Array]]] = {
    function: scale
    for leaf in _LEAVES
    for function, scale in getattr(leaf, "BY_FUNCTION", {}).items()
}
"""Sizes of all results of a function, by its name, for functions whose results share a name with
results of another size.
"""
BY_RESULT: dict[str, Callable[[Bodies], Array]] = {
    result: scale for leaf in _LEAVES for result, scale in getattr(leaf, "BY_RESULT", {}).items()
}
"""Size of a result of every other function, by the result's name. Solutions have none: their
residual is checked.
"""


class Scales(Bodies):
    """The sizes at the states of `exact_results`."""

    def of(self, function: str, result: str) -> Array:
        """Return the natural size of every entry of one result of a function, (count, …) like the
        result.
        """
        size = self._natural_size(function, result)
        if (
            FUNCTIONS[function].follows_convention
            and self.exact_results.convention.order == "linear"
        ):
            linear_first = [*range(3, 6), *range(3)]
            size = size[..., linear_first] if result == "Jdot_v" else size[..., linear_first, :]
        return np.maximum(size, LEAST * largest(size).reshape(-1, *[1] * (size.ndim - 1)))

    def _natural_size(self, function: str, result: str) -> Array:
        if function in BY_FUNCTION:
            return BY_FUNCTION[function](self)[result]
        return BY_RESULT[result](self)


class ScalesOfFrames(Scales):
    """The sizes for several frames: stacked for results that exist for each frame, those of the
    first frame otherwise.
    """

    def __init__(self, exact_results: ReferenceResults, by_frame: Sequence[Scales]) -> None:
        super().__init__(exact_results)
        self.by_frame = by_frame

    def _natural_size(self, function: str, result: str) -> Array:
        if FUNCTIONS[function].uses_all_frames:
            return np.stack(
                [scales._natural_size(function, result) for scales in self.by_frame], axis=1
            )
        return self.by_frame[0]._natural_size(function, result)
