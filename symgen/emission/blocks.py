"""Sines and cosines of many links at once: a sweep that takes nothing else, in blocks of links.

The angles of a block go to the text's own loop (`_sincos`), which a compiler vectorises; what it gives goes to where the sweep
keeps it. Of the last block some lanes are idle.
"""

from __future__ import annotations

from typing import NamedTuple

from symgen.emission import sincos
from symgen.ir.loops import Angle, LoopProgram, angle_of
from symgen.vocabulary.target import Target

MOST = 16
"""Links of a block. Twice as many are no quicker."""


class Blocks(NamedTuple):
    """How a sweep is cut: `links` of a block, `lanes` for their angles, and the angle of each class."""

    links: int
    lanes: int
    angles: dict[int, Angle]


def blocks(recursion: LoopProgram, s: int, target: Target) -> Blocks | None:
    """How sweep number `s` is cut into blocks; None where it takes more than sines, or one, which <math.h> serves as well."""
    sweep = recursion.sweeps[s]
    count = len(recursion.visited(sweep))
    steps = {
        c: step
        for c, step in enumerate(sweep.steps)
        if step.outputs and c in recursion.classes(sweep)
    }
    found = {c: angle for c, step in steps.items() if (angle := angle_of(step)) is not None}
    if (
        target.text.trig != "auto"
        or sweep.inward
        or sweep.initial
        or not steps
        or len(found) < len(steps)
        or count < 2
    ):
        return None
    links = -(-count // -(-count // MOST))
    return Blocks(links, sincos.lanes(links, recursion.real), found)
