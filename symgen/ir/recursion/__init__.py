"""A function of a robot as sweeps along its links: `form` says what that is, `checking` which rules hold."""

from symgen.ir.recursion.checking import check
from symgen.ir.recursion.depth import deepest
from symgen.ir.recursion.form import (
    ANGLE,
    CARRIED,
    ENDED,
    FRAMES,
    GUARD,
    KEPT,
    LAST,
    LEFT,
    TABLE,
    WORK,
    Angle,
    End,
    Form,
    Kind,
    Recursion,
    Sweep,
    angle_of,
    as_function,
    evaluate,
    evaluate_form,
    steps_of,
)
from symgen.ir.recursion.guarding import guarded, unseen
from symgen.ir.recursion.looped import Looped, Parted

__all__ = [
    "ANGLE",
    "CARRIED",
    "ENDED",
    "FRAMES",
    "GUARD",
    "KEPT",
    "LAST",
    "LEFT",
    "TABLE",
    "WORK",
    "Angle",
    "End",
    "Form",
    "Kind",
    "Looped",
    "Parted",
    "Recursion",
    "Sweep",
    "angle_of",
    "as_function",
    "check",
    "deepest",
    "evaluate",
    "evaluate_form",
    "guarded",
    "steps_of",
    "unseen",
]
