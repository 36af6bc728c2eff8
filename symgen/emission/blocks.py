"""Sines and cosines of many links at once: a sweep whose steps take sines and nothing else goes
through blocks of links.

The angles of a block go to the text's own loop over sines (`sincos`), which a compiler vectorises,
and the sweep saves the sines and cosines. Of the last block, some lanes are idle.
"""

from __future__ import annotations

from typing import NamedTuple

from symgen.emission import sincos
from symgen.ir.loops import Angle, LoopProgram, angle_of
from symgen.vocabulary.target import Target

MOST = 16
"""Links of a block at most; twice as many are no faster."""


class Blocks(NamedTuple):
    """The links of a block, the `lanes` for their angles, and the angle of each class."""

    links: int
    lanes: int
    angles: dict[int, Angle]


def blocks(form: LoopProgram, s: int, target: Target) -> Blocks | None:
    """Return the blocks of sweep `s`; None where a step does anything else, or for one link, which
    <math.h> serves as well.
    """
    sweep = form.sweeps[s]
    count = len(form.visited(sweep))
    if target.text.trig != "auto" or sweep.inward or sweep.initial or count < 2:
        return None
    steps = [(c, sweep.steps[c]) for c in form.classes(sweep) if sweep.steps[c].outputs]
    angles = {c: angle for c, step in steps if (angle := angle_of(step))}
    if not steps or len(angles) < len(steps):
        return None
    links = -(-count // -(-count // MOST))
    return Blocks(links, sincos.lanes(links, form.real), angles)
