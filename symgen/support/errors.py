"""The exceptions and warnings of symgen. Each text is one sentence: what, where, and what to do.

    SymgenError
      DescriptionError       ValueError    a description cannot be read
      MechanismError         ValueError    the mechanism has no dynamics
      RequestError                         a request cannot be carried out
        ArgumentError        ValueError    an argument has an invalid shape, type or value
          UnknownName        LookupError   a name does not exist
        OutOfReach                         no method can generate this function for this robot
          TooLong                          … because it needs more rows than a C compiler accepts
        MethodRefusal                      this method cannot; another one may
      StateError             ValueError    a checked function refuses a state
      BuildError                           a compiler or another program fails
        ToolMissing                        … because it is not installed
        TextRefused                        … because it refuses the generated text
      ProgramError                         a defect of symgen itself

They can also be caught as Python's own exceptions, with `except ValueError` and `except
LookupError`.

`SymgenWarning` is the only class of warnings. `warn` issues a warning at the line of the user's
program that called symgen. The command line collects warnings with `collected` and prints them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType


def printable(text: str, width: int | None = None) -> str:
    """Return `text`, shortened to `width` characters and …, with a mark for each character that a
    terminal would interpret.
    """
    cut = text if width is None or len(text) <= width else f"{text[:width]}…"
    return cut if cut.isprintable() else "".join(c if c.isprintable() else "�" for c in cut)


class SymgenError(Exception):
    """Base class of all exceptions that symgen raises on purpose. The text is one sentence for
    users.
    """


class DescriptionError(SymgenError, ValueError):
    """A robot description cannot be read. The text names the file, the line and the element."""

    def __init__(
        self,
        what: str,
        *,
        file: str = "",
        line: int | None = None,
        element: str = "",
        hint: str = "",
    ) -> None:
        location = printable(file) + (f":{line}" if line is not None else "")
        text = f"{location}: " if location else ""
        text += f"{element}: " if element else ""
        text += what + (f"; {hint}" if hint else "")
        super().__init__(text)
        self.what, self.file, self.line, self.element = what, file, line, element


class MechanismError(SymgenError, ValueError):
    """A mechanism has no dynamics. The text names the body or joint."""


class RequestError(SymgenError):
    """A request names something that does not exist or cannot be carried out. The text lists the
    choices.
    """


class ArgumentError(RequestError, ValueError):
    """An argument has an invalid shape, type or value. The text names the argument and what is
    expected.
    """


class UnknownName(ArgumentError, LookupError):
    """No robot, joint, link, function, method, quantity or option has this name or this index. The
    text lists the choices.

    An unknown name can also be a wrong value, so this is both a ValueError and a LookupError, as
    NumPy's AxisError is a ValueError and an IndexError.
    """


class OutOfReach(RequestError):
    """No method can generate a function for this robot.

    Each method needs more rows (operations) than a C compiler accepts, or loses the digits of its
    constants. If the user named no function, the others are generated without this one.
    """


class TooLong(OutOfReach):
    """A function of this robot needs more rows than a C compiler accepts. `symgen.generate` writes
    the others without it.
    """


class MethodRefusal(RequestError):
    """A method cannot handle the request for this robot, such as a payload. The text names a method
    that may.
    """


class StateError(SymgenError, ValueError):
    """A function that checks its inputs at run time refused a state. The text names the function,
    the state and the reason. The results are unchanged.
    """


class BuildError(SymgenError):
    """The C compiler or its headers are missing, or the compiler refused the generated text."""


class ToolMissing(BuildError):
    """A program that symgen runs is not installed. The text names the package that contains it."""


class TextRefused(BuildError):
    """A target's compiler refused the generated text, although it compiles another program."""


class ProgramError(SymgenError):
    """A Program violates a rule of `symgen.ir.program.check`. This is always a defect of symgen
    itself.
    """


class SymgenWarning(UserWarning):
    """A decision that changes results and that the user may not expect. The text is one sentence
    for users.

    `kind` is that of a note (`symgen.mechanism.notes.KINDS`). The command line prints kind
    "warning" as a warning.
    """

    def __init__(self, text: str, kind: str = "warning") -> None:
        super().__init__(text)
        self.kind = kind


_COLLECTED: ContextVar[list[SymgenWarning] | None] = ContextVar("_COLLECTED", default=None)


def warn(text: str, kind: str = "warning") -> None:
    """Issue a SymgenWarning at the innermost line outside symgen, or add it to the list of an
    enclosing `collected`.
    """
    warning, collecting = SymgenWarning(text, kind), _COLLECTED.get()
    if collecting is None:
        warnings.warn(warning, stacklevel=_levels_to_the_user())
    elif text not in map(str, collecting):
        collecting.append(warning)


def warn_each(notices: Iterable[tuple[str, str]]) -> None:
    """Issue a SymgenWarning for each (kind, text)."""
    for kind, text in notices:
        warn(text, kind)


@contextmanager
def collected() -> Iterator[list[SymgenWarning]]:
    """Collect the warnings of the block in a list, each text once, instead of issuing them."""
    warnings_of_block: list[SymgenWarning] = []
    token = _COLLECTED.set(warnings_of_block)
    try:
        yield warnings_of_block
    finally:
        _COLLECTED.reset(token)


def _levels_to_the_user() -> int:
    """Return the number of frames from `warn` to the innermost frame outside symgen."""
    frame: FrameType | None = sys._getframe(1)
    levels = 1
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "symgen":
        frame, levels = frame.f_back, levels + 1
    return levels
