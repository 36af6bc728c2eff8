"""What a user may choose about the C of one robot, and how much of it changes the Program."""

from __future__ import annotations

from dataclasses import dataclass

from symgen.description.tip import tip
from symgen.functions import AT_RUN_TIME, FUNCTIONS
from symgen.mechanism import Mechanism
from symgen.names import nearest
from symgen.reals import REALS


@dataclass(frozen=True)
class Options:
    """What changes the C of one mechanism: precision, frame of interest, run-time payload and wrench, trigonometry, checks.

    The Program itself knows three of them (`of_program`); the others only change how it is printed.
    """

    real: str = "double"
    frame: str | None = None
    payload: str | None = None
    trig: str = "libm"
    wrench: str | None = None
    checked: bool = False

    def __post_init__(self) -> None:
        nearest(self.real, REALS, "real type")
        nearest(self.trig, ("libm", "macro", "inline"), "kind of trigonometry")

    @property
    def at_run_time(self) -> dict[str, str]:
        """The link of every run-time argument that is asked for, by the argument's name."""
        asked = ((argument.name, getattr(self, argument.name)) for argument in AT_RUN_TIME)
        return {name: link for name, link in asked if link is not None}

    def of_program(self, mechanism: Mechanism, function: str) -> Options:
        """These options as far as they change the rows of a function's Program, so that what is alike is derived once."""
        what = FUNCTIONS[function]
        felt = {a.name: getattr(self, a.name) for a in AT_RUN_TIME if a in what.feels}
        return Options(frame=self.frame or tip(mechanism) if what.needs_frame else None, **felt)
