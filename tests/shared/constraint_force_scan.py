"""Forward dynamics by parallel scans over the constraint forces."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

from symgen.ir.loops import LoopProgram
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.loops.constraint_force_scan import build_scan as levelled
from tests.shared.robots_for_tests import flat_chain, random_mechanism


def driven(mechanism: Mechanism) -> Mechanism:
    """Return the robot with friction, springs and a rotor in every joint."""
    drives = [
        Drive(*(Fraction(1, d + i % 3) for d in (10, 5, 7, 2, 3)))
        for i in range(len(mechanism.joints))
    ]
    joints = [
        replace(joint, drive=drive) for joint, drive in zip(mechanism.joints, drives, strict=True)
    ]
    return replace(mechanism, joints=tuple(joints))


ROBOTS = {
    "chain": random_mechanism(17, 1),
    "flat": flat_chain(33),
    "rotors": driven(random_mechanism(12, 2)),
    "slides": random_mechanism(9, 1, joints=("prismatic",)),
    "square": random_mechanism(21, 3, general=False),
    "one": random_mechanism(1, 1),
    "two": random_mechanism(2, 1),
    "long": random_mechanism(100, 1),
}


@cache
def levels(name: str, segments: int) -> LoopProgram:
    return levelled(ROBOTS[name], segments)
