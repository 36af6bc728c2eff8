"""What is asked of a joint that closes a loop. A file of this folder answers all of it, in one `CLOSURE`.

A closure joins two frames, the first and the second, each fixed to a link of the tree. It forbids some of the second's motion
against the first: each of its `rows` is one number that stays zero, written in elementary words that both the derivation and the
reference read. With e_i the axes of the first frame, E_j those of the second, p the way from the first origin to the second and
ω the angular velocity of the second against the first, they are

    Along(i)            e_i · p = 0                      its force acts along e_i at the second origin (N)
    Across(i, j, sign)  sign · e_i · E_j = 0             its force is a moment about sign · E_j × e_i (N m)
    Apart()             (p · p − distance²) / 2 = 0      its force, times p, is the force along p (N/m)
    Unspun(i)           e_i · ω = 0                      a moment about e_i (N m); no position answers for it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from symgen.mechanism.joints import Parameter


class Along(NamedTuple):
    """The second origin stays in the plane through the first that is normal to axis `axis` of the first frame."""

    axis: int


class Across(NamedTuple):
    """Axis `first` of the first frame stays normal to axis `second` of the second one."""

    first: int
    second: int
    sign: int = 1


class Apart(NamedTuple):
    """The origins stay as far apart as the parameter `distance` says."""


class Unspun(NamedTuple):
    """The second frame does not turn against the first about this axis of it. This is said of velocities alone."""

    axis: int


Row = Along | Across | Apart | Unspun
EVERY = (0, 1, 2)


@dataclass(frozen=True)
class ClosureType:
    """See the module docstring.

    Where the loop is closed, the second frame is turned against the first about its axes `turned` alone, and its origin lies off
    the first along its axes `off` alone: all three, one, or none of them. It may turn with a velocity about the axes `spinning`,
    and slide with one along `off`.
    """

    what: str
    """For a person, in a few words."""
    rows: tuple[Row, ...]
    turned: tuple[int, ...]
    off: tuple[int, ...]
    spinning: tuple[int, ...]
    parameters: tuple[Parameter, ...] = ()

    @property
    def aligned(self) -> tuple[int, ...]:
        """The axes that both frames have alike. Rows are zero as well where one is turned half round, and it is not closed there."""
        return tuple(k for k in EVERY if self.turned in ((), (k,)))

    @property
    def units(self) -> tuple[str, ...]:
        """Of the force of each row."""
        return tuple({Along: "N", Apart: "N/m"}.get(type(row), "N m") for row in self.rows)

    @property
    def forces(self) -> tuple[str, ...]:
        """What the force of each row is, about and along the axes of the first frame."""
        return tuple(self._force(row) for row in self.rows)

    def _force(self, row: Row) -> str:
        if isinstance(row, Along):
            return f"force along {'xyz'[row.axis]}"
        if isinstance(row, Apart):
            return "force along the line between the origins, by its length"
        if isinstance(row, Across) and self.turned == EVERY:
            return "moment about the normal of both axes"
        return f"moment about {'xyz'[row.axis if isinstance(row, Unspun) else 3 - row.first - row.second]}"


AT_ONE_POINT = (Along(0), Along(1), Along(2))
TURNED_ALIKE = (Across(2, 1), Across(0, 2), Across(1, 0))
"""Small turns of the second frame about the axes x, y and z of the first, in this order."""
SAME_AXIS = (Across(1, 2, -1), Across(0, 2))
"""Small turns about x and y, where any turn about z is allowed."""
