"""Forward dynamics of chains that are cut into segments."""

from __future__ import annotations

from functools import cache

from symgen.ir.loops import LoopProgram
from symgen.pipeline.loops.riccati_segments import build_parts as segmented
from tests.shared.robots_for_tests import flat_chain, random_mechanism

ROBOTS = {n: random_mechanism(n, 1) for n in (17, 64, 100)} | {33: flat_chain(33)}
"""The last one is planar: what a wrench moves is singular there."""


@cache
def chain_in_parts(n: int, segments: int) -> LoopProgram:
    return segmented(ROBOTS[n], segments)
