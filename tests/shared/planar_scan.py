"""Functions by parallel scans on planar chains of point masses."""

from __future__ import annotations

from functools import cache

from symgen.ir.loops import LoopProgram
from symgen.pipeline.loops.planar_scan import build_scan as levelled
from tests.shared.planar_segments import robot


@cache
def levels(name: str, segments: int) -> LoopProgram:
    return levelled(robot(name), segments)
