"""What an argument or a result of a function is: its shape in names of sizes, and what it says."""

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
    """What the names of sizes stand for on one robot: entries of q, entries of v, bodies that move, frames that are named,
    wrenches that are felt, inertial parameters, base parameters, rows of the task, numbers that may change at run time, those
    that are made of them, what is judged and carried of them, rows of the joints that close loops, velocities that are
    independent where they are closed, those that are driven, and contacts.
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
        return size if isinstance(size, int) else int(getattr(self, size))


JACOBIAN_FRAMES = {
    "aligned": "axes of the base, at the frame's origin",
    "local": "axes of the frame, at its origin",
    "world": "axes of the base, at the base's origin",
}
"""In which axes, and at which point of the moving space, the twist of a frame is stated."""
JACOBIAN_ORDERS = ("angular", "linear")
"""Which part of it stands first."""


TASK_ROWS = ("wx", "wy", "wz", "x", "y", "z")
"""The rows of a frame's twist that a task may be about: turning about the axes of the base, and moving along them."""
ALL_ROWS = tuple(range(len(TASK_ROWS)))


class Convention(NamedTuple):
    """How J and J̇ v are stated: a name of JACOBIAN_FRAMES and one of JACOBIAN_ORDERS."""

    frame: str = "aligned"
    order: str = "angular"


USUAL = Convention()
"""Unless told; and always, of what is made of six numbers and does not follow a choice."""


@dataclass(frozen=True)
class Array:
    """One argument or result; `shape` in names of `Sizes` and plain numbers, () for a scalar; stored row-major and full.

    `each` says what it is there once for: every frame that is named (NF), or every link that feels a wrench (NW). Of one it has
    this shape, of several they are stacked behind that size. What is a `twist` is stated by the Convention that is chosen, and
    `what` says it by the usual one. A `switch` is 0 or 1 in each entry, so that nothing is differentiated by it.
    """

    name: str
    shape: tuple[Size, ...]
    what: str
    each: Literal["NF", "NW"] | None = None
    twist: bool = False
    switch: bool = False
    drawn: str = ""
    """What its sample values are drawn as, where it is not its own name: a step of dynamics is shorter than one of positions."""

    def sizes(self, known: Sizes) -> tuple[int, ...]:
        return tuple(known.of(size) for size in self.shape)

    def of_each(self, count: int) -> Array:
        """The same where `count` frames, or links that feel a wrench, are named."""
        if self.each is None or count < 2:
            return self
        return replace(
            self, shape=(self.each, *self.shape), what=f"{_IN_TURN[self.each]}: {self.what}"
        )

    def laid_out(self, shape: tuple[int, ...], convention: Convention = USUAL) -> Array:
        """The same as a Program has it, in this `shape` and by this convention: of several, where the shape is longer."""
        stated = self
        if self.twist and convention != USUAL:
            place = JACOBIAN_FRAMES[convention.frame]
            what = self.what.replace(JACOBIAN_FRAMES[USUAL.frame], place).replace(
                USUAL.order, convention.order
            )
            stated = replace(self, what=what)
        return stated.of_each(shape[0]) if len(shape) > len(self.shape) else stated


_IN_TURN = {"NF": "of each frame in turn", "NW": "for each link in turn"}
