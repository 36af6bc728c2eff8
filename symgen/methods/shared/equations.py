"""A method's derivation of a function, and the steps behind it that are the same for all methods.

Such a step is for what a method need not know: mimic joints (`symgen.methods.shared.mimic`), drives
(`symgen.methods.shared.drives`).
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
"""A step behind a derivation: takes its results and returns those that stand in their place."""


@dataclass(frozen=True, eq=False)
class Equations:
    """A derivation, and the changes to its results in their order."""

    derive: Derive
    changes: tuple[Change, ...] = ()

    def __call__(
        self, linkage: Linkage, frames: Sequence[Frame] = (), linear_first: bool = False
    ) -> Results:
        """Derive the results. Those of several frames are derived in turn, in one derivation, and stacked in their order.

        With `linear_first` the two halves of every result, three rows of twists each, change places.
        """
        stacked: list[Results] = []
        for at in [linkage.at(frame) for frame in frames] if len(frames) > 1 else [linkage]:
            results = self.derive(at)
            for change in self.changes:
                results = change(at, results)
            stacked.append(tuple(map(_swap_halves, results)) if linear_first else results)
        return tuple([x for result in same for x in result] for same in zip(*stacked, strict=True))


def _swap_halves(result: list[Scalar]) -> list[Scalar]:
    half = len(result) // 2
    return [*result[half:], *result[:half]]


@cache
def equations(derive: Derive, changes: tuple[Change, ...]) -> Equations:
    """Add changes to a derivation, behind those that it has; one object for one derivation with the same changes."""
    if isinstance(derive, Equations):
        return equations(derive.derive, (*derive.changes, *changes))
    return Equations(derive, changes)
