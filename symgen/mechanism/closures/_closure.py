"""Interface of a joint that closes a loop. Each file of this folder defines one `CLOSURE`.

A closure joins two frames, the first and the second, each fixed to a link of the tree. It forbids
part of the second frame's motion relative to the first: each of its `rows` is one number that stays
zero. The derivation and the reference both read these rows. Symbols: e_i are the axes of the first
frame and E_j those of the second; p leads from the first origin to the second; ω is the angular
velocity of the second frame relative to the first.

    Along(i)            e_i · p = 0                its force acts along e_i at the second origin (N)
    Across(i, j, sign)  sign · e_i · E_j = 0       its force is a moment about sign · E_j × e_i
                                                   (N m)
    Apart()             (p · p − distance²)/2 = 0  its force, times p, is the force along p (N/m)
    Unspun(i)           e_i · ω = 0                a moment about e_i (N m); a constraint on
                                                   velocities only
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from symgen.mechanism.joints import Parameter


class Along(NamedTuple):
    """The second origin stays in the plane through the first origin that is normal to axis `axis`
    of the first frame.
    """

    axis: int


class Across(NamedTuple):
    """Axis `first` of the first frame stays normal to axis `second` of the second frame."""

    first: int
    second: int
    sign: int = 1


class Apart(NamedTuple):
    """The distance of the origins stays equal to the parameter `distance`."""


class Unspun(NamedTuple):
    """The second frame does not rotate about axis `axis` of the first: a constraint on velocities
    only.
    """

    axis: int


Row = Along | Across | Apart | Unspun
ALL_AXES = (0, 1, 2)


@dataclass(frozen=True)
class ClosureType:
    """A type of loop closure: its constraint rows and the relative motion that remains free.

    All axes are those of the first frame, as indices 0, 1, 2. In a closed loop, the second frame is
    rotated relative to the first only about `rotation_axes`, and its origin is displaced only along
    `translation_axes`. `rotation_axes` has all three axes, one, or none. The velocity of the second
    frame relative to the first has components only along `translation_axes`, and its angular
    velocity only about `angular_velocity_axes`.
    """

    description: str
    """A short description for users."""
    rows: tuple[Row, ...]
    rotation_axes: tuple[int, ...]
    translation_axes: tuple[int, ...]
    angular_velocity_axes: tuple[int, ...]
    parameters: tuple[Parameter, ...] = ()

    @property
    def aligned(self) -> tuple[int, ...]:
        """Axes along which both frames point the same way.

        The rows are zero as well if one of these axes is reversed by half a turn; the loop is not
        closed in that pose.
        """
        return tuple(k for k in ALL_AXES if self.rotation_axes in ((), (k,)))

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the constraint force of each row."""
        return tuple({Along: "N", Apart: "N/m"}.get(type(row), "N m") for row in self.rows)

    @property
    def forces(self) -> tuple[str, ...]:
        """Description of the constraint force of each row, about and along the axes of the first
        frame.
        """
        return tuple(self._force(row) for row in self.rows)

    def _force(self, row: Row) -> str:
        if isinstance(row, Along):
            return f"force along {'xyz'[row.axis]}"
        if isinstance(row, Apart):
            return "force along the line between the origins, by its length"
        if isinstance(row, Across) and self.rotation_axes == ALL_AXES:
            return "moment about the normal of both axes"
        return (
            "moment about"
            f" {'xyz'[row.axis if isinstance(row, Unspun) else 3 - row.first - row.second]}"
        )


SAME_ORIGIN = (Along(0), Along(1), Along(2))
SAME_ORIENTATION = (Across(2, 1), Across(0, 2), Across(1, 0))
"""Rows for small rotations of the second frame about the axes x, y and z of the first, in this
order.
"""
SAME_Z_AXIS = (Across(1, 2, -1), Across(0, 2))
"""Rows for small rotations about x and y, where any rotation about z is allowed."""
