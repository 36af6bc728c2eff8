"""How fast the entries of v turn and move what they carry, as sizes: all terms with their absolute values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from symgen.mechanism.joints import Sliding, Turning
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.motion import Motion
from symgen.reference.precision import Array


def own_rates(motion: Motion, body: int) -> Iterator[tuple[int, float, float]]:
    """Of every velocity of a body's own joint: the entry of v that it goes by, and the rad and m of a unit of that entry."""
    for of, (k, rate) in enumerate(motion.shares[body]):
        turning, sliding = _rates(motion.mechanism, body, of)
        yield k, abs(float(rate)) * turning, abs(float(rate)) * sliding


def rates(motion: Motion) -> list[tuple[float, float]]:
    """(rad, m) that each unit of v turns and slides its bodies by, those of its own joint and of joints that follow it."""
    found = [(0.0, 0.0)] * motion.mechanism.nv
    for body in range(len(motion.mechanism.bodies)):
        for k, turning, sliding in own_rates(motion, body):
            found[k] = found[k][0] + turning, found[k][1] + sliding
    return found


def felt(motion: Motion, body: int, far: Array) -> tuple[Array, Array]:
    """Turns (k,) and levers (count, k) of a point that a body carries, for the entries of v in `motion.supports[body]`.

    `far` (count, m) are its distances from the joints on its way out.
    """
    support = motion.supports[body]
    turns, levers = np.zeros(len(support)), np.zeros((len(far), len(support)))
    for place, joint in enumerate(motion.paths[body]):
        for k, turning, sliding in own_rates(motion, joint):
            turns[support.index(k)] += turning
            levers[:, support.index(k)] += turning * far[:, place] + sliding
    return turns, levers


def followed(motion: Motion, q: Array) -> float:
    """How far (rad) joints that follow others are turned at q (count, NQ), the most over states and ways out; else 0."""
    turned = [np.zeros(len(q)) for _ in motion.paths]
    for body, follows in enumerate(motion.mechanism.follows):
        if follows is not None:
            turned[body] = (
                np.abs(motion.joint_coordinates(body, q)[:, 0])
                * _rates(motion.mechanism, body, 0)[0]
            )
    return float(
        max(
            sum((turned[one] for one in way), np.zeros(len(q))).max(initial=0.0)
            for way in motion.paths
        )
    )


def _rates(mechanism: Mechanism, joint: int, of: int) -> tuple[float, float]:
    kind = mechanism.joints[joint].type
    if not kind.directed:
        return (1.0, 0.0) if kind.velocities[of].unit == "rad" else (0.0, 1.0)
    own = [step for step in mechanism.joints[joint].about_axis if step.of == of]
    return (
        sum(abs(float(step.rate)) for step in own if isinstance(step, Turning)),
        sum(abs(float(step.rate)) for step in own if isinstance(step, Sliding)),
    )
