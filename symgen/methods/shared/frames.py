"""A function of several frames: derived for each in its turn, in one derivation, which keeps what they share once."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame
from symgen.methods.shared.factor import Derive, Results


def of_each(
    build: Derive, linkage: Linkage, frames: Sequence[Frame], linear_first: bool = False
) -> Results:
    """The results of all frames, each stacked in their order; of one frame, or where none is needed, those of the function.

    With `linear_first` the two halves of every result, three rows of twists each, change places.
    """
    found = [build(linkage.at(frame)) for frame in frames] if len(frames) > 1 else [build(linkage)]
    if linear_first:
        found = [
            tuple([*result[len(result) // 2 :], *result[: len(result) // 2]] for result in one)
            for one in found
        ]
    return tuple([x for result in same for x in result] for same in zip(*found, strict=True))
