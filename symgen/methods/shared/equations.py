"""A method's derivation of a function, followed by changes that are common to all methods.

A change covers a feature that a method need not support itself: mimic joints
(`symgen.methods.shared.mimic`), drives (`symgen.methods.shared.drives`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame
from symgen.derivation.scalars import Scalar
from symgen.methods.shared.factor import Derive, Results

Change = Callable[[Linkage, Results], Results]
"""A step after a derivation: it takes the results and returns the results that replace them."""


@dataclass(frozen=True, eq=False)
class Equations:
    """A derivation, and the changes applied to its results, in order."""

    derive: Derive
    changes: tuple[Change, ...] = ()

    def __call__(
        self, linkage: Linkage, frames: Sequence[Frame] = (), linear_first: bool = False
    ) -> Results:
        """Derive the results.

        With several frames the results of each are derived in one derivation, and stacked in the
        order of the frames. With `linear_first` the angular and the linear three rows of each twist
        result are swapped.
        """
        stacked: list[Results] = []
        for linkage_at_frame in (
            [linkage.at(frame) for frame in frames] if len(frames) > 1 else [linkage]
        ):
            results = self.derive(linkage_at_frame)
            for change in self.changes:
                results = change(linkage_at_frame, results)
            stacked.append(tuple(map(_swap_halves, results)) if linear_first else results)
        return tuple(
            [x for result in result_at_frames for x in result]
            for result_at_frames in zip(*stacked, strict=True)
        )


def _swap_halves(result: list[Scalar]) -> list[Scalar]:
    half = len(result) // 2
    return [*result[half:], *result[:half]]


@cache
def equations(derive: Derive, changes: tuple[Change, ...]) -> Equations:
    """Append changes to a derivation; equal arguments return the same object."""
    if isinstance(derive, Equations):
        return equations(derive.derive, (*derive.changes, *changes))
    return Equations(derive, changes)
