"""Result of a writer, and the form of its sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from symgen.mechanism.mechanism import Mechanism


@dataclass(frozen=True)
class Written:
    """The `text` of a file; `left_out` has a sentence for each property of the robot that the file
    omits or changes.
    """

    text: str
    left_out: tuple[str, ...] = ()


def list_all(names: Iterable[str]) -> str:
    """Return `a, b, c`: all names, each once, since an omission must be reported completely."""
    return ", ".join(dict.fromkeys(names))


def title(mechanism: Mechanism) -> str:
    """Return the first line of a converted file. A later conversion recognises by it that it may
    replace the file.
    """
    read_from = f" from {mechanism.source}" if mechanism.source else ""
    return f"Converted by symgen{read_from}. Lengths in m, masses in kg, angles in rad."
