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


def driven(made: Mechanism, *kinds: str) -> Mechanism:
    """The robot with a drive at every joint, of these kinds alone where any is named; a spring where a joint has one coordinate."""

    def drive(i: int, spring: bool) -> Drive:
        n = Fraction(i + 3, 100)
        whole = Drive(n, 7 * n, 3 * n, 20 * n, n / 2) if spring else Drive(n, 7 * n, 3 * n)
        return whole.only(kinds) if kinds else whole

    joints = tuple(
        replace(joint, drive=drive(i, (joint.type.nq, joint.type.nv) == (1, 1)))
        for i, joint in enumerate(made.joints)
    )
    return replace(made, joints=joints, friction_speed=SPEED)


def answers(made: Mechanism, function: str, method: str | None = None) -> dict[str, Array]:
    return run(
        symgen.program(made, function, method, frame=outermost(made, function)),
        arguments_of(made, function),
        BALLS,
    )


def outermost(made: Mechanism, function: str) -> str | None:
    """A frame that all kinds of joints lead to, where the function speaks of one."""
    return made.frames[-1].name if FUNCTIONS[function].needs_frame else None


def arguments_of(made: Mechanism, function: str) -> dict[str, Array]:
    states = draw(made, STATES, BALLS)
    return {array.name: states[array.name] for array in FUNCTIONS[function].arguments}


def differing(results: Mapping[str, Array], wanted: Mapping[str, Array]) -> float:
    """The largest difference, relative to what is wanted."""
    with BALLS.working():
        return max(
            largest(results[name] - wanted[name]) / (1 + largest(wanted[name])) for name in wanted
        )
