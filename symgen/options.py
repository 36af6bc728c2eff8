"""What a user may choose about the C of one robot: what changes a Program, and what changes only its text.

Both are the keys of whatever is kept: a Program knows nothing of `TextOptions`, and so is derived once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from symgen.errors import ArgumentError
from symgen.functions import AT_RUN_TIME, JACOBIAN_FRAMES, JACOBIAN_ORDERS, USUAL, Convention
from symgen.names import nearest
from symgen.reals import REALS

TRIG = ("libm", "macro", "inline", "auto")
"""What computes sines and cosines: <math.h>, NAME_SIN and NAME_COS, the text's own, or angle by angle the text's own within the
range that these are proved for and <math.h> beyond it."""
HOST = "auto"
"""Where sines and cosines come from unless told, on a machine like this one. On a target it is "libm"."""


Frames = str | Sequence[str] | None
"""A link's name, or those of several in their order; None for the default one."""


@dataclass(frozen=True)
class ProgramOptions:
    """What changes a Program: its real type, and the links that are meant.

    `frame` is the one whose pose or Jacobian is asked for, or several in their order, a tuple then; `payload` and `wrench` carry
    a load and feel an external wrench at run time, each one more argument. The real type changes no row, but which method is
    taken unless told. `jacobian_frame` and `jacobian_order` say how J and J̇ v are stated (`symgen.functions.Convention`).
    """

    real: str = "double"
    _: KW_ONLY
    frame: Frames = None
    payload: str | None = None
    wrench: str | None = None
    jacobian_frame: str = USUAL.frame
    jacobian_order: str = USUAL.order

    def __post_init__(self) -> None:
        nearest(self.real, REALS, "real type")
        nearest(self.jacobian_frame, JACOBIAN_FRAMES, "frame of a Jacobian")
        nearest(self.jacobian_order, JACOBIAN_ORDERS, "order of a Jacobian")
        names = self.frames
        if self.frame is not None and not names:
            raise ArgumentError("no frame is named; name one or more links, or give None for the default one")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ArgumentError(f"the frame '{twice}' is named twice; name every frame once")
        if names:   # one is what it was before there could be several
            object.__setattr__(self, "frame", names[0] if len(names) == 1 else names)

    @property
    def convention(self) -> Convention:
        """How J and J̇ v are stated."""
        return Convention(self.jacobian_frame, self.jacobian_order)

    @property
    def frames(self) -> tuple[str, ...]:
        """The names of the frames in their order; none for the default one."""
        return () if not self.frame else (self.frame,) if isinstance(self.frame, str) else tuple(self.frame)

    @property
    def at_run_time(self) -> dict[str, str]:
        """The link of every run-time argument that is asked for, by the argument's name."""
        asked = ((argument.name, getattr(self, argument.name)) for argument in AT_RUN_TIME)
        return {name: link for name, link in asked if link is not None}


@dataclass(frozen=True)
class TextOptions:
    """What changes the C of a Program, and not the Program.

    `trig` is one of TRIG. Functions that are `checked` return a status. `wrap` names the wrappers of the C that stand beside it,
    `target` the machine that a firmware/ is made for.
    """

    trig: str = "libm"
    _: KW_ONLY
    checked: bool = False
    wrap: tuple[str, ...] = ()
    target: str | None = None

    def __post_init__(self) -> None:
        nearest(self.trig, TRIG, "kind of trigonometry")


PLAIN = TextOptions()
"""The C unless told."""
