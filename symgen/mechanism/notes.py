"""Notes: what a reading changed, left out or noticed; their kinds, and notes alike gathered into one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

KINDS = {
    "lump": "a link that was merged into the body that carries it, through a fixed joint",
    "lock": "a link that was merged through a locked joint",
    "info": "a remark that changes no answer",
    "snap": "a rotation that was read as a multiple of pi/2",
    "mimic": "joints that are declared to follow others: independent, or coupled",
    "unapplied": "numbers that were read and are in no function: damping, friction, rotors …",
    "namesake": "a folder of the working directory that has the robot's name and was not read",
    "idle": "a loop closure that constrains nothing and is left out",
    "warning": "what looks like a mistake, or is left out although it would change the answer",
}
"""Kind of a note -> meaning; in the order in which they are shown, warnings last."""
LOUD = ("snap", "mimic", "unapplied", "idle", "warning")
"""Kinds that are said without being asked for: SymgenWarnings in Python, lines on stderr on the command line."""
NAMED = 4
"""Further elements that a gathered line names before it counts the rest."""

_NAME = r"'[^']*'|(?<=\blink )\S+|(?<=\bjoint )\S+|(?<=\bbody )\S+|(?<=\bloop )\S+"
_NUMBER = r"(?<![\w.])[-+]?(?:[\d.]+(?:e[-+]?\d+)?\*?)?(?:pi|\d)(?:/\d+)?(?![\w.])|(?<![\w.])[-+]?[\d.]+e[-+]?\d+"
_VARYING = re.compile(f"({_NAME})|{_NUMBER}")
_MOVED = re.compile(r"\(moved by ([\d.e+-]+) rad\)")


@dataclass(frozen=True)
class Note:
    """Something that a reading changed, left out or noticed: one of KINDS, and a sentence."""

    kind: str
    text: str


def gathered(notes: Iterable[Note], kind: str, named: int | None = NAMED) -> list[str]:
    """The texts of one kind, a line for all that differ in names and numbers alone: one of them, then the names of the others.

    Of rotations the one that was moved most is written out. `named` None names all.
    """
    alike: dict[str, list[str]] = {}
    for note in notes:
        if note.kind == kind:
            alike.setdefault(_VARYING.sub("#", note.text), []).append(note.text)
    return [_line(texts, named) for texts in alike.values()]


def _line(texts: Sequence[str], named: int | None) -> str:
    """One line for texts that are alike."""
    shown = max(texts, key=_moved)
    subject = _subject(shown)
    names = [name for name in dict.fromkeys(map(_subject, texts)) if name and name != subject]
    if not names:
        return shown if len(texts) == 1 else f"{shown}; and {len(texts) - 1} more of it"
    listed = names[:named]
    rest = len(names) - len(listed)
    return f"{shown}; the same of {', '.join(listed)}" + (f" and {rest} more" if rest else "")


def _moved(text: str) -> float:
    """The turn in rad by which a snap note says that a rotation was moved; 0 of any other text."""
    found = _MOVED.search(text)
    return float(found[1]) if found else 0.0


def _subject(text: str) -> str:
    """The first name in a text, without quotes."""
    return next((match[1].strip("'") for match in _VARYING.finditer(text) if match[1]), "")
