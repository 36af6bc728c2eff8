"""One request answered: closed or recursive by size, as SymPy objects, with what a reader should know of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from symgen.errors import RequestError
from symgen.inspection.at import Values
from symgen.inspection.catalogue import choose
from symgen.inspection.entries import Answer, answer
from symgen.inspection.equations import equations, size
from symgen.inspection.printing import FORMATS, listed, printed
from symgen.mechanism import Mechanism, nearest

FORMS = ("closed", "recursive")
CLOSED_UP_TO = 600
"""Operations beyond which named equations are shown unless a closed form is asked for."""
CLOSED_AT_MOST = 500_000
"""Operations beyond which a closed form is refused: a page holds about a hundred."""


@dataclass(frozen=True)
class Recursive:
    """Named equations down to the inputs, and what was asked for over them; `str` is text, a notebook shows LaTeX."""

    label: str
    named: tuple[tuple[Any, Any], ...]
    value: Any

    def written(self, format: str) -> str:
        return listed(self.named, self.label, self.value, format)

    def __str__(self) -> str:
        return self.written("text")

    def _repr_latex_(self) -> str:
        lines = self.written("latex").replace(" = ", " &= ")
        return "$\\displaystyle \\begin{aligned}" + lines.removesuffix(r"\\") + "\\end{aligned}$"


@dataclass(frozen=True)
class Reading:
    """`value`: an expression, a Matrix, or Recursive; `notes`: one sentence each."""

    value: Any
    notes: tuple[str, ...]

    def written(self, format: str) -> str:
        return self.value.written(format) if isinstance(self.value, Recursive) else printed(self.value, format)


def read(mechanism: Mechanism, what: str, method: str | None = None, form: str | None = None, at: Values | None = None,
         frame: str | None = None) -> Reading:
    """The answer to a request; `form` None: closed up to CLOSED_UP_TO operations, and a note where it is not."""
    if form is not None:
        nearest(form, FORMS, "form")
    found = answer(mechanism, choose(mechanism, what, method), frame)
    many, notes = size(found.program, found.rows, at), list(found.notes)
    if form == "closed" and many > CLOSED_AT_MOST:
        raise RequestError(f"the closed form of {found.label} has {many} operations, more than anybody reads; take the recursive "
                           "form, one entry of it, or a pose with --at")
    if form is None and many > CLOSED_UP_TO:
        notes.append(f"{found.label} has {many} operations in closed form, so these are its named equations; --form closed "
                     "substitutes them back")
    named = form == "recursive" or (form is None and many > CLOSED_UP_TO)
    made = equations(found.program, found.rows, at, named)
    value = _shaped(found, made.entries)
    return Reading(Recursive(found.label, made.named, value) if named else value, tuple(notes))


def _shaped(found: Answer, entries: tuple[Any, ...]) -> Any:
    return sp.Matrix(*found.shape, list(entries)) if found.shape else entries[0]


def render(mechanism: Mechanism, what: str, method: str | None = None, format: str = "text", form: str | None = None,
           at: Values | None = None, frame: str | None = None) -> tuple[str, tuple[str, ...]]:
    """(what `symgen inspect` prints, its notes)."""
    nearest(format, FORMATS, "format")
    found = read(mechanism, what, method, form, at, frame)
    return found.written(format), found.notes
