"""The one family of exceptions that reach a user: one sentence each, saying what, where and what to do.

    SymgenError
      DescriptionError       ValueError    a description cannot be read
      MechanismError         ValueError    what was read has no dynamics
      RequestError                         what was asked for cannot be carried out
        ArgumentError        ValueError    a shape, a type or a value that cannot be taken
          UnknownName        LookupError   a name that there is not
        OutOfReach                         no method gives this function of this robot
        MethodRefusal                      another method may
      StateError             ValueError    a checked function refuses a state
      BuildError, ToolMissing              a compiler or another program
      ProgramError                         a defect of symgen itself

Whoever knows Python's own families catches these with `except ValueError` and `except LookupError`.
"""

from __future__ import annotations


class SymgenError(Exception):
    """Base of every error that symgen raises on purpose; its text is one sentence for a person."""


class DescriptionError(SymgenError, ValueError):
    """A robot description cannot be read: names the file, the line and the element."""

    def __init__(self, what: str, *, file: str = "", line: int | None = None, element: str = "", hint: str = "") -> None:
        place = file + (f":{line}" if line is not None else "")
        text = f"{place}: " if place else ""
        text += f"{element}: " if element else ""
        text += what + (f"; {hint}" if hint else "")
        super().__init__(text)
        self.what, self.file, self.line, self.element = what, file, line, element


class MechanismError(SymgenError, ValueError):
    """A mechanism is not one that has dynamics: names the body or joint."""


class RequestError(SymgenError):
    """What was asked for does not exist or cannot be carried out: names what does exist."""


class ArgumentError(RequestError, ValueError):
    """An argument has a shape, a type or a value that cannot be taken: names the argument and what is wanted."""


class UnknownName(ArgumentError, LookupError):
    """No robot, joint, link, function, method, quantity or option has this name, or this index: says which there are. A wrong
    value that is a name, so both a ValueError and a LookupError, as NumPy's AxisError is both a ValueError and an IndexError."""


class OutOfReach(RequestError):
    """No method gives a function of this robot in fewer rows than a C compiler takes and without losing the digits of its
    constants: where no function is named, it is left out."""


class MethodRefusal(RequestError):
    """A method does not suit what was asked of this robot, as a payload; another method may: names one."""


class StateError(SymgenError, ValueError):
    """A checked function refused a state: names the function, the state and why. Its results are as they were."""


class BuildError(SymgenError):
    """The C compiler or its headers are missing, or refused the generated text."""


class ToolMissing(BuildError):
    """A program that is run is not on this machine: names the package that brings it."""


class ProgramError(SymgenError):
    """A Program breaks one of the rules that `symgen.ir.check` states; always a defect of symgen itself."""
