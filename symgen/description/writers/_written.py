"""What a writer hands over, and how its sentences name joints and links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from symgen.mechanism.mechanism import Mechanism


@dataclass(frozen=True)
class Written:
    """The `text` of a file; in `left_out` a sentence for each thing of the robot that it does not say, or says otherwise."""

    text: str
    left_out: tuple[str, ...] = ()


def listed(names: Iterable[str]) -> str:
    """`a, b, c`, each once and all of them: what is left out is not left out of its sentence."""
    return ", ".join(dict.fromkeys(names))


def title(mechanism: Mechanism) -> str:
    """The first line of a converted file, by which a later conversion knows that it may replace it."""
    read_from = f" from {mechanism.source}" if mechanism.source else ""
    return f"Converted by symgen{read_from}. Lengths in m, masses in kg, angles in rad."
