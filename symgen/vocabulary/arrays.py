"""Arrays of a function: the shape of an argument or a result in named sizes, and its meaning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

Size = (
    Literal[
        "NQ",
        "NV",
        "NB",
        "NF",
        "NW",
        "NP",
        "NR",
        "NK",
        "NG",
        "NS",
        "NJ",
        "NC",
        "NL",
        "NI",
        "NA",
        "NT",
    ]
    | int
)


class Sizes(NamedTuple):
    """Values of the named sizes for one robot.

    - NQ entries of q, NV entries of v, NB moving bodies
    - NF named frames, NW external wrenches, NK rows of the task, NT contacts
    - NP inertial parameters, NR base parameters
    - NG parameters that can change at run time, NS values prepared from them, NJ and NC values
      checked in them
    - NL constraint rows of loop closures, NI independent velocities of closed loops, NA actuated
      velocities
    """

    NQ: int
    NV: int
    NB: int
    NF: int = 1
    NW: int = 1
    NP: int = 0
    NR: int = 0
    NK: int = 6
    NG: int = 0
    NS: int = 0
    NJ: int = 0
    NC: int = 0
    NL: int = 0
    NI: int = 0
    NA: int = 0
    NT: int = 0

    def of(self, size: Size) -> int:
        """Return a size as a number."""
        return size if isinstance(size, int) else int(getattr(self, size))


JACOBIAN_FRAMES = {
    "aligned": "axes of the base, at the frame's origin",
    "local": "axes of the frame, at its origin",
    "world": "axes of the base, at the base's origin",
}
"""Axes and reference point of the twist of a frame."""
JACOBIAN_ORDERS = ("angular", "linear")
"""Part of the twist that comes first."""


TASK_ROWS = ("wx", "wy", "wz", "x", "y", "z")
"""Rows of a frame's twist that a task may use: rotation about the axes of the base and translation
along them.
"""
ALL_ROWS = tuple(range(len(TASK_ROWS)))


class Convention(NamedTuple):
    """Convention of J and J̇ v: a key of JACOBIAN_FRAMES and one of JACOBIAN_ORDERS."""

    frame: str = "aligned"
    order: str = "angular"


USUAL = Convention()
"""Default convention. Six-component results that follow no choice always use it."""


@dataclass(frozen=True)
class Array:
    """One argument or result of a function, stored row-major and full.

    - `shape` has names of `Sizes` and numbers; it is () for a scalar.
    - `each`: the array exists once per named frame (NF) or once per link with an external wrench
      (NW). For a single one it has this shape; several are stacked along a leading dimension of
      that size.
    - `twist`: the array follows the chosen Convention. `what` describes it in the default one.
    - `switch`: each entry is 0 or 1, and there are no derivatives with respect to it.
    """

    name: str
    shape: tuple[Size, ...]
    what: str
    each: Literal["NF", "NW"] | None = None
    twist: bool = False
    switch: bool = False
    drawn: str = ""
    """Kind of its sample values, if not its own name. A time step of dynamics, for example, is
    shorter than one of positions.
    """

    def sizes(self, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape in numbers."""
        return tuple(sizes.of(size) for size in self.shape)

    def of_each(self, count: int) -> Array:
        """Return the array for `count` named frames or external wrenches."""
        if self.each is None or count < 2:
            return self
        return replace(
            self, shape=(self.each, *self.shape), what=f"{_COPY_PHRASES[self.each]}: {self.what}"
        )

    def laid_out(self, shape: tuple[int, ...], convention: Convention = USUAL) -> Array:
        """Return the array as a Program has it, in this convention and `shape`; a longer shape
        means several frames or wrenches.
        """
        stated = self
        if self.twist and convention != USUAL:
            axes = JACOBIAN_FRAMES[convention.frame]
            description = self.what.replace(JACOBIAN_FRAMES[USUAL.frame], axes).replace(
                USUAL.order, convention.order
            )
            stated = replace(self, what=description)
        return stated.of_each(shape[0]) if len(shape) > len(self.shape) else stated


_COPY_PHRASES = {"NF": "of each frame in turn", "NW": "for each link in turn"}
