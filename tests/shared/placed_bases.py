"""Robots whose base is moved far from the origin."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from symgen.mechanism.mechanism import Mechanism
from symgen.vocabulary.poses import Pose, Shift, compose

FAR = Shift((Fraction(1000), Fraction(-700), Fraction(300)))


def based(mechanism: Mechanism, *pose: Pose) -> Mechanism:
    """Return a robot with its base displaced by `pose` in the world; the caller rotates gravity and
    results.
    """
    joints = (
        replace(j, pose=compose(*pose, j.pose)) if j.parent < 0 else j for j in mechanism.joints
    )
    return replace(mechanism, joints=tuple(joints))
