"""The loops of a mechanism as a derivation has them: both frames in the axes of the model's links, and the rows that count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from symgen.closures import ClosureType, Row
from symgen.derivation.model import Frame, Model
from symgen.loops import End, Loop
from symgen.mechanism import Mechanism


@dataclass(frozen=True)
class Closing:
    """One loop. `kept` are the numbers of its rows that are not zero for ever."""

    name: str
    type: ClosureType
    first: Frame
    second: Frame
    parameters: dict[str, Fraction]
    kept: tuple[int, ...]

    @property
    def rows(self) -> list[Row]:
        """Those that are kept."""
        return [self.type.rows[k] for k in self.kept]


def closings(model: Model, mechanism: Mechanism, kept: Sequence[tuple[int, ...]]) -> tuple[Closing, ...]:
    """All loops of a mechanism, `kept` rows of each."""
    def placed(loop: Loop, which: str, end: End) -> Frame:
        return model.placed(f"{loop.name}, {which}", end.body, end.pose)

    return tuple(Closing(loop.name, loop.type, placed(loop, "first", loop.first), placed(loop, "second", loop.second),
                         dict(loop.parameters), own) for loop, own in zip(mechanism.loops, kept, strict=True))
