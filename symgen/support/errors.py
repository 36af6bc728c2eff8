"""The one family of exceptions that reach a user: one sentence each, saying what, where and what to do.

    SymgenError
      DescriptionError       ValueError    a description cannot be read
      MechanismError         ValueError    the mechanism has no dynamics
      RequestError                         a request cannot be carried out
        ArgumentError        ValueError    a shape, a type or a value that cannot be taken
          UnknownName        LookupError   a name that does not exist
        OutOfReach                         no method gives this function of this robot
          TooLong                          … since it needs more rows than a C compiler takes
        MethodRefusal                      another method may
      StateError             ValueError    a checked function refuses a state
      BuildError                           a compiler or another program
        ToolMissing                        … is not there
        TextRefused                        … works, and refuses the generated text
      ProgramError                         a defect of symgen itself

They can also be caught by Python's own families, `except ValueError` and `except LookupError`.

`SymgenWarning` is the one class of warnings. `warn` issues one at the line of the user's program that called symgen; the command
line prints what `collected` kept instead.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType


def printable(text: str, width: int | None = None) -> str:
    """`text`, cut to `width` characters and …, with a mark for each character that a terminal would obey and not print."""
    cut = text if width is None or len(text) <= width else f"{text[:width]}…"
    return cut if cut.isprintable() else "".join(c if c.isprintable() else "�" for c in cut)


class SymgenError(Exception):
    """Base of every error that symgen raises on purpose. Its text is one sentence for a person."""


class DescriptionError(SymgenError, ValueError):
    """A robot description cannot be read. Names the file, the line and the element."""

    def __init__(
        self,
        what: str,
        *,
        file: str = "",
        line: int | None = None,
        element: str = "",
        hint: str = "",
    ) -> None:
        place = printable(file) + (f":{line}" if line is not None else "")
        text = f"{place}: " if place else ""
        text += f"{element}: " if element else ""
        text += what + (f"; {hint}" if hint else "")
        super().__init__(text)
        self.what, self.file, self.line, self.element = what, file, line, element


class MechanismError(SymgenError, ValueError):
    """A mechanism has no dynamics. Names the body or joint."""


class RequestError(SymgenError):
    """What was asked for does not exist or cannot be carried out. Names what does exist."""


class ArgumentError(RequestError, ValueError):
    """An argument has a shape, a type or a value that cannot be taken. Names the argument and what is wanted."""


class UnknownName(ArgumentError, LookupError):
    """No robot, joint, link, function, method, quantity or option has this name or this index. Says which there are.

    A name can be a wrong value, so this is a ValueError and a LookupError, as NumPy's AxisError is a ValueError and an
    IndexError.
    """


class OutOfReach(RequestError):
    """No method gives a function of this robot: each needs more rows than a C compiler takes, or loses the digits of its
    constants.

    Where no function is named, it is left out.
    """


class TooLong(OutOfReach):
    """A function of this robot needs more rows than a C compiler takes. `symgen.generate` writes the others without it."""


class MethodRefusal(RequestError):
    """A method does not suit the request for this robot, such as a payload. Names a method that may."""


class StateError(SymgenError, ValueError):
    """A checked function refused a state. Names the function, the state and why. Its results are unchanged."""


class BuildError(SymgenError):
    """The C compiler or its headers are missing, or refused the generated text."""


class ToolMissing(BuildError):
    """A program that symgen runs is not on this machine. Names the package that brings it."""


class TextRefused(BuildError):
    """A target's compiler refused the generated text, although it builds another program."""


class ProgramError(SymgenError):
    """A Program breaks one of the rules that `symgen.ir.program.check` states. This is always a defect of symgen itself."""


class SymgenWarning(UserWarning):
    """A decision that changes the answer and that the user may not expect. Its text is one sentence for a person.

    `kind` is that of a note (`symgen.mechanism.notes.KINDS`); "warning" is what the command line prints as a warning.
    """

    def __init__(self, text: str, kind: str = "warning") -> None:
        super().__init__(text)
        self.kind = kind


_COLLECTED: ContextVar[list[SymgenWarning] | None] = ContextVar("_COLLECTED", default=None)


def warn(text: str, kind: str = "warning") -> None:
    """Issue a SymgenWarning at the innermost line outside symgen, or keep it for the `collected` around the call."""
    warning, kept = SymgenWarning(text, kind), _COLLECTED.get()
    if kept is None:
        warnings.warn(warning, stacklevel=_levels_to_the_user())
    elif text not in map(str, kept):
        kept.append(warning)


def warn_each(notices: Iterable[tuple[str, str]]) -> None:
    """Issue a SymgenWarning for each (kind, text)."""
    for kind, text in notices:
        warn(text, kind)


@contextmanager
def collected() -> Iterator[list[SymgenWarning]]:
    """Keep the warnings of the block in a list, each text once, instead of issuing them."""
    kept: list[SymgenWarning] = []
    token = _COLLECTED.set(kept)
    try:
        yield kept
    finally:
        _COLLECTED.reset(token)


def _levels_to_the_user() -> int:
    """Number of frames from `warn` to the innermost one whose module is not part of symgen."""
    frame: FrameType | None = sys._getframe(1)
    levels = 1
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "symgen":
        frame, levels = frame.f_back, levels + 1
    return levels
