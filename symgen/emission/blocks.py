"""Blocks of links whose sines and cosines one call computes.

A sweep whose steps only compute sines and cosines visits the links block by block. The loop of
NAME_sincos.h (`sincos`), which a compiler vectorises, computes all angles of a block, and the sweep
saves the sines and cosines. Some lanes of the last block may be idle.
"""

from __future__ import annotations

from typing import NamedTuple

from symgen.emission import sincos
from symgen.ir.loops import Angle, LoopProgram, angle_of
from symgen.vocabulary.target import Target

MOST_LINKS = 16
"""Largest number of links of a block; blocks of twice this length are not faster."""


class Blocks(NamedTuple):
    """Links of a block, iterations of the loop over sines (`lanes`), and angle of each class."""

    links: int
    lanes: int
    angles: dict[int, Angle]


def blocks(form: LoopProgram, s: int, target: Target) -> Blocks | None:
    """Return the blocks of sweep `s`; None if a step has other operations than sines and cosines.

    Return None for one link, too, for which <math.h> is as fast.
    """
    sweep = form.sweeps[s]
    count = len(form.visited(sweep))
    if target.text.trig != "auto" or sweep.inward or sweep.initial or count < 2:
        return None
    steps = [(c, sweep.steps[c]) for c in form.classes(sweep) if sweep.steps[c].outputs]
    angles = {c: angle for c, step in steps if (angle := angle_of(step))}
    if not steps or len(angles) < len(steps):
        return None
    links = -(-count // -(-count // MOST_LINKS))
    return Blocks(links, sincos.lanes(links, form.real), angles)
