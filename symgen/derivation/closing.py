"""Closed loops of a mechanism in a derivation: both frames in the axes of the model's links, and
the independent rows.
"""

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
    """One closed loop.

    `nonzero_rows` are the indices of its rows that are not identically zero. `moves` has, for the
    links on either path, the number of these rows that they can move alone in the assembled pose.
    """

    name: str
    type: ClosureType
    first: Frame
    second: Frame
    parameters: dict[str, Fraction]
    nonzero_rows: tuple[int, ...]
    moves: tuple[int, int]

    @property
    def rows(self) -> list[Row]:
        """The rows that are kept."""
        return [self.type.rows[k] for k in self.nonzero_rows]


def closings(
    model: Model,
    mechanism: Mechanism,
    kept_rows: Sequence[tuple[int, ...]],
    moves: Sequence[tuple[int, int]],
) -> tuple[Closing, ...]:
    """Return all closed loops of a mechanism, in their order, given the kept rows and the numbers
    `moves` of each.
    """

    def end_frame(loop: Loop, end_name: str, end: End) -> Frame:
        return model.frame_at(f"{loop.name}, {end_name}", end.body, end.pose)

    return tuple(
        Closing(
            loop.name,
            loop.type,
            end_frame(loop, "first", loop.first),
            end_frame(loop, "second", loop.second),
            dict(loop.parameters),
            loop_rows,
            loop_moves,
        )
        for loop, loop_rows, loop_moves in zip(mechanism.loops, kept_rows, moves, strict=True)
    )
