"""Sizes of the rotation and translation that the entries of v give to the bodies: all terms with
their absolute values.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from symgen.mechanism.joints import Sliding, Turning
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.motion import Motion
from symgen.reference.precision import Array


def own_rates(motion: Motion, body: int) -> Iterator[tuple[int, float, float]]:
    """Yield for every velocity of a body's joint: its entry of v, and the rotation (rad) and
    translation (m) of a unit of it.
    """
    for position, (k, rate) in enumerate(motion.shares[body]):
        rotation, translation = _rates(motion.mechanism, body, position)
        yield k, abs(float(rate)) * rotation, abs(float(rate)) * translation


def rates(motion: Motion) -> list[tuple[float, float]]:
    """Return the rotation (rad) and translation (m) of each unit of v, summed over its own joint
    and its mimic joints.
    """
    totals = [(0.0, 0.0)] * motion.mechanism.nv
    for body in range(len(motion.mechanism.bodies)):
        for k, rotation, translation in own_rates(motion, body):
            totals[k] = totals[k][0] + rotation, totals[k][1] + translation
    return totals


def point_levers(motion: Motion, body: int, distances: Array) -> tuple[Array, Array]:
    """Return rotations (k,) and levers (count, k) of a point fixed to a body, for the entries of v
    in `motion.supports[body]`.

    `distances` (count, m) are the distances of the point from the joints on its path.
    """
    support = motion.supports[body]
    turns, levers = np.zeros(len(support)), np.zeros((len(distances), len(support)))
    for position, joint in enumerate(motion.paths[body]):
        for k, rotation, translation in own_rates(motion, joint):
            turns[support.index(k)] += rotation
            levers[:, support.index(k)] += rotation * distances[:, position] + translation
    return turns, levers


def mimic_rotation(motion: Motion, q: Array) -> float:
    """Return the largest total rotation (rad) of mimic joints at q (count, NQ), over states and
    paths; 0 without mimic joints.
    """
    angles = [np.zeros(len(q)) for _ in motion.paths]
    for body, coupling in enumerate(motion.mechanism.joint_couplings):
        if coupling is not None:
            angles[body] = (
                np.abs(motion.joint_coordinates(body, q)[:, 0])
                * _rates(motion.mechanism, body, 0)[0]
            )
    return float(
        max(
            sum((angles[body] for body in path), np.zeros(len(q))).max(initial=0.0)
            for path in motion.paths
        )
    )


def _rates(mechanism: Mechanism, joint: int, position: int) -> tuple[float, float]:
    """Return the rotation (rad) and translation (m) of a unit of one velocity of a joint."""
    kind = mechanism.joints[joint].type
    if not kind.directed:
        return (1.0, 0.0) if kind.velocities[position].unit == "rad" else (0.0, 1.0)
    steps = [step for step in mechanism.joints[joint].about_axis if step.of == position]
    return (
        sum(abs(float(step.rate)) for step in steps if isinstance(step, Turning)),
        sum(abs(float(step.rate)) for step in steps if isinstance(step, Sliding)),
    )
