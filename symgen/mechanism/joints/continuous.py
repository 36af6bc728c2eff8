"""Continuous joint: a revolute joint without limits, with one angle q in rad (not a cosine and a
sine).
"""

from __future__ import annotations

from symgen.mechanism.joints._hinge import elementary_motions, pose
from symgen.mechanism.joints._joint import ANGLE, JointType

JOINT = JointType((ANGLE,), (ANGLE,), pose, elementary_motions, drawn="hinge", limited=False)
