"""Comparison of a converted robot with the robot that it was converted from."""

from __future__ import annotations

import re
from typing import Any

import flint
import numpy as np

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array, Scalars, arb
from symgen.reference.states import draw_states

BALLS = arb(80)

SAME = 1e-40


def remedies(left_out: tuple[str, ...]) -> dict[str, Any]:
    """The options of reading that sentences name."""
    options_named = re.findall(r"read the file with --([a-z-]+) (\S+)$", "\n".join(left_out), re.M)
    return {option.replace("-", "_"): value for option, value in options_named}


def load_with_remedies(text: str, left_out: tuple[str, ...]) -> Mechanism:
    """The robot that is read with them."""
    return symgen.load(text, **remedies(left_out))


def answers(
    robot: Mechanism, states: dict[str, Array], frames: list[str], scalars: Scalars = BALLS
) -> list[Array]:
    """M, tau, and where every frame is."""
    reference, arguments = (
        Reference(robot, scalars, frame=frames[0]),
        {name: scalars.array(x) for name, x in states.items()},
    )
    results = [
        reference.mass_matrix(arguments["q"]),
        reference.inverse_dynamics(arguments["q"], arguments["v"], arguments["a"]),
    ]
    with scalars.working():
        placements = reference.placements(arguments["q"])
        for frame in frames:
            reference.frame = robot.frame(frame)
            results += reference.frame_placement(placements, arguments["q"])
    return results


def largest_difference(results: list[Array], expected: list[Array]) -> float:
    """The largest difference of two answers."""
    assert [x.shape for x in results] == [x.shape for x in expected]
    return max(
        float(abs(flint.arb(a - b)).upper())
        for x, y in zip(results, expected, strict=True)
        for a, b in zip(np.ravel(x), np.ravel(y), strict=True)
    )


def differ(robot: Mechanism, other_robot: Mechanism, without: str = "") -> float:
    """Return the largest difference of two robots at one state over all frames of the first except
    `without`.
    """
    states, lost = draw_states(robot, 1), without.split(", ")
    frames = [frame.name for frame in robot.frames if frame.name not in lost] or [
        body.name for body in robot.bodies
    ]
    return largest_difference(answers(robot, states, frames), answers(other_robot, states, frames))
