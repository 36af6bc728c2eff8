"""Revolute joint: one angle q in rad about the joint's axis; q̇ is its rate."""

from __future__ import annotations

from symgen.mechanism.joints._hinge import elementary_motions, pose
from symgen.mechanism.joints._joint import ANGLE, JointType

JOINT = JointType((ANGLE,), (ANGLE,), pose, elementary_motions, drawn="hinge")
