"""What a writer hands over, and how its sentences name joints and links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from symgen.mechanism import Mechanism

SHOWN = 8
"""Joints or links that a sentence names before it counts the rest."""


@dataclass(frozen=True)
class Written:
    """The `text` of a file; in `left_out` a sentence for each thing of the robot that it does not say, or says otherwise."""

    text: str
    left_out: tuple[str, ...] = ()


def listed(names: Iterable[str]) -> str:
    """`a, b and 3 more`."""
    every = list(dict.fromkeys(names))
    more = f" and {len(every) - SHOWN} more" if len(every) > SHOWN else ""
    return ", ".join(every[:SHOWN]) + more


def title(mechanism: Mechanism) -> str:
    """The first line of a converted file, by which a later conversion knows that it may replace it."""
    read_from = f" from {mechanism.source}" if mechanism.source else ""
    return f"Converted by symgen{read_from}. Lengths in m, masses in kg, angles in rad."
