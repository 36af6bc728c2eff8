"""Notes: what a reader changed, ignored or noticed; their kinds, and similar notes combined into
one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from symgen.support.lists import shortened_list

KINDS = {
    "lump": "a link that a fixed joint merges into the body that carries it",
    "lock": "a link that a locked joint merges into the body that carries it",
    "info": "a remark that changes no result",
    "snap": "a rotation that is read as a multiple of pi/2",
    "mimic": "mimic joints, which are read as independent or coupled",
    "unapplied": "numbers that are read and not applied: damping, friction, rotors …",
    "namesake": "a folder in the working directory with the robot's name, which is not read",
    "idle": "a loop closure that constrains nothing and is left out",
    "warning": "a probable mistake, or an omission that changes results",
}
"""Meaning of each kind of note, in the order in which they are shown; warnings come last."""
LOUD = ("snap", "mimic", "unapplied", "idle", "warning")
"""Kinds that are always shown: as SymgenWarnings in Python, as lines on stderr on the command line.
"""
NAMED = 4
"""Number of further elements that a combined line names before it only counts the rest."""

_NAME = r"'[^']*'|(?<=\blink )\S+|(?<=\bjoint )\S+|(?<=\bbody )\S+|(?<=\bloop )\S+"
_NUMBER = (
    r"(?<![\w.])[-+]?(?:[\d.]+(?:e[-+]?\d+)?\*?)?(?:pi|\d)(?:/\d+)?(?![\w.])"
    r"|(?<![\w.])[-+]?[\d.]+e[-+]?\d+"
)
_VARYING = re.compile(f"({_NAME})|{_NUMBER}")
_SNAP_ANGLE = re.compile(r"\(moved by ([\d.e+-]+) rad\)")


@dataclass(frozen=True)
class Note:
    """Something that a reader changed, ignored or noticed: one of KINDS, and a sentence."""

    kind: str
    text: str


def combined_notes(notes: Iterable[Note], kind: str, named: int | None = NAMED) -> list[str]:
    """Return the texts of one kind. Texts that differ only in names and numbers share a line: one
    text, then the other names.

    For rotations, the text with the largest rotation is shown. `named` None lists all names.
    """
    alike: dict[str, list[str]] = {}
    for note in notes:
        if note.kind == kind:
            alike.setdefault(_VARYING.sub("#", note.text), []).append(note.text)
    return [_line(texts, named) for texts in alike.values()]


def _line(texts: Sequence[str], named: int | None) -> str:
    """Return one line for similar texts."""
    shown = max(texts, key=_snap_angle)
    subject = _subject(shown)
    names = [name for name in dict.fromkeys(map(_subject, texts)) if name and name != subject]
    if not names:
        return shown if len(texts) == 1 else f"{shown}; and {len(texts) - 1} more like it"
    return f"{shown}; the same of {shortened_list(names, named)}"


def _snap_angle(text: str) -> float:
    """Return the angle (rad) by which a snap note says that a rotation was changed; 0 for any other
    text.
    """
    match = _SNAP_ANGLE.search(text)
    return float(match[1]) if match else 0.0


def _subject(text: str) -> str:
    """Return the first name in a text, without quotes."""
    return next((match[1].strip("'") for match in _VARYING.finditer(text) if match[1]), "")
