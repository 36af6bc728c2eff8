"""Robots with armature, damping, friction and springs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import symgen
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.robots_for_tests import (
    BALLS,
    draw,
    largest,
    run,
)

STATES = 2

SPEED = Fraction(1, 50)

UNFELT = (
    "gravity_force",
    "potential_energy",
    "coriolis_matrix",
    "regressor",
    "centroidal_momentum",
    "centroidal_momentum_rate",
)


def driven(mechanism: Mechanism, *kinds: str) -> Mechanism:
    """The robot with a drive at every joint, of these kinds alone where any is named; a spring
    where a joint has one coordinate.
    """

    def drive(i: int, spring: bool) -> Drive:
        n = Fraction(i + 3, 100)
        full_drive = Drive(n, 7 * n, 3 * n, 20 * n, n / 2) if spring else Drive(n, 7 * n, 3 * n)
        return full_drive.only(kinds) if kinds else full_drive

    joints = tuple(
        replace(joint, drive=drive(i, (joint.type.nq, joint.type.nv) == (1, 1)))
        for i, joint in enumerate(mechanism.joints)
    )
    return replace(mechanism, joints=joints, friction_speed=SPEED)


def answers(mechanism: Mechanism, function: str, method: str | None = None) -> dict[str, Array]:
    return run(
        symgen.program(mechanism, function, method, frame=outermost(mechanism, function)),
        arguments_of(mechanism, function),
        BALLS,
    )


def outermost(mechanism: Mechanism, function: str) -> str | None:
    """A frame that all kinds of joints lead to, where the function speaks of one."""
    return mechanism.frames[-1].name if FUNCTIONS[function].needs_frame else None


def arguments_of(mechanism: Mechanism, function: str) -> dict[str, Array]:
    states = draw(mechanism, STATES, BALLS)
    return {array.name: states[array.name] for array in FUNCTIONS[function].arguments}


def differing(results: Mapping[str, Array], expected: Mapping[str, Array]) -> float:
    """Return the largest difference, relative to the expected values."""
    with BALLS.working():
        return max(
            largest(results[name] - expected[name]) / (1 + largest(expected[name]))
            for name in expected
        )
