"""What a user may choose about the C of one robot: what changes a Program, and what changes only its text.

Both are the keys of whatever is kept: a Program knows nothing of `TextOptions`, and so is derived once for all of them.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from symgen.functions import AT_RUN_TIME
from symgen.names import nearest
from symgen.reals import REALS

TRIG = ("libm", "macro", "inline")
"""What computes sines and cosines: <math.h>, NAME_SIN and NAME_COS, or the text's own."""


@dataclass(frozen=True)
class ProgramOptions:
    """What changes a Program: its real type, and the links that are meant.

    `frame` is the one whose pose or Jacobian is asked for; `payload` and `wrench` carry a load and feel an external wrench at
    run time, each one more argument. The real type changes no row, but which method is taken unless told.
    """

    real: str = "double"
    _: KW_ONLY
    frame: str | None = None
    payload: str | None = None
    wrench: str | None = None

    def __post_init__(self) -> None:
        nearest(self.real, REALS, "real type")

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
