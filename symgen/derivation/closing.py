"""The loops of a mechanism as a derivation has them: both frames in the axes of the model's links, and the rows that count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from symgen.derivation.model import Frame, Model
from symgen.mechanism.closed_loops import End, Loop
from symgen.mechanism.closures import ClosureType, Row
from symgen.mechanism.mechanism import Mechanism


@dataclass(frozen=True)
class Closing:
    """One loop. `kept` are the numbers of its rows that are not zero for ever, `moves` along how many of them the links on the
    way to each end move it by themselves, where the loops are assembled."""

    name: str
    type: ClosureType
    first: Frame
    second: Frame
    parameters: dict[str, Fraction]
    kept: tuple[int, ...]
    moves: tuple[int, int]

    @property
    def rows(self) -> list[Row]:
        """Those that are kept."""
        return [self.type.rows[k] for k in self.kept]


def closings(
    model: Model,
    mechanism: Mechanism,
    kept: Sequence[tuple[int, ...]],
    moves: Sequence[tuple[int, int]],
) -> tuple[Closing, ...]:
    """All loops of a mechanism, in their order; of each its rows that are kept, and along how many either end moves."""

    def placed(loop: Loop, which: str, end: End) -> Frame:
        return model.placed(f"{loop.name}, {which}", end.body, end.pose)

    return tuple(
        Closing(
            loop.name,
            loop.type,
            placed(loop, "first", loop.first),
            placed(loop, "second", loop.second),
            dict(loop.parameters),
            own,
            either,
        )
        for loop, own, either in zip(mechanism.loops, kept, moves, strict=True)
    )
